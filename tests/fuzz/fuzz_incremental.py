"""Renders with the cache against clean ones, after any edits, interrupted runs and changes during a run.

After each run, both have to agree in out/, findings and exit code; ``tests/cache/walking.py`` has the edits. Each of
these comparisons is an execution.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from cache.walking import Step, fault, steps
from fuzz.target import Case, Target

RUNS = 20
"""More make a comparison cheaper: each walk begins with a repository of which nothing is remembered."""

MEMORY = Path("/dev/shm")
"""Files are quicker there, if it exists."""


def make(chance: random.Random) -> Case:
    """Return the steps of a walk, each a name and a seed."""
    return [list(step) for step in steps(chance, RUNS)]


def ours(case: Case) -> Any:
    """Walk, and return what is wrong."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        return fault([Step(*step) for step in case], Path(folder) / "walk")


def compare(_case: Case, ours: Any, _theirs: Any) -> str | None:
    """Return what is wrong: the command and the first line that differs, then all of it."""
    return None if ours is None else "incremental: " + "".join(ours.partition(":")[2].split("\n")[:2]) + "\n" + ours


def weight(case: Case) -> int:
    """Count the comparisons."""
    return sum(name == "run" for name, _ in case)


TARGET = Target(make, ours, compare, weight=weight)
