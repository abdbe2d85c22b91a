"""From what was read to the compiled jobs of all environments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from trainc.admission.companions import read_definitions
from trainc.documents.load import load
from trainc.findings import Finding, Severity, Silenced, has_errors, report, severities, sort_key
from trainc.findings.settling import JobFindings, collapse
from trainc.findings.suppression import UNUSED
from trainc.gitops.environment import WITHOUT_TARGET, jobs_without_environment, unknown_names, unused_registries
from trainc.gitops.images import lock_notes
from trainc.gitops.runtime_resources import IDLE
from trainc.gitops.summary import Summary
from trainc.inputs.options import Options, Revision
from trainc.inputs.source import Document, Source
from trainc.pipeline.compile import Build, Job, Loaded, load_all, run
from trainc.pipeline.content import Content
from trainc.pipeline.context import Executor, Keep, in_order
from trainc.pipeline.runtimes import without_jobs
from trainc.project.config import Config, parse, parse_lock
from trainc.project.read import (
    CONFIG,
    Inputs,
    has_config,
    merge,
    read_config,
    read_file,
    read_given,
    read_lock,
)
from trainc.project.write import has_content

JOBS = "jobs"


class Uncached:
    """How a run reads and compiles without a cache; ``cache/run.py`` has one that remembers."""

    def __init__(self, root: Path = Path()) -> None:
        """Take the root of the project."""
        self.root = root

    def read(self, path: str, name: str) -> Inputs:
        """Read a file below jobs/."""
        return read_file(path, name)

    def with_stubs(self, loaded: Loaded) -> Loaded:
        """Return what was loaded, and what stands for files that were not read."""
        return loaded

    def executor(self, environment: str, inner: Executor) -> Executor:
        """Return what compiles the jobs of an environment."""
        return inner

    def placed(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings whose documents can be shown."""
        return tuple(findings)

    def is_same(self, name: str, content: Content) -> bool:
        """Return whether a file below the root has a content."""
        return has_content(self.root, name, content)


class Outcome(msgspec.Struct, frozen=True, eq=False):
    """What the environments of a run give together: jobs by environment, files, and findings, each once.

    ``made`` are summaries of all objects that an environment has: those of its jobs, and what they share.
    """

    jobs: Mapping[str, tuple[Job, ...]]
    files: Mapping[str, Content]
    findings: tuple[Finding, ...]
    made: Mapping[str, tuple[Summary, ...]]
    silenced: tuple[Silenced, ...] = ()

    @property
    def job_count(self) -> int:
        """The number of TrainJobs, with or without errors."""
        return max(map(len, self.jobs.values()), default=0)


class Standard(msgspec.Struct, frozen=True, eq=False):
    """A revision whose policies and severities judge as well, and in what they are stricter than those given."""

    revision: Revision
    weakened: tuple[Finding, ...]


def load_config(root: Path) -> tuple[Config, tuple[Finding, ...]]:
    """Read trainc.yaml of the repository, and images.lock.yaml beside it."""
    return parse_config(read_config(root), read_lock(root))


def parse_config(inputs: Inputs, locked: Inputs) -> tuple[Config, tuple[Finding, ...]]:
    """Return what trainc.yaml and images.lock.yaml say, and what is wrong with them."""
    config, findings = parse(inputs.sources[0] if inputs.sources else None)
    lock, found = parse_lock(locked.sources[0] if locked.sources else None)
    return replace(config, lock=lock), (*inputs.findings, *findings, *locked.findings, *found)


