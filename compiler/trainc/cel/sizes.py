"""Bounds of sizes and costs that are not known yet: the least and the most, in 64 bits without overflow.

Source: cel-go v0.26.0 checker/cost.go, SizeEstimate and CostEstimate, which compute alike.
"""

from __future__ import annotations

import math

from trainc.records import NamedTuple

MOST = 2**64 - 1


class Range(NamedTuple):
    """From least to most."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """Return the bounds of a sum."""
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: Range) -> Range:
        """Return the bounds of a product."""
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> Range:
        """Return the bounds times a factor, rounded up as cel-go does in float64."""
        return Range(_scale(self.least, factor), _scale(self.most, factor))

    def union(self, other: Range) -> Range:
        """Return the bounds of what is in either."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def exactly(value: int) -> Range:
    """Return the bounds of what is known."""
    return Range(value, value)


UNKNOWN = Range(0, MOST)


def _scale(value: int, factor: float) -> int:
    product = float(value) * factor
    return MOST if product >= 2.0**64 else min(math.ceil(product), MOST)
