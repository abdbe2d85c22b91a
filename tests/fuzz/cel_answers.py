"""Compares answers to the questions of the CEL targets."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from celcosts import comparable, own_words

from fuzz.cel_worlds import FILE
from fuzz.target import Case, Oracle
from oracle import celrunner

_PARTICULAR = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\d+|\([^()]*\)""")

OWN_WORDS = (
    ("must be of type optional_type", "index out of range"),
    ("composited variable", "no such overload"),
)
"""Parts of errors of ours and of the oracle's that mean the same: cel-go's checker panics at an optional element that
is dyn, and the oracle cannot write ``variables`` as a whole."""


def oracle() -> list[Any]:
    """Build the oracle and return its command."""
    celrunner.build()
    return [celrunner.BINARY, "answer", FILE]


@cache
def _stable() -> Oracle:
    return Oracle([celrunner.BINARY, "stable", FILE], escaped=True)


def is_stable(case: Case) -> bool:
    """Return whether the API server always gives the same answer: the order of Go's maps is random."""
    return not _stable().ask([case])[0].get("unstable")


def described(what: str, found: Any, wanted: Any) -> str | None:
    """Return what is wrong with an answer, None if it is right."""
    blank = {"ok": None, "accepted": None, "value": None, "stage": None, "cost": None}
    one, two = own_words({**blank, **found}, {**blank, **wanted})
    if comparable({"env": "crd"}, one) == comparable({"env": "crd"}, two):
        return None
    errors = [each["error"] or "" for each in (one, two)]
    if any(all(part in error for part, error in zip(pair, errors, strict=True)) for pair in OWN_WORDS):
        return None
    names = [name for name in one if one[name] != two.get(name)]
    errors = [_PARTICULAR.sub("_", error.split("\n")[0]) for error in errors]
    kind = f"{what}: {' '.join(names)}, {one['type']}: {' | '.join(errors)}"
    return f"{kind[:300]}\n{json.dumps(one)}\n{json.dumps(two)}"
