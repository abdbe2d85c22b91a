"""Limits the work of expressions that Kubernetes' cost does not reflect, so that none runs for long.

cel-go also has a timeout, which is not deterministic. A meter starts at BUDGET; loops, deep comparisons,
concatenations and calls with large arguments or results spend it. A unit is about a third of a microsecond.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Meter: TypeAlias = list[Any]
COST: Final = 0
WORK: Final = 1
FIXED: Final = 2
"""Items of a meter: a correction of the cost, the remaining work; then lists that ``+`` changes in place."""

BUDGET: Final = 5_000_000
"""Loop nodes, and compared or copied elements: one or two seconds, well above what the cost limit usually allows."""

PER_COST: Final = 5
"""The work that counts as a cost of 1, so that the cost limit matches the work budget."""

CHARACTERS: Final = 64
"""The number of characters copied or compared per unit of work."""

MOST_CHARACTERS: Final = 2**26
MOST_ELEMENTS: Final = 2_000_000
"""Larger texts, lists and numbers of pairs to compare exceed the cost limit of any expression."""

MESSAGE: Final = "the expression does too much work"
TOO_EXPENSIVE: Final = "operation cancelled: actual cost limit exceeded"


class Panic(Exception):
    """A panic of cel-go: the whole evaluation fails, and the expression cannot absorb it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = f"internal error: {message}"


class Exceeded(Panic):
    """The cost is above its limit, or the work above its budget. An expression must not absorb it either."""

    def __init__(self, message: str = TOO_EXPENSIVE) -> None:
        super().__init__("")
        self.message = message


def fresh() -> Meter:
    """Return a meter with the full budget."""
    return [0, BUDGET]


def spend(meter: Meter, amount: int) -> None:
    """Spend an amount of a meter. Raises Exceeded."""
    meter[WORK] -= amount
    if meter[WORK] < 0:
        raise Exceeded(MESSAGE)


def check_size(characters: int) -> None:
    """Raise Exceeded for a text of too many characters."""
    if characters > MOST_CHARACTERS:
        raise Exceeded


def check_length(elements: int) -> None:
    """Raise Exceeded for a list of too many elements, or too many pairs to compare."""
    if elements > MOST_ELEMENTS:
        raise Exceeded
