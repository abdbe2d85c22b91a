"""The CEL oracle: its generator and goldens; with Go also that both are current."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice

import pytest

from oracle import celgen, celgoldens, celrunner

KEYS = {"ok", "accepted", "type", "value", "stage", "error", "cost"}


@pytest.fixture(scope="module")
def oracle() -> None:
    reason = celrunner.missing()
    if reason is not None:
        pytest.skip(reason)
    celrunner.build()


def test_questions_depend_on_the_seed_only() -> None:
    for suite, count in celgen.SELECTED.items():
        first = list(islice(celgen.generate(suite, 5, count), 40))
        assert first == list(islice(celgen.generate(suite, 5, count), 40))
        other = list(islice(celgen.generate(suite, 6, count), 40))
        assert [question["expr"] for question in first] != [question["expr"] for question in other], suite


def test_goldens_hold_values_and_every_kind_of_error() -> None:
    stages: Counter[str] = Counter()
    seen: set[str] = set()
    for name in celgoldens.names():
        for question, answer in celgoldens.read(name):
            assert answer.keys() == KEYS
            assert (answer["stage"] is None) == answer["ok"] == (answer["error"] is None)
            assert question["id"] not in seen
            seen.add(question["id"])
            if not name.startswith("spec-"):
                stages[answer["stage"] or "value"] += 1
    assert stages["value"] > 2000
    assert stages["compile"] > 800
    assert stages["eval"] > 600
    assert stages["undecided"] > 20


def test_goldens_call_every_function() -> None:
    functions = json.loads((celrunner.HERE / "functions.json").read_text(encoding="utf-8"))["functions"]
    asked = " ".join(question["expr"] for question, _ in celgoldens.read("made-functions"))
    names = {entry["function"] for entry in functions}
    missing = {name for name in names if name.isidentifier() and f"{name}(" not in asked}
    assert missing - {"in", "_in_", "__not_strictly_false__"} == set()


@pytest.mark.go
def test_functions_are_current(oracle: None) -> None:
    written = json.loads((celrunner.HERE / "functions.json").read_text(encoding="utf-8"))
    assert json.loads(celrunner.text(["functions"])) == written


@pytest.mark.go
def test_every_twentieth_golden_is_current(oracle: None) -> None:
    pairs = [pair for name in celgoldens.names() for pair in celgoldens.read(name)][::20]
    answers = celrunner.ask(question for question, _ in pairs)
    for (question, golden), answer in zip(pairs, map(celgoldens.condense, answers), strict=True):
        fresh = answer | ({"cost": None} if golden["cost"] is None else {})
        assert fresh == golden, question


@pytest.mark.go
def test_a_question_without_sense_is_refused(oracle: None) -> None:
    with pytest.raises(celrunner.OracleError, match="no environment"):
        celrunner.ask([{"id": 1, "env": "nowhere", "expr": "1"}])
