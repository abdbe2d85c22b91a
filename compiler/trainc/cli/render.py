"""`trainc render`."""

from __future__ import annotations

from pathlib import Path

import click

from trainc.cli.caching import cache_option, open_whole
from trainc.cli.carrying import Mode, carry_out
from trainc.cli.command import Command, Reporter, finding_options
from trainc.read import find_root

EPILOG = """\b
Examples:
  trainc render                         all jobs, all environments
  trainc render --env prod jobs/team-a  the jobs of one namespace
  trainc render --check                 write nothing, exit 3 if out/ is stale
"""


@click.command("render", cls=Command, epilog=EPILOG)
@click.option("--env", "environment", metavar="ENV", help="Only this environment of trainc.yaml.")
@click.option("--check", is_flag=True, help="Write nothing; name the files that differ and exit 3 if any does.")
@cache_option
@finding_options
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True))
def command(
    *,
    environment: str | None,
    check: bool,
    cache: bool,
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
    reporter = Reporter(format_, fail_on, quiet, verbose)
    root = find_root(Path.cwd())
    known = None if paths or environment is not None else open_whole(root, use=cache, by_bytes=check)
    mode = Mode(reporter, check, cache)
    last = None if known is None else known.last()
    if last is not None:
        findings, todo = last
        return carry_out(findings, None if reporter.fails(findings) else todo, mode)
    from trainc.cli.rendering import render

    return render(root, paths, environment, known, mode)
