"""What the scenes prepare is what they say: trainc is replaced by a stand-in that records what it finds."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import contest
import fleet
import peers
import pytest
import scenes
from scenes import COLD, WARM
from skeletons import skeletons
from stopwatch import Command, Effort, Sample

from gitrepo import git, needs_git

RUNS = 2
HELM = peers.present(peers.FOLDER).get("helm")


class Found(NamedTuple):
    """What a run found: its words, whether there was a cache, which jobs of out/ were current or stale."""

    words: tuple[str, ...]
    cached: bool
    current: int
    stale: int


class Trainc:
    """Stands in for trainc: render copies jobs/ to out/ and fills the cache."""

    def __init__(self) -> None:
        self.found: list[Found] = []

    def __call__(self, command: Command, _scratch: Path) -> Sample:
        words = tuple(str(word) for word in command.words[3:])
        cache = Path(command.variables["XDG_CACHE_HOME"])
        jobs, out = texts(command.folder / "jobs"), texts(command.folder / "out")
        current = sum(out.get(name) == text for name, text in jobs.items())
        self.found.append(Found(words, cache.exists(), current, len(out) - current))
        cache.mkdir(exist_ok=True)
        if words[0] == "render" and "--check" not in words:
            fleet.write_files(command.folder / "out", jobs.items())
        return Sample(1, 1, 1, 1)


def texts(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in root.rglob("*.yaml")}


ONE = ("--jobs", "1")


@pytest.mark.parametrize(
    ("scene", "cache", "expected"),
    [
        (scenes.RENDER, COLD, Found(("render", *ONE), False, 0, 0)),
        (scenes.RENDER_TWO, COLD, Found(("render", "--jobs", "2"), False, 0, 0)),
        (scenes.RENDER_FILE, COLD, Found(("render", *ONE), False, 0, 0)),
        (scenes.RENDER_SAME, WARM, Found(("render", *ONE), True, 10, 0)),
        (scenes.RENDER_JOB, WARM, Found(("render", *ONE), True, 9, 1)),
        (scenes.CHECK, WARM, Found(("render", "--check", *ONE), True, 10, 0)),
        (scenes.BUILD, COLD, Found(("build", fleet.job(0).path), False, 10, 0)),
        (scenes.BUILD, WARM, Found(("build", fleet.job(0).path), True, 10, 0)),
    ],
)
def test_each_run_finds_what_its_scene_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scene: str, cache: str, expected: Found
) -> None:
    trainc = Trainc()
    monkeypatch.setattr(scenes, "run", trainc)
    site = scenes.Site(tmp_path / "site", 10, fleet.EVERYTHING)
    site.trainc("render")
    start = len(trainc.found)
    for row in scenes.play((site,), Effort(RUNS), lambda name: name == scene):
        if row.cache == cache:
            assert trainc.found[start:][-RUNS:] == [expected] * RUNS
        start = len(trainc.found)
    assert start > RUNS


def test_another_checkout_runs_in_turns_with_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packages: list[str] = []

    def record(command: Command, _scratch: Path) -> Sample:
        packages.append(command.variables["PYTHONPATH"])
        return Sample(1, 1, 1, 1)

    monkeypatch.setattr(scenes, "run", record)
    other = tmp_path / "checkout"
    sites = tuple(scenes.Site(tmp_path / path.name, 1, fleet.LIKE, checkout=path) for path in (scenes.ROOT, other))
    (row,) = scenes.play(sites, Effort(RUNS), lambda name: name == scenes.CHECK)
    assert packages[-4:] == [str(scenes.ROOT / "compiler"), str(other / "compiler")] * RUNS
    assert row.base is not None and len(row.base.samples) == RUNS


@needs_git
def test_load_scenes_find_a_killed_run_and_a_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trainc, killed = Trainc(), list[tuple[Found, float]]()

    def kill(command: Command, scratch: Path, seconds: float) -> None:
        trainc(command, scratch)
        killed.append((trainc.found[-1], seconds))

    monkeypatch.setattr(scenes, "run", trainc)
    monkeypatch.setattr(scenes, "kill_after", kill)
    site = scenes.Site(tmp_path / "site", 10, fleet.LIKE, files=fleet.Files.MIXED)
    changed: dict[str, list[str]] = {}
    for row in scenes.play((site,), Effort(RUNS), lambda _: True, scenes.LOAD_SCENES):
        if row.scene.startswith("diff -o json"):
            changed[row.scene] = git(site.root, "diff", "--name-only", "HEAD").split()
    assert [found for found, _ in killed] == [Found(("render", "--jobs", "2"), False, 0, 0)] * RUNS
    assert {seconds for _, seconds in killed} == {0.4}, "of a run of a second"
    first = fleet.job(0).path
    assert changed == {
        "diff -o json, one job changed": [first, first.replace("jobs", "out", 1)],
        "diff -o json, a runtime changed": [f"runtimes/{fleet.TENTH}.yaml"],  # the stand-in copies jobs/ alone
    }


@pytest.mark.skipif(HELM is None, reason="no helm in build/peers or on the PATH (python tests/bench/peers.py)")
def test_helm_makes_our_objects(tmp_path: Path) -> None:
    assert HELM is not None
    site = scenes.Site(tmp_path / "site", 10, fleet.LIKE)
    site.afresh()
    arena = contest.Arena(site, skeletons(), {"helm": HELM})
    arena.check("helm")
    values = arena.inputs / "chart" / "values.yaml"
    values.write_text(values.read_text(encoding="utf-8").replace("cpu-000000", "cpu-1"), encoding="utf-8")
    with pytest.raises(contest.ContestError, match="one of them only has"):
        arena.check("helm")
