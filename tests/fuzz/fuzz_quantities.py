"""Quantities: parsing, writing, comparing and calculating, against apimachinery's resource.Quantity."""

from __future__ import annotations

from typing import Any

from fuzz.target import Case, Choices, Target
from kube.kube_cases import answer, quantity_text, with_short_exponents
from oracle import gotools

ALPHABET = "0123456789.eEinumkKMGTP+- "
FACTORS = (0, 1, 2, 3, 10, 1000, -1, 2**40, 2**63 - 1, -(2**63))
NUMBERS = (0, -0.0, 1.5, 1e21, 1e-7, 2**63, -(2**63) - 1, 12345678901234567890, 0.1, 1e300, True, None, [], {})


def text(chance: Choices) -> str:
    """Return a text that is a quantity, or nearly one, or any text of its letters."""
    if chance.randrange(4):
        return quantity_text(chance)
    return with_short_exponents("".join(chance.choice(ALPHABET) for _ in range(chance.randrange(40))))


def make(chance: Choices) -> Case:
    """Return a question to tests/oracle/kube."""
    kind = chance.randrange(4)
    if kind == 0:
        return {"op": "quantity", "text": text(chance)}
    if kind == 1:
        return {"op": "quantity-json", "raw": chance.choice(NUMBERS) if chance.randrange(2) else text(chance)}
    return {"op": "arithmetic", "text": text(chance), "other": text(chance), "factor": chance.choice(FACTORS)}


def compare(_case: Case, ours: Any, theirs: Any) -> str | None:
    """Compare what trainc and Go say."""
    if ours == theirs:
        return None
    fields = sorted(key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key))
    return f"differs: {' '.join(fields)}\n{ours}\n{theirs}"


TARGET = Target(
    make,
    answer,
    compare,
    oracle=lambda: [gotools.build(package="./kube")],
    escaped=False,
)
