"""Compiles inputs for all environments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from trainc.admission.base_revision import documents_of
from trainc.admission.companions import read_definitions
from trainc.documents.classify import RUNTIMES, TRAINJOB
from trainc.documents.load import load, may_hide_words
from trainc.findings import Finding, Severity, Silenced, has_errors, sort_key
from trainc.findings.fixes import new_run, with_new_run
from trainc.findings.settling import JobFindings, ReportRules, collapse
from trainc.gitops.environment import (
    jobs_without_environment,
    left_running,
    made_together,
    patches_without_target,
    unknown_names,
    unused_registries,
    written_twice,
)
from trainc.gitops.images import lock_notes
from trainc.gitops.naming import free_runs
from trainc.gitops.pods import Summary
from trainc.inputs.options import Options, Revision
from trainc.inputs.settings import read_settings
from trainc.inputs.source import Source
from trainc.pipeline.compile import Build, Job, Loaded, Watch, load_all, run, with_neighbours
from trainc.pipeline.content import Content
from trainc.pipeline.context import Keep
from trainc.pipeline.job import Executor, in_order
from trainc.pipeline.jobresults import document_id
from trainc.pipeline.runtimes import without_jobs
from trainc.project.config import Config, parse, parse_lock
from trainc.project.files import about, has_content
from trainc.project.names import CONFIG, JOBS
from trainc.project.read import (
    Inputs,
    has_config,
    merge,
    read_beside,
    read_config,
    read_file,
    read_given,
    read_lock,
    read_platform,
    read_tree,
)


class Uncached:
    """Reads and compiles without a cache; ``cache/run.py`` derives one with a cache."""

    def __init__(self, root: Path = Path()) -> None:
        """Set the root of the project."""
        self.root = root

    def read(self, path: str, name: str) -> Inputs:
        """Read a file below jobs/."""
        return read_file(path, name)

    def with_stubs(self, loaded: Loaded) -> Loaded:
        """Return what was loaded, with stubs for files that were not read."""
        return loaded

    def executor(self, environment: str, inner: Executor) -> Executor:
        """Return the executor for the jobs of an environment."""
        return inner

    def with_documents(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings with documents in place of stubs."""
        return tuple(findings)

    def is_same(self, name: str, content: Content) -> bool:
        """Return whether a file below the root has a content."""
        return has_content(self.root, name, content)


class Outcome(msgspec.Struct, frozen=True, eq=False):
    """The result of all environments: jobs by environment, files, and findings, each once.

    ``made`` has summaries of all objects of an environment, those that jobs share included. ``rules`` have the
    severities for findings on the project, which are added later.
    """

    jobs: Mapping[str, tuple[Job, ...]]
    files: Mapping[str, Content]
    findings: tuple[Finding, ...]
    made: Mapping[str, tuple[Summary, ...]]
    silenced: tuple[Silenced, ...] = ()
    rules: ReportRules = ReportRules()

    @property
    def job_count(self) -> int:
        """The number of TrainJobs, with or without errors."""
        return len({document_id(job.document) for jobs in self.jobs.values() for job in jobs})


class Standard(msgspec.Struct, frozen=True, eq=False):
    """A revision whose policies and severities apply as well, and findings on less strict checks since then."""

    revision: Revision
    weakened: tuple[Finding, ...]


def load_config(root: Path) -> tuple[Config, tuple[Finding, ...]]:
    """Read trainc.yaml of the repository, and images.lock.yaml beside it."""
    return parse_config(read_config(root), read_lock(root))


def parse_config(inputs: Inputs, locked: Inputs) -> tuple[Config, tuple[Finding, ...]]:
    """Return the configuration of trainc.yaml and images.lock.yaml, and findings."""
    config, findings = parse(inputs.sources[0] if inputs.sources else None)
    lock, found = parse_lock(locked.sources[0] if locked.sources else None)
    return replace(config, lock=lock), (*inputs.findings, *findings, *locked.findings, *found)


def read_others(root: Path, names: Iterable[str | None], config: Config) -> Inputs:
    """Read what jobs depend on besides their own files: runtimes/, policies/, runtimes beside them, and neighbours.

    ``names`` are files and folders to compile. Of a file below jobs/, the others in its folder may have such runtimes,
    also those that cannot be read.
    """
    names = tuple(names)
    beside = runtimes_among(read_beside(root, names))
    homes = {name.split("/")[1] for name in names if name is not None and name.startswith(f"{JOBS}/")}
    all_settings = [read_settings(config.data, name) for name in config.environments] if homes else []
    others = {other for settings in all_settings for home in homes for other in settings.sharing(home)} - homes
    neighbours = tuple(source for other in sorted(others) for source in read_tree(root, f"{JOBS}/{other}").sources)
    return merge([beside, Inputs(neighbours=neighbours), read_platform(root)])


def runtimes_among(beside: Inputs) -> Inputs:
    """Return the files beside those to compile that may have a runtime, and the others as neighbours."""
    parts: dict[bool, list[Source]] = {True: [], False: []}
    for source in beside.sources:
        parts[_may_have_runtime(source)].append(source)
    unread = tuple(each for each in beside.findings if has_errors((each,)))
    return Inputs(tuple(parts[True]), unread, tuple(parts[False]))


