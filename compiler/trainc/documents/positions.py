"""Positions in a text: lines and columns of offsets, the marks of paths, and the characters of strings."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from trainc.basics.jsonvalues import Path, get
from trainc.basics.memo import Once
from trainc.documents.problems import Refused
from trainc.inputs.source import Document, Mark

if TYPE_CHECKING:
    from trainc.documents.libyaml import Scalar

BOM: Final = "\ufeff"
"""A byte order mark."""

Marks: TypeAlias = Callable[[], Mapping[Path, Mark]]
"""Returns the marks of the keys and items of a document, by path."""


class Lines(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The lines of a text."""

    text: str

    @cached_property
    def _starts(self) -> list[int]:
        # A byte order mark is no column.
        return [int(self.text.startswith(BOM)), *(match.end() for match in re.finditer("\n", self.text))]

    def mark(self, offset: int) -> Mark:
        """Return line and column of an offset, in code points."""
        starts = self._starts
        line = max(bisect_right(starts, offset), 1)
        return Mark(line, max(offset - starts[line - 1], 0) + 1)

    def offset(self, mark: Mark) -> int:
        """Return the offset of a mark; -1 if the text has no such line."""
        starts = self._starts
        return starts[mark.line - 1] + mark.column - 1 if mark.line <= len(starts) else -1

    def marks(self, offsets: Callable[[], Mapping[Path, int]], begin: int) -> Marks:
        """Return the marks of a document that begins at ``begin``; ``offsets`` returns the offsets in it by path."""
        return Once(lambda: {path: self.mark(begin + offset) for path, offset in offsets().items()})


def divide(marks: Marks, prefixes: Collection[Path]) -> dict[Path, Marks]:
    """Return the marks of the parts of a document at some paths, relative to the part; parts do not overlap."""

    def parts() -> dict[Path, dict[Path, Mark]]:
        found: dict[Path, dict[Path, Mark]] = {prefix: {} for prefix in prefixes}
        sizes = sorted({len(prefix) for prefix in prefixes})
        for path, mark in marks().items():
            for size in sizes:
                if size <= len(path) and (part := found.get(path[:size])) is not None:
                    part[path[size:]] = mark
        return found

    once = Once(parts)
    return {prefix: lambda prefix=prefix: once()[prefix] for prefix in prefixes}  # type: ignore[misc]  # the default


class Moved(msgspec.Struct, frozen=True, eq=False):
    """The marks of a document, with the mark of ``path`` moved to a character of the string there."""

    document: Document
    path: Path
    offset: int

    def __call__(self) -> Mapping[Path, Mark]:
        """Return the marks."""
        marks = self.document.marks()
        mark = marks.get(self.path)
        value = get(self.document.data, *self.path)
        if mark is None or not isinstance(value, str):
            return marks
        text = self.document.source.decoded()
        found = _character(text, mark, value, self.offset, key=isinstance(self.path[-1], str))
        return marks if found is None else ChainMap({self.path: found}, marks)  # type: ignore[arg-type]  # read only


def within(document: Document, path: Path, offset: int) -> Document:
    """Return the document with the mark of path moved to a character of the string there.

    ``offset`` counts code points. Where the string cannot be found in the text, the mark stays at its key.
    """
    return replace(document, marks=Moved(document, path, offset))


_CODE_DIGITS = {"x": 2, "u": 4, "U": 8}


def _character(text: str, mark: Mark, value: str, offset: int, *, key: bool) -> Mark | None:
    """Return the mark of a character of the value at a mark; ``key``: of the value after the key at the mark.

    None where the string cannot be found in the text.
    """
    text = text.removeprefix(BOM)
    scalar = _scalar(text, mark, key=key)
    if scalar is None:
        return None
    order = sum(1 for char in value[:offset] if not char.isspace())
    offsets = list(_block(text, scalar) if scalar.style in ("|", ">") else _flow(text, scalar))
    # An offset after the end, where more was expected, is that of the last character.
    return Lines(text).mark(offsets[min(order, len(offsets) - 1)]) if offsets else None


def unquoted(document: Document, path: Path) -> str | None:
    """Return the source text of the plain scalar at a path, or None if there is no plain scalar."""
    mark = document.marks().get(path)
    if mark is None:
        return None
    text = document.source.decoded().removeprefix(BOM)
    scalar = _scalar(text, mark, key=isinstance(path[-1], str))
    return text[scalar.begin : scalar.end] if scalar is not None and not scalar.style else None


def _scalar(text: str, mark: Mark, *, key: bool) -> Scalar | None:
    """Return the scalar at a mark; ``key``: the one after the key at the mark."""
    lines, scalars = _scalars(text)
    begin = lines.offset(mark)
    index = bisect_left(scalars, begin, key=attrgetter("begin"))
    if index == len(scalars) or scalars[index].begin != begin:
        return None
    index += key
    if index == len(scalars) or (key and not scalars[index].follows):
        return None
    return scalars[index]


@lru_cache(maxsize=4)
def _scalars(text: str) -> tuple[Lines, list[Scalar]]:
    """Return the lines of a text, and its scalars in order as far as it can be read."""
    from trainc.documents.libyaml import ERRORS, scalar_events

    found: list[Scalar] = []
    with suppress(Refused, *ERRORS):
        found.extend(scalar_events(text))
    return Lines(text), found


def _block(text: str, scalar: Scalar) -> Iterator[int]:
    """Yield the offsets of the characters of a block scalar without blanks; its first line is the indicator's."""
    header = text.find("\n", scalar.begin, scalar.end)
    for index in range(header if header >= 0 else scalar.end, scalar.end):
        if not text[index].isspace():
            yield index


def _flow(text: str, scalar: Scalar) -> Iterator[int]:
    """Yield the offsets of the characters of a plain or quoted scalar without blanks."""
    style, index, last = scalar.style, scalar.begin + bool(scalar.style), scalar.end - bool(scalar.style)
    while index < last:
        char, size = text[index], 1
        if style == "'" and text[index : index + 2] == "''":
            size = 2
        elif style == '"' and char == "\\":
            char, size = _escape(text, index)
        if not char.isspace() and char:
            yield index
        index += size


def _escape(text: str, index: int) -> tuple[str, int]:
    """Return a blank or another character for an escape, and its length; '' for a high surrogate."""
    letter = text[index + 1]
    if letter in _CODE_DIGITS:
        size = _CODE_DIGITS[letter]
        code = int(text[index + 2 : index + 2 + size] or "0", 16)
        return "" if 0xD800 <= code < 0xDC00 else chr(min(code, 0x10FFFF)), 2 + size
    return (" " if letter in "\n\r\t nrtvfN_LPe" and letter not in "e_" else "x"), 2
