"""`trainc validate`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from trainc.cache.run import RunCache, with_cache
from trainc.cache.store import Store, open_store
from trainc.cli.command import Command
from trainc.cli.compiling import executor_of, read_base, read_standard
from trainc.cli.options import (
    base_option,
    cache_option,
    crds_option,
    findings_options,
    policies_from_option,
    root_option,
    workers_option,
)
from trainc.cli.reporter import Reporter
from trainc.findings import has_errors, sort_key
from trainc.pipeline.context import Keep
from trainc.project.environments import (
    JOBS,
    Outcome,
    compile_for,
    has_no_document,
    load_config,
    nothing,
    read_crds,
    with_empty,
    with_nothing,
)
from trainc.project.files import unmanaged
from trainc.project.read import (
    POLICIES,
    RUNTIMES,
    Inputs,
    has_config,
    merge,
    name_below,
    read_given,
    read_platform,
    read_tree,
)
from trainc.project.write import OUT, foreign_files, look

EPILOG = """\b
Examples:
  trainc validate                       jobs/, runtimes/ and policies/
  trainc validate jobs/team-a/job.yaml  one file
  trainc validate --format json         findings for programs
  trainc validate --fail-on warning     exit 1 also for a warning
  trainc validate --crd-dir crds        also objects of the kinds in crds/
  trainc validate --base origin/main    also changes that a cluster refuses
  trainc validate --policies-from main  also by the policies of main
"""


@click.command("validate", cls=Command, epilog=EPILOG)
@root_option
@crds_option
@base_option
@policies_from_option
@cache_option
@workers_option
@findings_options()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True))
def command(
    *,
    root: Path,
    crd_dirs: tuple[str, ...],
    base: str | None,
    policies_from: str | None,
    cache: bool,
    workers: int | None,
    reporter: Reporter,
    paths: tuple[str, ...],
) -> int:
    """Check TrainJobs and runtimes as render does, without writing anything.

    With PATHs, files or folders anywhere, only those are checked, together with
    runtimes/ and policies/. The project is the nearest folder upward with a
    trainc.yaml. Objects of other kinds are checked if trainc knows the kind: many
    kinds of Kubernetes, and those of the CRDs in --crd-dir.

    With --base, objects are compared with those at a git revision: a change to an
    immutable field is an error for objects in out/, and a warning for TrainJobs and
    runtimes. The policies and severities of that revision, or of --policies-from,
    apply as well, and settings that are less strict since then are reported.
    """
    folder = Path.cwd()
    config, of_config = load_config(root)
    compiled = partial(
        compile_for,
        config=config,
        environments=config.environments,
        findings=of_config,
        execute=executor_of(workers, quiet=reporter.quiet),
    )
    parts: list[Inputs] = []
    if paths or crd_dirs or base is not None or policies_from is not None:
        parts = [_read(root, folder, path) for path in paths] or [read_tree(root, JOBS)]
        platform = read_platform(root)
        partly = platform.sources if paths else ()
        crds, before = read_crds(root, folder, crd_dirs), read_base(root, base, folder, paths)
        inputs = merge([*parts, platform])
        standard = read_standard(root, policies_from, before, inputs, config)
        outcome = compiled(inputs, partly=partly, crds=crds, base=before, standard=standard, keep=Keep.SUMMARIES)
    else:
        use = cache and not has_errors(of_config) and not reporter.lists_silenced
        outcome = _compile_all(root, compiled, open_store(root) if use else None)
    findings = outcome.findings
    if not has_errors(findings):
        if not outcome.job_count and not paths:
            findings = with_empty(outcome, root, [JOBS])
        elif paths and has_no_document(merge(parts)):
            findings = with_nothing(findings, (nothing(path, "no document found") for path in paths))
    if (has_config(root) or not paths) and not has_errors(of_config):
        others = foreign_files(root, look(root, (OUT,)), None, unmanaged(config.data))
        findings = tuple(sorted((*findings, *others), key=sort_key))
    reporter.findings(findings, outcome.silenced)
    if not reporter.fails(findings):
        reporter.remark(_praise(outcome.job_count))
    return reporter.status(findings)


def _compile_all(root: Path, compiled: Callable[..., Outcome], store: Store | None) -> Outcome:
    """Compile all of jobs/ for all environments, with the cache."""

    def attempt(cache: RunCache | None) -> Outcome:
        jobs = read_tree(root, JOBS, None if cache is None else cache.read)
        inputs = merge([jobs, read_platform(root)])
        # render needs the files, too.
        return compiled(inputs, keep=Keep.SUMMARIES if cache is None else Keep.FILES, cache=cache)

    outcome, cache = with_cache(attempt, None if store is None else RunCache(root, store))
    if cache is not None:
        cache.save_jobs()
    return outcome


def _praise(count: int) -> str:
    if not count:
        return "no TrainJob found; the other documents are valid"
    return "1 TrainJob is valid" if count == 1 else f"{count} TrainJobs are valid"


def _read(root: Path, folder: Path, path: str) -> Inputs:
    name = name_below(root, folder, path)
    if name is not None and name.partition("/")[0] in (JOBS, RUNTIMES, POLICIES):
        return read_tree(root, name)
    return read_given(root, folder, path)
