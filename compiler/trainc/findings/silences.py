"""What comments silence: findings on what begins on a line, and on everything below that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from trainc.findings import Diagnostic, Related, report
from trainc.findings.comments import ABOUT_COMMENTS, WORD, Ignore, read
from trainc.findings.severities import is_fixed
from trainc.records import dataclass, field
from trainc.source import Document, Path, Source

UNUSED = "TC017"
"""The code of a note on a comment that silences nothing."""

_Place = tuple[Source, int]
"""A source, and the index of a document in it."""


@dataclass(frozen=True, slots=True)
class Silences:
    """The comments of a run: those that silence, by what they cover, and findings on those that cannot."""

    ignores: tuple[Ignore, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    covered: Mapping[_Place, Mapping[Path, Mapping[str, Ignore]]] = field(default_factory=dict, hash=False)
    locked: frozenset[str] = frozenset()

    @classmethod
    def read(
        cls, sources: Iterable[Source], documents: Iterable[Document], locked: frozenset[str] = frozenset()
    ) -> Silences:
        """Read the comments of sources; documents are what was loaded from them. Most texts hold none: no cost.

        ``locked`` are codes that no comment may silence.
        """
        ignores: list[Ignore] = []
        findings: list[Diagnostic] = []
        covered: dict[_Place, Mapping[Path, Mapping[str, Ignore]]] = {}
        by_source: dict[Source, dict[int, dict[str, Ignore]]] = {}
        for source in sources:
            if WORD in source.decoded():
                found, problems = read(source)
                ignores += found
                findings += problems
                by_source[source] = _by_line(found)
        for document in documents:
            if by_source.get(document.source):
                covered[document.source, document.index] = dict(_coverage(document, by_source[document.source]))
        return cls(tuple(ignores), tuple(findings), covered, locked)

    def silencing(self, finding: Diagnostic) -> Ignore | None:
        """Return the comment that names the finding's code and covers its place, if there is one."""
        covered = self.covered.get((finding.document.source, finding.document.index))
        if not covered or finding.code in ABOUT_COMMENTS:
            return None
        path = finding.path
        for end in range(len(path), -1, -1):
            if (ignore := covered.get(path[:end], {}).get(finding.code)) is not None:
                return ignore
        return None

    def silences(self, finding: Diagnostic) -> bool:
        """Tell whether a comment takes the finding away."""
        return bool(self.covered) and not self._stays(finding) and self.silencing(finding) is not None

    def _stays(self, finding: Diagnostic) -> bool:
        return is_fixed(finding) or finding.code in self.locked

    def powerless(self, findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Yield a warning for each comment on a finding that no comment can silence."""
        said: set[tuple[Ignore, str]] = set()
        for finding in findings:
            ignore = self.silencing(finding) if self.covered and self._stays(finding) else None
            if ignore is not None and (ignore, finding.code) not in said:
                said.add((ignore, finding.code))
                why = "the cluster refuses it, too" if is_fixed(finding) else "trainc.yaml locks it"
                message = f"{finding.code} cannot be silenced here: {why}"
                related = (Related("what it is about", finding.document, finding.path),)
                yield report("TC016", ignore.codes[finding.code], (), message, related=related)

    def unused(
        self, findings: Iterable[Diagnostic], untried: Collection[Source] = (), unsought: Collection[str] = ()
    ) -> Iterator[Diagnostic]:
        """Yield a note for each code of a comment that meets none of the findings.

        ``untried`` are sources whose findings depend on what the run leaves out, ``unsought`` codes that it leaves out.
        """
        if not self.ignores:
            return
        met = {(self.silencing(finding), finding.code) for finding in findings}
        for ignore in self.ignores:
            for code, place in ignore.codes.items():
                if (ignore, code) not in met and ignore.source not in untried and code not in unsought:
                    yield report(UNUSED, place, (), f"nothing to ignore: no {code} here")


def _by_line(ignores: Iterable[Ignore]) -> dict[int, dict[str, Ignore]]:
    """Return comments by the line that they cover and by code; of several for one code the first counts."""
    lines: dict[int, dict[str, Ignore]] = {}
    for ignore in ignores:
        codes = lines.setdefault(ignore.line, {})
        for code in ignore.codes:
            codes.setdefault(code, ignore)
    return lines


def _coverage(
    document: Document, lines: Mapping[int, Mapping[str, Ignore]]
) -> Iterator[tuple[Path, Mapping[str, Ignore]]]:
    """Yield the paths that begin on the lines of comments, each with those comments."""
    for path, mark in document.marks().items():
        if mark.line in lines:
            yield path, lines[mark.line]
