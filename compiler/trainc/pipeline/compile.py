"""The compiler as one function: documents in, objects and findings out. No I/O.

Read it from top to bottom: load, sort, admit everything that is no job (``context.py``), then job by job admit, join,
check, shape, build and admit again (``job.py``), then what is between the jobs, what becomes of findings, and
the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from trainc.documents.classify import JOBS, classify, superseded
from trainc.documents.load import load
from trainc.findings import Finding, Silenced, has_errors, report, sort_key
from trainc.findings.settling import OfJob
from trainc.gitops.base import JOBSET
from trainc.gitops.environment import name_collisions, patches_without_target, split
from trainc.gitops.naming import Placed, too_many
from trainc.gitops.runtime_resources import (
    Shared,
    Use,
    collisions,
    share,
    unread_resources,
    unused_resources,
    without_namespace,
)
from trainc.gitops.service_accounts import still_unknown
from trainc.gitops.summary import Summary, summarize
from trainc.inputs.options import Options
from trainc.inputs.source import Document, Source
from trainc.pipeline.content import Content
from trainc.pipeline.context import Executor, Keep, Prepared, in_order
from trainc.pipeline.job import Job
from trainc.pipeline.layout import files, shared_files
from trainc.plugins.model import Object

__all__ = ["Build", "Job", "Loaded", "compile", "load_all", "run"]


class Build(Struct, frozen=True):
    """The result of one compilation.

    ``jobs`` come in order of namespace and name. ``findings`` are sorted and hold those of every job once;
    one that several jobs have says so, and how many.
    ``files`` maps paths below out/ to bytes; it is empty if any finding is an error. (An executor may promise them.)
    ``left`` are the TrainJobs that the environment does not have: they are not compiled. ``shared`` are companions
    of runtimes, which all jobs of a namespace have together. ``unused`` are runtimes given that no job names.
    ``silenced`` are the findings that comments suppress. ``own`` are those of ``findings`` that no job has.
    """

    jobs: tuple[Job, ...]
    findings: tuple[Finding, ...]
    files: Mapping[str, Content]
    left: tuple[Document, ...] = ()
    shared: tuple[Shared, ...] = ()
    unused: tuple[Document, ...] = ()
    silenced: tuple[Silenced, ...] = ()
    own: tuple[Finding, ...] = ()

    @property
    def objects(self) -> tuple[Object, ...]:
        """All objects, in emit order: what jobs share, then those of every job."""
        return (*(one.made for one in self.shared), *(made for job in self.jobs for made in job.objects))

    @property
    def made(self) -> tuple[Summary, ...]:
        """The summaries of all objects, in emit order."""
        return _summaries(self.jobs, self.shared)


Note = Callable[[Source, tuple[Document, ...], tuple[Finding, ...]], None]
"""Takes a source with its documents and what loading it found."""


class Loaded(Struct, frozen=True):
    """Sources, in order of their names, their documents, and what loading them found: the same in any environment."""

    sources: tuple[Source, ...]
    documents: tuple[Document, ...]
    findings: tuple[Finding, ...]


RUNTIMES = "runtimes/"
_EMPTY = "no document in this file: render removes what it generated from it"


def load_all(sources: Iterable[Source], note: Note | None = None) -> Loaded:
    """Load sources, each once, and tell ``note`` what came of each."""
    given = tuple(sorted(sources, key=lambda source: (source.name, source.decoded())))
    documents: list[Document] = []
    findings: list[Finding] = []
    for source in given:
        loaded, found = load(source)
        if not loaded and not found and source.name.startswith((JOBS, RUNTIMES)):
            found = (report("TC020", Document(Source(source.name, b""), {}), (), _EMPTY),)
        documents += loaded
        findings += found
        if note is not None:
            note(source, loaded, found)
    return Loaded(given, tuple(documents), tuple(findings))


def compile(sources: Iterable[Source], options: Options | None = None) -> Build:  # noqa: A001 - the public name
    """Compile every TrainJob of sources. Never raises for what is in them; the same input gives the same result."""
    return run(load_all(sources), options or Options())


def run(loaded: Loaded, options: Options, keep: Keep = Keep.OBJECTS, execute: Executor = in_order) -> Build:
    """Compile every TrainJob of what is loaded, as ``compile`` does, and keep of its objects what ``keep`` says."""
    given, found = classify(loaded.documents)
    findings = [*loaded.findings, *found, *superseded(loaded.documents, faithful=options.faithful)]
    prepared = Prepared.of(given, loaded.documents, loaded.sources, options, keep)
    findings += prepared.findings
    chosen = split(given.jobs, options.settings)
    jobs = tuple(sorted(execute(prepared, chosen.taken), key=_order))
    findings += _between(jobs, prepared)
    shared, found = _companions(prepared, loaded.documents, jobs)
    findings += found
    jobs = tuple(_acquainted(job, shared) for job in jobs)
    if all(job.made for job in jobs):  # a job without any may be the one that a patch is for
        findings += patches_without_target(_summaries(jobs, shared), options)
    findings += _of_companions(prepared, shared)
    build = _finished(jobs, findings, prepared)
    unused = prepared.runtimes.unused(job.document for job in jobs)
    return replace(_with_shared(build, shared, options), left=chosen.left, unused=unused)


def _order(job: Job) -> tuple[str, str, str, int]:
    """Order jobs by namespace and name; of two that meet there the documents decide, as their findings say."""
    return job.namespace, job.name, job.document.source.name, job.document.index


def _summaries(jobs: Iterable[Job], shared: Iterable[Shared]) -> tuple[Summary, ...]:
    return (*(summarize(one.made) for one in shared), *(made for job in jobs for made in job.made))


def _between(jobs: Iterable[Job], prepared: Prepared) -> tuple[Finding, ...]:
    """Return what is wrong between jobs."""
    placed = tuple(map(_placed, jobs))
    return (*name_collisions(placed, prepared.options), *too_many(placed, prepared.base, prepared.options))


def _acquainted(job: Job, shared: Iterable[Shared]) -> Job:
    """Return a job that knows the accounts of its namespace; not one that a finding, made an error, has ended."""
    if not job.made or not job.findings:
        return job
    return replace(job, findings=still_unknown(job.findings, job.namespace, (one.made for one in shared)))


def _placed(job: Job) -> Placed:
    return Placed(job.namespace, job.name, job.document, next((o.name for o in job.made if o.kind == JOBSET), None))


def _companions(
    prepared: Prepared, documents: Iterable[Document], jobs: tuple[Job, ...]
) -> tuple[tuple[Shared, ...], tuple[Finding, ...]]:
    """Return the companions of the runtimes that jobs use, and what is to say of all companions."""
    given, options = prepared.documents, prepared.options
    uses = [Use(job.runtime, job.namespace) for job in jobs if job.runtime is not None]
    findings = [*unused_resources(given.cluster.values(), given.runtimes, uses, faithful=options.faithful)]
    if options.faithful:
        return (), tuple(findings)
    unknown = [finding.document for finding in prepared.companions.findings if finding.code == "TC008"]
    findings += unread_resources(given.cluster.values(), given.runtimes, unknown, prepared.companions.registry.given)
    unplaced = without_namespace(given.cluster.values(), documents)
    shared, found = share(prepared.cluster, unplaced, uses, options)
    return shared, (*findings, *found, *collisions(shared, (made for job in jobs for made in job.made)))


def _of_companions(prepared: Prepared, shared: Iterable[Shared]) -> Iterable[Finding]:
    """Return what is said of everything that stands beside jobs: as it is emitted, if it is."""
    emitted = {(one.document.source.name, one.document.index) for one in shared}
    documents = prepared.companions.documents
    others = (document for document in documents if (document.source.name, document.index) not in emitted)
    judged = (*others, *(replace(one.document, data=one.made.data) for one in shared))
    return (finding for document in judged for finding in prepared.judge_input(document))


def _with_shared(build: Build, shared: tuple[Shared, ...], options: Options) -> Build:
    if has_errors(build.findings):
        return build
    files = {**build.files, **shared_files(shared, options)}
    return replace(build, shared=shared, files=dict(sorted(files.items())))


def _finished(jobs: Sequence[Job], own: Sequence[Finding], prepared: Prepared) -> Build:
    """Return the build of compiled jobs, with all findings settled; ``own`` are those on the inputs themselves."""
    rows = [OfJob(f"{job.namespace}/{job.name}", job.findings) for job in jobs]
    settled = prepared.ruling.finish(own, rows, _untried(prepared.documents.runtimes, jobs))
    jobs = tuple(map(_with_findings, jobs, settled.jobs))
    written: dict[str, Content] = {}
    if not has_errors(settled.findings):
        for job in jobs:
            written.update(files(job, prepared.options) if prepared.keep is Keep.OBJECTS else job.files)
    findings = tuple(sorted(settled.findings, key=sort_key))
    return Build(jobs, findings, written, silenced=settled.silenced, own=settled.own)


def _with_findings(job: Job, findings: tuple[Finding, ...]) -> Job:
    """Return a job with its final findings; an error among them removes the objects."""
    if has_errors(findings):
        return replace(job, findings=findings, objects=(), made=(), files=())
    return replace(job, findings=findings) if findings or job.findings else job


def _untried(runtimes: Iterable[Document], jobs: Iterable[Job]) -> Collection[Source]:
    """Return the sources of runtimes of which no job uses any: most of what there is to find shows through jobs."""
    used = {job.runtime.source for job in jobs if job.runtime is not None}
    return frozenset(runtime.source for runtime in runtimes).difference(used)
