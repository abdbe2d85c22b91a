"""One JSON value to plain data, as kubectl decodes it: numbers as Kubernetes keeps them, duplicates found."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator

from trainc.basics.jsonvalues import Json, JsonObject, Path
from trainc.basics.regex import lazy
from trainc.documents import scalars
from trainc.documents.bounds import MAX_DEPTH, TOO_DEEP
from trainc.documents.problems import Problem, Refused, duplicate_key

_TOKEN = lazy(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]+', re.S)
_SURROGATE = lazy(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
_SPACE = lazy(r"[ \t\n\r]*")


def read_json(text: str, start: int = 0) -> tuple[Json, list[Problem], int] | None:
    """Read one value from start on: the value, what is wrong with it, and where it ends; None if it is not JSON.

    Raises Refused (TC001, TC004, TC012) where a value is JSON but cannot be used.
    """
    start = skip_space(text, start)
    duplicates: list[str] = []
    huge: list[str] = []

    def pairs(items: list[tuple[str, Json]]) -> JsonObject:
        out = dict(items)
        if len(out) != len(items):
            duplicates.append("")
        return out

    def number(digits: str) -> Json:
        value = _number(digits)
        if value is None:
            huge.append(digits)
        return value

    decoder = json.JSONDecoder(
        object_pairs_hook=pairs, parse_int=number, parse_float=number, parse_constant=_no_constant
    )
    try:
        data, end = decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        _check_depth(text, start, len(text))
        return None
    _check_depth(text, start, end)
    _check_characters(text, start, end)
    problems = [duplicate_key(path) for path in (_repeated(text, start) if duplicates else ())]
    problems += [
        Problem("TC004", path, f"a number too large for 64 bits: {digits[:40]}")
        for path, digits in (_numbers(text, start, huge) if huge else ())
    ]
    return data, problems, end


def skip_space(text: str, start: int) -> int:
    """Return the offset of the first character from start on that is not JSON's white space."""
    match = _SPACE.match(text, start)
    return match.end() if match else start


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _number(digits: str) -> Json:
    if len(digits) < 19 and digits.lstrip("-").isdigit():
        return int(digits)
    value = float(digits)
    if not math.isfinite(value):
        return None
    if digits.lstrip("-").isdigit():
        exact = int(digits) if len(digits) < 25 else 2**64
        return exact if -(2**63) <= exact < 2**63 else value
    return scalars.to_json(value)


def _check_depth(text: str, start: int, end: int) -> None:
    # Counting brackets is fast and nearly always enough.
    if text.count("{", start, end) + text.count("[", start, end) <= MAX_DEPTH:
        return
    depth = 0
    for match in _TOKEN.finditer(text, start, end):
        token = match[0]
        if token in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise Refused(Problem("TC012", (), TOO_DEEP), match.start())
        elif token in "}]":
            depth -= 1


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


def _positions(text: str, start: int) -> list[tuple[Path, int]]:
    """List path and offset of each key and list item of the JSON value at start, repeated keys too."""
    out: list[tuple[Path, int]] = []
    path: list[str | int] = []
    key_next = False
    for match in _TOKEN.finditer(text, start):
        token = match[0]
        if token == ":":
            continue
        if token in ("}", "]"):
            path.pop()
            key_next = False
        elif token == ",":
            if isinstance(path[-1], int):
                path[-1] += 1
            else:
                key_next = True
        elif key_next:
            path[-1] = json.loads(token)
            out.append((tuple(path), match.start()))
            key_next = False
        else:
            if not path or isinstance(path[-1], int):
                out.append((tuple(path), match.start()))
            if token in ("{", "["):
                key_next = token == "{"
                path.append("" if key_next else 0)
        if not path:
            break
    return out


def _numbers(text: str, start: int, wanted: list[str]) -> Iterator[tuple[Path, str]]:
    """Yield path and digits of each wanted number of the JSON value at start; they are wanted in order."""
    positions = _positions(text, start)
    offsets = [offset for _, offset in positions]
    tokens = _TOKEN.finditer(text, start)
    for digits in wanted:
        token = next(token for token in tokens if token[0] == digits)
        yield positions[bisect_right(offsets, token.start()) - 1][0], digits


def _repeated(text: str, start: int) -> list[Path]:
    seen: set[Path] = set()
    twice: dict[Path, None] = {}
    for path, _ in _positions(text, start):
        if path in seen and not any(path[:end] in twice for end in range(1, len(path))):
            twice[path] = None
        seen.add(path)
    return list(twice)


def json_offsets(text: str, start: int = 0) -> dict[Path, int]:
    """Map each path of the JSON value at start to the code point where its key, or list item, starts."""
    return dict(_positions(text, start))
