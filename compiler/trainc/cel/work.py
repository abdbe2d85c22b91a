"""The work that Kubernetes' cost does not see, counted so that no expression runs for long.

cel-go has a clock beside the cost; we have none. A meter starts at BUDGET and is taken from by loops, deep
comparisons, concatenations and calls that read or return much for a small cost. A unit is about a third of a
microsecond.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Meter: TypeAlias = list[Any]
"""A list whose item WORK is what is left; the runner uses its frame."""

COST: Final = 0
WORK: Final = 1
LIMIT: Final = 2
FIXED: Final = 3
"""Items of a meter: a correction of the cost, the work left, the limit of the cost; behind these, lists that ``+``
changes in place."""

BUDGET: Final = 5_000_000
"""Nodes of loops, elements compared or copied: what the limit of cost allows stays well below, a second or two does."""

PER_COST: Final = 5
"""The work that counts as 1 where costs are added up: so the limit of a cost and the budget of work are alike."""

CHARACTERS: Final = 64
"""How many characters are copied or compared for one unit of work."""

MOST_CHARACTERS: Final = 2**26
MOST_ELEMENTS: Final = 2_000_000
"""Texts and lists, and pairs to compare, above these cost more than the limit of any expression."""

MESSAGE: Final = "the expression does too much work"
TOO_EXPENSIVE: Final = "operation cancelled: actual cost limit exceeded"


class Exhausted(Exception):
    """No work is left. Not an EvalError, since nothing in an expression may absorb it."""


class Panic(Exception):
    """Where cel-go panics: the whole evaluation fails, whatever the expression would make of an error."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = f"internal error: {message}"


class Exceeded(Panic):
    """The cost is above its limit, or the work above its budget."""

    def __init__(self, message: str = TOO_EXPENSIVE) -> None:
        super().__init__("")
        self.message = message


def fresh() -> Meter:
    """Return a meter with the whole budget."""
    return [0, BUDGET, 0]


def spend(meter: Meter, amount: int) -> None:
    """Take amount from a meter. Raises Exhausted."""
    meter[WORK] -= amount
    if meter[WORK] < 0:
        raise Exhausted


def check_size(characters: int) -> None:
    """Raise Exceeded for a text of too many characters."""
    if characters > MOST_CHARACTERS:
        raise Exceeded


def check_length(elements: int) -> None:
    """Raise Exceeded for a list of too many elements, or too many pairs to compare."""
    if elements > MOST_ELEMENTS:
        raise Exceeded
