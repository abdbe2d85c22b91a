"""How user CPU grows with a fleet: a large one against as many renders of a small one, in turns.

The least of many short runs finds a quiet moment of the machine, a run of ten times the length hardly does. So what
is compared has the same length: a render of 10,000 jobs lies between five renders of 1,000 before and five after it.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from scenes import Site
from stopwatch import Effort, Once, Sample, in_turns

GROWTH = "growth"
"""The name of the scene."""
MOST = 10
"""Most renders of the small fleet for one of the large."""
TURNS = 3
"""Fewest turns."""


class Turn(NamedTuple):
    """Seconds of user CPU: of a render of the small fleet in the mean, and of a render of the large one."""

    small: float
    large: float

    @property
    def times(self) -> float:
        """The large one over the small one."""
        return self.large / self.small


@dataclass(frozen=True, slots=True)
class Growth:
    """Cold renders, out/ absent, of fleets of two sizes, in turns."""

    flavour: str
    before: int
    after: int
    turns: tuple[Turn, ...]

    @property
    def turn(self) -> Turn:
        """The turn whose quotient is the median."""
        return sorted(self.turns, key=lambda turn: turn.times)[len(self.turns) // 2]

    @property
    def key(self) -> tuple[str, int, int]:
        """What is compared."""
        return self.flavour, self.before, self.after

    def joined(self, other: Growth) -> Growth:
        """Return the turns of both."""
        return replace(self, turns=(*self.turns, *other.turns))


def growth(small: Site, large: Site, effort: Effort) -> Growth:
    """Render two fleets of a flavour in turns."""
    repeats = max(2, min(MOST, large.size // small.size))
    order = [small] * (repeats // 2) + [large] + [small] * (repeats - repeats // 2)
    samples = [figures.samples for figures in in_turns([*map(_afresh, order)], effort)]
    turns = (_turn(each, repeats // 2) for each in zip(*samples, strict=True))
    return Growth(small.flavour, small.size, large.size, tuple(turns))


def _afresh(site: Site) -> Once:
    return lambda _turn: site.afresh()


def _turn(samples: tuple[Sample, ...], middle: int) -> Turn:
    around = (*samples[:middle], *samples[middle + 1 :])
    return Turn(statistics.fmean(each.user for each in around), samples[middle].user)


def growths(sites: list[Site], effort: Effort) -> list[Growth]:
    """Measure from each size of a flavour to the next."""
    steps = pairwise(sorted(sites, key=lambda site: site.size))
    return [growth(small, large, effort) for small, large in steps]
