"""The options that several commands share, as decorators, and which folder a command works on."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from trainc.cli.echo import echo
from trainc.cli.reporter import FAILING, Reporter
from trainc.findings.formats import FORMATS

project_option = partial(
    click.option,
    "--root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="The folder of the project; without it, the nearest one upward with a trainc.yaml that belongs to you or to"
    " the owner of the working directory.",
)
"""The decorator without what becomes of the value."""

root_option = project_option(callback=lambda _ctx, _param, value: project_root(Path.cwd(), value))
"""Gives the command the root of the project."""

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
    help="What compiles: processes of this machine, or the ranks of mpiexec -n N trainc render --executor mpi.",
)

crds_option = click.option(
    "--crd-dir",
    "crd_dirs",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="A folder of CustomResourceDefinitions: objects of their kinds are checked, too. May be repeated.",
)

base_option = click.option(
    "--base",
    metavar="REV",
    help="A git revision (origin/main, HEAD~1): report changes since then that a cluster refuses. Taken as given;"
    ' for the point where a branch began: --base "$(git merge-base origin/main HEAD)".',
)

policies_from_option = click.option(
    "--policies-from",
    metavar="REV",
    help="A git revision whose policies and severities judge as well, and report what is less strict since then."
    " Without it, that of --base.",
)

_FINDINGS = (
    click.option(
        "--format",
        "format_",
        type=click.Choice(tuple(FORMATS)),
        default="text",
        show_default=True,
        help="How to write findings: for people, for programs, as a SARIF 2.1.0 log, as annotations of GitHub"
        " Actions, as a JUnit report.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice(tuple(FAILING)),
        default="error",
        show_default=True,
        help="The mildest finding that fails the run: exit 1, and nothing is written.",
    ),
    click.option(
        "-q", "--quiet", is_flag=True, help="Show only findings that fail the run, and hide notes about the run."
    ),
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        help="Say more: each file, every finding that repeats, the place of an internal error.",
    ),
)


def findings_options(*, aside: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add --format, --fail-on, --quiet and --verbose, which the command gets as one ``reporter``."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def command(*, format_: str, fail_on: str, quiet: bool, verbose: bool, **others: Any) -> int:
            return function(reporter=Reporter(format_, fail_on, quiet, verbose, aside), **others)

        for option in reversed(_FINDINGS):
            command = option(command)
        return command

    return decorate


def project_root(folder: Path, project: str | None) -> Path:
    """Return the root of the project for a working directory; ``project`` is the value of --root.

    A trainc.yaml further up that belongs to somebody else is not used, as git does not use such a repository: in a
    folder that everybody may write to, anyone could put one there.
    """
    if project is not None:
        return Path(os.path.normpath(folder / project))
    from trainc.project.read import CONFIG, find_root  # not for help, or a code that is explained

    found = find_root(folder)
    if found == folder or not _is_foreign(found / CONFIG, folder):
        return found
    from trainc.findings.display import one_line

    what = f"{found / CONFIG} is not used: it belongs neither to you nor to the owner of the working directory"
    echo(f"trainc: warning: {one_line(what)}; --root {one_line(str(found))} uses it", err=True)
    return folder


def _is_foreign(config: Path, folder: Path) -> bool:
    """Tell whether a file belongs neither to the user nor to the owner of a folder; never where files have no owner."""
    user = getattr(os, "geteuid", None)
    return user is not None and config.lstat().st_uid not in (user(), folder.stat().st_uid)
