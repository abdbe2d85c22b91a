"""CEL's libraries against the true engine's answers: value, type, error and cost (tests/oracle/cellibrary.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from celcosts import Asking, asking
from trainc.cel.functions import STRUCTS
from trainc.cel.library import functions
from trainc.cel.macros import MACROS, NOT_NEW
from trainc.cel.typetext import signature

__all__ = ["asking"]

CASES = Path(__file__).resolve().parent / "library"
FILES = sorted(CASES.glob("*.jsonl"))
SHOWN = 5


def pairs(path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    lines = path.read_text(encoding="ascii").splitlines()
    return [(pair["question"], pair["answer"]) for pair in map(json.loads, lines)]


def told(given: dict[str, Any]) -> dict[str, Any]:
    """Leave of an answer what is compared: all, but of a compiler's error the message without the source."""
    error = given["error"]
    return {**given, "error": error and "\n".join(line for line in error.split("\n") if not line.startswith(" | "))}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_answers(path: Path, asking: Asking) -> None:
    cases = pairs(path)
    assert len(cases) > 100
    found = [(question, *map(told, asking.answer(question, wanted))) for question, wanted in cases]
    # As texts, for 1 == True == 1.0 in Python.
    wrong = [case for case in found if json.dumps(case[1], sort_keys=True) != json.dumps(case[2], sort_keys=True)]
    assert not wrong, f"{len(wrong)} of {len(cases)} differ, first: {wrong[:SHOWN]}"


def test_every_function_is_asked_for() -> None:
    text = "\n".join(question["expr"] for path in FILES for question, _ in pairs(path))
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
    declared = json.loads((CASES.parents[1] / "oracle" / "cel" / "declared.json").read_text(encoding="utf-8"))
    rows = functions()
    assert rows.keys() == declared["functions"].keys()
    for name, overloads in declared["functions"].items():
        wanted = [(identifier, *signature(text, STRUCTS)) for identifier, text in overloads]
        assert [(each.id, *each.signature[:3]) for each in rows[name].overloads] == wanted
    assert {each.id for row in rows.values() if row.stored for each in row.overloads} == set(declared["stored_only"])
    assert sorted(declared["macros"]) == sorted([*macro, *(["stored"] if macro in NOT_NEW else [])] for macro in MACROS)
