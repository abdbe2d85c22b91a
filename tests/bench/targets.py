"""How fast trainc has to be: against an earlier checkout (``--base``), and beside other tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import scenes
from contest import CHAIN, CONTROLLER, Bout
from fleet import EVERYTHING, LIKE
from scenes import COLD, WARM, Row
from stopwatch import Figures

THOUSAND, TEN_THOUSAND, ONE_FILE = 1000, 10_000, 4000


class Results(NamedTuple):
    """What a run of the benchmark has measured."""

    rows: Sequence[Row] = ()
    bouts: Sequence[Bout] = ()


class Target(NamedTuple):
    """A ratio that is measured, the most that is allowed, and the goal beyond it where there is one."""

    text: str
    most: float
    goal: float | None
    measure: Callable[[Results], float | None]

    def verdict(self, results: Results) -> str:
        found = self.measure(results)
        return "not measured" if found is None else "met" if found <= self.most else "not met"


def time_ratio(ours: Figures, theirs: Figures) -> float:
    """Return the larger of the ratios of wall clock and of CPU in user mode."""
    return max(ours.wall / theirs.wall, ours.user / theirs.user)


def wall_ratio(ours: Figures, theirs: Figures) -> float:
    return ours.wall / theirs.wall


def memory_ratio(ours: Figures, theirs: Figures) -> float:
    return ours.peak / theirs.peak


def of_base(
    text: str,
    most: float,
    goal: float,
    *key: object,
    flavours: tuple[str, ...] = (LIKE, EVERYTHING),
    ratio: Callable[[Figures, Figures], float] = time_ratio,
) -> Target:
    """Return a target for a scene, whose ``key`` is its name, cache and size, over that of the base checkout."""

    def worst(results: Results) -> float | None:
        rows = [row for row in results.rows if (row.scene, row.cache, row.jobs) == key and row.flavour in flavours]
        return max((ratio(row.figures, row.base) for row in rows if row.base is not None), default=None)

    return Target(text, most, goal, worst)


def one_file(results: Results) -> float | None:
    """Return the worst ratio of a render of one file with all jobs to that of a file per job."""
    found = {(row.scene, row.flavour): row.figures for row in results.rows if row.jobs == ONE_FILE}
    pairs = [(found.get((scenes.RENDER_FILE, each)), found.get((scenes.RENDER, each))) for each in (LIKE, EVERYTHING)]
    return max((time_ratio(one, many) for one, many in pairs if one and many), default=None)


def of_peer(
    text: str, peer: str, most: float, *, goal: float | None = None, flavour: str = LIKE, cpu: bool = False
) -> Target:
    """Return a target for the worst ratio to a peer at 1,000 jobs."""

    def worst(results: Results) -> float | None:
        bouts = [each for each in results.bouts if (each.peer, each.jobs, each.flavour) == (peer, THOUSAND, flavour)]
        return max((each.cpu_ratio if cpu else each.wall_ratio for each in bouts), default=None)

    return Target(text, most, goal, worst)


TARGETS = (
    of_base("1,000 jobs like for like, cold", 1.15, 0.9, scenes.RENDER, COLD, THOUSAND, flavours=(LIKE,)),
    of_base("1,000 jobs, everything, cold", 1.4, 1.0, scenes.RENDER, COLD, THOUSAND, flavours=(EVERYTHING,)),
    of_base("build of one job, cold", 1.1, 0.8, scenes.BUILD, COLD, 1),
    of_base("build of one job, warm", 2.0, 1.3, scenes.BUILD, WARM, 1),
    of_base("render --check of this repository, cold", 1.1, 0.8, scenes.OWN_CHECK, COLD, 0, flavours=("",)),
    of_base("render --check of this repository, warm", 2.0, 1.3, scenes.OWN_CHECK, WARM, 0, flavours=("",)),
    of_base("10,000 jobs, cold", 1.15, 1.0, scenes.RENDER, COLD, TEN_THOUSAND),
    of_base("10,000 jobs, cold, two workers: wall", 1.15, 1.0, scenes.RENDER_TWO, COLD, TEN_THOUSAND, ratio=wall_ratio),
    of_base("10,000 jobs, cold: memory", 1.1, 1.0, scenes.RENDER, COLD, TEN_THOUSAND, ratio=memory_ratio),
    of_base("10,000 jobs, nothing changed", 2.0, 1.0, scenes.RENDER_SAME, WARM, TEN_THOUSAND),
    of_base("10,000 jobs, one changed", 3.0, 1.0, scenes.RENDER_JOB, WARM, TEN_THOUSAND),
    of_base("10,000 jobs, render --check", 2.0, 1.0, scenes.CHECK, WARM, TEN_THOUSAND),
    Target("4,000 jobs in one file, of 4,000 in files", 1.2, 1.0, one_file),
    of_peer("1,000 jobs, like for like: wall, of helm template", "helm", 1.5, goal=1.0),
    of_peer("1,000 jobs, everything: wall, of helm template", "helm", 2.0, flavour=EVERYTHING),
    of_peer(f"1,000 jobs, like for like: wall, of {CHAIN}", CHAIN, 0.5),
    of_peer(f"1,000 jobs, like for like: CPU, of {CHAIN}", CHAIN, 0.5, cpu=True),
    of_peer("1,000 jobs: wall of validate, of kubectl-validate", "kubectl-validate", 0.1),
    of_peer(f"1,000 jobs, like for like: wall, of {CONTROLLER}", CONTROLLER, 1.0),
)
"""Those against the base are for the checkout of commit 6bfe037."""


def missed(results: Results) -> tuple[Target, ...]:
    """Return the targets that were measured and are not met."""
    return tuple(each for each in TARGETS if each.verdict(results) == "not met")
