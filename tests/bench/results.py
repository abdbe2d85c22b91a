"""What a run of the benchmark has measured, and how to find a figure in it."""

from __future__ import annotations

from dataclasses import dataclass

from contest import Bout
from crdrules import Findings
from growth import Growth
from scenes import Row
from stopwatch import Figures, Pair


@dataclass(frozen=True, slots=True)
class Results:
    """Rows of scenes, bouts with peers, the times of rules, if they were taken, and growth from size to size."""

    rows: tuple[Row, ...] = ()
    bouts: tuple[Bout, ...] = ()
    rules: Findings | None = None
    growths: tuple[Growth, ...] = ()

    def row(self, scene: str, cache: str, jobs: int = 0, flavour: str = "") -> Figures | None:
        """Return the figures of a scene, or None where it was not measured."""
        key = (scene, cache, jobs, flavour)
        found = (each.figures for each in self.rows if (each.scene, each.cache, each.jobs, each.flavour) == key)
        return next(found, None)

    def pairs(self, peer: str, jobs: int, flavour: str) -> tuple[Pair, ...]:
        """Return the pairs with a peer, out/ absent and present."""
        key = (peer, jobs, flavour)
        return tuple(each.pair for each in self.bouts if (each.peer, each.jobs, each.flavour) == key)

    def sizes(self) -> tuple[int, ...]:
        """Return the sizes of fleets, ascending."""
        measured = {row.jobs for row in self.rows} | {bout.jobs for bout in self.bouts}
        return tuple(sorted(measured - {0}))
