"""Our own random numbers: the same on every version of Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_MASK = (1 << 64) - 1


class Rng:
    """SplitMix64, seeded by a seed and the index of a case."""

    def __init__(self, seed: int, index: int = 0) -> None:
        self._state = (seed * 0x9E3779B97F4A7C15 + index * 0xD1342543DE82EF95 + 1) & _MASK

    def bits(self) -> int:
        """Return 64 random bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        value = self._state
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        return value ^ (value >> 31)

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1."""
        return self.bits() % limit

    def chance(self, percent: float) -> bool:
        """Return True in so many of a hundred calls."""
        return self.below(10_000) < percent * 100

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], most: int | None = None) -> list[T]:
        """Return up to ``most`` different options, in random order."""
        rest = list(options)
        count = self.below(min(len(rest), len(rest) if most is None else most) + 1)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Return all options in random order."""
        rest = list(options)
        return [rest.pop(self.below(len(rest))) for _ in range(len(rest))]
