"""Regular expressions as Go reads them: RE2, whose library is used.

The patterns in this package's own schemas are few and mean the same to Python's re, but for the end of the text; they
are left to it, since most runs then need no library. Foreign ones never are: re takes exponential time on some.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from trainc.basics.jsonvalues import Json
from trainc.basics.regex import lazy
from trainc.data import load_json

_MEMORY: Final = 64 << 20
_ANY_BYTE = lazy(r"(?:[^\\]|\\[^CQ])*?(\\C)", re.S)
"""``\\C``, which RE2 has and Go has not; behind ``\\Q`` nothing is looked for."""

PACKAGED: Final = ("schemas/nodes.json",)
"""The package's data whose patterns a usual run tries; the first has what most do."""


@cache
def matcher(pattern: str) -> Callable[[str], bool] | None:
    """Return what tells whether Go's MatchString would match a text.

    None for a pattern that Go refuses, or that needs more memory than is spent on one here.
    """
    if any(pattern in packaged(name) for name in PACKAGED):
        search = re.compile(pattern.replace("$", r"\Z"), re.ASCII).search
        return lambda text: search(text) is not None
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        found = None if _ANY_BYTE.match(pattern) else re2.compile(pattern, options).search
    except re2.error:
        found = None
    return None if found is None else lambda text: found(text) is not None


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
