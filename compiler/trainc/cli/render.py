"""`trainc render`."""

from __future__ import annotations

from pathlib import Path

import click

from trainc.cli.caching import open_whole
from trainc.cli.carrying import Mode, carry_out
from trainc.cli.command import CLEAN, Command
from trainc.cli.executing import ranks_of
from trainc.cli.options import cache_option, executor_option, findings_options, project_option, workers_option
from trainc.cli.project import project_root
from trainc.cli.reporter import Reporter

EPILOG = """\b
Examples:
  trainc render                         all jobs, all environments
  trainc render --env prod jobs/team-a  the jobs of one namespace
  trainc render --check                 write nothing, exit 3 if out/ is stale
  mpiexec -n 8 trainc render --executor mpi
"""


@click.command("render", cls=Command, epilog=EPILOG)
@project_option
@click.option("--env", "environment", metavar="ENV", help="Only this environment of trainc.yaml.")
@click.option("--check", is_flag=True, help="Write nothing; name the files that differ and exit 3 if any does.")
@cache_option
@workers_option
@executor_option
@findings_options
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True))
def command(
    *,
    project: str | None,
    environment: str | None,
    check: bool,
    cache: bool,
    executor: str,
    workers: int | None,
    format_: str,
    fail_on: str,
    quiet: bool,
    verbose: bool,
    paths: tuple[str, ...],
) -> int:
    """Compile jobs/ to out/, and remove what trainc once made there and makes no longer.

    With PATHs, files or folders below jobs/, only the output of their jobs is
    touched, and not what jobs of a namespace share. The repository is the nearest folder upward with a trainc.yaml, so
    the result is the same from any folder in it. If anything is an error, or
    what --fail-on names, nothing is written. Without --env and PATHs, what
    argocd.write or flux.write of trainc.yaml asks for is written, too.
    """
    ranks = ranks_of(executor)
    if ranks is not None and ranks.rank:
        ranks.serve()
        return CLEAN
    reporter = Reporter(format_, fail_on, quiet, verbose)
    mode = Mode(reporter, check, cache and not reporter.lists_silenced, workers, ranks)
    try:
        return _render(project_root(Path.cwd(), project), paths, environment, mode)
    finally:
        if ranks is not None:
            ranks.close()


def _render(root: Path, paths: tuple[str, ...], environment: str | None, mode: Mode) -> int:
    """Do nothing where nothing has changed since the last run; else compile. Return the exit status."""
    known = None if paths or environment is not None else open_whole(root, use=mode.cache, by_bytes=mode.check)
    last = None if known is None else known.last()
    if last is not None:
        findings, todo = last
        return carry_out(findings, None if mode.reporter.fails(findings) else todo, mode)
    from trainc.cli.rendering import render

    return render(root, paths, environment, known, mode)
