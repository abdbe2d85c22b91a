"""The compiler as one function: documents in, objects and findings out. No I/O.

Read it from top to bottom: load, sort, admit the runtimes, then job by job admit, join, check,
shape, build and admit again, then what default output adds, what becomes of findings, and the bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

from trainc.admit.companions import admit_companions
from trainc.base import Base
from trainc.compilejob import Job, JobCompiler
from trainc.diagnostics import Diagnostic, has_errors, sort_key
from trainc.documents import Documents, Key, classify, identity
from trainc.findings.repeats import collapse
from trainc.findings.ruling import Ruling
from trainc.gitops.accounts import still_unknown
from trainc.gitops.base import jobset_of
from trainc.gitops.companions import Shared, Use, collisions, idle, placed_by_folder, share
from trainc.gitops.environment import Placed, idle_patches, meetings, split
from trainc.gitops.reruns import too_many
from trainc.judges import Judges
from trainc.load import load
from trainc.model import Object
from trainc.options import Options
from trainc.output import files, shared_files
from trainc.policing import Policing
from trainc.records import dataclass, replace
from trainc.runtimes import Runtimes
from trainc.source import Document, Source
from trainc.transitions import Transitions

__all__ = ["Build", "Job", "compile"]


@dataclass(frozen=True, slots=True)
class Build:
    """The result of one compilation.

    ``jobs`` come in order of namespace and name. ``findings`` are sorted and hold those of every job once;
    one that several jobs have says so, and how many.
    ``files`` maps paths below out/ to bytes; it is empty if any finding is an error.
    ``left`` are the TrainJobs that the environment does not have: they are not compiled. ``shared`` are companions
    of runtimes, which all jobs of a namespace have together. ``unused`` are runtimes given that no job names.
    """

    jobs: tuple[Job, ...]
    findings: tuple[Diagnostic, ...]
    files: Mapping[str, bytes] = field(repr=False)
    left: tuple[Document, ...] = ()
    shared: tuple[Shared, ...] = ()
    unused: tuple[Document, ...] = ()

    @property
    def objects(self) -> tuple[Object, ...]:
        """All objects, in emit order: what jobs share, then those of every job."""
        return _objects(self.jobs, self.shared)


def compile(sources: Iterable[Source], options: Options | None = None) -> Build:  # noqa: A001 - the public name
    """Compile every TrainJob of sources. Never raises for what is in them; the same input gives the same result."""
    options = options or Options()
    sources = sorted(sources, key=lambda source: (source.name, source.decoded()))
    documents: list[Document] = []
    findings: list[Diagnostic] = []
    for source in sources:
        loaded, found = load(source)
        documents += loaded
        findings += found
    sorted_out, found = classify(documents)
    findings += found
    companions = admit_companions(sorted_out.cluster.values(), options.crds, faithful=options.faithful)
    findings += companions.findings
    cluster = _cluster(sorted_out.cluster, companions.documents)
    base = Base.of(options.base, options.environment)
    policing = Policing.of(sorted_out.cluster.values(), cluster, companions.registry, base, options.settings.namespaces)
    judges = Judges(policing, Transitions(base, companions.registry))
    findings += judges.findings
    runtimes = Runtimes.admit(sorted_out.runtimes, options, base).judged(judges.of_input)
    findings += runtimes.findings
    ruling = Ruling.of((*sources, *options.crds), documents, options)
    compiler = JobCompiler(runtimes, sorted_out.cluster, options, ruling, judges)
    chosen = split(sorted_out.jobs, options.settings)
    jobs = tuple(sorted((compiler.compile(job) for job in chosen.taken), key=lambda job: (job.namespace, job.name)))
    placed = tuple(map(_placed, jobs))
    findings += (*meetings(placed, options), *too_many(placed, base, options))
    shared, found = _companions(sorted_out, documents, cluster, jobs, options)
    findings += found
    jobs = tuple(_acquainted(job, shared) for job in jobs)
    if all(job.objects for job in jobs):  # a job without any may be the one that a patch is for
        findings += idle_patches(_objects(jobs, shared), options)
    emitted = {(one.document.source.name, one.document.index) for one in shared}
    others = (document for document in companions.documents if (document.source.name, document.index) not in emitted)
    judged = (*others, *(replace(one.document, data=one.made.data) for one in shared))
    findings += (finding for document in judged for finding in judges.of_input(document))
    build = _finished(jobs, findings, ruling, options, _untried(sorted_out.runtimes, jobs))
    unused = runtimes.unused(job.document for job in jobs)
    return replace(_with_shared(build, shared, options), left=chosen.left, unused=unused)


def _objects(jobs: Iterable[Job], shared: Iterable[Shared]) -> tuple[Object, ...]:
    return (*(one.made for one in shared), *(made for job in jobs for made in job.objects))


def _acquainted(job: Job, shared: Iterable[Shared]) -> Job:
    """Return a job that knows the accounts of its namespace; not one that a finding, made an error, has ended."""
    found = still_unknown(job.findings, job.namespace, (one.made for one in shared))
    return replace(job, findings=found) if job.objects else job


def _placed(job: Job) -> Placed:
    jobset = jobset_of(job.objects)
    return Placed(job.namespace, job.name, job.document, None if jobset is None else jobset.name)


def _companions(
    given: Documents,
    documents: Iterable[Document],
    cluster: Mapping[Key, Document],
    jobs: tuple[Job, ...],
    options: Options,
) -> tuple[tuple[Shared, ...], tuple[Diagnostic, ...]]:
    """Return the companions of the runtimes that jobs use, and what is to say of all companions."""
    uses = [Use(job.runtime, job.namespace) for job in jobs if job.runtime is not None]
    findings = [*idle(given.cluster.values(), given.runtimes, uses, faithful=options.faithful)]
    if options.faithful:
        return (), tuple(findings)
    shared, found = share(cluster, placed_by_folder(given.cluster.values(), documents), uses, options)
    return shared, (*findings, *found, *collisions(shared, (made for job in jobs for made in job.objects)))


def _with_shared(build: Build, shared: tuple[Shared, ...], options: Options) -> Build:
    if has_errors(build.findings):
        return build
    files = {**build.files, **shared_files(shared, options)}
    return replace(build, shared=shared, files=dict(sorted(files.items())))


def _cluster(given: Mapping[Key, Document], stored: Iterable[Document]) -> Mapping[Key, Document]:
    """Return the documents that stand for objects in the cluster, as it would hold them where that is known."""
    return {**given, **{identity(document): document for document in stored}}


def _finished(
    jobs: Iterable[Job], own: Iterable[Diagnostic], ruling: Ruling, options: Options, untried: Collection[Source]
) -> Build:
    """Return the build of compiled jobs; ``own`` are findings on the inputs themselves, all as they were made."""
    found = [*own, *(finding for job in jobs for finding in job.findings)]
    jobs = tuple(_settled(job, ruling) for job in jobs)
    findings = collapse(ruling.settle(own), ((f"{job.namespace}/{job.name}", job.findings) for job in jobs))
    findings += ruling.remarks(found, findings, untried)
    made = {} if has_errors(findings) else files(jobs, options)
    return Build(jobs, tuple(sorted(findings, key=sort_key)), made)


def _settled(job: Job, ruling: Ruling) -> Job:
    """Return a job with its final findings; what has become an error takes the objects away."""
    findings = ruling.settle(job.findings)
    return replace(job, findings=findings, objects=() if has_errors(findings) else job.objects)


def _untried(runtimes: Iterable[Document], jobs: Iterable[Job]) -> frozenset[Source]:
    """Return the sources of runtimes of which no job uses any: most of what there is to find shows through jobs."""
    used = {job.runtime.source for job in jobs if job.runtime is not None}
    return frozenset(runtime.source for runtime in runtimes).difference(used)
