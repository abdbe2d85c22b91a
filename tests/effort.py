"""How much of many alike cases a run tests: a part in `make test`, all in CI, or where TRAINC_THOROUGH is set."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")
THOROUGH = any(os.environ.get(name) for name in ("CI", "TRAINC_THOROUGH"))
thorough = pytest.mark.skipif(not THOROUGH, reason="takes seconds: only in CI, or with TRAINC_THOROUGH=1")


def share(count: int) -> int:
    """Return how many of so many random cases to test."""
    return count if THOROUGH else max(1, count // 8)


def some(cases: Iterable[T], step: int) -> list[T]:
    """Return all cases in CI, every ``step``-th one else."""
    return list(cases)[:: 1 if THOROUGH else step]
