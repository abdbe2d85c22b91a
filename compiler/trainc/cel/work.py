"""The work that Kubernetes' cost does not see, counted so that no expression runs for long.

cel-go has a clock beside the cost; we have none. A meter starts at BUDGET and is taken from by loops, deep
comparisons, concatenations and calls that make or read much for a small cost.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Meter: TypeAlias = list[Any]
"""A list whose item WORK is what is left; the runner uses its frame."""

COST: Final = 0
WORK: Final = 1
LIMIT: Final = 2
FIXED: Final = 3
"""Items of a meter: a correction of the cost, the work left, what the cost may be; behind these, lists that ``+``
changes in place."""

BUDGET: Final = 5_000_000
"""Nodes of loops, elements compared or copied: what the limit of cost allows stays well below, a second or two does."""

PER_COST: Final = 5
"""The work that counts as 1 where costs are added up: so the limit of a cost and the budget of work are alike."""

CHARACTERS: Final = 64
"""How many characters are copied or compared for one unit of work."""

MESSAGE: Final = "the expression does too much work"


class Exhausted(Exception):
    """The work left is used up. Not an EvalError, since nothing in an expression may absorb it."""


class Panic(Exception):
    """Where cel-go panics: the whole evaluation fails, whatever the expression would make of an error."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = f"internal error: {message}"


def fresh() -> Meter:
    """Return a meter with the whole budget."""
    return [0, BUDGET, 0]


def spend(meter: Meter, amount: int) -> None:
    """Take amount from a meter. Raises Exhausted."""
    meter[WORK] -= amount
    if meter[WORK] < 0:
        raise Exhausted
