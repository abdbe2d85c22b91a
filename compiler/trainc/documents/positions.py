"""Positions in a text: lines and columns of offsets, the marks of paths, and the characters of strings."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import accumulate, chain
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from trainc.basics.jsonvalues import Path, get
from trainc.basics.memo import Once
from trainc.documents.problems import Refused
from trainc.inputs.source import Document, Mark, Source

if TYPE_CHECKING:
    from trainc.documents.libyaml import Node

BOM: Final = "\ufeff"
"""A byte order mark."""

Marks: TypeAlias = Callable[[], Mapping[Path, Mark]]
"""Returns the marks of the keys and items of a document, by path."""


class Lines(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The lines of a text."""

    text: str

    @cached_property
    def _starts(self) -> array[int]:
        # A byte order mark is no column. A list would take 40 bytes for each line, of which a file may have millions.
        return array(
            "L", chain([int(self.text.startswith(BOM))], (match.end() for match in re.finditer("\n", self.text)))
        )

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
        value = get(self.document.data, *self.path)
        found = value_of_path(self.document, self.path)
        if found is None or not isinstance(value, str):
            return marks
        lines, scalar = found
        offsets = _offsets(lines, scalar)
        if not offsets:
            return marks
        order = _orders(value)[min(self.offset, len(value))]
        # An offset after the end, where more was expected, is that of the last character.
        mark = lines.mark(offsets[min(order, len(offsets) - 1)])
        return ChainMap({self.path: mark}, marks)  # type: ignore[arg-type]  # read only


def within(document: Document, path: Path, offset: int) -> Document:
    """Return the document with the mark of path moved to a character of the string there.

    ``offset`` counts code points. If the string cannot be found in the text, the mark stays at its key.
    """
    return replace(document, marks=Moved(document, path, offset))


_CODE_DIGITS = {"x": 2, "u": 4, "U": 8}


def unquoted(document: Document, path: Path) -> str | None:
    """Return the source text of the plain scalar at a path; None for other values, and after an anchor or tag."""
    found = value_of_path(document, path)
    if found is None or found[1].style:
        return None
    lines, scalar = found
    text = lines.text[scalar.begin : scalar.end]
    return None if text.startswith(("&", "!")) else text


class Field(NamedTuple):
    """The nodes of a key and its value in a text; those of a list item, and of a document, have no key."""

    lines: Lines
    nodes: Sequence[Node]
    key: Node | None
    at: int

    @property
    def text(self) -> str:
        """The text of the source, without a byte order mark."""
        return self.lines.text

    @property
    def value(self) -> Node:
        """The node of the value."""
        return self.nodes[self.at]


def field_of_path(document: Document, path: Path) -> Field | None:
    """Return the nodes at a path; None if they cannot be found, such as for what an alias repeats."""
    if (mark := document.marks().get(path)) is None:
        return None
    lines, nodes = _nodes(document.source)
    begin = lines.offset(mark)
    at = bisect_left(nodes, begin, key=attrgetter("begin"))
    is_key = bool(path) and isinstance(path[-1], str)
    while is_key and at < len(nodes) and nodes[at].begin == begin and nodes[at].kind != "scalar":
        at += 1  # a mapping begins with its first key
    if at + is_key >= len(nodes) or nodes[at].begin != begin:
        return None
    return Field(lines, nodes, nodes[at] if is_key else None, at + is_key)


def value_of_path(document: Document, path: Path) -> tuple[Lines, Node] | None:
    """Return the scalar that is the value at a path, and the lines of its text; None if it cannot be found."""
    field = field_of_path(document, path)
    return (field.lines, field.value) if field is not None and field.value.kind == "scalar" else None


def text_of_path(document: Document, path: Path) -> str | None:
    """Return the text of the scalar at a path as it is written; None for other values."""
    found = value_of_path(document, path)
    return None if found is None else found[0].text[found[1].begin : found[1].end]


@lru_cache(maxsize=4)
def lines_of(source: Source) -> Lines:
    """Return the lines of a source, whose text has no byte order mark."""
    return Lines(source.decoded().removeprefix(BOM))


@lru_cache(maxsize=4)
def _nodes(source: Source) -> tuple[Lines, list[Node]]:
    """Return the lines of a source, and its nodes in order as far as it can be read."""
    from trainc.documents.libyaml import nodes, with_masks

    lines = lines_of(source)
    found: list[Node] = []

    def parse(masked: str, masks: str) -> None:
        found.clear()
        found.extend(nodes(masked, masks))

    with suppress(Refused):
        with_masks(lines.text, parse)
    return lines, found


# A string may have many findings, one after the other.


@lru_cache(maxsize=1)
def _orders(value: str) -> array[int]:
    """Return how many characters besides blanks are before each offset of a string, and before its end."""
    return array("L", accumulate((not char.isspace() for char in value), initial=0))


@lru_cache(maxsize=1)
def _offsets(lines: Lines, scalar: Node) -> array[int]:
    """Return the offsets of the characters of a scalar without blanks."""
    return array("L", _characters(lines.text, scalar))


def _characters(text: str, scalar: Node) -> Iterator[int]:
    """Yield the offsets of the characters of a scalar without blanks; the first line of a block is the indicator's."""
    from trainc.documents.libyaml import begin_of_text

    begin, style = begin_of_text(scalar, text), scalar.style
    index, last = begin + bool(style), scalar.end - bool(style)
    if style in ("|", ">"):
        header = text.find("\n", begin, scalar.end)
        index, last = (header if header >= 0 else scalar.end), scalar.end
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
