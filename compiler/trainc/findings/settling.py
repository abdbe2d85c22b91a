"""What becomes of findings: suppressed by a comment, given another severity by trainc.yaml, reported once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct, field

from trainc.findings.finding import Finding, Silenced, has_errors
from trainc.findings.repeats import OfJob, collapse
from trainc.findings.severities import KEY, Severities, apply, locked, read
from trainc.findings.suppression import ReadComments, Suppressions
from trainc.inputs.options import Options
from trainc.inputs.source import Document, Source

OF_CHANGES = ("TC202", "TC204")
"""The codes that are found only where a base revision is given."""


class Settled(Struct, frozen=True):
    """The findings of a run, each once; those on the inputs themselves, those of each job, and the suppressed ones."""

    findings: tuple[Finding, ...]
    own: tuple[Finding, ...]
    jobs: tuple[tuple[Finding, ...], ...]
    silenced: tuple[Silenced, ...]


class Ruling(Struct, frozen=True):
    """The comments and severities of a run. ``skipped``: the codes that the run does not look for.

    ``floor`` are the severities of another revision; no finding gets a lower one.
    """

    suppressions: Suppressions = Suppressions()
    severities: Severities = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    floor: Severities | None = None

    @classmethod
    def of(
        cls, sources: Iterable[Source], documents: Iterable[Document], options: Options, comments: ReadComments
    ) -> Ruling:
        """Read the comments of sources, and the severities of options; faithful output ignores those of trainc.yaml."""
        own = None if options.faithful else options.config.get(KEY)
        other = options.policies_from.config.get(KEY) if options.policies_from is not None else None
        suppressions = Suppressions.read(sources, documents, comments, locked(own) | locked(other))
        floor = None if options.policies_from is None else read(other)
        return cls(suppressions, read(own), () if options.base is not None else OF_CHANGES, floor)

    def settle(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings with their final severities, without those that comments or trainc.yaml suppress."""
        return self._with_severities(each for each in findings if not self.suppressions.suppresses(each))

    def _with_severities(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        applied = (apply(finding, self.severities, self.floor) for finding in findings)
        return tuple(finding for finding in applied if finding is not None)

    def stops(self, findings: Iterable[Finding]) -> bool:
        """Tell whether an error remains among findings: then the job that they are about is not compiled further."""
        decides = self.severities or self.floor or self.suppressions.covered
        return has_errors(self.settle(findings) if decides else findings)

    def finish(self, own: Sequence[Finding], jobs: Sequence[OfJob], partial: Collection[Source]) -> Settled:
        """Settle all findings of a run: those on the inputs themselves, and those of each TrainJob.

        That a comment is unused is reported only without errors: a job with an error is not checked to the end.
        ``partial`` are sources not all of whose findings this run finds.
        """
        found = [*own, *(finding for job in jobs for finding in job.findings)]
        settled = self.settle(own)
        of_jobs = tuple(self.settle(job.findings) for job in jobs)
        rows = [OfJob(job.name, findings) for job, findings in zip(jobs, of_jobs, strict=True)]
        findings = collapse(settled, rows)
        remarks = [*self.suppressions.findings, *self.suppressions.powerless(found)]
        if not has_errors(findings):
            remarks += self.suppressions.unused(found, partial, self.skipped)
        noted = self._with_severities(remarks)
        return Settled((*findings, *noted), (*settled, *noted), of_jobs, tuple(self._silenced(own, jobs)))

    def _silenced(self, own: Iterable[Finding], jobs: Iterable[OfJob]) -> Iterable[Silenced]:
        """Yield each finding that a comment suppresses, once."""
        suppresses = self.suppressions.suppresses
        if not self.suppressions.covered:
            return
        rows = (OfJob(job.name, filter(suppresses, job.findings)) for job in jobs)
        for finding in collapse(filter(suppresses, own), rows):
            ignore, final = self.suppressions.covering(finding), apply(finding, self.severities, self.floor)
            if ignore is not None and final is not None:
                yield Silenced(final, ignore.reason)
