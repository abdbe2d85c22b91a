"""What is measured of trainc on a fleet: every scene says what to prepare before a run and what to run.

"Cold" is without trainc's cache directory, "warm" with what the run before has left in it. Either is a folder of the
benchmark's own (XDG_CACHE_HOME). Operating system caches are warm in both.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import fleet
from stopwatch import Command, Effort, Figures, Once, Sample, in_turns, measure, run

TRAINC = Path(sys.executable).with_name("trainc")
ROOT = Path(__file__).resolve().parents[2]

COLD = "cold"
WARM = "warm"
TURNS = 5
"""Fewest runs of scenes that are measured in turns."""

RENDER_ABSENT = "render, out/ absent"
RENDER_STALE = "render, all of out/ stale"
RENDER_SAME = "render, nothing changed"
RENDER_JOB = "render, one job changed"
RENDER_RUNTIME = "render, the runtime of a tenth changed"
RENDER_TWO = "render by two workers, out/ absent"
RENDER_TENTH = "render of that tenth alone, out/ stale"
CHECK = "render --check"
VALIDATE = "validate"
DIFF = "diff, one job changed"
BUILD = "build one job"
BUILD_EDITED = "build, the job edited"
OWN_CHECK = "render --check of this repository"
HELP = "--help"
PYTHON = "python -c pass"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: a scene on so many jobs of a flavour, with or without cache."""

    flavour: str
    scene: str
    cache: str
    jobs: int
    figures: Figures

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What was measured."""
        return self.flavour, self.scene, self.cache, self.jobs

    def joined(self, other: Row) -> Row:
        """Return the row with the runs of another one of the same scene, too."""
        return replace(self, figures=self.figures.joined(other.figures))


class Site:
    """A fleet's repository below ``root``, with a cache of its own and a place for scratch."""

    def __init__(self, root: Path, size: int, flavour: str) -> None:
        self.root, self.size, self.flavour = root / "repository", size, flavour
        self.cache, self.scratch, self.aside = root / "cache", root / "scratch", root / "aside"
        shutil.rmtree(root, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.root.mkdir()
        fleet.write(self.root, size, flavour)
        self.parallel = {word for word in ("render", "validate") if takes_jobs(word)}

    def command(self, *words: str | Path, expected: frozenset[int] = frozenset((0,))) -> Command:
        """Return a command of trainc in the repository."""
        return Command((TRAINC, *words), self.root, {"XDG_CACHE_HOME": str(self.cache)}, expected)

    def trainc(self, word: str, *words: str | Path, workers: int = 1) -> Sample:
        """Run a command of trainc in the repository, by one process if not told otherwise; return what it took."""
        several = ("--jobs", str(workers)) if word in self.parallel else ()
        return run(self.command(word, *several, *words), self.scratch)

    def forget(self) -> None:
        """Remove trainc's cache."""
        shutil.rmtree(self.cache, ignore_errors=True)

    def clear(self) -> None:
        """Take out/ away. It is removed with the site, not now: ext4 passes over inodes that were freed in the last
        minutes, so each file that is made after a thousand were removed takes some 0.1 ms more than in a new clone.
        """
        if (out := self.root / "out").exists():
            self.aside.mkdir(exist_ok=True)
            out.rename(self.aside / str(len(list(self.aside.iterdir()))))

    def afresh(self, workers: int = 1) -> Sample:
        """Render without trainc's cache and without out/; return what it took."""
        self.forget()
        self.clear()
        return self.trainc("render", workers=workers)

    def spoil(self) -> None:
        """Make every file of out/ another than render writes, and leave it trainc's."""
        for path in (self.root / "out").rglob("*.yaml"):
            with path.open("a", encoding="utf-8") as file:
                file.write("# stale\n")

    def settle(self) -> None:
        """Make out/ and the cache those of the repository as it is."""
        self.trainc("render")

    def build(self, job: str) -> None:
        """Leave in the cache what a build of the job gives."""
        self.trainc("build", job)

    def objects(self) -> int:
        """Return the number of files below out/."""
        return sum(1 for path in (self.root / "out").rglob("*.yaml") if path.is_file())


Prepare = Callable[[int], object]


def takes_jobs(word: str) -> bool:
    """Tell whether a command of trainc can be told how many workers to use."""
    said = subprocess.run([TRAINC, word, "--help"], capture_output=True, text=True, check=True).stdout
    return "--jobs" in said


@dataclass(frozen=True, slots=True)
class Scene:
    """A name, with or without cache, and what runs it once and prepares what has to be before."""

    name: str
    cache: str
    once: Once


def scenes(site: Site) -> Iterator[tuple[Scene, ...]]:
    """Yield the scenes of a fleet, in an order in which each finds what it needs; out/ is settled before.

    Those of one tuple are to be measured in turns: the quotient of their times is a target.
    """

    def nothing(_turn: int) -> None:
        return

    def warm(name: str, prepare: Prepare, *words: str) -> Scene:
        def once(turn: int) -> Sample:
            prepare(turn)
            return site.trainc(*words)

        return Scene(name, WARM, once)

    def cold(name: str, prepare: Callable[[], object], *words: str) -> Scene:
        def once(_turn: int) -> Sample:
            site.forget()
            prepare()
            return site.trainc(*words)

        return Scene(name, COLD, once)

    absent = Scene(RENDER_ABSENT, COLD, lambda _turn: site.afresh())
    two = Scene(RENDER_TWO, COLD, lambda _turn: site.afresh(workers=2))
    yield (absent, two) if "render" in site.parallel else (absent,)
    yield (warm(RENDER_ABSENT, lambda _turn: site.clear(), "render"),)
    yield (cold(RENDER_STALE, site.spoil, "render"),)
    yield (cold(RENDER_SAME, lambda: None, "render"),)
    yield (warm(RENDER_SAME, nothing, "render"),)
    yield (cold(CHECK, lambda: None, "render", "--check"),)
    yield (warm(CHECK, nothing, "render", "--check"),)
    yield (cold(VALIDATE, lambda: None, "validate"),)
    yield (warm(VALIDATE, nothing, "validate"),)
    job = fleet.job(0).path
    yield (cold(BUILD, lambda: None, "build", job),)
    yield (warm(BUILD, lambda _turn: site.build(job), "build", job),)
    yield (warm(BUILD_EDITED, lambda turn: fleet.change_job(site.root, 100 + turn), "build", job),)
    yield (warm(RENDER_JOB, lambda turn: fleet.change_job(site.root, turn), "render"),)
    if site.size >= 2 * len(fleet.KINDS):
        runtime = warm(RENDER_RUNTIME, lambda turn: fleet.change_runtime(site.root, turn), "render")
        yield runtime, Scene(RENDER_TENTH, COLD, _tenth(site))


def play(site: Site, effort: Effort, wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Measure the scenes of a fleet that are wanted by name."""
    site.settle()
    for group in scenes(site):
        if chosen := [scene for scene in group if wanted(scene.name)]:
            if any(scene.cache == WARM for scene in chosen):
                site.settle()
            often = replace(effort, least=max(effort.least, TURNS)) if len(chosen) > 1 else effort
            for scene, figures in zip(chosen, in_turns([scene.once for scene in chosen], often), strict=True):
                yield Row(site.flavour, scene.name, scene.cache, site.size, figures)
    if wanted(DIFF) and shutil.which("git"):
        yield Row(site.flavour, DIFF, WARM, site.size, _diff(site, effort))


def _tenth(site: Site) -> Once:
    """Return what renders the jobs of one runtime, by themselves and without cache, over what is there."""

    @cache
    def settled() -> Site:
        alone = Site(site.scratch / "tenth", site.size, site.flavour)
        for each in fleet.jobs(site.size):
            if each.runtime != fleet.TENTH:
                (alone.root / each.path).unlink()
        if site.flavour == fleet.EVERYTHING:
            used = (each for each in fleet.jobs(site.size) if each.runtime == fleet.TENTH)
            (alone.root / "images.lock.yaml").write_text(fleet.lock(used), encoding="utf-8")
        alone.settle()
        return alone

    def once(_turn: int) -> Sample:
        alone = settled()
        alone.forget()
        alone.spoil()
        return alone.trainc("render")

    return once


def _diff(site: Site, effort: Effort) -> Figures:
    """Measure a diff against the commit before one job was changed."""
    for each in (site.root / ".git", site.cache):
        shutil.rmtree(each, ignore_errors=True)
    site.settle()
    commit(site.root)
    fleet.change_job(site.root, 1000)
    site.settle()
    return measure(lambda _turn: site.trainc("diff"), effort)


def commit(root: Path) -> None:
    """Commit all files below root in a new repository; nothing of the user's configuration counts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    somebody = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "the fleet")):
        subprocess.run(["git", *words], cwd=root, check=True, env={**kept, **somebody, **nowhere})


def starts(scratch: Path, effort: Effort, wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Measure what depends on no fleet: an interpreter that does nothing, --help, and this repository's own check."""
    own = scratch / "own-cache"
    variables = {"XDG_CACHE_HOME": str(own)}
    check = Command((TRAINC, "render", "--check"), ROOT, variables)

    def plain(words: Sequence[str | Path]) -> Once:
        return lambda _turn: run(replace(check, words=words), scratch)

    def cold(_turn: int) -> Sample:
        shutil.rmtree(own, ignore_errors=True)
        return run(check, scratch)

    measured = (
        (PYTHON, "", plain((sys.executable, "-c", "pass"))),
        (HELP, "", plain((TRAINC, "--help"))),
        (OWN_CHECK, COLD, cold),
        (OWN_CHECK, WARM, plain(check.words)),
    )
    for name, state, once in measured:
        if wanted(name):
            once(0)  # compiles bytecode, if need be, and fills the cache
            yield Row("", name, state, 0, measure(once, effort))
