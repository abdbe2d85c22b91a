"""What is remembered never makes a difference but time: after any edits a run gives what one without memory gives."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from cache.walking import fault, steps
from effort import share

WALKS = int(os.environ.get("TRAINC_WALKS", share(10)))
"""So many walks; more by the environment, for who has changed how something is remembered."""

RUNS = 20


@pytest.mark.parametrize("seed", range(WALKS))
def test_a_walk_of_edits(seed: int, tmp_path: Path) -> None:
    path = steps(Random(seed), RUNS)
    assert fault(path, tmp_path / "walk") is None
