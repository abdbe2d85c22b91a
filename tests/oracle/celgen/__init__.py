"""Generates questions about CEL for the oracle and for trainc: the same from the same seed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oracle.celgen import suites
from oracle.celgen.costly import costly
from oracle.celgen.mixed import mixed
from oracle.celgen.probes import probes
from oracle.celgen.syntax import syntax
from oracle.generator.rng import Rng

Question = dict[str, Any]
SEED = 34
# How many questions of each suite the goldens hold, before equal ones are dropped; of `functions`, how many a function.
SELECTED = {
    "functions": 4,
    "libraries": 700,
    "escapes": 90,
    "nested": 450,
    "policies": 260,
    "rules": 330,
    "syntax": 160,
    "mixed": 240,
}


def generate(suite: str, seed: int, count: int) -> Iterator[Question]:
    """Yield questions of a suite (a key of SELECTED), with ids, none twice."""
    rng = Rng(seed, list(SELECTED).index(suite))
    make = {"syntax": syntax, "mixed": mixed}.get(suite) or getattr(suites, suite)
    yield from numbered(f"{suite}/{seed}", make(rng, count))


def numbered(prefix: str, questions: Iterator[Question]) -> Iterator[Question]:
    """Give each question an id and drop the second of equals."""
    seen = set()
    for question in questions:
        key = json.dumps(question, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield {"id": f"{prefix}/{len(seen)}", **question}


def selection() -> dict[str, list[Question]]:
    """Return the questions that the goldens hold, by suite."""
    chosen = {f"made-{suite}": list(generate(suite, SEED, count)) for suite, count in SELECTED.items()}
    chosen["probes"] = list(numbered("probes", probes()))
    chosen["costly"] = list(numbered("costly", costly()))
    return chosen
