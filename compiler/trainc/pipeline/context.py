"""What a run has before its first job: everything that any of its jobs is compiled with.

Jobs do not see each other, so they may be compiled in any order, in other processes, or not at all where the result
is known. What is between them, the pipeline says afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from trainc.admission.base_revision import Base
from trainc.admission.companions import Companions, admit_companions
from trainc.documents.classify import Documents, Key, identity
from trainc.documents.load import comments
from trainc.findings import Finding
from trainc.findings.settling import Ruling
from trainc.gitops.summary import summarize
from trainc.inputs.options import Options
from trainc.inputs.source import Document, Source
from trainc.pipeline.job import Job, JobCompiler
from trainc.pipeline.judges import Judges
from trainc.pipeline.layout import files
from trainc.pipeline.policies import Policing
from trainc.pipeline.runtimes import Runtimes
from trainc.schema.kinds import Registry

if TYPE_CHECKING:
    from trainc.pipeline.update_rules import Transitions


class Keep(Enum):
    """What stays of a job's objects: all of them, their files, or only what the rest of the run has to know."""

    OBJECTS = "objects"
    FILES = "files"
    SUMMARIES = "summaries"


class Prepared(msgspec.Struct, frozen=True, eq=False):
    """The documents of a run, and what jobs are compiled with. ``findings`` are those of all but the jobs."""

    documents: Documents
    companions: Companions
    cluster: Mapping[Key, Document]
    base: Base
    judges: Judges
    runtimes: Runtimes
    ruling: Ruling
    options: Options
    keep: Keep
    findings: tuple[Finding, ...]
    compiler: JobCompiler

    @classmethod
    def of(
        cls, given: Documents, loaded: Iterable[Document], sources: Iterable[Source], options: Options, keep: Keep
    ) -> Prepared:
        """Admit everything that is no job. ``given`` are the documents ``loaded`` from ``sources``, sorted out."""
        companions = admit_companions(given.cluster.values(), options.crds, faithful=options.faithful)
        cluster = _cluster(given.cluster, companions.documents)
        base = Base.of(options.base, options.environment)
        policing = Policing.of(given.cluster.values(), cluster, companions.registry, base, options)
        judges = Judges(policing, _transitions(base, companions.registry))
        runtimes = Runtimes.admit(given.runtimes, options, base).judged(judges.of_input)
        ruling = Ruling.of((*sources, *options.crds), loaded, options, comments)
        findings = (*companions.findings, *judges.findings, *runtimes.findings)
        compiler = JobCompiler(runtimes, given.cluster, options, ruling, judges)
        return cls(given, companions, cluster, base, judges, runtimes, ruling, options, keep, findings, compiler)

    def compile(self, document: Document) -> Job:
        """Compile one job, and keep of it what the run keeps."""
        job = self.compiler.compile(document)
        made = tuple(map(summarize, job.objects))
        if self.keep is Keep.OBJECTS:
            return replace(job, made=made)
        written = tuple(files(job, self.options)) if self.keep is Keep.FILES else ()
        return replace(job, objects=(), made=made, files=written)


Executor = Callable[[Prepared, Iterable[Document]], Iterable[Job]]
"""Compiles jobs, each once, and gives them in any order."""


def in_order(prepared: Prepared, documents: Iterable[Document]) -> Iterable[Job]:
    """Compile one job after the other, in this process."""
    return map(prepared.compile, documents)


def _transitions(base: Base, registry: Registry) -> Transitions | None:
    """Return the comparison with the base revision, which is loaded only where there is one."""
    if not base.is_given:
        return None
    from trainc.pipeline.update_rules import Transitions

    return Transitions(base, registry)


def _cluster(given: Mapping[Key, Document], stored: Iterable[Document]) -> Mapping[Key, Document]:
    """Return the documents that stand for objects in the cluster, as it would hold them where that is known."""
    return {**given, **{identity(document): document for document in stored}}
