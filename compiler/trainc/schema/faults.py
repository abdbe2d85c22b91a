"""What a walk over a value finds (walk.py), before wording.py has words for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from trainc.schema.walk import Node

UNKNOWN: Final = "unknown"
UNREADABLE: Final = "unreadable"
"""A value that fits the schema and that Go cannot read."""

NUMBER: Final = "number"
GO_TYPE: Final = "Go type"
LIST_TYPE: Final = "x-kubernetes-list-type"
LIST_KEYS: Final = "x-kubernetes-list-map-keys"


class Fault:
    """One thing that is wrong with a value. ``detail`` is more about it; ``steps`` lead to it, innermost first.

    ``secondary``: it adds nothing to another fault of the same value.
    """

    __slots__ = ("detail", "keyword", "node", "secondary", "steps", "value")

    def __init__(self, keyword: str, value: Any, node: Node | None = None, detail: Any = None) -> None:
        self.keyword, self.value, self.node, self.detail = keyword, value, node, detail
        self.secondary = False
        self.steps: list[str | int] = []

    @property
    def path(self) -> tuple[str | int, ...]:
        """The path from where the walk began."""
        return tuple(reversed(self.steps))


Faults: TypeAlias = list[Fault]
Visit: TypeAlias = Callable[[Any, Faults], Any]
"""Returns a value as it is stored, ``_ABSENT`` for a field to drop, and adds what is wrong with it to the faults."""
