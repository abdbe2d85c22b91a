"""The runner against the true engine's answers: value, error and cost (celcosts.py).

The questions of ``runner/`` were chosen by hand and at random, for what cel-go's cost tracker does with failures that
something absorbs, with loops that end early and with what is evaluated and not used. ``python
tests/oracle/cellibrary.py`` asks them again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from celcosts import Asking, asking

__all__ = ["asking"]

CASES = Path(__file__).resolve().parent / "runner"
SHOWN = 3


@pytest.mark.parametrize("path", sorted(CASES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_answers(path: Path, asking: Asking) -> None:
    pairs = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
    assert len(pairs) > 50
    wrong = []
    for pair in pairs:
        found, wanted = asking.answer(pair["question"], pair["answer"])
        if found["stage"] == "compile":
            # Without the lines that repeat the expression.
            text = str(found["error"])
            found["error"] = "\n".join(line for line in text.split("\n") if not line.startswith(" | "))
        # As texts, for 1 == True == 1.0 in Python.
        if json.dumps(found, sort_keys=True) != json.dumps(wanted, sort_keys=True):
            wrong.append((pair["question"]["expr"], found, wanted))
    assert not wrong, f"{len(wrong)} of {len(pairs)} differ: {wrong[:SHOWN]}"
