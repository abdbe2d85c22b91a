"""Walks that recurse without Python's stack, since a tree may be as deep as that is."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Walk: TypeAlias = Generator[Item, Any, Result]
"""The walk of one item: it yields items below, is sent what each gave, and returns what the item itself gives."""


def run(visit: Callable[[Item], Walk[Item, Result]], root: Item) -> Result:
    """Return what the walk of root gives."""
    waiting = [visit(root)]
    value: Any = None
    while waiting:
        try:
            waiting.append(visit(waiting[-1].send(value)))
            value = None
        except StopIteration as end:
            value = end.value
            waiting.pop()
    result: Result = value
    return result
