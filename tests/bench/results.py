"""What a run of the benchmark has measured, and how to find a figure in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from contest import Bout
from crdrules import Findings
from growth import Growth
from scenes import Row
from stopwatch import Figures, Pair

Part = TypeVar("Part", Row, Bout, Growth)


@dataclass(frozen=True, slots=True)
class Results:
    """Rows of scenes, bouts with peers, the times of rules, if they were taken, and growth from size to size;
    of so many runs of the benchmark.
    """

    rows: tuple[Row, ...] = ()
    bouts: tuple[Bout, ...] = ()
    rules: Findings | None = None
    growths: tuple[Growth, ...] = ()
    runs: int = 1

    def row(self, scene: str, cache: str, jobs: int = 0, flavour: str = "") -> Figures | None:
        """Return the figures of a scene, or None where it was not measured."""
        key = (flavour, scene, cache, jobs)
        return next((each.figures for each in self.rows if each.key == key), None)

    def pairs(self, peer: str, jobs: int, flavour: str) -> tuple[Pair, ...]:
        """Return the pairs with a peer, out/ absent and present."""
        key = (peer, jobs, flavour)
        return tuple(each.pair for each in self.bouts if (each.peer, each.jobs, each.flavour) == key)

    def sizes(self) -> tuple[int, ...]:
        """Return the sizes of fleets, ascending."""
        measured = {row.jobs for row in self.rows} | {bout.jobs for bout in self.bouts}
        return tuple(sorted(measured - {0}))

    def joined(self, other: Results) -> Results:
        """Return the figures of both; what only one has measured is as it is there."""
        return Results(
            _joined(self.rows, other.rows),
            _joined(self.bouts, other.bouts),
            self.rules.joined(other.rules) if self.rules and other.rules else self.rules or other.rules,
            _joined(self.growths, other.growths),
            self.runs + other.runs,
        )


def _joined(ours: tuple[Part, ...], theirs: tuple[Part, ...]) -> tuple[Part, ...]:
    found = {part.key: part for part in ours}
    for part in theirs:
        found[part.key] = found[part.key].joined(part) if part.key in found else part
    return tuple(found.values())
