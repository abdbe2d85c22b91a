"""How fast trainc has to be, as a list: what is measured, the target, and the goal beyond it where there is one."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import scenes
from contest import CHAIN, CONTROLLER
from crdrules import JOBSET_CREATED
from fleet import EVERYTHING, LIKE
from results import Results
from scenes import COLD, WARM

MET, MISSED, UNKNOWN = "met", "not met", "not measured"

Measure = Callable[[Results], float | None]
THOUSAND, MYRIAD = 1000, 10_000


@dataclass(frozen=True, slots=True)
class Floor:
    """A target: its text, the most that is allowed, in a unit, and what measures it; ``goal`` is what is hoped for."""

    text: str
    most: float
    unit: str
    measure: Measure
    goal: float | None = None

    def verdict(self, results: Results) -> str:
        """Tell whether it is met; not measured if a run was too small to say."""
        found = self.measure(results)
        if found is None:
            return UNKNOWN
        return MET if found <= self.most else MISSED


def against(peer: str, flavour: str, figure: str) -> Measure:
    """Return the worst ratio of ours to a peer's at 1,000 jobs; ``figure`` is wall_ratio or cpu_ratio."""

    def ratio(results: Results) -> float | None:
        pairs = results.pairs(peer, THOUSAND, flavour)
        return max((float(getattr(pair, figure)) for pair in pairs), default=None)

    return ratio


def figure(name: str, scene: str, cache: str, jobs: int = 0, *, scale: float = 1) -> Measure:
    """Return the worst figure of a scene over the flavours it was measured in."""

    def value(results: Results) -> float | None:
        flavours = (LIKE, EVERYTHING) if jobs else ("",)
        found = [results.row(scene, cache, jobs, flavour) for flavour in flavours]
        return max((float(getattr(each, name)) * scale for each in found if each is not None), default=None)

    return value


def quotient(over: tuple[str, str, int], under: tuple[str, str, int]) -> Measure:
    """Return the worst quotient of the seconds by the clock of two scenes, each a name, cold or warm, and a size.

    They ran in turns: it is the median of what each turn says.
    """

    def value(results: Results) -> float | None:
        found = []
        for flavour in (LIKE, EVERYTHING):
            first, second = results.row(*over, flavour), results.row(*under, flavour)
            if first is not None and second is not None and len(first.samples) == len(second.samples):
                turns = zip(first.samples, second.samples, strict=True)
                found.append(statistics.median(one.wall / other.wall for one, other in turns))
        return max(found, default=None)

    return value


def grown(before: int, after: int) -> Measure:
    """Return the worst growth of user CPU from one size to another."""

    def value(results: Results) -> float | None:
        found = (each.turn.times for each in results.growths if (each.before, each.after) == (before, after))
        return max(found, default=None)

    return value


def rule_mean(results: Results) -> float | None:
    """Return the mean microseconds of the rules of the CRDs."""
    return None if results.rules is None else results.rules.mean


def jobset_rules(results: Results) -> float | None:
    """Return the microseconds of all rules of a JobSet that is created."""
    return None if results.rules is None else results.rules.objects[JOBSET_CREATED]


def _start(text: str, most: float, scene: str, cache: str, jobs: int = 0) -> Floor:
    return Floor(text, most, "ms", figure("wall", scene, cache, jobs, scale=1000))


_ABSENT = (scenes.RENDER_ABSENT, COLD)
FLOORS = (
    Floor("1,000 jobs, like for like: wall, of helm template", 1.5, "times", against("helm", LIKE, "wall_ratio"), 1.0),
    Floor("1,000 jobs, everything: wall, of helm template", 2.0, "times", against("helm", EVERYTHING, "wall_ratio")),
    Floor(f"1,000 jobs, like for like: wall, of {CHAIN}", 0.5, "times", against(CHAIN, LIKE, "wall_ratio")),
    Floor(f"1,000 jobs, like for like: CPU, of {CHAIN}", 0.5, "times", against(CHAIN, LIKE, "cpu_ratio")),
    Floor(
        "1,000 jobs: wall of validate, of kubectl-validate",
        0.1,
        "times",
        against("kubectl-validate", LIKE, "wall_ratio"),
    ),
    Floor(f"1,000 jobs, like for like: wall, of {CONTROLLER}", 1.0, "times", against(CONTROLLER, LIKE, "wall_ratio")),
    Floor("1,000 jobs, cold: peak memory", 100, "MiB", figure("peak", *_ABSENT, THOUSAND)),
    Floor("10,000 jobs, cold: peak memory", 300, "MiB", figure("peak", *_ABSENT, MYRIAD)),
    Floor(
        "10,000 jobs, cold: user CPU, of 1,000",
        10.5,
        "times",
        grown(THOUSAND, MYRIAD),
    ),
    Floor(
        "10,000 jobs, cold: wall by two workers, of one",
        1 / 1.3,
        "times",
        quotient((scenes.RENDER_TWO, COLD, MYRIAD), (*_ABSENT, MYRIAD)),
        1 / 1.5,
    ),
    Floor("10,000 jobs, nothing changed: wall", 0.5, "s", figure("wall", scenes.RENDER_SAME, WARM, MYRIAD)),
    Floor("10,000 jobs, render --check: wall", 1.0, "s", figure("wall", scenes.CHECK, WARM, MYRIAD)),
    Floor("10,000 jobs, one changed: wall", 0.6, "s", figure("wall", scenes.RENDER_JOB, WARM, MYRIAD)),
    Floor(
        "10,000 jobs, the runtime of a tenth changed: wall, of a cold render of that tenth",
        1.3,
        "times",
        quotient((scenes.RENDER_RUNTIME, WARM, MYRIAD), (scenes.RENDER_TENTH, COLD, MYRIAD)),
    ),
    _start("build of one job, warm: wall", 150, scenes.BUILD, WARM, 1),
    _start("build of one job, cold: wall", 300, scenes.BUILD, COLD, 1),
    _start("render --check of this repository, warm: wall", 120, scenes.OWN_CHECK, WARM),
    _start("render --check of this repository, cold: wall", 300, scenes.OWN_CHECK, COLD),
    _start("--help: wall", 70, scenes.HELP, ""),
    Floor("rules of the CRDs: mean", 10, "µs", rule_mean),
    Floor("all rules of a JobSet on create", 19, "µs", jobset_rules),
)


def missed(results: Results) -> tuple[Floor, ...]:
    """Return the floors that were measured and are not met."""
    return tuple(floor for floor in FLOORS if floor.verdict(results) == MISSED)
