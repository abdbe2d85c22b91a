"""The compiler as one function: documents in, objects and findings out. No I/O.

``run`` is all of it: sort documents by kind, admit everything that is not a job (``context.py``), compile job by job
(``job.py``), check jobs against each other, settle the findings, and collect the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from string import ascii_letters, digits

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import as_object, copied, get
from trainc.basics.memo import exclusive
from trainc.documents.classify import JOBS, TRAINJOB, classify, identity, superseded, with_namespace
from trainc.documents.load import load, may_hide_words
from trainc.findings import Finding, Silenced, has_errors, report, sort_key
from trainc.findings.settling import JobFindings
from trainc.gitops.base import JOBSET
from trainc.gitops.environment import is_included, name_collisions
from trainc.gitops.naming import DeployedJob, too_many_reruns
from trainc.gitops.pods import Summary, summarize
from trainc.gitops.runtime_resources import (
    Shared,
    Use,
    collisions,
    overwritten_params,
    share,
    unread_resources,
    unused_resources,
)
from trainc.inputs.options import Options
from trainc.inputs.settings import Settings
from trainc.inputs.source import Document, Source
from trainc.pipeline.content import Content, Job
from trainc.pipeline.context import Context, Keep
from trainc.pipeline.job import Executor, in_order
from trainc.pipeline.layout import shared_files
from trainc.plugins.model import Object

__all__ = ["Build", "Job", "Loaded", "compile", "load_all", "run"]


class Build(Struct, frozen=True):
    """The result of one compilation.

    ``jobs`` are sorted by namespace and name. ``findings`` are sorted, each listed once even if several jobs have it.
    ``files`` maps paths below out/ to their content; it is empty if any finding is an error.
    ``excluded`` are the TrainJobs that the environment excludes, which are not compiled. ``shared`` are companions of
    runtimes, shared by all jobs of a namespace. ``unused`` are runtimes that no job references.
    ``silenced`` are the findings that comments suppress. ``input_findings`` belong to no job. ``unused_findings`` are
    about comments and companions that this environment does not use: ``run`` lists them here only, since another
    environment may use them, and ``compile`` in ``findings``, too.
    """

    jobs: tuple[Job, ...]
    findings: tuple[Finding, ...]
    files: Mapping[str, Content]
    excluded: tuple[Document, ...] = ()
    shared: tuple[Shared, ...] = ()
    unused: tuple[Document, ...] = ()
    silenced: tuple[Silenced, ...] = ()
    input_findings: tuple[Finding, ...] = ()
    unused_findings: tuple[Finding, ...] = ()

    @property
    def objects(self) -> tuple[Object, ...]:
        """All objects, in emit order: shared ones first, then those of each job."""
        return (*(one.obj for one in self.shared), *(obj for job in self.jobs for obj in job.objects))

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The summaries of all objects, in emit order."""
        return (*(summarize(one.obj) for one in self.shared), *(obj for job in self.jobs for obj in job.summaries))


class Loaded(Struct, frozen=True):
    """Sources, sorted by name, with their documents and findings. They do not depend on the environment.

    ``neighbours`` returns other jobs in the same namespaces, which are not compiled.
    """

    sources: tuple[Source, ...]
    documents: tuple[Document, ...]
    findings: tuple[Finding, ...]
    neighbours: Callable[[], Iterable[Document]] = tuple


RUNTIMES = "runtimes/"
_BETWEEN_NAMES = bytes(byte if byte in f"-.{digits}{ascii_letters}".encode() else ord(" ") for byte in range(256))
"""A table for bytes.translate: what no name can have becomes a blank."""
_EMPTY = "no document in this file: render removes what it generated from it"


Watch = Callable[[Sequence[Source]], Iterable[Source]]
"""Yields sources, and shows how many were taken."""


