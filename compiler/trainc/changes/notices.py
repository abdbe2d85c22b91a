"""What leads a difference, or ends it: what judges less than before, and changes that no source explains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.changes.model import Difference
from trainc.changes.phrases import counted
from trainc.diagnostics import Diagnostic
from trainc.source import JsonObject

_SHOWN: Final = 10
"""So many jobs are named."""


def weakened_title(difference: Difference) -> str:
    """Return the heading of what judges less than before."""
    return f"{counted(len(difference.weakened), 'change')} to what checks the jobs"


def weakened_lines(difference: Difference) -> Iterator[tuple[str, str]]:
    """Yield the place and the words of each change to what checks the jobs."""
    for finding in difference.weakened:
        hint = f" ({finding.hint})" if finding.hint is not None else ""
        yield f"{finding.file}:{finding.line}", f"{finding.message}{hint}"


def weakened_json(finding: Diagnostic) -> JsonObject:
    """Return one change to what checks the jobs, for programs."""
    return {
        "code": finding.code,
        "file": finding.file,
        "line": finding.line,
        "message": finding.message,
        "hint": finding.hint,
    }


def advice(difference: Difference) -> str:
    """Return what to do about changes that no source explains; empty without any."""
    places = difference.unexplained
    if not places:
        return ""
    named = ", ".join(map(str, places[:_SHOWN]))
    more = f" and {len(places) - _SHOWN:,} more" if len(places) > _SHOWN else ""
    return (
        f"No source of {named}{more} has changed. If out/ was edited by hand, change the sources instead and run"
        " 'trainc render'."
    )