def _may_have_runtime(source: Source) -> bool:
    """Return whether a file has a runtime, or names its kind and cannot be read: the job may need it."""
    is_named = RUNTIMES[0] in source.decoded()
    documents, findings = load(source) if is_named or may_hide_words(source) else ((), ())
    return any(one.data.get("kind") in RUNTIMES for one in documents) or (is_named and has_errors(findings))


def compile_for(
    inputs: Inputs,
    config: Config,
    environments: Iterable[str],
    findings: Iterable[Finding],
    *,
    partly: Iterable[Source] | None = None,
    crds: Inputs | None = None,
    base: Revision | None = None,
    standard: Standard | None = None,
    keep: Keep = Keep.FILES,
    cache: Uncached | None = None,
    execute: Executor = in_order,
    watch: Watch = iter,
) -> Outcome:
    """Compile the sources for each environment.

    ``findings`` are those of trainc.yaml; after an error among them nothing is compiled. ``partly`` is None if the
    sources have all jobs; else it has those of which only the part that the jobs need is used. ``crds`` come from
    ``read_crds``, ``base`` from ``read_revision``; the policies of ``standard`` apply as well. ``execute`` compiles the
    jobs that are not in the ``cache``. ``watch`` shows how many sources have been read. Raises Changed.
    """
    crds = crds or Inputs()
    rules = ReportRules.of_project(config.data, None if standard is None else standard.revision.config)
    of_config, of_inputs = rules.settle(findings), rules.settle((*inputs.findings, *crds.findings))
    found = [*of_config, *of_inputs]
    if has_errors(of_config):
        return Outcome(jobs={}, files={}, findings=tuple(sorted(found, key=sort_key)), made={}, rules=rules)
    cache, environments = cache or Uncached(), tuple(environments)
    all_settings = (read_settings(config.data, name) for name in environments)
    loaded = with_neighbours(cache.with_stubs(load_all(inputs.sources, watch)), inputs.neighbours, all_settings)
    builds: dict[str, tuple[Options, Build]] = {}
    for name in environments:
        judge = standard.revision if standard is not None else None
        options = config.options(name, crds.sources, base, judge)
        builds[name] = options, run(loaded, options, keep, cache.executor(name, execute))
    builds = _with_free_runs(builds, config, base)
    made = [build for _, build in builds.values()]
    if set(config.environments) == set(builds):
        found += rules.settle(_of_the_whole(tuple(builds.values()), partly=partly is not None))
        not_compiled = (each.document.source for each in jobs_without_environment([build.excluded for build in made]))
        found += unused_everywhere(made, partly, not_compiled)
    found += rules.settle(standard.weakened if standard is not None else ())
    found += [finding for build in made for finding in build.input_findings]
    found = list(cache.with_documents(found))
    # A finding is about the input, so environments repeat it.
    once = {(sort_key(each), each.severity, each.path, each.hint): each for each in reversed(found)}
    # What several environments have in common is reported once, so a job's key is its document.
    jobs = [
        JobFindings(
            f"{job.namespace}/{job.name}",
            cache.with_documents(job.findings),
            (job.document.source.name, job.document.index),
            number,
        )
        for number, build in enumerate(made)
        for job in build.jobs
    ]
    silenced = {(sort_key(each.finding), each.finding.path): each for build in made for each in build.silenced}
    return Outcome(
        jobs={name: build.jobs for name, (_, build) in builds.items()},
        files={name: data for build in made for name, data in build.files.items()},
        findings=tuple(sorted(collapse(once.values(), jobs), key=sort_key)),
        made={name: build.summaries for name, (_, build) in builds.items()},
        silenced=tuple(silenced.values()),
        rules=rules,
    )


def _with_free_runs(
    builds: dict[str, tuple[Options, Build]], config: Config, base: Revision | None
) -> dict[str, tuple[Options, Build]]:
    """Return builds whose hints have a run number by which no job gets the name of another, of the base revision, too.

    A run number counts in all environments.
    """
    jobs = [job for _, build in builds.values() for job in build.jobs]
    if base is None or not any(new_run(finding) for job in jobs for finding in job.findings):
        return builds
    known = [document for document in documents_of(base)[0] if document.data["kind"] == TRAINJOB]
    known += (job.document for job in jobs)
    known += (document for _, build in builds.values() for document in build.excluded)
    following = free_runs(known, (config.options(name).settings for name in config.environments))

    def hinted(job: Job) -> Job:
        found = (with_new_run(one, following(job.document)) if new_run(one) else one for one in job.findings)
        return replace(job, findings=tuple(found))

    return {
        name: (options, replace(build, jobs=tuple(map(hinted, build.jobs))))
        for name, (options, build) in builds.items()
    }


