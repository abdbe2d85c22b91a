"""Every recorded answer of the API server's own CEL engine is ours: value, type, error and, where exact, cost.

`make test` asks every fourth question of each file, CI all of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from celcosts import Asking, asking, comparable
from effort import some
from oracle import celgoldens
from trainc.cel.library import functions
from trainc.cel.macros import MACROS, NOT_NEW
from trainc.cel.types import parse_signature

__all__ = ["asking"]

SHOWN = 3


@pytest.mark.parametrize("path", celgoldens.answered(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_same_answers(path: Path, asking: Asking) -> None:
    pairs = celgoldens.read(path)
    assert pairs
    wrong = []
    for question, expected in some(pairs, 4):
        found, wanted = (comparable(question, each) for each in asking.answer(question, expected))
        if found != wanted:
            wrong.append((question["expr"], found, wanted))
    assert not wrong, f"{len(wrong)} of {len(pairs)} differ: {wrong[:SHOWN]}"


def test_every_function_is_asked_for() -> None:
    text = "\n".join(
        question["expr"] for path in celgoldens.CASES.glob("library/*.jsonl") for question, _ in celgoldens.read(path)
    )
    rows = [row for row in functions().values() if row.name.isidentifier() or row.name.startswith("lists.")]
    offline = {row.name for row in rows if "kubernetes.authorization." in row.overloads[0].text}
    elsewhere = {
        "in",
        "_in_",
        "__not_strictly_false__",
        "dyn",
        "type",
        "or",
        "orValue",
        "value",
        "hasValue",
        "unwrapOpt",
    }
    asked = {row.name for row in rows if f"{row.name}(" in text}
    assert len(rows) > 80
    assert {row.name for row in rows} - asked - offline <= elsewhere | {"lists.range"}


def test_functions_are_those_of_kubernetes() -> None:
    """Functions, overloads and types are declared as the API server's own code declares them, in its order."""
    declared = json.loads((celgoldens.HERE / "cel" / "declared.json").read_text(encoding="utf-8"))
    rows = functions()
    assert rows.keys() == declared["functions"].keys()
    for name, overloads in declared["functions"].items():
        wanted = [(identifier, *parse_signature(text)) for identifier, text in overloads]
        assert [(each.id, *each.signature[:3]) for each in rows[name].overloads] == wanted
    assert {each.id for row in rows.values() if row.stored for each in row.overloads} == set(declared["stored_only"])
    assert sorted(declared["macros"]) == sorted([*macro, *(["stored"] if macro in NOT_NEW else [])] for macro in MACROS)
