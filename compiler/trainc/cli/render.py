"""`trainc render`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from trainc.cli.command import CLEAN, ERRORS, STALE, Command
from trainc.cli.options import cache_option, executor_option, findings_options, root_option, workers_option
from trainc.cli.reporter import Reporter, Words
from trainc.findings import has_errors, sort_key

if TYPE_CHECKING:
    from trainc.cache.snapshot import Snapshot
    from trainc.cache.store import Store
    from trainc.parallel.mpi import Ranks
    from trainc.project.planning import Planned
    from trainc.project.write import Plan

EPILOG = """\b
Examples:
  trainc render                         all jobs, all environments
  trainc render --env prod jobs/team-a  the jobs of one namespace
  trainc render --check                 write nothing, exit 3 if out/ is stale
  mpiexec -n 8 trainc render --executor mpi
"""


class Mode(msgspec.Struct, frozen=True):
    """The options of a run; ``ranks`` are those of --executor mpi."""

    reporter: Reporter
    check: bool
    cache: bool
    workers: int | None = None
    ranks: Ranks | None = None


@click.command("render", cls=Command, epilog=EPILOG)
@root_option
@click.option("--env", "environment", metavar="ENV", help="Only this environment of trainc.yaml.")
@click.option("--check", is_flag=True, help="Write nothing; list the files that differ, and exit 3 if any does.")
@cache_option
@workers_option
@executor_option
@findings_options()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True))
def command(
    *,
    root: Path,
    environment: str | None,
    check: bool,
    cache: bool,
    executor: str,
    workers: int | None,
    reporter: Reporter,
    paths: tuple[str, ...],
) -> int:
    """Compile jobs/ to out/, and remove files that trainc wrote there and no longer generates.

    With PATHs, files or folders below jobs/, only the output of their jobs is
    written, without the objects that the jobs of a namespace share. The project is
    the nearest folder upward with a trainc.yaml, so the result is the same from any
    folder in it. After an error, or a finding that --fail-on names, nothing is
    written. Without --env and PATHs, the folders of argocd.write and flux.write in
    trainc.yaml are written as well.
    """
    if executor == "local":
        mode = Mode(reporter, check, cache and not reporter.lists_silenced, workers)
        return _render(root, paths, environment, mode)
    from trainc.cli.compiling import ranks_of

    ranks = ranks_of()
    if ranks.rank:
        ranks.serve()
        return CLEAN
    try:
        mode = Mode(reporter, check, cache and not reporter.lists_silenced, workers, ranks)
        return _render(root, paths, environment, mode)
    finally:
        ranks.close()


def _render(root: Path, paths: tuple[str, ...], environment: str | None, mode: Mode) -> int:
    """Render, and return the exit status."""
    store, last = _store(root, mode), None
    if store is not None and not paths and environment is None:
        from trainc.cache.snapshot import load_last

        last = load_last(root, store, str(mode.reporter.manner), by_bytes=mode.check)
        if last is not None and not last.changed:
            return _report_last(last, None, mode)

    from trainc.cache.run import RunCache, with_cache
    from trainc.cli.compiling import executor_of, request_of
    from trainc.project.environments import load_config
    from trainc.project.planning import plan_request
    from trainc.project.write import apply

    config, findings = load_config(root)
    if has_errors(findings):
        mode.reporter.findings(findings)
        return mode.reporter.status(findings)
    if store is not None and last is not None and not mode.check:
        small = RunCache(root, store, last)
        todo = small.plan_changed(config)
        if todo is not None and not set(last.changed).intersection(last.reported):
            apply(todo)
            small.save_changes(todo)
            return _report_last(last, todo, mode)
    request = request_of(root, paths, config, environment)
    execute = executor_of(mode.workers, mode.ranks, quiet=mode.reporter.quiet)
    cache = None if store is None else RunCache(root, store, by_bytes=mode.check, compares=True)
    planned, cache = with_cache(
        lambda cache: plan_request(request, findings, mode.reporter.fails, cache, execute), cache
    )
    status, words = _carry_out(planned, mode)
    if cache is not None and request.is_whole:
        cache.save_jobs()
        texts = {} if words is None or status != CLEAN else {str(mode.reporter.manner): tuple(words)}
        reported = {
            d.source.name for each in planned.findings for d in (each.document, *(r.document for r in each.related))
        }
        cache.save_files(planned.platform, planned.plan, planned.foreign, texts, sorted(reported))
    return status


def _store(root: Path, mode: Mode) -> Store | None:
    if not mode.cache:
        return None
    from trainc.cache.store import open_store

    return open_store(root)


def _report_last(last: Snapshot, todo: Plan | None, mode: Mode) -> int:
    """Report what the last run reported, and the files of ``todo``, which alone changed. Return the exit status."""
    changes = () if todo is None else todo.change
    mode.reporter.tell(Words(*last.texts[str(mode.reporter.manner)]))
    for file in changes:
        mode.reporter.detail(f"changed {file.name}")
    if not mode.check:
        counts = _counts(0, len(changes), 0)
        mode.reporter.remark(f"{_places(last.tops)}: {counts}, {last.generated - len(changes)} unchanged")
    return CLEAN


def _carry_out(planned: Planned, mode: Mode) -> tuple[int, Words | None]:
    """Carry out the plan, report it, and return the exit status and the text of the findings.

    If a finding fails the run, nothing is written and the text is None.
    """
    reporter, todo = mode.reporter, planned.plan
    if todo is None:
        reporter.findings(planned.findings, planned.silenced)
        return reporter.status(planned.findings), None
    findings = (*planned.findings, *todo.blocked)
    if has_errors(findings):
        reporter.findings(sorted(findings, key=sort_key))
        return ERRORS, None
    if not mode.check:
        from trainc.project.write import apply

        apply(todo)
    words = reporter.worded(findings, planned.silenced)
    reporter.tell(words)
    for line in todo.differences():
        (reporter.result if mode.check else reporter.detail)(line)
    _report_counts(todo, mode)
    return (STALE if mode.check and todo.stale else CLEAN), words


def _report_counts(todo: Plan, mode: Mode) -> None:
    counts = _counts(len(todo.create), len(todo.change), len(todo.remove))
    places = _places(todo.tops)
    if not mode.check:
        mode.reporter.remark(f"{places}: {counts}, {len(todo.unchanged)} unchanged")
    elif todo.stale:
        verb = "is" if len(todo.tops) == 1 else "are"
        mode.reporter.remark(f"{places} {verb} stale; run trainc render: {counts}")


def _places(tops: tuple[str, ...]) -> str:
    return " and ".join(f"{top}/" for top in tops)


def _counts(created: int, changed: int, removed: int) -> str:
    return f"{created} created, {changed} changed, {removed} removed"
