"""matches(), find() and findAll(), on RE2, with the messages of Go's package regexp.

Source: cel-go v0.26.0 (String.Match), k8s.io/apiserver v0.34.4 pkg/cel/library/regex.go, Go's regexp.FindAllString.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from trainc.basics.regex import lazy
from trainc.cel.gotext import cut, from_utf8, utf8
from trainc.cel.values import EvalError, Value
from trainc.cel.work import Meter, spend
from trainc.data import load_json

_MAX_MEMORY = 8 << 20
"""Bytes that RE2 may use for one pattern, and what bounds the size of patterns."""

_ESCAPES = lazy(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
_MATCH = 10
"""The work of finding one match of several."""

_MESSAGES = {
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid UTF-8": "invalid UTF-8",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}
"""RE2's words, and Go's for the same."""


@lru_cache(maxsize=512)
def pattern(text: str) -> Any:
    """Return a compiled regular expression, to be used on bytes. Raises EvalError with Go's message."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MAX_MEMORY
    try:
        compiled = re2.compile(utf8(text), options)
    except re2.error as error:
        raise EvalError(_go_message(error.args[0], text)) from None
    if any(escape.group() == "\\C" for escape in _ESCAPES.finditer(text)):
        # A single byte: the only escape of RE2's that Go lacks.
        raise EvalError("error parsing regexp: invalid escape sequence: `\\C`")
    return compiled


def _go_message(found: bytes | str, text: str) -> str:
    words = from_utf8(found) if isinstance(found, bytes) else found
    for message in sorted(_MESSAGES, key=len, reverse=True):
        if words == message or words.startswith(f"{message}: "):
            about = words[len(message) + 2 :]
            shown = text if message.startswith(("missing )", "unexpected )", "pattern too large")) else about
            return f"error parsing regexp: {_MESSAGES[message]}: `{cut(shown)}`"
    return f"error parsing regexp: {cut(words)}"


@cache
def _packaged() -> dict[str, int]:
    """Return the patterns in the rules of the CRDs in the package, with their weights."""
    found: dict[str, int] = load_json("schemas/patterns.json")
    return found


@cache
def _search(regex: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(regex.replace("$", r"\Z"), re.ASCII).search


def check(regex: str) -> None:
    """Raise EvalError with Go's message where regex is wrong."""
    if regex not in _packaged():
        pattern(regex)


@lru_cache(maxsize=4096)
def matches(text: str, regex: str) -> bool:
    """Tell whether regex matches anywhere in text. Raises EvalError for one that is wrong.

    The few patterns in the package mean the same to Python's re in a text of ASCII: most runs then need no library.
    """
    if text.isascii() and regex in _packaged():
        return _search(regex)(text) is not None
    compiled, data = pattern(regex), utf8(text)
    if "\\B" in regex:
        return _first(compiled, data) is not None
    return compiled.search(data) is not None


def find(text: str, regex: str) -> str:
    """Return the first match of regex in text, empty if there is none. Raises EvalError."""
    data = utf8(text)
    found = _first(_illegal(regex), data)
    return "" if found is None else from_utf8(data[found[0] : found[1]])


def find_all(text: str, regex: str, limit: int = -1, meter: Meter | None = None) -> list[str]:
    """Return the matches of regex in text, at most limit unless that is negative. Raises EvalError."""
    compiled, found = _illegal(regex), []
    if limit != 0:
        for match in _all(compiled, utf8(text)):
            if meter is not None:
                spend(meter, _MATCH)
            found.append(from_utf8(match))
            if len(found) == limit:
                break
    return found


def _illegal(regex: str) -> Any:
    try:
        return pattern(regex)
    except EvalError as error:
        raise EvalError(f"Illegal regex: {error.message}") from None


def _first(compiled: Any, data: bytes) -> tuple[int, int] | None:
    """Return where the first match begins and ends, or None.

    RE2 finds a ``\\B`` between the bytes of one code point, too; Go does not look there.
    """
    match = compiled.search(data)
    while match is not None:
        start, end = match.span()
        if start < end or not _is_inside(data, start):
            return int(start), int(end)
        match = compiled.search(data, start + 1)
    return None


def _all(compiled: Any, data: bytes) -> Iterator[bytes]:
    """Yield matches as Go does: an empty one right behind another match does not count."""
    behind = -1
    for match in compiled.finditer(data):
        start, end = match.span()
        if start == end and (start == behind or _is_inside(data, start)):
            continue
        behind = end
        yield data[start:end]


def _is_inside(data: bytes, at: int) -> bool:
    """Tell whether a place is between the bytes of one code point."""
    return at < len(data) and data[at] & 0xC0 == 0x80


@lru_cache(maxsize=512)
def weight(regex: str) -> int:
    """Return the number of instructions of a compiled regular expression; 0 for a wrong one."""
    if (known := _packaged().get(regex)) is not None:
        return known
    try:
        return int(pattern(regex).programsize)
    except EvalError:
        return 0


METERED = frozenset(("string_find_all_string", "string_find_all_string_int"))
"""Overloads that take a meter behind their arguments."""

OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "matches": matches,
    "matches_string": matches,
    "string_find_string": find,
    "string_find_all_string": lambda text, regex, meter=None: find_all(text, regex, -1, meter),
    "string_find_all_string_int": find_all,
}
