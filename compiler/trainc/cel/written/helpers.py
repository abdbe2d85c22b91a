"""Functions that those written call, besides the libraries' and what fast.py has."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from trainc.cel.values import INT_MAX, INT_MIN, Value
from trainc.cel.work import WORK, Meter

MANY: Final = 1024
SHORT: Final = 1024
"""How many texts are remembered, and how long they may be."""


class Table(dict[Any, Any]):
    """What was made of texts, by text. It is emptied when it is full, so that it holds what comes again and again."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        if len(self) >= MANY:
            self.clear()
        super().__setitem__(key, value)


@lru_cache(maxsize=64)
def table(_function: str, _overload: str, _constants: tuple[str | None, ...]) -> Table:
    """Return the table of a function of one text or two; all expressions that give it the same constants share one."""
    return Table()


def remembering(implementation: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function of one value and the meter that looks up what it gave, and took, for a text or an integer."""
    known = Table()

    def call(value: Value, meter: Meter) -> Value:
        simple = value.__class__ is str or value.__class__ is int
        found = known.get(value) if simple else None
        if found is not None:
            meter[WORK] -= found[1]
            return found[0]
        before = meter[WORK]
        result = implementation(value, meter)
        if simple and (value.__class__ is int or len(value) < SHORT):
            known[value] = (result, before - meter[WORK])
        return result

    return call


def total(values: list[Value]) -> int | None:
    """Return the sum of integers, 0 for none; None where something is no integer, or a sum on the way is too large."""
    found = 0
    for value in values:
        if value.__class__ is not int:
            return None
        found += value
        if not INT_MIN <= found <= INT_MAX:
            return None
    return found
