"""Every command that writes, with a fault at each call of the file system: old or new, said, and repaired."""

from __future__ import annotations

import os
import random

import pytest
from lab import COMMANDS, Lab

from effort import THOROUGH

STEP = 1 if os.environ.get("TRAINC_THOROUGH") else 20 if THOROUGH else 150
"""One of so many cases is tried."""

FEW = ("render-changes", "fix", "package-again")
"""The commands of a short run."""


@pytest.mark.parametrize("name", COMMANDS if THOROUGH else FEW)
def test_faults(lab: Lab, name: str) -> None:
    experiment = lab.prepare(COMMANDS[name])
    assert [line for line in experiment.clean["calls"] if line.startswith("BYPASS")] == []
    cases = list(experiment.cases())
    random.Random(name).shuffle(cases)
    problems = []
    for number, fault in cases[: max(1, len(cases) // STEP)]:
        if (wrong := experiment.wrong(number, fault)) is not None:
            problems.append(f"{fault} at call {number} ({experiment.clean['calls'][number - 1]}): {wrong}")
    assert not problems, "\n".join((f"{len(problems)} problems", *problems))
