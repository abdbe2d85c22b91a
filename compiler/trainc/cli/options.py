"""Options that several commands share, as decorators, and the project folder of a command."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from trainc.cli.command import echo
from trainc.cli.completion import complete_environment, complete_revision
from trainc.cli.paths import Existing, OutsideGit
from trainc.cli.reporter import FAILING, Reporter
from trainc.findings.formats import FORMATS

project_option = partial(
    click.option,
    "--root",
    metavar="DIR",
    type=OutsideGit(exists=True, file_okay=False),
    help="The project folder.  [default: the nearest folder upward with a trainc.yaml that belongs to you or to the"
    " owner of the working directory]",
)
"""The decorator without a callback."""

root_option = project_option(
    callback=lambda ctx, _param, value: value if ctx.resilient_parsing else project_root(Path.cwd(), value)
)
"""Passes the project root to the command. Completion, which parses resiliently, finds it itself."""

environment_option = partial(click.option, "--env", "environment", metavar="ENV", shell_complete=complete_environment)
"""The decorator without a help text."""

cache_option = click.option(
    "--no-cache",
    "cache",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Ignore the cache: compile every job, and store nothing for the next run.",
)

workers_option = click.option(
    "-j",
    "--jobs",
    "workers",
    metavar="N",
    type=click.IntRange(1),
    help="Compile in N processes.  [default: one per core; one for few jobs]",
)

executor_option = click.option(
    "--executor",
    type=click.Choice(("local", "mpi")),
    default="local",
    show_default=True,
    help="Compile in processes of this machine, or on the ranks of mpiexec -n N trainc render --executor mpi.",
)

crds_option = click.option(
    "--crd-dir",
    "crd_dirs",
    metavar="DIR",
    multiple=True,
    type=Existing(file_okay=False),
    help="A folder of CustomResourceDefinitions: check objects of their kinds as well. May be repeated.",
)

revision_option = partial(click.option, metavar="REV", shell_complete=complete_revision)
"""The decorator without a name and a help text."""

base_option = revision_option(
    "--base",
    help="A git revision (origin/main, HEAD~1): report changes since then that a cluster refuses. To compare with the"
    ' start of a branch: --base "$(git merge-base origin/main HEAD)".',
)

policies_from_option = revision_option(
    "--policies-from",
    help="A git revision: apply its policies and severities as well, and report what is less strict since then."
    "  [default: the revision of --base]",
)

_FINDINGS = (
    click.option(
        "--format",
        "format_",
        type=click.Choice(tuple(FORMATS)),
        default="text",
        show_default=True,
        help="The format of findings: text, JSON, a SARIF 2.1.0 log, annotations of GitHub Actions, a JUnit report, or"
        " a Code Quality report of GitLab.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice(tuple(FAILING)),
        default="error",
        show_default=True,
        help="The lowest severity that fails the run: exit 1, and nothing is written.",
    ),
    click.option(
        "-q", "--quiet", is_flag=True, help="Show only findings that fail the run, and no messages about the run."
    ),
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        help="Show more: each changed file, every repeated finding, the traceback of an internal error.",
    ),
)


def findings_options(*, aside: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add --format, --fail-on, --quiet and --verbose, which are passed to the command as one ``reporter``."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def command(*, format_: str, fail_on: str, quiet: bool, verbose: bool, **others: Any) -> int:
            return function(reporter=Reporter(format_, fail_on, quiet, verbose, aside), **others)

        for option in reversed(_FINDINGS):
            command = option(command)
        return command

    return decorate


def check_name(details: Sequence[str], value: str, option: str) -> None:
    """Raise BadParameter for a name that Kubernetes refuses; ``details`` say why, as from ``kube.names``."""
    if details:
        raise click.BadParameter(f"{value!r}: {details[0]}", param_hint=option)


def project_root(folder: Path, project: str | None) -> Path:
    """Return the root of the project for a working directory; ``project`` is the value of --root."""
    if project is not None:
        return Path(os.path.normpath(folder / project))
    from trainc.project.read import CONFIG  # not needed for --help
    from trainc.project.root import find_own_root

    root, ignored = find_own_root(folder)
    if ignored is not None:
        from trainc.findings.display import one_line

        what = f"{ignored / CONFIG} is ignored: it belongs neither to you nor to the owner of the working directory"
        echo(f"trainc: warning: {one_line(what)}; to use it, pass --root {one_line(str(ignored))}", err=True)
    return root
