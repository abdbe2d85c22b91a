"""The CEL oracle: its goldens; with Go also that they are current."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from oracle import celgoldens, celrunner

GOLDENS = sorted(celgoldens.GOLDENS.glob("*.jsonl"))
KEYS = {"ok", "accepted", "type", "value", "stage", "error", "cost"}


@pytest.fixture(scope="module")
def oracle() -> None:
    reason = celrunner.missing()
    if reason is not None:
        pytest.skip(reason)
    celrunner.build()


def test_goldens_hold_values_and_every_kind_of_error() -> None:
    stages: Counter[str] = Counter()
    seen: set[str] = set()
    for path in GOLDENS:
        for question, answer in celgoldens.read(path):
            assert answer.keys() == KEYS
            assert (answer["stage"] is None) == answer["ok"] == (answer["error"] is None)
            assert question["id"] not in seen
            seen.add(question["id"])
            if not path.stem.startswith("spec-"):
                stages[answer["stage"] or "value"] += 1
    assert stages["value"] > 2000
    assert stages["compile"] > 800
    assert stages["eval"] > 600
    assert stages["undecided"] > 20


def test_goldens_call_every_function() -> None:
    functions = json.loads((celrunner.HERE / "functions.json").read_text(encoding="utf-8"))["functions"]
    asked = " ".join(question["expr"] for question, _ in celgoldens.read(celgoldens.GOLDENS / "made-functions.jsonl"))
    names = {entry["function"] for entry in functions}
    missing = {name for name in names if name.isidentifier() and f"{name}(" not in asked}
    assert missing - {"in", "_in_", "__not_strictly_false__"} == set()


@pytest.mark.go
def test_functions_are_current(oracle: None) -> None:
    written = json.loads((celrunner.HERE / "functions.json").read_text(encoding="utf-8"))
    assert json.loads(celrunner.text(["functions"])) == written


@pytest.mark.go
def test_every_twentieth_golden_is_current(oracle: None) -> None:
    pairs = [pair for path in GOLDENS for pair in celgoldens.read(path)][::20]
    answers = celrunner.ask(question for question, _ in pairs)
    for (question, golden), answer in zip(pairs, map(celgoldens.condense, answers), strict=True):
        fresh = answer | ({"cost": None} if golden["cost"] is None else {})
        assert fresh == golden, question


@pytest.mark.go
def test_a_question_without_sense_is_refused(oracle: None) -> None:
    with pytest.raises(celrunner.OracleError, match="no environment"):
        celrunner.ask([{"id": 1, "env": "nowhere", "expr": "1"}])
