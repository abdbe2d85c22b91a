"""How cel-go counts cost while it evaluates: a stack of what was observed (interpreter/runtimecost.go, v0.26.0).

Every node leaves its id and value on the stack; a call finds its arguments there by their ids, and costs nothing if
one of them is gone. As long as nothing fails, none is: taking a call's first argument away clears whatever has been
left above it. But a call that fails early leaves entries behind, and in the next round of a loop dropping one of them
drops all that has come since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainc.cel.interpretable import Id
from trainc.cel.values import Value

EXCEEDED = "operation cancelled: actual cost limit exceeded"


class Exceeded(Exception):
    """The cost is above its limit. Not an EvalError, since nothing in an expression may absorb it."""


class Trace:
    """The state of one evaluation: the frame of slots, the cost so far, and the stack.

    ``mutable``: the accumulators that are filled in place; ``+`` changes those, as it does in cel-go.
    """

    __slots__ = ("_ids", "_places", "_values", "cost", "frame", "limit", "mutable")

    def __init__(self, frame: list[Any], limit: int) -> None:
        self.frame = frame
        self.cost = 0
        self.limit = limit
        self.mutable: list[Value] = []
        self._ids: list[Id] = []
        self._values: list[Value] = []
        self._places: dict[Id, list[int]] = {}

    def push(self, id_: Id, value: Value) -> None:
        """Note what a node gave. Raises Exceeded."""
        if self.cost > self.limit:
            raise Exceeded
        ids = self._ids
        try:
            self._places[id_].append(len(ids))
        except KeyError:
            self._places[id_] = [len(ids)]
        ids.append(id_)
        self._values.append(value)

    def drop(self, id_: Id) -> None:
        """Take away the latest entry of an id and all that came after it, if there is one."""
        found = self._places.get(id_)
        if found:
            self._cut(found[-1])

    def take(self, ids: Sequence[Id]) -> list[Value] | None:
        """Take away the entries of arguments, the last first, and return their values; None if one is not there."""
        places, entries, values = self._places, self._ids, []
        for id_ in reversed(ids):
            found = places.get(id_)
            if not found:
                return None
            place = found[-1]
            values.append(self._values[place])
            if place == len(entries) - 1:
                del entries[place], self._values[place], found[-1]
            else:
                self._cut(place)
        values.reverse()
        return values

    def _cut(self, place: int) -> None:
        ids, places = self._ids, self._places
        while len(ids) > place:
            places[ids.pop()].pop()
        del self._values[place:]
