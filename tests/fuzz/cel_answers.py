"""Compares answers to the questions of the CEL targets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from celcosts import comparable, own_words
from fuzz.cel_worlds import FILE, worlds
from fuzz.target import Case, Oracle
from oracle import celrunner

_CALL = re.compile(r"[a-zA-Z]+\(|[-+*/%<>=!&|?]+")
_PARTICULAR = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\d+|\([^()]*\)""")
_TYPE_VARIABLE = re.compile(r"\b_var\d+\b")

OWN_WORDS = (
    ("compilation failed", "index out of range"),
    ("compilation failed", "nil pointer dereference"),
    ("program instantiation failed", "program instantiation failed: internal error"),
    ("composited variable", "no such overload"),
    ("authorizer: cannot be evaluated offline", "types.Unknown"),
)
"""Parts of errors of ours and of the oracle's that mean the same: where cel-go panics in its checker (``[?x]`` or
``x{}`` for an x that is dyn or a type), in a macro (``optMap()`` of a message with a field in backquotes), or before it
sees a second error in a constant, the first of which trainc reports; and the oracle cannot write ``variables`` as a
whole, nor add an unknown to a list."""


def oracle() -> list[Any]:
    """Build the oracle and return its command."""
    celrunner.build()
    return [celrunner.BINARY, "answer", FILE]


def question(case: Case, _ours: Any) -> Case:
    """Return the question of a case. Raises KeyError for a case that is none."""
    worlds()[case["world"]]
    return {"world": case["world"], "expr": case["expr"]}


@cache
def _stable() -> Oracle:
    return Oracle([celrunner.BINARY, "stable", FILE], escaped=True)


def is_stable(case: Case) -> bool:
    """Return whether the API server always gives the same answer: the order of Go's maps is random."""
    return not _stable().ask([question(case, None)])[0].get("unstable")


def outcomes(case: Case, ours: Any) -> Iterator[str]:
    """Yield each function and operator of a case with the type, and with the error, of trainc's answer."""
    ours = ours or {"type": None, "error": "raised"}
    results = [str(ours["type"]), *([skeleton(ours["error"])] if ours["error"] else ())]
    yield from {f"{name} {result}" for name in _CALL.findall(case["expr"]) for result in results}


def skeleton(error: str) -> str:
    """Return the first line of an error without what is particular to the case."""
    return _PARTICULAR.sub("_", error.split("\n", maxsplit=1)[0])[:150]


def renumbered(error: str) -> str:
    """Return an error with its type variables numbered as they occur: cel-go numbers them in the order of a Go map.

    Go's panic for a key that it cannot hash has other words if the map is empty.
    """
    names: dict[str, str] = {}
    error = error.replace("error: hash of unhashable type: ", "error: runtime error: hash of unhashable type ")
    return _TYPE_VARIABLE.sub(lambda found: names.setdefault(found.group(), f"_var{len(names)}"), error)


def described(what: str, found: Any, wanted: Any) -> str | None:
    """Return what is wrong with an answer, None if it is right."""
    blank = {"ok": None, "accepted": None, "value": None, "stage": None, "cost": None}
    errors = [each["error"] or "" for each in (found, wanted)]
    renamed = ({**blank, **each, "error": each["error"] and renumbered(each["error"])} for each in (found, wanted))
    one, two = own_words(*renamed)
    if comparable({"env": "crd"}, one) == comparable({"env": "crd"}, two):
        return None
    if any(all(part in error for part, error in zip(pair, errors, strict=True)) for pair in OWN_WORDS):
        return None
    names = [name for name in one if one[name] != two.get(name)]
    kind = f"{what}: {' '.join(names)}, {one['type']}: {' | '.join(map(skeleton, errors))}"
    return f"{kind[:300]}\n{json.dumps(one)}\n{json.dumps(two)}"
