"""`trainc render`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from trainc.cli.command import CLEAN, STALE
from trainc.cli.completion import complete_job_path
from trainc.cli.limits import LimitedCommand, allow
from trainc.cli.options import (
    cache_option,
    environment_option,
    executor_option,
    findings_options,
    root_option,
    workers_option,
)
from trainc.cli.paths import Existing
from trainc.cli.reporter import Report, Reporter
from trainc.findings import has_errors, sort_key
from trainc.project.files import read_regular

if TYPE_CHECKING:
    from trainc.cache.snapshot import Snapshot
    from trainc.parallel.mpi import Ranks
    from trainc.project.planning import Planned
    from trainc.project.write import File

EPILOG = """\b
Examples:
  trainc render                         all jobs, all environments
  trainc render --env prod jobs/team-a  the jobs of one namespace
  trainc render --check                 write nothing, exit 3 if out/ is stale
  mpiexec -n 8 trainc render --executor mpi
"""

CRLF = "git writes its files with CRLF: add what 'trainc init --print .gitattributes' prints to .gitattributes first"


class Mode(Struct, frozen=True):
    """The options of a run; ``ranks`` are those of --executor mpi."""

    reporter: Reporter
    check: bool
    cache: bool
    workers: int | None
    ranks: Ranks | None


@click.command("render", cls=LimitedCommand, epilog=EPILOG)
@root_option
@environment_option(help="Only this environment of trainc.yaml.")
@click.option("--check", is_flag=True, help="Write nothing; list the files that differ, and exit 3 if any does.")
@cache_option
@workers_option
@executor_option
@findings_options()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=Existing(), shell_complete=complete_job_path)
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
    ranks = _ranks() if executor == "mpi" else None
    if ranks is not None and ranks.rank:
        ranks.serve()
        return CLEAN
    try:
        mode = Mode(reporter, check, cache and not reporter.lists_silenced, workers, ranks)
        return _render(root, paths, environment, mode)
    finally:
        if ranks is not None:
            ranks.close()


def _ranks() -> Ranks:
    """Return the MPI ranks of this run. Raises UsageError without MPI."""
    import signal

    from trainc.parallel.mpi import MISSING, Ranks

    allow(inf)  # ranks do not know how many jobs they get
    for name in ("SIGTERM", "SIGHUP"):  # mpiexec ends all ranks: one that cleans up would wait for the others
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_DFL)
    try:
        return Ranks()
    except (ImportError, RuntimeError) as error:
        raise click.UsageError(f"--executor mpi: {MISSING} ({error})") from None


def _render(root: Path, paths: tuple[str, ...], environment: str | None, mode: Mode) -> int:
    """Render, and return the exit status. Without a change since the last run, the compiler is not loaded."""
    reporter, style = mode.reporter, str(mode.reporter.style)
    store = last = None
    if mode.cache:
        from trainc.cache.store import open_store

        store = open_store(root)
    if store is not None and not paths and environment is None:
        from trainc.cache.snapshot import load_last

        last = load_last(root, store, style, by_bytes=mode.check)
        if last is not None and not last.changed:
            return _report_last(last, (), mode)

    from trainc.cache.run import RunCache, with_cache
    from trainc.cache.snapshot import surroundings
    from trainc.cli.compiling import executor_of, reading, request_of
    from trainc.project.environments import load_config
    from trainc.project.planning import plan_request
    from trainc.project.write import apply

    around = () if store is None else surroundings(root)
    config, findings = load_config(root)
    if has_errors(findings):
        return reporter.report(findings)
    execute = executor_of(mode.workers, mode.ranks, quiet=reporter.quiet)
    if store is not None and last is not None and not mode.check:
        cache = RunCache(root, store, last)
        plan, _ = with_cache(lambda cache: None if cache is None else cache.plan_changed(config, execute), cache)
        if plan is not None and not set(last.changed).intersection(last.reported):
            apply(plan)
            cache.save_changes(plan)
            return _report_last(last, plan.change, mode)
    request = request_of(root, paths, config, environment)
    watch = reading(quiet=reporter.quiet)
    planned, used_cache = with_cache(
        lambda cache: plan_request(request, findings, reporter.fails, cache, execute, watch=watch),
        None if store is None else RunCache(root, store, by_bytes=mode.check, compares=True),
    )
    status, report = _carry_out(planned, mode)
    if used_cache is not None and request.is_whole:
        used_cache.save_jobs()
        texts = {} if report is None or status != CLEAN else {style: tuple(report)}
        if any(each.code == "TC014" for each in planned.findings):
            texts = {}  # its hint depends on the working directory; without jobs there is little to do again
        about = (
            document for each in planned.findings for document in (each.document, *(r.document for r in each.related))
        )
        reported = sorted({document.source.name for document in about})
        used_cache.save_files(planned.platform, planned.plan, planned.foreign, texts, reported, around=around)
        if status == CLEAN:
            used_cache.remove_checkpoint()
    return status


def _carry_out(planned: Planned, mode: Mode) -> tuple[int, Report | None]:
    """Carry out the plan, report it, and return the exit status and the text of the findings.

    If a finding fails the run, nothing is written and the text is None.
    """
    reporter, plan = mode.reporter, planned.plan
    if plan is None:
        return reporter.report(planned.findings, planned.silenced), None
    findings = (*planned.findings, *plan.blocked)
    if reporter.fails(findings):
        return reporter.report(sorted(findings, key=sort_key), planned.silenced), None
    if not mode.check:
        from trainc.cli.progress import progress
        from trainc.project.write import apply

        with progress(len(plan.create) + len(plan.change), "writing", quiet=reporter.quiet) as shown:
            apply(plan, shown.advance)
    report = reporter.text_of(findings, planned.silenced)
    reporter.write(report)
    for line in plan.differences():
        (reporter.result if mode.check else reporter.detail)(line)
    counts = _counts(len(plan.create), len(plan.change), len(plan.remove))
    if not mode.check:
        reporter.remark(f"{_folders(plan.tops)}: {counts}, {len(plan.unchanged)} unchanged")
    elif plan.stale:
        verb = "is" if len(plan.tops) == 1 else "are"
        reporter.remark(f"{_folders(plan.tops)} {verb} stale; run trainc render: {counts}")
        if plan.change and b"\r\n" in (read_regular(plan.root / plan.change[0].name) or b""):
            reporter.remark(CRLF)
    return (STALE if mode.check and plan.stale else CLEAN), report


def _report_last(last: Snapshot, changed: Sequence[File], mode: Mode) -> int:
    """Report what the last run reported, and the files that alone changed. Return the exit status."""
    mode.reporter.write(Report(*last.texts[str(mode.reporter.style)]))
    for file in changed:
        mode.reporter.detail(f"changed {file.name}")
    if not mode.check:
        counts = _counts(0, len(changed), 0)
        mode.reporter.remark(f"{_folders(last.tops)}: {counts}, {last.generated - len(changed)} unchanged")
    return CLEAN


def _folders(tops: Iterable[str]) -> str:
    return " and ".join(f"{top}/" for top in tops)


def _counts(created: int, changed: int, removed: int) -> str:
    return f"{created} created, {changed} changed, {removed} removed"
