"""Every case of the oracle, compiled by us, against what the real Trainer and JobSet made of it. Needs no Go."""

from __future__ import annotations

import pytest

from oracle import goldens
from oracle.compare import compare, compile_case
from oracle.divergences import Ledger

NAMES = [name for name, _ in goldens.cases()]


def test_enough_cases() -> None:
    assert len(NAMES) >= 320
    missing = [name for name in NAMES if not (goldens.GOLDENS / f"{name}.json").exists()]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str) -> None:
    differences = compare(goldens.read(name), compile_case(goldens.text(name)))
    unexplained = Ledger().unexplained(differences)
    assert not unexplained, "\n".join(map(str, unexplained))
