"""Where in a YAML text the n-th character of one of its strings stands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from operator import attrgetter

from trainc.documents.libyaml import errors, kinds, open_events
from trainc.documents.problems import Refused
from trainc.records import NamedTuple
from trainc.source import Mark

_CODE_DIGITS = {"x": 2, "u": 4, "U": 8}
_BREAKS = "\n\r\u0085\u2028\u2029"


def inside(text: str, mark: Mark, value: str, offset: int, *, key: bool) -> Mark | None:
    """Return the mark of a character of a value, given that of the value; ``key``: it is that of the key before it.

    None where the string cannot be found in the text.
    """
    starts = _line_starts(text)
    if mark.line > len(starts):
        return None
    span = _scalar(text, starts[mark.line - 1] + mark.column - 1, key=key)
    if span is None:
        return None
    start, end, style = span
    order = sum(1 for char in value[:offset] if not char.isspace())
    places = list(_literal(text, start, end) if style in ("|", ">") else _flow(text, start, end, style))
    if not places:
        return None
    index = places[min(order, len(places) - 1)]  # behind the end, where more was expected: the last character
    line = bisect_left(starts, index + 1)
    return Mark(line, index - starts[line - 1] + 1)


@lru_cache(maxsize=4)
def _line_starts(text: str) -> list[int]:
    starts = [0]
    for index, char in enumerate(text):
        if char in _BREAKS and not (char == "\r" and text[index + 1 : index + 2] == "\n"):
            starts.append(index + 1)
    return starts


class _Scalar(NamedTuple):
    """Begin, end and style of a scalar, and whether the event before it is one, too."""

    begin: int
    end: int
    style: str
    follows: bool


def _scalar(text: str, at: int, *, key: bool) -> tuple[int, int, str] | None:
    """Return begin, end and style of the scalar at a place, or behind the key at it."""
    scalars = _scalars(text)
    index = bisect_left(scalars, at, key=attrgetter("begin"))
    if index == len(scalars) or scalars[index].begin != at:
        return None
    if key:
        index += 1
        if index == len(scalars) or not scalars[index].follows:
            return None
    return scalars[index][:3]


@lru_cache(maxsize=4)
def _scalars(text: str) -> list[_Scalar]:
    """Return the scalars of a text in order, as far as it can be read."""
    known = kinds()
    found: list[_Scalar] = []
    follows = False
    with suppress(Refused, *errors()):
        read = open_events(text)
        while type(event := read()) is not known.StreamEndEvent:
            is_scalar = type(event) is known.ScalarEvent
            if is_scalar:
                begin, end = event.start_mark.index, event.end_mark.index
                found.append(_Scalar(begin, end, event.style or "", follows))
            follows = is_scalar
    return found


def _literal(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where the characters of a block scalar stand, blanks left out; its first line is the indicator's."""
    index = start
    while index < end and text[index] not in _BREAKS:
        index += 1
    for place in range(index, end):
        if not text[place].isspace():
            yield place


def _flow(text: str, start: int, end: int, style: str) -> Iterator[int]:
    """Yield where the characters of a plain or quoted scalar stand, blanks left out."""
    index, last = (start + 1, end - 1) if style else (start, end)
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
    """Return what an escape stands for, a blank or not, and its length; nothing for the first half of a pair."""
    letter = text[index + 1]
    if letter in _CODE_DIGITS:
        size = _CODE_DIGITS[letter]
        code = int(text[index + 2 : index + 2 + size] or "0", 16)
        return "" if 0xD800 <= code < 0xDC00 else chr(min(code, 0x10FFFF)), 2 + size
    return (" " if letter in "\n\r\t nrtvfN_LPe" and letter not in "e_" else "x"), 2
