"""What is remembered never makes a difference but time: after any edits a run gives what one without memory gives."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from walking import Step, fault, shortest, small_steps, steps

WALKS = int(os.environ.get("TRAINC_WALKS", "8"))
"""So many walks; more by the environment, for who has changed how something is remembered."""

RUNS = 20


@pytest.mark.parametrize("seed", range(WALKS))
def test_a_walk_of_edits(seed: int, tmp_path: Path) -> None:
    walk(steps(Random(seed), RUNS), tmp_path, seed % 2 * 20)


@pytest.mark.parametrize("seed", range(WALKS))
def test_a_walk_of_small_edits(seed: int, tmp_path: Path) -> None:
    reached = walk(small_steps(Random(seed), RUNS), tmp_path, seed % 2 * 20)
    assert reached or seed >= 8, "no run has looked at changes alone, as nearly every walk has"


def walk(path: list[Step], tmp_path: Path, patience: int) -> list[int]:
    """Walk; return the exit status of each run that has looked at what changed alone. Fail with the shortest walk."""
    reached: list[int] = []
    told = fault(path, tmp_path / "walk", patience, reached)
    if told is None:
        return reached
    count = iter(range(10_000))
    shorter = shortest(path, lambda each: fault(each, tmp_path / f"{next(count)}", patience) is not None)
    again = fault(shorter, tmp_path / "last", patience) or told
    lines = "\n".join(f"    {step!r}," for step in shorter)
    pytest.fail(f"[\n{lines}\n]\n{again}", pytrace=False)
