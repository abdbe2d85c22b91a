"""The regressions that the fuzzer found, and the targets themselves without it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from effort import share
from fuzz.cel_answers import renumbered
from fuzz.driver import HERE, TARGETS, load
from fuzz.target import Choices, Oracle

CORPUS = sorted(HERE.glob("corpus/*/*.json"))
ORACLES = [name for name in TARGETS if load(name).oracle is not None]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_regression_stays_mended(path: Path) -> None:
    target, row = load(path.parent.name), json.loads(path.read_text(encoding="utf-8"))
    assert target.compare(row["case"], target.ours(row["case"]), row["theirs"]) is None


def test_type_variables_are_compared_by_where_they_occur() -> None:
    assert renumbered("'list(_var16)' is no '_var3', nor '_var16'") == "'list(_var0)' is no '_var1', nor '_var0'"


@pytest.mark.parametrize("name", sorted(TARGETS.keys() - {"incremental"}))  # tests/cache/test_incremental.py
def test_trainc_answers_whatever_the_bytes(name: str) -> None:
    target, chance = load(name), random.Random(19)
    for size in range(share(100)):
        case = target.make(Choices(chance.randbytes(size * 4)))
        assert json.loads(json.dumps(case)) == case
        target.ours(case)


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
@pytest.mark.parametrize("name", ORACLES)
def test_the_oracle_answers_the_corpus_as_recorded_and_random_cases_as_trainc(name: str) -> None:
    target, chance = load(name), random.Random(4711)
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in CORPUS if path.parent.name == name]
    cases = [target.make(Choices(chance.randbytes(chance.choice((4, 30, 200))))) for _ in range(share(500))]
    assert target.oracle is not None
    oracle = Oracle(target.oracle(), escaped=target.escaped)
    try:
        answers = oracle.ask(
            [target.question(case, target.ours(case)) for case in [*(row["case"] for row in rows), *cases]]
        )
    finally:
        oracle.close()
    assert answers[: len(rows)] == [row["theirs"] for row in rows]
    for case, theirs in zip(cases, answers[len(rows) :], strict=True):
        assert target.compare(case, target.ours(case), theirs) is None, json.dumps(case)
