"""The compiler as one function: documents in, objects and findings out. No I/O.

``run`` is all of it: sort documents by kind, admit everything that is not a job (``context.py``), compile job by job
(``job.py``), check what concerns several jobs, settle the findings, and collect the files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from trainc.documents.classify import JOBS, classify, superseded
from trainc.documents.load import load
from trainc.findings import Finding, Silenced, has_errors, report, sort_key
from trainc.findings.settling import JobFindings
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
from trainc.pipeline.layout import shared_files
from trainc.plugins.model import Object

__all__ = ["Build", "Job", "Loaded", "compile", "load_all", "run"]


class Build(Struct, frozen=True):
    """The result of one compilation.

    ``jobs`` come in order of namespace and name. ``findings`` are sorted; one that several jobs have is there once.
    ``files`` maps paths below out/ to their content; it is empty if any finding is an error.
    ``left`` are the TrainJobs that the environment does not have: they are not compiled. ``shared`` are companions
    of runtimes, which all jobs of a namespace share. ``unused`` are runtimes that no job names.
    ``silenced`` are the findings that comments suppress. ``own`` are those of ``findings`` that belong to no job.
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
        return (*(one.obj for one in self.shared), *(obj for job in self.jobs for obj in job.objects))

    @property
    def made(self) -> tuple[Summary, ...]:
        """The summaries of all objects, in emit order."""
        return _summaries(self.jobs, self.shared)


class Loaded(Struct, frozen=True):
    """Sources, in order of their names, with their documents and findings: the same in any environment."""

    sources: tuple[Source, ...]
    documents: tuple[Document, ...]
    findings: tuple[Finding, ...]


RUNTIMES = "runtimes/"
_EMPTY = "no document in this file: render removes what it generated from it"


def load_all(sources: Iterable[Source]) -> Loaded:
    """Load sources, each once."""
    given = tuple(sorted(sources, key=lambda source: (source.name, source.decoded())))
    documents: list[Document] = []
    findings: list[Finding] = []
    for source in given:
        loaded, found = load(source)
        if not loaded and not found and source.name.startswith((JOBS, RUNTIMES)):
            found = (report("TC020", Document(Source(source.name, b""), {}), (), _EMPTY),)
        documents += loaded
        findings += found
    return Loaded(given, tuple(documents), tuple(findings))


def compile(sources: Iterable[Source], options: Options | None = None) -> Build:  # noqa: A001 - the public name
    """Compile every TrainJob of sources. Never raises for what is in them; the same input gives the same result."""
    return run(load_all(sources), options or Options())


def run(loaded: Loaded, options: Options, keep: Keep = Keep.OBJECTS, execute: Executor = in_order) -> Build:
    """Compile every TrainJob of what is loaded, as ``compile`` does; ``execute`` compiles the single jobs."""
    given, findings = classify(loaded.documents)
    findings += tuple(superseded(loaded.documents, faithful=options.faithful))
    prepared = Prepared.of(given, loaded.documents, loaded.sources, options, keep)
    chosen = split(given.jobs, options.settings)
    jobs = tuple(sorted(execute(prepared, chosen.taken), key=_order))
    shared, of_resources = _runtime_resources(prepared, loaded.documents, jobs)
    jobs = tuple(_with_known_accounts(job, shared) for job in jobs)
    placed = tuple(map(_placed, jobs))
    own = [
        *(*loaded.findings, *findings, *prepared.findings),
        *(*name_collisions(placed, options), *too_many(placed, prepared.base, options), *of_resources),
        # A job without objects may be the one that a patch is for.
        *(patches_without_target(_summaries(jobs, shared), options) if all(job.made for job in jobs) else ()),
        *_of_others(prepared, shared),
    ]
    rows = [JobFindings(f"{job.namespace}/{job.name}", job.findings) for job in jobs]
    settled = prepared.report_rules.finish(own, rows, _unused_sources(given.runtimes, jobs))
    jobs = tuple(map(_with_findings, jobs, settled.jobs))
    build = Build(
        jobs,
        tuple(sorted(settled.findings, key=sort_key)),
        files={},
        left=chosen.left,
        unused=prepared.runtimes.unused(job.document for job in jobs),
        silenced=settled.silenced,
        own=settled.own,
    )
    if has_errors(build.findings):
        return build
    files = {name: content for job in jobs for name, content in job.files}
    files |= shared_files(shared, options)
    return replace(build, shared=shared, files=dict(sorted(files.items())))


def _order(job: Job) -> tuple[str, str, str, int]:
    """Order jobs by namespace and name; of two with the same ones by document, as their findings say."""
    return job.namespace, job.name, job.document.source.name, job.document.index


def _summaries(jobs: Iterable[Job], shared: Iterable[Shared]) -> tuple[Summary, ...]:
    return (*(summarize(one.obj) for one in shared), *(obj for job in jobs for obj in job.made))


def _with_known_accounts(job: Job, shared: Iterable[Shared]) -> Job:
    """Return a job without findings about accounts that runtimes bring to its namespace, unless they ended the job."""
    if not job.made or not job.findings:
        return job
    return replace(job, findings=still_unknown(job.findings, job.namespace, (one.obj for one in shared)))


def _placed(job: Job) -> Placed:
    return Placed(job.namespace, job.name, job.document, next((o.name for o in job.made if o.kind == JOBSET), None))


def _runtime_resources(
    prepared: Prepared, documents: Iterable[Document], jobs: tuple[Job, ...]
) -> tuple[tuple[Shared, ...], tuple[Finding, ...]]:
    """Return the companions of the runtimes that jobs use, and the findings about all companions."""
    given, options = prepared.documents, prepared.options
    uses = [Use(job.runtime, job.namespace) for job in jobs if job.runtime is not None]
    findings = [*unused_resources(given.cluster.values(), given.runtimes, uses, faithful=options.faithful)]
    if options.faithful:
        return (), tuple(findings)
    unknown = [finding.document for finding in prepared.companions.findings if finding.code == "TC008"]
    findings += unread_resources(given.cluster.values(), given.runtimes, unknown, prepared.companions.registry.given)
    unplaced = without_namespace(given.cluster.values(), documents)
    shared, found = share(prepared.cluster, unplaced, uses, options)
    return shared, (*findings, *found, *collisions(shared, (obj for job in jobs for obj in job.made)))


def _of_others(prepared: Prepared, shared: Iterable[Shared]) -> Iterable[Finding]:
    """Return what policies and the base revision say about other documents: as they are emitted, if they are."""
    emitted = {(one.document.source.name, one.document.index) for one in shared}
    documents = prepared.companions.documents
    others = (document for document in documents if (document.source.name, document.index) not in emitted)
    judged = (*others, *(replace(one.document, data=one.obj.data) for one in shared))
    return (finding for document in judged for finding in prepared.check_input(document))


def _with_findings(job: Job, findings: tuple[Finding, ...]) -> Job:
    """Return a job with its final findings; an error among them removes the objects."""
    if has_errors(findings):
        return replace(job, findings=findings, objects=(), made=(), files=())
    return replace(job, findings=findings) if findings or job.findings else job


def _unused_sources(runtimes: Iterable[Document], jobs: Iterable[Job]) -> Collection[Source]:
    """Return the sources of runtimes that no job uses: most findings in a runtime appear only through jobs."""
    used = {job.runtime.source for job in jobs if job.runtime is not None}
    return frozenset(runtime.source for runtime in runtimes).difference(used)
