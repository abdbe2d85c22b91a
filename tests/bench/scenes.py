"""What is measured of trainc: every scene prepares a repository and runs one command in it.

With a second checkout (``--base``), each scene runs there, too, in turns with ours: the ratio of the two is what the
targets are about, since machines differ more than versions do. "Cold" is without trainc's cache directory, "warm" with
what the run before has left in it. Operating system caches are warm in both.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fleet
from stopwatch import Command, Effort, Figures, Once, Sample, in_turns, kill_after, run

ROOT = Path(__file__).resolve().parents[2]

COLD = "cold"
WARM = "warm"

RENDER = "render, out/ absent"
RENDER_TWO = "render by two workers, out/ absent"
RENDER_FILE = "render of one file with all jobs, out/ absent"
RENDER_SAME = "render, nothing changed"
RENDER_JOB = "render, one job changed"
RENDER_REST = "render, after a run was killed at 40 %"
CHECK = "render --check"
NO_CACHE = "render --check --no-cache"
BUILD = "build one job"
OWN_CHECK = "render --check of this repository"
FORMS = ("text", "markdown", "json")


@dataclass(frozen=True)
class Row:
    """One line of a table: a scene on so many jobs of a flavour; ``base`` are the figures of the other checkout."""

    flavour: str
    scene: str
    cache: str
    jobs: int
    figures: Figures
    base: Figures | None = None


class Site:
    """A fleet's repository below ``root``, and a cache of its own, for the trainc of a checkout."""

    def __init__(
        self,
        root: Path,
        size: int,
        flavour: str,
        *,
        checkout: Path = ROOT,
        repository: Path | None = None,
        files: fleet.Files = fleet.Files.OWN,
    ) -> None:
        self.root, self.size, self.flavour, self.checkout = repository or root / "repository", size, flavour, checkout
        self.cache, self.scratch, self.aside = root / "cache", root / "scratch", root / "aside"
        self.took = 0.0
        self.change: Callable[[Path], None] | None = None
        shutil.rmtree(root, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        if repository is None:
            self.write(files)

    def write(self, files: fleet.Files = fleet.Files.OWN) -> None:
        """Write the fleet anew, without out/."""
        self.clear()
        shutil.rmtree(self.root / "jobs", ignore_errors=True)
        fleet.write_files(self.root, fleet.repository(self.size, self.flavour, files))

    def trainc(self, *words: str) -> Sample:
        """Run trainc in the repository."""
        return run(self._command(*words), self.scratch)

    def _command(self, *words: str) -> Command:
        variables = {"XDG_CACHE_HOME": str(self.cache), "PYTHONPATH": str(self.checkout / "compiler")}
        return Command((sys.executable, "-m", "trainc", *words), self.root, variables)

    def forget(self) -> None:
        """Remove trainc's cache."""
        shutil.rmtree(self.cache, ignore_errors=True)

    def clear(self) -> None:
        """Move out/ away. It is removed with the site, not now: ext4 skips inodes that were freed in the last
        minutes, so each file created after a thousand were removed takes some 0.1 ms more than in a new clone.
        """
        if (out := self.root / "out").exists():
            self.aside.mkdir(exist_ok=True)
            out.rename(self.aside / str(len(list(self.aside.iterdir()))))

    def afresh(self, workers: int = 1) -> Sample:
        """Render without trainc's cache and without out/."""
        self.forget()
        self.clear()
        sample = self.trainc("render", "--jobs", str(workers))
        self.took = sample.wall
        return sample

    def interrupted(self) -> None:
        """Render without trainc's cache and without out/, killed after two fifths of the time of a whole run."""
        seconds = 0.4 * (self.took or self.afresh(workers=2).wall)
        self.forget()
        self.clear()
        kill_after(self._command("render", "--jobs", "2"), self.scratch, seconds)

    def commit(self) -> None:
        """Commit everything."""
        identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0")
        for words in (("init", "-q"), ("add", "."), ("commit", "-q", "--allow-empty", "-m", "fleet")):
            subprocess.run(["git", *identity, *words], cwd=self.root, check=True)

    def spoil(self) -> None:
        """Change every file of out/."""
        for path in (self.root / "out").rglob("*.yaml"):
            with path.open("a", encoding="utf-8") as file:
                file.write("# stale\n")


@dataclass(frozen=True)
class Scene:
    """A name, with or without cache; what prepares a site before all runs, and what runs it once."""

    name: str
    cache: str
    prepare: Callable[[Site], object]
    once: Callable[[Site, int], Sample]


def _render(site: Site) -> None:
    site.trainc("render", "--jobs", "1")


def _build(site: Site, _turn: int = 0) -> Sample:
    return site.trainc("build", fleet.job(0).path)


def _cold_build(site: Site, _turn: int) -> Sample:
    site.forget()
    return _build(site)


def _changed(site: Site, turn: int) -> Sample:
    fleet.change_job(site.root, turn)
    return site.trainc("render", "--jobs", "1")


def _cold_check(site: Site, _turn: int) -> Sample:
    site.forget()
    return _check(site)


def _check(site: Site, _turn: int = 0) -> Sample:
    return site.trainc("render", "--check", "--jobs", "1")


def _pull_request(site: Site, _turn: int) -> Sample:
    site.forget()
    return site.trainc("validate", "--base", "HEAD")


SCENES = (
    Scene(RENDER, COLD, _render, lambda site, _turn: site.afresh()),
    Scene(RENDER_TWO, COLD, _render, lambda site, _turn: site.afresh(workers=2)),
    Scene(RENDER_SAME, WARM, _render, lambda site, _turn: site.trainc("render", "--jobs", "1")),
    Scene(CHECK, WARM, _render, _check),
    Scene(BUILD, COLD, _build, _cold_build),
    Scene(BUILD, WARM, _build, _build),
    Scene(RENDER_JOB, WARM, _render, _changed),
    Scene(RENDER_FILE, COLD, lambda site: site.write(fleet.Files.ONE), lambda site, _turn: site.afresh()),
)


def _committed(change: Callable[[Path], None]) -> Callable[[Site], None]:
    """Return what commits a fleet with its out/, changes it and renders the change."""

    def prepare(site: Site) -> None:
        if site.change is not change:
            _render(site)
            site.commit()
            change(site.root)
            _render(site)
            site.change = change

    return prepare


def _change_job(root: Path) -> None:
    fleet.change_job(root, 99)  # differs from what other scenes write


def _add_job(root: Path) -> None:
    added = fleet.job(0)._replace(name="added")
    fleet.write_files(root, [(added.path, added.text)])


def _diff(form: str) -> Callable[[Site, int], Sample]:
    return lambda site, _turn: site.trainc("diff", "-o", form)


LOAD_SCENES = (
    Scene(RENDER_TWO, COLD, _render, lambda site, _turn: site.afresh(workers=2)),
    Scene(RENDER_REST, COLD, lambda _site: None, lambda site, _turn: (site.interrupted(), site.trainc("render"))[1]),
    Scene(RENDER_SAME, WARM, _render, lambda site, _turn: site.trainc("render")),
    Scene(RENDER_JOB, WARM, _render, _changed),
    Scene(CHECK, WARM, _render, _check),
    Scene(NO_CACHE, COLD, _render, lambda site, _turn: site.trainc("render", "--check", "--no-cache")),
    Scene("validate", WARM, _render, lambda site, _turn: site.trainc("validate")),
    Scene("validate --base HEAD, one job added", COLD, _committed(_add_job), _pull_request),
    *(Scene(f"diff -o {form}, one job changed", WARM, _committed(_change_job), _diff(form)) for form in FORMS),
    *(
        Scene(f"diff -o {form}, a runtime changed", WARM, _committed(fleet.change_runtime), _diff(form))
        for form in FORMS
    ),
    Scene("report", COLD, lambda _site: None, lambda site, _turn: site.trainc("report", "-o", "-")),
)
"""What ``--load`` measures: also runs that were killed, and what comes after a render."""

OWN_SCENES = (
    Scene(OWN_CHECK, COLD, _check, _cold_check),
    Scene(OWN_CHECK, WARM, _check, _check),
)
"""These run in each checkout itself."""


def play(
    sites: tuple[Site, ...], effort: Effort, wanted: Callable[[str], bool], scenes: tuple[Scene, ...] = SCENES
) -> Iterator[Row]:
    """Measure the scenes that are wanted by name; the second site, if any, is that of the other checkout."""

    def once(scene: Scene, site: Site) -> Once:
        return lambda turn: scene.once(site, turn)

    for scene in scenes:
        if wanted(scene.name):
            for site in sites:
                scene.prepare(site)
            figures = in_turns([once(scene, site) for site in sites], effort)
            yield Row(sites[0].flavour, scene.name, scene.cache, sites[0].size, *figures)
