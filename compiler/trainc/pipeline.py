"""The compiler as one function: documents in, objects and findings out. No I/O.

Read it from top to bottom: load, sort, admit the runtimes, then job by job admit, join, check,
shape, build and admit again, then what default output adds, and the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trainc.compilejob import Job, JobCompiler
from trainc.diagnostics import Diagnostic, has_errors, sort_key
from trainc.documents import classify
from trainc.load import load
from trainc.model import Object
from trainc.options import Options
from trainc.output import files
from trainc.runtimes import Runtimes
from trainc.source import Document, Source

__all__ = ["Build", "Job", "compile"]


@dataclass(frozen=True, slots=True)
class Build:
    """The result of one compilation.

    ``jobs`` come in order of namespace and name. ``findings`` are sorted and hold those of every job once.
    ``files`` maps paths below out/ to bytes; it is empty if any finding is an error.
    """

    jobs: tuple[Job, ...]
    findings: tuple[Diagnostic, ...]
    files: Mapping[str, bytes] = field(repr=False)

    @property
    def objects(self) -> tuple[Object, ...]:
        """The objects of all jobs, in emit order."""
        return tuple(found for job in self.jobs for found in job.objects)


def compile(sources: Iterable[Source], options: Options | None = None) -> Build:  # noqa: A001 - the public name
    """Compile every TrainJob of sources. Never raises for what is in them; the same input gives the same result."""
    options = options or Options()
    documents: list[Document] = []
    findings: list[Diagnostic] = []
    for source in sorted(sources, key=lambda source: (source.name, source.decoded())):
        loaded, found = load(source)
        documents += loaded
        findings += found
    sorted_out, found = classify(documents)
    findings += found
    runtimes = Runtimes.admit(sorted_out.runtimes, options)
    findings += runtimes.findings
    compiler = JobCompiler(runtimes, sorted_out.cluster, options)
    jobs = tuple(sorted((compiler.compile(job) for job in sorted_out.jobs), key=lambda job: (job.namespace, job.name)))
    for job in jobs:
        findings += job.findings
    findings = unique(findings)
    made = {} if has_errors(findings) else files(jobs, options)
    return Build(jobs, tuple(sorted(findings, key=sort_key)), made)


def unique(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return findings without those that say the same of the same place, such as of one runtime used by two jobs."""
    seen: dict[tuple[object, ...], Diagnostic] = {}
    for finding in findings:
        key = (finding.file, finding.document.index, finding.path, finding.code, finding.message, finding.severity)
        seen.setdefault(key, finding)
    return list(seen.values())