def load_all(sources: Iterable[Source], watch: Watch = iter) -> Loaded:
    """Load sources, each once."""
    ordered = tuple(sorted(sources, key=lambda source: (source.name, source.decoded())))
    documents: list[Document] = []
    findings: list[Finding] = []
    for source in watch(ordered):
        loaded, found = load(source)
        if not loaded and not found and source.name.startswith((JOBS, RUNTIMES)):
            found = (report("TC020", Document(Source(source.name, b""), {}), (), _EMPTY),)
        documents += loaded
        findings += found
    return Loaded(ordered, tuple(documents), tuple(findings))


def with_neighbours(loaded: Loaded, sources: Iterable[Source], environments: Iterable[Settings] = ()) -> Loaded:
    """Return what was loaded, with the TrainJobs of other files as neighbours, which are loaded once if needed.

    One that is also among the loaded documents, or whose output has the place of one of these in an environment, joins
    them, so that it is reported as in a run of all jobs.
    """
    sources = tuple(sources)
    if not sources:  # as in a run of all jobs
        return loaded
    environments = tuple(environments)

    def jobs_of(sources: Iterable[Source]) -> Iterator[Document]:
        documents = (document for source in sources for document in load(source)[0])
        return (with_namespace(each)[0] for each in documents if each.data["kind"] == TRAINJOB)

    def places(job: Document) -> Iterator[tuple[object, str, str]]:
        version, home, name = identity(job)
        yield version, home, name
        for number, settings in enumerate(environments):
            if settings.namespaces and is_included(job, settings):
                yield number, settings.namespaces.get(home, home), name

    @cache
    def neighbours() -> tuple[Document, ...]:
        return tuple(jobs_of(others))

    def may_have(source: Source, names: Set[bytes]) -> bool:
        return not names.isdisjoint(source.encoded().translate(_BETWEEN_NAMES).split()) or may_hide_words(source)

    jobs = [with_namespace(each)[0] for each in loaded.documents if each.data["kind"] == TRAINJOB]
    own = {each.source.name for each in jobs}
    others = tuple(source for source in sources if source.name not in own)
    taken = {place for each in jobs for place in places(each)}
    names = {name.encode() for _, _, name in taken}
    like = (source for source in others if may_have(source, names))
    duplicates = [document for document in jobs_of(like) if not taken.isdisjoint(places(document))]
    return replace(loaded, documents=(*loaded.documents, *duplicates), neighbours=neighbours)


def compile(sources: Iterable[Source], options: Options | None = None) -> Build:  # noqa: A001 - the public name
    """Compile every TrainJob of the sources. Pure and deterministic; errors in them become findings.

    Threads may call this: one compiles at a time. The caller may change the data of the objects.
    """
    return _compile(tuple(sources), options or Options())


@exclusive
def _compile(sources: Sequence[Source], options: Options) -> Build:
    build = _with_unused(run(load_all(sources), options))
    # Jobs share parts of their runtimes and of defaults, also with later compilations.
    jobs = (replace(job, objects=tuple(map(_copied, job.objects))) for job in build.jobs)
    return replace(build, jobs=tuple(jobs), shared=tuple(one._replace(obj=_copied(one.obj)) for one in build.shared))


def _with_unused(build: Build) -> Build:
    """Return a build whose findings include those on what it does not use."""
    if not build.unused_findings:
        return build
    build = replace(build, findings=tuple(sorted((*build.findings, *build.unused_findings), key=sort_key)))
    return replace(build, shared=(), files={}) if has_errors(build.unused_findings) else build


def _copied(obj: Object) -> Object:
    return replace(obj, data=as_object(copied(obj.data)))


