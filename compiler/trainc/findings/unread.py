"""Finds what to hide of each line of a text that cannot be read, and so has no fields."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence, Set
from keyword import iskeyword

from trainc.basics.regex import lazy
from trainc.findings.secrets import is_secret_key, looks_secret, shaped

Span = tuple[int, int]
"""Begin and end in a line, in code points from 0."""

KIND_SECRET = lazy(r"[\"']?kind[\"']?\s*:\s*[\"']?Secret\b")
_NAME = lazy(r"([\w./-]+)(?:[\"']?\s*+(:))?")
"""A word, and the colon behind it if it is a key."""

_KEY = lazy(r"[\s?{\[-]*+(?:[\w./-]+\s*+:(?:\s|\Z)|\"[^\"]*\"\s*+:|'[^']*'\s*+:)")
"""The beginning of a line that has a key."""

_ALONE = lazy(r"[\s\"']*+[\w./-]++[^\w#:]*+(?:#.*)?")
"""A line with one word, which may be a key without its colon."""

AROUND = " \t\r\"'=,:|>()[]{}-"
"""Characters around a value, or in place of one that is on the lines below."""

_DATA = frozenset(("data", "stringData"))
_NO_LEVEL = 2**63, True
"""Above the indentation of any line."""


def unread_parts(lines: Sequence[str], *, is_yaml: bool = True, has_names: bool = True) -> Sequence[Span | None]:
    """Return what to hide of each line of a text that cannot be read, or of a program.

    It is what is behind the name of a secret, or behind the key ``value`` in a text with such a name: on its line, on
    the next line if there is nothing and the name is not the value of a key, and in YAML on all lines up to a key that
    is not indented more. And each line of a private key.
    """
    text = "\n".join(lines)
    keys = _lines_of_keys(text)
    has_name = has_names and any(looks_secret(match[1]) for match in _NAME.finditer(text))
    data = _DATA if KIND_SECRET.search(text) else frozenset[str]()
    found: list[Span | None] = []
    level, is_next = _NO_LEVEL, False  # of the line of a name, and whether nothing is behind the name
    for number, line in enumerate(lines):
        content = line.lstrip()
        indent = len(line) - len(content), content.startswith("-")  # a list may begin in the column of its key
        is_below = indent > level or is_next or (level != _NO_LEVEL and not _KEY.match(line))
        words = (match for match in _NAME.finditer(line) if is_yaml or not iskeyword(match[1])) if has_name else ()
        alone = is_yaml and has_name and _ALONE.fullmatch(line) is not None
        name = next((match for match in words if _names_secret(match, data, alone=alone)), None)
        behind = len(line) if name is None else name.end()
        if content and not content.startswith("#"):
            level = level if is_below else indent if name is not None and is_yaml else _NO_LEVEL
            waits = is_next if name is None else not _is_plain_value(name)
            is_next = waits and not line[0 if name is None else behind :].strip(AROUND)
        start = indent[0] if is_below else behind
        begin, end = len(line) - len(line[start:].lstrip(AROUND)), len(line.rstrip(AROUND))
        found.append((0, len(line)) if number in keys else (begin, end) if begin < end else None)
    return found


def _names_secret(match: re.Match[str], data: Set[str], *, alone: bool) -> bool:
    """Return whether a word is the name of a secret, or a key that may have one as its value, such as one of data."""
    is_key = match[2] is not None or alone
    may_be_data = match[1] in data or (alone and bool(data))  # perhaps misspelt
    return looks_secret(match[1]) or (is_key and (may_be_data or is_secret_key(match[1], beside=True)))


def _is_plain_value(match: re.Match[str]) -> bool:
    """Return whether a word is the value of a key, such as that of ``name``, so that no value of its own follows it."""
    return match[2] is None and match.string[: match.start()].rstrip(" \t\"'").endswith(":")


def _lines_of_keys(text: str) -> Set[int]:
    """Return the numbers, from 0, of the lines of private keys."""
    starts = [match.end() for match in re.finditer("\n", text)]
    spans = ((bisect_right(starts, start), bisect_right(starts, end - 1)) for start, end in shaped(text))
    return {number for first, last in spans if first < last for number in range(first, last + 1)}
