"""`trainc report`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click

from trainc.cli.command import CLEAN, echo
from trainc.cli.compiling import choose, executor_of, reading, with_project
from trainc.cli.limits import LimitedCommand
from trainc.cli.options import environment_option, findings_options, root_option
from trainc.cli.paths import OutsideGit
from trainc.cli.reporter import Reporter
from trainc.findings import has_errors
from trainc.findings.display import counted
from trainc.inputs.source import Source
from trainc.pipeline.context import Keep
from trainc.project.environments import compile_for, load_config, with_empty
from trainc.project.links import real_path
from trainc.project.names import JOBS, OUT, SETTINGS
from trainc.project.read import name_below, read_policy_tests, read_project
from trainc.project.write import write_output
from trainc.report.fleet import Rows, fleet, totals, without_objects
from trainc.report.page import TITLE, page

EPILOG = """\b
Examples:
  trainc report                       write report.html
  trainc report --env prod -o -       one environment, to standard output
  trainc report --note "$(git log -1 --format='%h, %cs')"
"""


@click.command("report", cls=LimitedCommand, epilog=EPILOG)
@environment_option(help="Only this environment of trainc.yaml.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutsideGit(dir_okay=False),
    default="report.html",
    show_default=True,
    help="The page; - is standard output.",
)
@click.option("--title", metavar="TEXT", default=TITLE, show_default=True, help="The title of the page.")
@click.option("--note", metavar="TEXT", default="", help="A line below the title, such as a revision or a date.")
@root_option
@findings_options(aside=True)
def command(
    *,
    environment: str | None,
    output: str,
    title: str,
    note: str,
    root: Path,
    reporter: Reporter,
) -> int:
    """Write one HTML page of all jobs: what they need, what they run, and what trainc finds.

    The page shows jobs by namespace, runtime, queue and environment, pods and GPUs,
    images and their digests, findings, and for each job what its parts wait for. It
    loads nothing from elsewhere, so you can mail it or publish it as an artifact of
    CI. The same inputs give the same bytes. Jobs with errors are on the page too, so
    findings do not change the exit status, unless trainc.yaml cannot be read or
    there is nothing to read.
    """
    target = None if output == "-" else Path(output)
    if target is not None and Path(real_path(target)).is_relative_to(real_path(root / OUT)):
        raise click.BadParameter(f"{output!r} is inside of out/, which is applied to the cluster", param_hint="'-o'")
    config, findings = load_config(root)
    if reporter.fails(findings):
        return reporter.report(findings)
    environments = choose(config, environment)
    inputs = read_project(root)
    if target is not None and _is_input(target, root, (*inputs.sources, *read_policy_tests(root).sources)):
        raise click.BadParameter(f"{output!r} is an input, which is not overwritten", param_hint="'-o'")
    rows: Rows = {}
    execute = without_objects(executor_of(1, quiet=reporter.quiet), rows)  # other processes return no objects
    watch = reading(quiet=reporter.quiet)
    outcome = compile_for(inputs, config, environments, findings, keep=Keep.OBJECTS, execute=execute, watch=watch)
    if not outcome.job_count and has_errors(found := with_empty(outcome, root, [JOBS])):
        return reporter.report(found)  # most likely the wrong folder
    shown = with_project(outcome, root, config, findings, paths=(), inputs=inputs)
    data = fleet(outcome.jobs, shown, rows)
    del inputs, outcome, rows, shown  # the page of a large fleet needs their memory
    text = page(data, title, note)
    if target is None:
        echo(text.encode(), nl=False)
        return CLEAN
    write_output(root, target, text)
    count = totals(data)
    counts = ", ".join(counted(count[f"{word}s"], word) for word in ("job", "error", "warning"))
    reporter.remark(f"{output}: {counts}")
    return CLEAN


def _is_input(target: Path, root: Path, sources: Iterable[Source]) -> bool:
    """Return whether a path leads to trainc.yaml, images.lock.yaml or a source, through any link above the file."""
    if name_below(root, Path.cwd(), os.fspath(target)) in SETTINGS:
        return True
    if not os.path.lexists(target):
        return False
    replaced = target.lstat()
    for name in (*SETTINGS, *(each.name for each in sources)):
        for status in (os.lstat, os.stat):  # a source may be a link
            with suppress(OSError):
                if os.path.samestat(replaced, status(root / name)):
                    return True
    return False