def run(loaded: Loaded, options: Options, keep: Keep = Keep.OBJECTS, execute: Executor = in_order) -> Build:
    """Compile every TrainJob of the loaded documents; ``execute`` compiles the individual jobs."""
    documents, findings = classify(loaded.documents, faithful=options.faithful)
    findings += tuple(superseded(loaded.documents, faithful=options.faithful))
    context = Context.of(documents, loaded.documents, loaded.sources, options, keep, neighbours=loaded.neighbours)
    chosen = [(job, is_included(job, options.settings)) for job in documents.jobs]
    jobs = tuple(sorted(execute(context, [job for job, included in chosen if included]), key=_order))
    shared, of_resources, not_written = _runtime_resources(context, jobs)
    deployed = tuple(map(_deployed, jobs))
    of_inputs = [
        *(*loaded.findings, *findings, *context.findings, *name_collisions(deployed, shared, options)),
        *(*too_many_reruns(deployed, context.base, options), *of_resources),
        *_check_other_inputs(context, shared),
    ]
    rows = [JobFindings(f"{job.namespace}/{job.name}", job.findings) for job in jobs]
    # Most findings in the sources of unused runtimes are not detected. Below jobs/, no comment may come before its use.
    used = {job.runtime.source for job in jobs if job.runtime is not None}
    unused = frozenset(each.source for each in documents.runtimes if not each.source.name.startswith(JOBS)) - used
    final = context.report_rules.finish(of_inputs, rows, not_written, unused)
    jobs = tuple(map(_with_findings, jobs, final.of_jobs))
    build = Build(
        jobs,
        tuple(sorted(final.findings, key=sort_key)),
        files={},
        excluded=tuple(job for job, included in chosen if not included),
        unused=context.runtimes.unused(job.document for job in jobs),
        silenced=final.silenced,
        input_findings=final.of_inputs,
        unused_findings=final.unused,
    )
    if has_errors(build.findings):
        return build
    files = {name: content for job in jobs for name, content in job.files}
    files |= shared_files(shared, options)
    return replace(build, shared=shared, files=dict(sorted(files.items())))


def _order(job: Job) -> tuple[str, str, str, int]:
    """Order jobs by namespace and name, and jobs with the same name by document."""
    return job.namespace, job.name, job.document.source.name, job.document.index


def _deployed(job: Job) -> DeployedJob:
    jobset = next((obj for obj in job.summaries if obj.kind == JOBSET), None)
    names = () if jobset is None else (jobset.name, jobset.created)
    return DeployedJob(job.namespace, job.name, job.document, *names)


def _runtime_resources(
    context: Context, jobs: tuple[Job, ...]
) -> tuple[tuple[Shared, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the companions of the runtimes in use, and the findings on all companions and on those without a job."""
    known, options = context.documents, context.options
    homes = (str(get(job.document.data, "metadata", "namespace")) for job in jobs)
    uses = [Use(job.runtime, job.namespace, home) for job, home in zip(jobs, homes, strict=True) if job.runtime]
    unused = unused_resources(known.cluster.values(), known.runtimes, uses, faithful=options.faithful)
    if options.faithful:
        return (), (), unused
    unknown = [finding.document for finding in context.companions.findings if finding.code == "TC008"]
    unread = unread_resources(known.cluster.values(), known.runtimes, unknown, context.companions.registry.given)
    shared, found = share(context.cluster, context.unplaced, uses, options)
    generated = [obj for job in jobs for obj in job.summaries]
    params = overwritten_params(context.cluster, shared, generated, options)
    return shared, (*unread, *found, *collisions(shared, generated), *params), unused


def _check_other_inputs(context: Context, shared: Iterable[Shared]) -> Iterable[Finding]:
    """Check the other documents against policies and the base revision, emitted companions in their final form."""
    emitted = {(one.document.source.name, one.document.index) for one in shared}
    documents = context.companions.documents
    others = (document for document in documents if (document.source.name, document.index) not in emitted)
    companions = [replace(one.document, data=one.obj.data) for one in shared]
    return (
        *(finding for document in others for finding in context.check_input(document)),
        *(finding for document in companions for finding in context.check_companion(document)),
        *(context.policies.further_params(companions) if context.policies is not None else ()),
    )


def _with_findings(job: Job, findings: tuple[Finding, ...]) -> Job:
    """Return a job with its final findings, and without objects if any of them is an error."""
    if has_errors(findings):
        return replace(job, findings=findings, objects=(), summaries=(), files=())
    return replace(job, findings=findings) if findings or job.findings else job
