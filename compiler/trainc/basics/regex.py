"""Regular expressions that are compiled on first use.

Compiling takes longer than loading the module that an expression stands in (those of emit.py 9 ms), and a run uses few.
"""

from __future__ import annotations

import re
from typing import Any, cast


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return an object with the attributes of ``re.compile(pattern, flags)``, but not its class.

    ``re.error`` is raised where it is first used.
    """
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


class _Lazy:
    """A pattern that keeps each method of the compiled pattern after the first use."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


_ESCAPES = lazy(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)


def has_any_byte(pattern: str) -> bool:
    """Return whether a pattern has ``\\C``, any byte, which RE2 supports and Go does not."""
    return any(escape.group() == "\\C" for escape in _ESCAPES.finditer(pattern))
