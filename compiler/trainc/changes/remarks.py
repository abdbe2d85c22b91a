"""What has to be known before a difference is read: files that trainc did not write, and out/ that is stale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trainc.changes.model import Difference
from trainc.diagnostics.display import one_line

_MOST: Final = 10
_WIDTH: Final = 120


def warnings(difference: Difference) -> tuple[str, ...]:
    """Return a sentence for each, the worst first; none where all is as it should be."""
    found = []
    if names := difference.foreign:
        one = len(names) == 1
        what = "1 file or folder below out/ was" if one else f"{len(names)} files or folders below out/ were"
        them = "it" if one else "them"
        found.append(f"{what} not written by trainc, and Argo CD or Flux reads {them}: {_listed(names)}")
    if difference.stale is None and difference.broken:
        found.append("out/ may be stale: its sources have errors, which trainc validate lists")
    elif places := [str(place) for place in difference.stale or ()]:
        what = "1 job" if len(places) == 1 else f"{len(places)} jobs"
        found.append(f"out/ is stale for {what}: {_listed(places)}. Run trainc render, then compare again")
    return tuple(found)


def _listed(names: Sequence[str]) -> str:
    shown = [one_line(name, _WIDTH) for name in names[:_MOST]]
    return ", ".join(shown) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
