"""Keys of caches that compare by identity."""

from __future__ import annotations

from typing import Any


class Held:
    """A value as the key of a cache, compared by identity. The key holds the value, so that nothing else gets its id.

    Only for values that never change, and that many have in common, as the jobs of a fleet their runtime's template.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and other.value is self.value