def compile_for(
    inputs: Inputs,
    config: Config,
    environments: Iterable[str],
    findings: Iterable[Finding],
    *,
    partly: Iterable[Source] = (),
    crds: Inputs | None = None,
    base: Revision | None = None,
    standard: Standard | None = None,
    keep: Keep = Keep.FILES,
    cache: Uncached | None = None,
    execute: Executor = in_order,
) -> Outcome:
    """Compile the sources for each environment.

    ``findings`` are those of trainc.yaml, and go first; if there is an error among them nothing is compiled, since what
    trainc.yaml says is not known. ``partly`` are sources of which the run uses what it needs.
    ``crds`` is what ``read_crds`` gives, ``base`` what ``read_base`` gives; ``standard`` judges as well. Of
    objects stays what ``keep`` says. ``execute`` compiles the jobs that ``cache`` does not know. Raises Changed.
    """
    crds = crds or Inputs()
    findings = tuple(findings)
    if has_errors(findings):
        told = tuple(sorted((*findings, *inputs.findings, *crds.findings), key=sort_key))
        return Outcome(jobs={}, files={}, findings=told, made={})
    cache = cache or Uncached()
    loaded = cache.with_stubs(load_all(inputs.sources))
    builds: dict[str, tuple[Options, Build]] = {}
    for name in environments:
        judge = standard.revision if standard is not None else None
        options = config.options(name, crds.sources, base, judge)
        builds[name] = options, run(loaded, options, keep, cache.executor(name, execute))
    made = [build for _, build in builds.values()]
    found = [*findings, *inputs.findings, *crds.findings]
    if set(config.environments) == set(builds):
        found += _ruled(_of_the_whole(tuple(builds.values()), partly=bool(partly)), config, standard)
    found += _ruled(standard.weakened if standard is not None else (), config, standard)
    found += without_idle([build.own for build in made], partly)
    found = list(cache.placed(found))
    # A finding is about the input, so environments repeat it.
    once = {(sort_key(finding), finding.path, finding.hint): finding for finding in reversed(found)}
    jobs = [row for number, build in enumerate(made) for row in _rows(number, build, cache)]
    return Outcome(
        jobs={name: build.jobs for name, (_, build) in builds.items()},
        files={name: data for build in made for name, data in build.files.items()},
        findings=tuple(sorted(collapse(once.values(), jobs), key=sort_key)),
        made={name: build.made for name, (_, build) in builds.items()},
        silenced=_silenced(made),
    )


def _rows(environment: int, build: Build, cache: Uncached) -> Iterator[JobFindings]:
    """Yield the findings of each job of an environment: what jobs share is reported once, for all environments."""
    for job in build.jobs:
        source = (job.document.source.name, job.document.index)
        yield JobFindings(f"{job.namespace}/{job.name}", cache.placed(job.findings), source, environment)


def _silenced(builds: Iterable[Build]) -> tuple[Silenced, ...]:
    """Return what comments take away, each once."""
    found = {(sort_key(each.finding), each.finding.path): each for build in builds for each in build.silenced}
    return tuple(found.values())


def _ruled(findings: Iterable[Finding], config: Config, standard: Standard | None) -> Iterator[Finding]:
    """Yield findings with the severities of trainc.yaml, or those of the standard where they are worse."""
    levels = severities.read(config.data.get(severities.KEY))
    floor = None if standard is None else severities.read(standard.revision.config.get(severities.KEY))
    for finding in findings:
        if (ruled := severities.apply(finding, levels, floor)) is not None:
            yield ruled


def _of_the_whole(builds: Sequence[tuple[Options, Build]], *, partly: bool) -> Iterator[Finding]:
    """Yield what can be said only where all environments are compiled, and most of it only of all of jobs/."""
    made = [build for _, build in builds]
    yield from jobs_without_environment([build.left for build in made])
    if not partly and not any(has_errors(build.findings) for build in made):
        yield from without_jobs([build.unused for build in made])
        for options, build in builds:
            yield from unknown_names((*(job.document for job in build.jobs), *build.left), options)
        yield from unused_registries((options, build.made) for options, build in builds)
        yield from lock_notes((options, build.made) for options, build in builds)


