"""Sets of positions as the bits of a number: as many sets as positions take an eighth of a byte for each pair."""

from __future__ import annotations

from collections.abc import Iterator


def ones(bits: int) -> Iterator[int]:
    """Yield the positions of the ones in a number, from the lowest."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
