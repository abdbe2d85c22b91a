"""CEL's libraries against the true engine's answers: value, type, error and cost (tests/oracle/cellibrary.py)."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from celcosts import Asking, asking
from trainc.cel.environments import base
from trainc.cel.library import authz, cidr, format, ip, namedformat, quantity, semver, table, urls
from trainc.cel.library.table import OVERLOADS

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
    offline = {name for name, overloads in base(False).functions.items() if overloads[0].id in authz.OVERLOADS}
    functions = {
        name
        for name, overloads in base(False).functions.items()
        if any(overload.id in OVERLOADS for overload in overloads) and name not in offline
    }
    constants = {name for name in functions if name.startswith("format.")}
    asked = {name for name in functions if f"{name}(" in text}
    assert len(functions) > 80
    assert functions - asked <= constants | {"@sortByAssociatedKeys", "lists.range"}


@pytest.mark.parametrize("library", [authz, cidr, format, ip, namedformat, quantity, semver, urls])
def test_what_is_imported_later_is_all_there(library: ModuleType) -> None:
    name = library.__name__.rpartition(".")[2]
    names = next(names for load, names in table._LATER.items() if load.__name__ == f"_{name}")
    assert sorted(names.split()) == sorted(library.OVERLOADS)


def test_every_overload_is_implemented() -> None:
    elsewhere = ("_", "!", "-", "@", "in", "optional.", "or", "hasValue", "value", "unwrapOpt", "cel.@")
    missing = {
        overload.id
        for name, overloads in base(False).functions.items()
        for overload in overloads
        if overload.id not in OVERLOADS and not name.startswith(elsewhere)
    }
    assert not missing
