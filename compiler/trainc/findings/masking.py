"""Source lines as findings may show them: what looks secret is masked, wherever it stands on the line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter

from trainc.findings.secrecy import MASK, hidden, known, looks_secret, merged, occurrences
from trainc.findings.shapes import shaped
from trainc.records import NamedTuple
from trainc.regex import lazy
from trainc.source import Document, Mark, Source

Span = tuple[int, int]
"""Where something begins and ends in a line, in code points from 0."""

NEAR = 2000
"""How far from a mark a line is looked through, in code points: more than is shown, and than most secrets take."""

LONGEST = 200
"""So many lines before a mark are looked through for the beginning of a private key."""

_END = Mark(2**63, 1)
_VALUE = r"(\"(?:[^\"\\]|\\.)*\"?|'(?:[^']|'')*'?|[^\s,\]}]+)"
_PAIR = lazy(rf"(?<![\w.-])([\"']?)([\w.-]+)\1\s*(?::\s+|(?<=[\"'])\s*:\s*|=)(?![\[{{|>&*!]){_VALUE}")
_NAME_VALUE = lazy(rf"[\"']?name[\"']?\s*:\s*[\"']?([\w.-]+)[\"']?\s*,\s*[\"']?value[\"']?\s*:\s*{_VALUE}")
_VALUE_NAME = lazy(rf"[\"']?value[\"']?\s*:\s*{_VALUE}\s*,\s*[\"']?name[\"']?\s*:\s*[\"']?([\w.-]+)")
_SECRET = lazy(r"[\"']?kind[\"']?\s*:\s*[\"']?Secret\b")
_SECRET_DATA = lazy(r"[\"']?(?:data|stringData)[\"']?\s*:\s*\{([^}]*)")
_KEY = lazy(r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')\s*:\s*|.*?:(?:\s+|\Z)")
_CLOSERS = frozenset(" \t\r,}]")
_NAME_LINE = lazy(r"\s*(?:-\s+)?[\"']?name[\"']?\s*:\s*[\"']?([\w.-]+)")
_REST = lazy(r"[^:]*:\s*(\S.*)")
_LITERALS = frozenset(("true", "false", "null", "~"))


def masked(document: Document, lines: Sequence[str], mark: Mark) -> tuple[str, int]:
    """Return the line of a mark with MASK for what looks secret, and the mark's column in what is returned.

    Of a line that is longer than anyone shows, only what stands near the mark is looked through.
    """
    line = lines[mark.line - 1] if 0 < mark.line <= len(lines) else ""
    at = max(mark.column - 1, 0)
    first, last = max(at - NEAR, 0), at + NEAR
    near = line[first:last]
    spans = [*_looks(near), *occurrences(near, known(document))]
    for start, end in (*_placed(document, line, mark.line, (first, last)), *_unread(document, lines, mark)):
        spans.append((max(start - first, 0), max(min(end, last) - first, 0)))
    at -= first
    column = at
    for start, end in reversed(merged(spans)):
        near = near[:start] + MASK + near[end:]
        if end <= at:
            column += len(MASK) - (end - start)
        elif start < at:
            column = start
    return line[:first] + near + line[last:], first + column + 1


class _Region(NamedTuple):
    """Where the value of a secret stands, its key included, up to the next key or item."""

    begin: Mark
    end: Mark
    keyed: bool


@lru_cache(maxsize=64)
def _regions(document: Document) -> tuple[_Region, ...]:
    """Return the regions of a document's secrets that are whole values, or are not written as they are, in order."""
    text = document.source.decoded()
    paths = {value.path for value in hidden(document) if value.whole or not _stands(value.text, text)}
    if not paths:
        return ()
    ordered = sorted(((mark, path) for path, mark in document.marks().items() if path), key=itemgetter(0))
    regions = []
    for mark, path in ordered:
        if path in paths:
            behind = range(bisect_right(ordered, mark, key=itemgetter(0)), len(ordered))
            later = (to for to, at in map(ordered.__getitem__, behind) if at[: len(path)] != path)
            regions.append(_Region(mark, next(later, _END), isinstance(path[-1], str)))
    return tuple(regions)


def _stands(value: str, text: str) -> bool:
    """Tell whether each line of a value stands in a text as it is, and not with escapes or folded."""
    return all(line.strip() in text for line in value.split("\n"))


def _placed(document: Document, line: str, number: int, near: Span) -> Iterator[Span]:
    """Yield where on a part of a line the values of secrets stand."""
    regions = _regions(document)
    at = bisect_right(regions, Mark(number, near[1] + 1), key=attrgetter("begin")) - 1
    while at >= 0 and regions[at].end > Mark(number, near[0] + 1):
        begin, end, keyed = regions[at]
        at -= 1
        first = begin.column - 1 if begin.line == number else 0
        last = end.column - 1 if end.line == number else len(line)
        if begin.line == number and keyed and (key := _KEY.match(line, first, last)):
            first = key.end()
        while last > first and line[last - 1] in _CLOSERS:
            last -= 1
        if line[first:last].strip(" \t-"):  # else the dash of the next item
            yield first, last


def _looks(line: str) -> Iterator[Span]:
    """Yield what looks secret by itself: of another document on the line, or of one that cannot be read."""
    yield from shaped(line)
    for match in _PAIR.finditer(line):
        if looks_secret(match[2]) and match[3].lower() not in _LITERALS:
            yield match.span(3)
    for match in _NAME_VALUE.finditer(line):
        if looks_secret(match[1]):
            yield match.span(2)
    for match in _VALUE_NAME.finditer(line):
        if looks_secret(match[2]):
            yield match.span(1)
    if _SECRET.search(line):
        yield from (match.span(1) for match in _SECRET_DATA.finditer(line) if match[1].strip())


@lru_cache(maxsize=64)
def _has_secret(source: Source) -> bool:
    """Tell whether a source seems to hold an object of kind Secret."""
    return _SECRET.search(source.decoded()) is not None


def _unread(document: Document, lines: Sequence[str], mark: Mark) -> Iterator[Span]:
    """Yield the value on a line of a document that cannot be read, if lines near it make it look secret."""
    if document.data or not 0 < mark.line <= len(lines):
        return
    line = lines[mark.line - 1]
    before = "\n".join(lines[max(mark.line - LONGEST, 0) : mark.line])
    if any(end == len(before) for _, end in shaped(before)):  # in a private key
        yield 0, len(line)
    rest = _REST.match(line)
    if rest is None:
        return
    name = _NAME_LINE.match(lines[mark.line - 2]) if mark.line > 1 else None
    key = line[: rest.start(1)].strip(" \t\"':-")
    if looks_secret(key) or (key == "value" and name and looks_secret(name[1])) or _has_secret(document.source):
        yield rest.span(1)