def check_file(
    root: Path, source: Source, config: Config, findings: Iterable[Finding] = (), base: Revision | None = None
) -> tuple[Finding, ...]:
    """Compile a file of jobs/ for all environments, and return the findings, as ``trainc validate FILE`` does."""
    platform = read_others(root, (source.name,), config)
    inputs, partly = merge([Inputs((source,)), platform]), platform.sources
    names, kept = config.environments, Keep.SUMMARIES
    return compile_for(inputs, config, names, findings, partly=partly, base=base, keep=kept).findings


def _of_the_whole(builds: Sequence[tuple[Options, Build]], *, partly: bool) -> Iterator[Finding]:
    """Yield findings that require all environments, and most of them all of jobs/."""
    made = [build for _, build in builds]
    yield from jobs_without_environment([build.excluded for build in made])
    yield from written_twice((options, build.summaries) for options, build in builds)
    if not partly and not any(has_errors(build.findings) for build in made):
        yield from without_jobs([build.unused for build in made])
        for options, build in builds:
            runtimes = (job.runtime for job in build.jobs if job.runtime is not None)
            yield from unknown_names((*(job.document for job in build.jobs), *build.excluded), runtimes, options)
        yield from patches_without_target((options, build.summaries) for options, build in builds)
        yield from unused_registries((options, build.summaries) for options, build in builds)
        yield from lock_notes((options, build.summaries) for options, build in builds)
        if any(options.base is not None for options, _ in builds):
            from trainc.pipeline.update_rules import deleted_in_use

            by_environment = [(options, build.summaries) for options, build in builds]
            together = made_together(by_environment)
            yield from left_running(by_environment, together)
            for options, build in builds:
                yield from deleted_in_use(build, together[options.environment], options)


def unused_everywhere(
    builds: Sequence[Build], partly: Iterable[Source] | None, not_compiled: Iterable[Source] = ()
) -> Iterator[Finding]:
    """Yield the findings on comments and companions that all builds have, each of which may use what another does not.

    Those in ``partly``, or with a runtime that such a run does not use, are left out, as a full run may use them, and
    those in ``not_compiled``, which have jobs that no build has compiled.
    """
    idle = () if partly is None else (runtime.source for build in builds for runtime in build.unused)
    unseen = {source.name for source in (*(partly or ()), *idle, *not_compiled)}
    found = [{sort_key(finding): finding for finding in build.unused_findings} for build in builds]
    for key, finding in found[0].items() if found else ():
        if finding.document.source.name not in unseen and all(key in others for others in found):
            yield finding


def read_crds(root: Path, directories: Iterable[str]) -> Inputs:
    """Read the folders of --crd-dir, at any depth; one without a CRD is a finding."""
    return crds_in((directory, read_given(root, Path.cwd(), directory)) for directory in directories)


def crds_in(folders: Iterable[tuple[str, Inputs]]) -> Inputs:
    """Return the inputs of the folders of --crd-dir; one without a CRD is a finding."""
    parts = []
    for directory, part in folders:
        empty = not part.findings and not any(read_definitions(part.sources))
        findings = (nothing(directory, "no CustomResourceDefinition found"),) if empty else part.findings
        parts.append(Inputs(part.sources, findings))
    return merge(parts)


def nothing(place: str, message: str, severity: Severity | None = None, hint: str | None = None) -> Finding:
    """Return the finding for inputs with nothing to compile."""
    return about(place, message, code="TC014", severity=severity, hint=hint)


def with_nothing(findings: Iterable[Finding], made: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings and those of inputs with nothing to compile, each empty file once."""
    made = tuple(made)
    named = {finding.document.source.name for finding in made}
    return (*(one for one in findings if one.code != "TC020" or one.document.source.name not in named), *made)


_WHERE = f"trainc compiles YAML and JSON files in {JOBS}/<namespace>/ that an environment includes"


def with_empty(outcome: Outcome, root: Path, names: Iterable[str]) -> tuple[Finding, ...]:
    """Return the findings, with one for each of ``names``, jobs/ or below, if there is no TrainJob at all.

    It is a note in a project whose last job was deleted. It is an error without a project, for the name of a file, and
    if a file that may have jobs was not read.
    """
    if outcome.job_count or has_errors(outcome.findings):
        return outcome.findings
    unread = any(finding.code == "TC011" for finding in outcome.findings)
    project = has_config(root) or (root / JOBS).is_dir()
    hint = None  # about the project folder, if it is not the working directory with a trainc.yaml
    if not has_config(root):
        hint = f"{CONFIG} not found here or in a parent folder, so the project is the working directory; see --root"
    elif root != Path.cwd():
        hint = f"the project is {os.path.relpath(root)}, the nearest folder with {CONFIG}"
    made = []
    for name in names:
        emptied = project and not unread and (name == JOBS or (root / name).is_dir())
        if emptied:
            message = "no TrainJob found: render removes everything that it generated before"
            made.append(nothing(name, message, Severity.NOTE, hint=hint or _WHERE))
        else:
            made.append(nothing(name, "no TrainJob found", hint=hint))
    return with_nothing(outcome.findings, outcome.rules.settle(made))


def has_no_document(inputs: Inputs) -> bool:
    """Return whether no source has a Kubernetes object."""
    return not any(load(source)[0] for source in inputs.sources)
