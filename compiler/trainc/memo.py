"""Keys of caches that compare by identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """A function without arguments that is called when first asked, and never again unless it raises.

    ``functools.cache`` does the same, and takes ten times as long to be made.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make

    def __call__(self) -> T:
        """Return what the function returns."""
        if self._make is not None:
            self._made = self._make()
            self._make = None
        return self._made


K = TypeVar("K")


class Remembered(dict[K, T]):
    """What a pure function makes of its arguments, by argument: ``found[argument]`` calls it once.

    A third of the price of ``functools.lru_cache``, which notes every use in a list. Here the table is emptied when it
    is full, so ``size`` is to be far more than what comes again and again.
    """

    __slots__ = ("_make", "_size")

    def __init__(self, make: Callable[[K], T], size: int) -> None:
        super().__init__()
        self._make = make
        self._size = size

    def __missing__(self, key: K) -> T:
        made = self._make(key)
        if len(self) >= self._size:
            self.clear()
        self[key] = made
        return made


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
