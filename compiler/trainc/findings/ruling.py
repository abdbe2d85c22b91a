"""What becomes of a finding: silenced by a comment, or given another severity by trainc.yaml."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from trainc.findings import Diagnostic, Silenced, has_errors
from trainc.findings.repeats import collapse
from trainc.findings.severities import KEY, Severities, apply, locked, read
from trainc.findings.silences import Silences
from trainc.options import Options
from trainc.records import dataclass, field
from trainc.source import Document, Source

OF_CHANGES = ("TC202", "TC204")
"""The codes that are found only where a base revision is given."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The comments and severities of a run. ``unsought``: the codes that the run does not look for.

    ``floor`` are the severities of another revision, below which none goes.
    """

    silences: Silences = field(default_factory=Silences)
    severities: Severities = field(default_factory=dict, hash=False)
    unsought: tuple[str, ...] = ()
    floor: Severities | None = field(default=None, hash=False)

    @classmethod
    def of(cls, sources: Iterable[Source], documents: Iterable[Document], options: Options) -> Ruling:
        """Read the comments of sources, and the severities of options, which faithful output knows nothing of."""
        own = None if options.faithful else options.config.get(KEY)
        other = options.policies_from.config.get(KEY) if options.policies_from is not None else None
        silences = Silences.read(sources, documents, locked(own) | locked(other))
        floor = None if options.policies_from is None else read(other)
        return cls(silences, read(own), () if options.base is not None else OF_CHANGES, floor)

    def silenced(
        self, own: Iterable[Diagnostic], jobs: Iterable[tuple[str, Iterable[Diagnostic]]]
    ) -> Iterator[Silenced]:
        """Yield each finding that a comment takes away, once; arguments as those of ``collapse``."""
        if not self.silences.covered:
            return
        muted = self.silences.silences
        for finding in collapse(filter(muted, own), ((name, filter(muted, found)) for name, found in jobs)):
            ignore, done = self.silences.silencing(finding), self._ruled(finding)
            if ignore is not None and done is not None:
                yield Silenced(done, ignore.reason)

    def _ruled(self, finding: Diagnostic) -> Diagnostic | None:
        return apply(finding, self.severities, self.floor)

    def settle(self, findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the findings that are left, with their final severities. A comment goes before a severity."""
        left = (finding for finding in findings if not self.silences.silences(finding))
        return tuple(done for finding in left if (done := self._ruled(finding)) is not None)

    def stops(self, findings: Iterable[Diagnostic]) -> bool:
        """Tell whether an error is left among findings: then the job they are about is not compiled further."""
        decided = self.settle(findings) if self.severities or self.floor or self.silences.covered else findings
        return has_errors(decided)

    def remarks(
        self, found: Iterable[Diagnostic], left: Iterable[Diagnostic], untried: Collection[Source]
    ) -> tuple[Diagnostic, ...]:
        """Return what is to be said of the comments themselves.

        ``found`` are all findings before ``settle``, ``left`` those after. That a comment is not needed is said
        where nothing is an error: a job with one is not looked at to the end. ``untried`` as in Silences.unused.
        """
        found = tuple(found)
        remarks = [*self.silences.findings, *self.silences.powerless(found)]
        if not has_errors(left):
            remarks += self.silences.unused(found, untried, self.unsought)
        return tuple(done for remark in remarks if (done := self._ruled(remark)) is not None)
