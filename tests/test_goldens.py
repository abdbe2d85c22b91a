"""Every case of the oracle, compiled by us, against what the real Trainer and JobSet made of it. Needs no Go.

The cases are also jobs that run: what the checks call dead among them is listed here.
"""

from __future__ import annotations

import pytest

from oracle import goldens
from oracle.compare import compare, compile_case
from oracle.divergences import Ledger

NAMES = [name for name, _ in goldens.cases()]
NEVER_RUNS = {"TC820", "TC821", "TC822", "TC823", "TC827"}
DEAD = {"plain/V9-mpi-no-template": {"TC822"}}
"""A runtime of MPI without any replicated job."""


def test_enough_cases() -> None:
    assert len(NAMES) >= 320
    missing = [name for name in NAMES if not (goldens.GOLDENS / f"{name}.json").exists()]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str) -> None:
    build = compile_case(goldens.text(name))
    differences = compare(goldens.read(name), build)
    unexplained = Ledger().unexplained(differences)
    assert not unexplained, "\n".join(map(str, unexplained))
    assert {finding.code for finding in build.findings} & NEVER_RUNS == DEAD.get(name, set())
