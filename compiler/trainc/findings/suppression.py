"""Comments that suppress findings: ``# trainc: ignore TC409, TC015 why`` above a line of YAML, or at its end.

A comment applies to the value that begins on its line, or else on the next line with content, and to its children.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from trainc.basics.jsonvalues import Path
from trainc.basics.regex import lazy
from trainc.findings.codes import CODES
from trainc.findings.finding import Finding, Related, Severity
from trainc.findings.reporting import report, suggest
from trainc.findings.severities import OF_OTHER_FILES, immovable, is_fixed
from trainc.inputs.source import Document, Mark, Source

WORD = "trainc:"
"""The beginning of such a comment, after the ``#``."""

IGNORE = "ignore"
EXAMPLE = "# trainc: ignore TC409 why it is fine here"

POWERLESS, UNUSED = "TC016", "TC017"
"""The codes for invalid and for unused comments. No comment can suppress these two."""

_BOM = "\ufeff"
_CODE = lazy(r"\s*+(?:,\s*+)?([Tt][Cc]\w*\d\w*)")
"""A code, perhaps misspelt."""

_REASON = lazy(r"\w")

ReadComments: TypeAlias = Callable[[Source, str], Iterable[tuple[Mark, str]]]
"""Returns the comments of a source that begin with a word: the mark of each ``#``, and the text after the word."""


class Ignore(Struct, frozen=True, eq=False):
    """One comment: the line that it applies to, its codes, and its reason.

    Each code has a document whose root is at the code, for findings on it.
    """

    source: Source
    line: int
    codes: Mapping[str, Document]
    reason: str


def read(source: Source, comments: ReadComments) -> tuple[tuple[Ignore, ...], tuple[Finding, ...]]:
    """Return the valid comments of a source, and a finding (TC016) for each invalid one."""
    if WORD not in source.decoded():
        return (), ()
    ignores: list[Ignore] = []
    findings: list[Finding] = []
    lines = source.decoded().removeprefix(_BOM).split("\n")
    # A line may have many comments: some line breaks of YAML end no line here.
    begins, below = [len(line) - len(line.lstrip()) for line in lines], _next_with_content(lines)
    for mark, text in comments(source, WORD):
        line = lines[mark.line - 1]
        codes, reason = _codes(text, line, mark.column)
        if (malformed := _malformed(_document(source, mark), text, codes, reason)) is not None:
            findings.append(malformed)
            continue
        usable: dict[str, Document] = {}
        for code, at in codes.items():
            document = _document(source, mark._replace(column=at + 1))
            if code not in CODES:
                hint = suggest(code.replace("O", "0"), CODES)
                findings.append(report(POWERLESS, document, (), f"unknown code {code!r}", hint=hint))
            elif (cause := "it reports such comments" if code in (POWERLESS, UNUSED) else immovable(code)) is not None:
                findings.append(report(POWERLESS, document, (), f"{code} cannot be silenced: {cause}"))
            else:
                usable[code] = document
        if usable:
            at_end = begins[mark.line - 1] < mark.column - 1
            covered = mark.line if at_end else below[mark.line - 1]
            ignores.append(Ignore(source, covered, usable, reason.strip()))
    return tuple(ignores), tuple(findings)


def _document(source: Source, mark: Mark) -> Document:
    return Document(source, {}, 0, lambda: {(): mark})


def _codes(text: str, line: str, column: int) -> tuple[dict[str, int], str]:
    """Return the codes of a comment with their positions in its line, and the reason after them."""
    shift = line.index(text, column)
    at = len(IGNORE) if text.startswith(IGNORE) else 0
    codes: dict[str, int] = {}
    while match := _CODE.match(text, at):
        codes.setdefault(match[1], shift + match.start(1))
        at = match.end()
    return codes, text[at:]


def _malformed(document: Document, text: str, codes: Collection[str], reason: str) -> Finding | None:
    verb = text.split(None, 1)[0] if text else ""
    if verb != IGNORE:
        message = f"unknown comment {WORD} {verb}".rstrip()
        return report(POWERLESS, document, (), message, expected=EXAMPLE, hint=suggest(verb, (IGNORE,)))
    if not codes:
        return report(POWERLESS, document, (), "the comment has no code", expected=EXAMPLE)
    if not _REASON.search(reason):
        return report(POWERLESS, document, (), f"missing reason for ignoring {', '.join(codes)}", expected=EXAMPLE)
    return None