def without_idle(builds: Sequence[tuple[Finding, ...]], partly: Iterable[Source]) -> Iterator[Finding]:
    """Yield the findings of builds, but of comments and companions without use only where they are so in every build.

    Those in ``partly`` are left out: what such a comment silences may be found in a whole run only, and what a patch
    is for may be made in one. Errors stay.
    """
    partly = frozenset(partly)
    idle = [{sort_key(finding) for finding in findings if _is_idle(finding)} for findings in builds]
    everywhere = set.intersection(*idle) if idle else set()
    for findings in builds:
        for finding in findings:
            if finding.code == WITHOUT_TARGET and (partly or _has_a_target(finding, builds)):
                continue
            if not _is_idle(finding) or (sort_key(finding) in everywhere and finding.document.source not in partly):
                yield finding


def _has_a_target(finding: Finding, builds: Sequence[tuple[Finding, ...]]) -> bool:
    """Tell whether a patch of defaults that means nothing in one environment means something in another."""
    path = finding.path
    return path[:1] == ("defaults",) and not all(
        any((each.code, each.path) == (WITHOUT_TARGET, path) for each in findings) for findings in builds
    )


def _is_idle(finding: Finding) -> bool:
    return finding.code in (UNUSED, IDLE) and finding.severity is not Severity.ERROR


def read_crds(root: Path, folder: Path, directories: Iterable[str]) -> Inputs:
    """Read the folders of --crd-dir, meant from ``folder``, at any depth; one without a CRD is a finding."""
    return crds_in((directory, read_given(root, folder, directory)) for directory in directories)


def crds_in(folders: Iterable[tuple[str, Inputs]]) -> Inputs:
    """Return what the folders of --crd-dir hold; one without a CRD is a finding."""
    parts = []
    for directory, part in folders:
        empty = not part.findings and not any(read_definitions(part.sources))
        findings = (nothing(directory, "no CustomResourceDefinition here"),) if empty else part.findings
        parts.append(Inputs(part.sources, findings))
    return merge(parts)


def nothing(place: str, message: str, severity: Severity | None = None, hint: str | None = None) -> Finding:
    """Return the finding for a set of inputs that holds nothing to compile."""
    return report("TC014", Document(Source(place, b""), {}), (), message, severity=severity, hint=hint)


def with_nothing(findings: Iterable[Finding], made: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings and those of inputs that hold nothing to compile, each empty file once."""
    made = tuple(made)
    named = {finding.document.source.name for finding in made}
    return (*(one for one in findings if one.code != "TC020" or one.document.source.name not in named), *made)


def with_empty(outcome: Outcome, root: Path, names: Iterable[str]) -> tuple[Finding, ...]:
    """Return the findings, with one for each of ``names``, jobs/ or below, where there is no TrainJob at all.

    That is a note in a project: its last job was deleted. It is an error where there is no project, where a file is
    named, and where something that may hold jobs was not read.
    """
    if outcome.job_count or has_errors(outcome.findings):
        return outcome.findings
    unread = any(finding.code == "TC011" for finding in outcome.findings)
    project = has_config(root) or (root / JOBS).is_dir()
    made = []
    for name in names:
        emptied = project and not unread and (name == JOBS or (root / name).is_dir())
        if emptied:
            made.append(
                nothing(name, "no TrainJob here: render removes everything that it generated before", Severity.NOTE)
            )
        else:
            made.append(nothing(name, "no TrainJob here", hint=_project_hint(root)))
    return with_nothing(outcome.findings, made)


def _project_hint(root: Path) -> str | None:
    """Return which folder was taken as the project, where that may surprise."""
    if not has_config(root):
        return f"no {CONFIG} here or in a folder above, so the working directory is the project; --root names another"
    return None if root == Path.cwd() else f"the project is {os.path.relpath(root)}, the nearest folder with {CONFIG}"


def has_no_document(inputs: Inputs) -> bool:
    """Tell whether no source holds a Kubernetes object."""
    return not any(load(source)[0] for source in inputs.sources)
