"""The options that several commands share, as decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from trainc.cli.reporter import FAILING
from trainc.findings.formats import FORMATS

F = TypeVar("F", bound=Callable[..., Any])

project_option = click.option(
    "--root",
    "project",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="The folder of the project; without it, the nearest one upward with a trainc.yaml that belongs to you or to"
    " the owner of the working directory.",
)

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


def findings_options(function: F) -> F:
    """Add --format, --fail-on, --quiet and --verbose."""
    for option in reversed(_FINDINGS):
        function = option(function)
    return function
