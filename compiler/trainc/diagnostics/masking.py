"""Source lines as findings may show them: what looks secret is masked, wherever it stands on the line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from trainc.diagnostics.secrecy import LEAST, MASK, hidden, looks_secret, merged, occurrences
from trainc.source import Document, Mark, Path

Span = tuple[int, int]
"""Where something begins and ends in a line, in code points from 0."""

_VALUE = r"(\"(?:[^\"\\]|\\.)*\"?|'(?:[^']|'')*'?|[^\s,\]}]+)"
_PAIR = re.compile(rf"([\"']?)([\w.-]+)\1\s*(?::\s+|(?<=[\"'])\s*:\s*|=)(?![\[{{|>&*!]){_VALUE}")
_NAME_VALUE = re.compile(rf"[\"']?name[\"']?\s*:\s*[\"']?([\w.-]+)[\"']?\s*,\s*[\"']?value[\"']?\s*:\s*{_VALUE}")
_VALUE_NAME = re.compile(rf"[\"']?value[\"']?\s*:\s*{_VALUE}\s*,\s*[\"']?name[\"']?\s*:\s*[\"']?([\w.-]+)")
_SECRET = re.compile(r"[\"']?kind[\"']?\s*:\s*[\"']?Secret\b")
_SECRET_DATA = re.compile(r"[\"']?(?:data|stringData)[\"']?\s*:\s*\{([^}]*)")
_KEY = re.compile(r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')\s*:\s*|.*?:(?:\s+|\Z)")
_CLOSERS = re.compile(r"[\s,}\]]*\Z")
_NAME_LINE = re.compile(r"\s*(?:-\s+)?[\"']?name[\"']?\s*:\s*[\"']?([\w.-]+)")
_REST = re.compile(r"[^:]*:\s*(\S.*)")
_LITERALS = frozenset(("true", "false", "null", "~"))


def masked(document: Document, lines: Sequence[str], mark: Mark) -> tuple[str, int]:
    """Return the line of a mark with MASK for what looks secret, and the mark's column in what is returned."""
    line = lines[mark.line - 1] if 0 < mark.line <= len(lines) else ""
    spans = merged((*_known(document, line, mark.line), *_looks(line), *_unread(document, lines, mark.line)))
    at = max(mark.column - 1, 0)
    column = at
    for start, end in reversed(spans):
        line = line[:start] + MASK + line[end:]
        if end <= at:
            column += len(MASK) - (end - start)
        elif start < at:
            column = start
    return line, column + 1


def _known(document: Document, line: str, number: int) -> Iterator[Span]:
    """Yield where a document's own secrets stand on a line: by place, and by text where they stand elsewhere."""
    for value in hidden(document):
        if value.whole:
            yield from _region(document, value.path, line, number)
    for text in {value.text for value in hidden(document) if len(value.text) >= LEAST}:
        yield from occurrences(line, text)


def _region(document: Document, path: Path, line: str, number: int) -> Iterator[Span]:
    """Yield what lies on a line of the value at path: from its mark to the next one that is not below it."""
    marks = document.marks()
    begin = marks.get(path)
    if begin is None or begin.line > number:
        return
    end = min((mark for at, mark in marks.items() if mark > begin and at[: len(path)] != path), default=None)
    if end is not None and end.line < number:
        return
    first = begin.column - 1 if begin.line == number else 0
    last = end.column - 1 if end is not None and end.line == number else len(line)
    if begin.line == number and isinstance(path[-1], str) and (key := _KEY.match(line, first, last)):
        first = key.end()
    closers = _CLOSERS.search(line, first, last)
    last = closers.start() if closers else last
    if first < last:
        yield first, last


def _looks(line: str) -> Iterator[Span]:
    """Yield what looks secret by its words alone: of another document on the line, or of one that cannot be read."""
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


def _unread(document: Document, lines: Sequence[str], number: int) -> Iterator[Span]:
    """Yield the value on a line of a document that cannot be read, if lines near it make it look secret."""
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    rest = _REST.match(line)
    if document.data or rest is None:
        return
    name = _NAME_LINE.match(lines[number - 2]) if number > 1 else None
    key = line[: rest.start(1)].strip(" \t\"':-")
    if looks_secret(key) or (key == "value" and name and looks_secret(name[1])) or _SECRET.search("\n".join(lines)):
        yield rest.span(1)
