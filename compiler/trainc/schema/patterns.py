"""Regular expressions as Go reads them: RE2, whose library is used.

The patterns in this package's own schemas are few and mean the same to Python's re, but for the end of the text; they
are left to it, since most runs then need no library. Foreign ones never are: re takes exponential time on some.
Source of the errors' texts: regexp/syntax of Go's standard library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from trainc.data import load_json
from trainc.regex import lazy
from trainc.source import Json

_GO_TEXTS: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}
"""What Go says, by what the RE2 library says of the same fault."""

_TOO_LARGE: Final = "pattern too large"
_MEMORY: Final = 64 << 20
_ANY_BYTE = lazy(r"(?:[^\\]|\\[^CQ])*?(\\C)", re.S)
"""``\\C``, which RE2 has and Go has not; behind ``\\Q`` nothing is looked for."""


class UnsupportedPattern(ValueError):
    """A pattern that cannot be tried here, though Go may well take it: one that needs too much memory."""


@cache
def matcher(pattern: str) -> Callable[[str], bool]:
    """Return what tells whether Go's MatchString would match a text.

    Raises UnsupportedPattern for a pattern that Go refuses or that is too large.
    """
    if is_packaged(pattern):
        search = re.compile(_EVERY_END.sub(r"\\Z", pattern), re.ASCII).search
        return lambda text: search(text) is not None
    compiled, error = _compile(pattern)
    if compiled is None:
        raise UnsupportedPattern(error)
    found = compiled.search
    return lambda text: found(text) is not None


_EVERY_END = lazy(r"\$")


@cache
def pattern_error(pattern: str) -> str | None:
    """Return Go's text for a pattern that it cannot compile, or None for one that it can."""
    if not pattern or is_packaged(pattern):
        return None
    _, error = _compile(pattern)
    return None if error is None or error.startswith(_TOO_LARGE) else error


def is_too_large(pattern: str) -> bool:
    """Tell whether a pattern that Go may take cannot be tried here."""
    return (_compile(pattern)[1] or "").startswith(_TOO_LARGE)


def is_packaged(pattern: str) -> bool:
    """Tell whether a pattern stands in the CRDs of this package."""
    return any(pattern in packaged(name) for name in PACKAGED)


PACKAGED: Final = ("schemas/nodes.json",)
"""The package's data whose patterns a usual run tries."""


@cache
def packaged(name: str) -> frozenset[str]:
    """Return the patterns in a file of the package's data."""
    return frozenset(_patterns(load_json(name)))


def _patterns(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(found := value.get("pattern"), str):
            yield found
        for below in value.values():
            yield from _patterns(below)
    elif isinstance(value, list):
        for below in value:
            yield from _patterns(below)


@cache
def _compile(pattern: str) -> tuple[Any, str | None]:
    import re2  # type: ignore[import-untyped]

    if (any_byte := _ANY_BYTE.match(pattern)) is not None:
        return None, f"error parsing regexp: invalid escape sequence: `{any_byte[1]}`"
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern, options), None
    except re2.error as error:
        text = error.args[0]
        said = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
        return None, _go_text(said)


def _go_text(said: str) -> str:
    if said.startswith(_TOO_LARGE):
        return said
    fault, _, argument = said.partition(": ")
    return f"error parsing regexp: {_GO_TEXTS.get(fault, fault)}: `{argument}`"
