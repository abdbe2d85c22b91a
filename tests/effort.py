"""How much of the random tests a run does: a part in `make test`, all in CI, or where TRAINC_THOROUGH is set."""

from __future__ import annotations

import os

THOROUGH = any(os.environ.get(name) for name in ("CI", "TRAINC_THOROUGH"))


def share(count: int) -> int:
    """Return how many of so many random cases to test."""
    return count if THOROUGH else max(1, count // 5)
