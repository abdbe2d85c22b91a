"""What estimates of the cost of calls share: their arguments, their result, and the simplest of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from trainc.cel.ast import Node
from trainc.cel.sizes import UNKNOWN, Range, exactly
from trainc.cel.types import Type
from trainc.records import NamedTuple

TRAVERSAL, REGEX = 0.1, 0.25
"""Cost of a character that is looked at, and of one of a pattern."""

ONE = exactly(1)
LIST, STRUCT = 10, 40
"""Cost of making a list, a struct."""


class Argument(NamedTuple):
    """A receiver or an argument: its expression, its type, its size, and what a schema says of its items' size."""

    node: Node
    type: Type
    size: Range | None
    item: Range | None

    @property
    def bound(self) -> Range:
        """The size, or that nothing is known of it."""
        return self.size or UNKNOWN


class CallCost(NamedTuple):
    """The cost of a call without that of its arguments, and the size of its result where that is known."""

    cost: Range
    size: Range | None = None


Estimator: TypeAlias = Callable[[str, "Argument | None", Sequence[Argument]], "CallCost | None"]
"""Of the overload's id, the receiver and the arguments; None leaves it to what comes after."""


def fixed(cost: int) -> Estimator:
    """Return the estimator of a fixed cost."""
    return lambda _overload, _target, _args: CallCost(exactly(cost))


def first(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    """Estimate that the first argument is gone over once."""
    return CallCost(args[0].bound.scaled(TRAVERSAL)) if args else None


def table(*rows: tuple[str, Estimator]) -> dict[str, Estimator]:
    """Return a table by name from rows that may hold several names."""
    return {name: estimator for names, estimator in rows for name in names.split()}


def match_cost(target: Argument, pattern: Argument) -> Range:
    """Return the cost of a regular expression on a text."""
    return target.bound.plus(ONE).scaled(TRAVERSAL).times(pattern.bound.scaled(REGEX))
