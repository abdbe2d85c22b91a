"""Regular expressions that are compiled when they are first used.

Compiling takes longer than loading the module that an expression stands in (those of emit.py 9 ms), and a run uses few.
"""

from __future__ import annotations

import re
from typing import Any, cast


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what can be used as ``re.compile(pattern, flags)``: its attributes are there, its class is not.

    ``re.error`` is raised where it is first used.
    """
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


class _Lazy:
    """A pattern whose methods are found once, and are then its own."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found
