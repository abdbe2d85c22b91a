"""One JSON value to plain data, as kubectl decodes it: numbers as Kubernetes keeps them, duplicates found."""

from __future__ import annotations

import math
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in typeshed

from trainc.basics.jsonvalues import Json, JsonObject, Path
from trainc.basics.regex import lazy
from trainc.documents import scalars
from trainc.documents.problems import MAX_DEPTH, TOO_DEEP, Problem, Refused, duplicate_key

_NUMBER = lazy(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.A)
_SURROGATE = lazy(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
_SPACE = lazy(r"[ \t\n\r]*")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}


def read_json(text: str, start: int = 0) -> tuple[Json, list[Problem], int, dict[Path, int]] | None:
    """Read one value that begins at start; return None if it is not JSON.

    Returns the value, its problems, its end, and the code point where each key or list item starts. Raises Refused
    (TC001, TC004, TC012) if a value is JSON but cannot be used.
    """
    start = skip_space(text, start)
    reader = _Reader(text)
    try:
        data, end = reader.value(start)
    except ValueError:
        return None
    _check_characters(text, start, end)
    return data, reader.problems, end, reader.offsets


def skip_space(text: str, start: int) -> int:
    """Return the offset of the first character at or after start that is not white space in JSON."""
    match = _SPACE.match(text, start)
    return match.end() if match else start


class _Reader:
    """Reads one value; ``path`` leads to the part that is being read. Raises ValueError if it is not JSON."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.path: list[str | int] = []
        self.offsets: dict[Path, int] = {}
        self.problems: list[Problem] = []
        self.repeated: set[Path] = set()

    def value(self, at: int) -> tuple[Json, int]:
        """Return the value that starts at an offset, and where it ends."""
        if not (self.path and isinstance(self.path[-1], str)):  # the offset of a field is that of its key
            self.offsets[tuple(self.path)] = at
        first = self.text[at : at + 1]
        if first == '"':
            return scanstring(self.text, at + 1)  # type: ignore[no-any-return]
        if first in ("{", "["):
            if len(self.path) >= MAX_DEPTH:
                raise Refused(Problem("TC012", (), TOO_DEEP), at)
            return self._mapping(at + 1) if first == "{" else self._sequence(at + 1)
        for word, value in _WORDS.items():
            if self.text.startswith(word, at):
                return value, at + len(word)
        if (number := _NUMBER.match(self.text, at)) is None:
            raise ValueError(f"no JSON value at {at}")
        return self._number(number), number.end()

    def _number(self, match: re.Match[str]) -> Json:
        digits = match[0]
        number = float(digits)
        if not math.isfinite(number):
            self.problems.append(Problem("TC004", tuple(self.path), f"a number too large for 64 bits: {digits[:40]}"))
            return None
        if match[1] is None and match[2] is None:
            exact = int(digits) if len(digits) < 25 else 2**64
            return exact if -(2**63) <= exact < 2**63 else number
        return scalars.to_json(number)

    def _sequence(self, at: int) -> tuple[Json, int]:
        out: list[Json] = []
        char, at = self._next(at)
        while char != "]" or out:
            self.path.append(len(out))
            item, at = self.value(at)
            self.path.pop()
            out.append(item)
            char, at = self._next(at, ",", "]")
            if char == "]":
                break
            _, at = self._next(at + 1)
        return out, at + 1

    def _mapping(self, at: int) -> tuple[Json, int]:
        out: JsonObject = {}
        char, at = self._next(at, '"', "}")
        while char == '"':
            key, end = scanstring(self.text, at + 1)
            self.path.append(key)
            path = tuple(self.path)
            self.offsets[path] = at
            if key in out and not any(path[:size] in self.repeated for size in range(1, len(path) + 1)):
                self.repeated.add(path)  # once, and none below it
                self.problems.append(duplicate_key(path))
            _, at = self._next(end, ":")
            _, at = self._next(at + 1)
            out[key], at = self.value(at)
            self.path.pop()
            char, at = self._next(at, ",", "}")
            if char == ",":
                char, at = self._next(at + 1, '"')
        return out, at + 1

    def _next(self, at: int, *wanted: str) -> tuple[str, int]:
        """Return the next character that is not white space, which must be one of those wanted, and its offset."""
        at = skip_space(self.text, at)
        found = self.text[at : at + 1]
        if wanted and found not in wanted:
            raise ValueError(f"no {' or '.join(wanted)} at {at}")
        return found, at


def _check_characters(text: str, start: int, end: int) -> None:
    part = text[start:end]
    try:
        part.encode()
    except UnicodeEncodeError as error:
        raise Refused(Problem("TC001", (), "bytes that are not UTF-8"), start + error.start) from None
    if "\\u" in part:
        for match in _SURROGATE.finditer(part):
            if match[1]:
                problem = Problem("TC004", (), f"\\{match[1]} is half of a character, and text cannot hold it alone")
                raise Refused(problem, start + match.start())
