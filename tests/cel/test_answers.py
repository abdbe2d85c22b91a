"""Every recorded answer of the API server's own CEL engine is ours: value, type, error and, where exact, cost."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from celcosts import Asking, asking
from oracle import celgoldens
from trainc.cel.environments import base
from trainc.cel.library import authz, cidr, format, ip, namedformat, quantity, semver, table, urls
from trainc.cel.library.table import OVERLOADS

__all__ = ["asking"]

SHOWN = 3


def comparable(question: dict[str, Any], found: dict[str, Any]) -> str:
    """Return an answer as text (1 is not True, nor 1.0), without what need not be the same."""
    error = found["error"]
    if isinstance(error, str):  # the words of a syntax error are our own
        error = "Syntax error" if "Syntax error: " in error else celgoldens.without_excerpt(error)
    # Whether a CRD's rule is accepted depends on its estimated cost, which trainc does not judge.
    accepted = None if question["env"] == "crd" else found["accepted"]
    return json.dumps({**found, "error": error, "accepted": accepted}, sort_keys=True)


@pytest.mark.parametrize("path", celgoldens.answered(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_same_answers(path: Path, asking: Asking) -> None:
    pairs = celgoldens.read(path)
    assert pairs
    wrong = []
    for question, expected in pairs:
        found, wanted = (comparable(question, each) for each in asking.answer(question, expected))
        if found != wanted:
            wrong.append((question["expr"], found, wanted))
    assert not wrong, f"{len(wrong)} of {len(pairs)} differ: {wrong[:SHOWN]}"


def test_every_function_is_asked_for() -> None:
    text = "\n".join(
        question["expr"] for path in celgoldens.CASES.glob("library/*.jsonl") for question, _ in celgoldens.read(path)
    )
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
