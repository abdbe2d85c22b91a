"""`trainc validate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from trainc.basics.jsonvalues import as_object
from trainc.cache.run import RunCache, with_cache
from trainc.cache.store import open_store
from trainc.cli.compiling import executor_of, read_paths, reading, revision_of, with_project
from trainc.cli.limits import LimitedCommand
from trainc.cli.options import (
    base_option,
    cache_option,
    crds_option,
    findings_options,
    policies_from_option,
    root_option,
    workers_option,
)
from trainc.cli.paths import Existing
from trainc.cli.reporter import Reporter
from trainc.findings import Finding, has_errors
from trainc.inputs.options import Revision
from trainc.pipeline.context import Keep
from trainc.project.clones import oddly_stored_folders, source_overrides, unreadable_clones
from trainc.project.config import Config
from trainc.project.environments import Outcome, Standard, compile_for, load_config, read_crds, read_others
from trainc.project.files import about
from trainc.project.names import CONFIG, JOBS, OUT
from trainc.project.read import Inputs, merge, name_below, read_beside_policies, read_tree

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


@click.command("validate", cls=LimitedCommand, epilog=EPILOG)
@root_option
@crds_option
@base_option
@policies_from_option
@cache_option
@workers_option
@findings_options()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=Existing())
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
    config, of_config = load_config(root)
    inputs = read_paths(root, paths)
    crds = read_crds(root, crd_dirs)
    before = revision_of(root, base, paths, "'--base'")
    special = bool(paths or crd_dirs) or before is not None or policies_from is not None
    use_cache = cache and not special and not has_errors(of_config) and not reporter.lists_silenced
    store = open_store(root) if use_cache else None

    beside = list(source_overrides(root))
    if before is not None or not paths:
        beside += unreadable_clones(root, config.data)
    if before is not None:
        beside += oddly_stored_folders(root)  # takes long in a large repository, and nobody makes one by mistake

    def compiled(cache: RunCache | None) -> Outcome:
        platform = read_others(root, (name_below(root, Path.cwd(), path) for path in paths), config)
        chosen = inputs or [read_tree(root, JOBS, None if cache is None else cache.read)]
        merged = merge([*chosen, platform, Inputs((), tuple(beside))])
        return compile_for(
            merged,
            config,
            config.environments,
            of_config,
            partly=platform.sources if paths else None,
            crds=crds,
            base=before,
            standard=_standard(root, policies_from, before, merged, config),
            keep=Keep.SUMMARIES if cache is None else Keep.FILES,  # render needs the files of cached jobs
            cache=cache,
            execute=executor_of(workers, quiet=reporter.quiet),
            watch=reading(quiet=reporter.quiet),
        )

    outcome, used_cache = with_cache(compiled, None if store is None else RunCache(root, store, needs_bytes=False))
    if used_cache is not None:
        used_cache.save_jobs()
    findings = with_project(outcome, root, config, of_config, paths=paths, inputs=merge(inputs))
    status = reporter.report(findings, outcome.silenced)
    if not reporter.fails(findings):
        count = outcome.job_count
        valid = "1 TrainJob is valid" if count == 1 else f"{count} TrainJobs are valid"
        reporter.remark(valid if count else "no TrainJob found; the other documents are valid")
    return status


def _standard(
    root: Path, revision: str | None, base: Revision | None, inputs: Inputs, config: Config
) -> Standard | None:
    """Read the revision of --policies-from, else that of --base; None without both. Raises BadParameter.

    ``inputs`` and ``config`` are the current ones.
    """
    is_base = revision is None or (base is not None and revision == base.name)
    before = base if is_base else revision_of(root, revision, (), "'--policies-from'")
    if before is None:
        return None
    if not (before.sources or before.settings or before.output):
        message = "no project in this folder at that revision: nothing is compared, and no policy of it applies"
        return Standard(before, (about(f"{before.name}:{CONFIG}", message, code="TC018"),))
    from trainc.changes.safeguards import weakened

    now = Revision("", inputs.sources, config.data)
    weaker = weakened(before, now, config.document, read_beside_policies(root).sources)
    return Standard(before, (*weaker, *_without_output(base, config)))


def _without_output(base: Revision | None, config: Config) -> Iterator[Finding]:
    """Yield a note for each environment of which a revision with jobs has nothing in out/.

    Others may have no jobs, unless no environment has something there, or Argo CD's hydrator writes it to a branch.
    """
    if base is None or not any(source.name.startswith(f"{JOBS}/") for source in base.sources):
        return
    from trainc.admission.base_revision import lacks_output

    environments = as_object(base.config.get("environments"))
    for name in (each for each in config.environments if each in environments):
        if lacks_output(base, name):
            message = "no objects are committed: neither refused changes of them nor jobs that run again are reported"
            yield about(f"{base.name}:{OUT}/{name}", message, code="TC018")