def _next_with_content(lines: list[str]) -> list[int]:
    """Return, per line, the number of the next line that has more than a comment, or one past the last."""
    found = [len(lines) + 1] * len(lines)
    for index in range(len(lines) - 1, 0, -1):
        text = lines[index].strip()
        found[index - 1] = found[index] if not text or text.startswith("#") else index + 1
    return found


class Suppressions(Struct, frozen=True):
    """The comments of a run, and findings on invalid ones.

    ``covered`` has, by source and index of a document, the comments by code for each path that they apply to.
    """

    ignores: tuple[Ignore, ...] = ()
    findings: tuple[Finding, ...] = ()
    covered: Mapping[tuple[Source, int], Mapping[Path, Mapping[str, Ignore]]] = field(default_factory=dict)
    locked: frozenset[str] = frozenset()

    @classmethod
    def read(
        cls,
        sources: Iterable[Source],
        documents: Iterable[Document],
        comments: ReadComments,
        locked: frozenset[str] = frozenset(),
    ) -> Suppressions:
        """Read the comments of sources. ``locked`` are codes that no comment may suppress."""
        ignores: list[Ignore] = []
        findings: list[Finding] = []
        by_source: dict[Source, dict[int, dict[str, Ignore]]] = {}
        for source in sources:
            found, problems = read(source, comments)
            ignores += found
            findings += problems
            for ignore in found:
                codes = by_source.setdefault(source, {}).setdefault(ignore.line, {})
                codes.update({code: ignore for code in ignore.codes if code not in codes})
        covered = {
            (each.source, each.index): {
                path: lines[mark.line] for path, mark in each.marks().items() if mark.line in lines
            }
            for each in documents
            if (lines := by_source.get(each.source))
        }
        return cls(tuple(ignores), tuple(findings), covered, locked)

    def covering(self, finding: Finding) -> Ignore | None:
        """Return the comment that applies to a finding, if there is one."""
        covered = self.covered.get((finding.document.source, finding.document.index))
        if not covered or finding.code in (POWERLESS, UNUSED):
            return None
        path = finding.path
        for end in range(len(path), -1, -1):
            if (ignore := covered.get(path[:end], {}).get(finding.code)) is not None:
                return ignore
        return None

    def suppresses(self, finding: Finding) -> bool:
        """Return whether a comment suppresses the finding."""
        return self._lock(finding) is None and self.covering(finding) is not None

    def _lock(self, finding: Finding) -> str | None:
        """Return why no comment can suppress a finding, or None if one can."""
        if is_fixed(finding):
            return "the cluster refuses it, too"
        if finding.code in self.locked:
            return "trainc.yaml locks it"
        if finding.severity is Severity.ERROR and finding.code in OF_OTHER_FILES:
            return "it is about another file, too"
        return None

    def powerless(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield a warning for each comment that applies to a finding that no comment can suppress."""
        reported: set[tuple[Ignore, str]] = set()
        for finding in findings:
            reason = self._lock(finding)
            ignore = self.covering(finding) if reason is not None else None
            if ignore is not None and (ignore, finding.code) not in reported:
                reported.add((ignore, finding.code))
                message = f"{finding.code} cannot be silenced here: {reason}"
                related = (Related("the finding", finding.document, finding.path),)
                yield report(POWERLESS, ignore.codes[finding.code], (), message, related=related)

    def unused(
        self, findings: Iterable[Finding], partial: Collection[Source], skipped: Collection[str]
    ) -> Iterator[Finding]:
        """Yield a note for each code of a comment that applies to no finding.

        ``partial`` are sources of which this run does not detect all findings, ``skipped`` are codes that it skips.
        """
        used = {(self.covering(finding), finding.code) for finding in findings}
        for ignore in self.ignores:
            for code, document in ignore.codes.items():
                if (ignore, code) not in used and ignore.source not in partial and code not in skipped:
                    yield report(UNUSED, document, (), f"nothing to ignore: no {code} here")
