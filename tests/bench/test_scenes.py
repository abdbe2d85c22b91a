"""What the scenes prepare is what they say: trainc is replaced by one that notes what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import contest
import fleet
import peers
import pytest
import scenes
from skeletons import skeletons
from stopwatch import Command, Effort, Sample

from gitrepo import needs_git

RUNS = 2
HELM = peers.present(peers.FOLDER).get("helm")


class Found(NamedTuple):
    """What a run found: the words, whether a cache was there, out/, and the inputs."""

    words: tuple[str, ...]
    cached: bool
    out: Mapping[str, str]
    inputs: Mapping[str, str]


class Trainc:
    """Stands for trainc: render writes a file for each job and fills the cache."""

    def __init__(self) -> None:
        self.found: list[Found] = []

    def __call__(self, command: Command, _scratch: Path) -> Sample:
        words = tuple(str(word) for word in command.words[1:])
        cache = Path(command.variables["XDG_CACHE_HOME"])
        inputs = {name: text for place in ("jobs", "runtimes") for name, text in texts(command.folder, place).items()}
        self.found.append(Found(words, cache.exists(), texts(command.folder, "out"), inputs))
        cache.mkdir(exist_ok=True)
        if words[0] == "render" and "--check" not in words:
            for name, text in inputs.items():
                path = command.folder / "out" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        return Sample(1, 1, 1, 1)


def texts(root: Path, place: str) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in (root / place).rglob("*.yaml")}


@pytest.fixture
def trainc(monkeypatch: pytest.MonkeyPatch) -> Trainc:
    stand_in = Trainc()
    monkeypatch.setattr(scenes, "run", stand_in)
    monkeypatch.setattr(scenes, "takes_jobs", lambda word: word == "render")
    return stand_in


@pytest.fixture
def site(trainc: Trainc, tmp_path: Path) -> scenes.Site:
    return scenes.Site(tmp_path / "site", 10, fleet.EVERYTHING)


def played(site: scenes.Site, trainc: Trainc, name: str, cache: str) -> list[Found]:
    """Play all scenes of a name, and return what the measured runs of one of them found."""
    found: list[Found] = []
    start = 0
    for row in scenes.play(site, Effort(RUNS), lambda each: each == name):
        if row.cache == cache:
            found = trainc.found[start:][-RUNS:]
        start = len(trainc.found)
    assert len(found) == RUNS
    return found


def current(found: Found) -> bool:
    """Tell whether out/ was what render writes."""
    return found.out == {f"out/{name}": text for name, text in found.inputs.items()}


@pytest.mark.parametrize(
    "name", [scenes.RENDER_ABSENT, scenes.RENDER_SAME, scenes.CHECK, scenes.VALIDATE, scenes.BUILD]
)
def test_cold_is_without_cache_and_warm_with_it(site: scenes.Site, trainc: Trainc, name: str) -> None:
    assert [each.cached for each in played(site, trainc, name, scenes.COLD)] == [False] * RUNS
    assert [each.cached for each in played(site, trainc, name, scenes.WARM)] == [True] * RUNS


@pytest.mark.parametrize("cache", [scenes.COLD, scenes.WARM])
def test_absent_is_without_out(site: scenes.Site, trainc: Trainc, cache: str) -> None:
    assert [each.out for each in played(site, trainc, scenes.RENDER_ABSENT, cache)] == [{}] * RUNS


def test_stale_is_every_file(site: scenes.Site, trainc: Trainc) -> None:
    for each in played(site, trainc, scenes.RENDER_STALE, scenes.COLD):
        assert len(each.out) == len(each.inputs)
        assert all(each.out[f"out/{name}"] != text for name, text in each.inputs.items())
        assert all(each.out[f"out/{name}"].startswith(text) for name, text in each.inputs.items())


@pytest.mark.parametrize("name", [scenes.RENDER_SAME, scenes.CHECK])
def test_nothing_changed(site: scenes.Site, trainc: Trainc, name: str) -> None:
    assert all(current(each) for each in played(site, trainc, name, scenes.WARM))


@pytest.mark.parametrize(
    ("name", "folder"), [(scenes.RENDER_JOB, "jobs/"), (scenes.RENDER_RUNTIME, f"runtimes/{fleet.TENTH}")]
)
def test_each_run_finds_one_change(site: scenes.Site, trainc: Trainc, name: str, folder: str) -> None:
    for each in played(site, trainc, name, scenes.WARM):
        changed = [path for path, text in each.inputs.items() if each.out[f"out/{path}"] != text]
        assert len(changed) == 1
        assert changed[0].startswith(folder)
        assert each.cached


def test_a_warm_build_is_of_what_was_built(site: scenes.Site, trainc: Trainc) -> None:
    played(site, trainc, scenes.BUILD, scenes.WARM)
    before, last = trainc.found[-2:]
    assert before == last, "the run before it is the same"


def test_an_edited_job_was_never_built(site: scenes.Site, trainc: Trainc) -> None:
    job = fleet.job(0).path
    texts = [each.inputs[job] for each in played(site, trainc, scenes.BUILD_EDITED, scenes.WARM)]
    built = [each.inputs[job] for each in trainc.found if each.words == ("build", job)]
    assert len(built) == RUNS
    assert built == texts
    assert len(set(built)) == RUNS, "each run finds another text"
    assert fleet.job(0).text not in built, "nor the one that other scenes build"


def test_a_tenth_alone(site: scenes.Site, trainc: Trainc) -> None:
    for each in played(site, trainc, scenes.RENDER_TENTH, scenes.COLD):
        jobs = [name for name in each.inputs if name.startswith("jobs/")]
        assert jobs == [job.path for job in fleet.jobs(10) if job.runtime == fleet.TENTH]
        assert not each.cached
        assert not current(each)


@needs_git
def test_a_diff_of_one_job(site: scenes.Site, trainc: Trainc) -> None:
    for each in played(site, trainc, scenes.DIFF, scenes.WARM):
        assert each.words == ("diff",)
        assert current(each)
    assert (site.root / ".git").is_dir()


def test_workers_are_asked_for_where_they_can_be(site: scenes.Site, trainc: Trainc) -> None:
    assert played(site, trainc, scenes.RENDER_TWO, scenes.COLD)[0].words == ("render", "--jobs", "2")
    assert played(site, trainc, scenes.RENDER_ABSENT, scenes.COLD)[0].words == ("render", "--jobs", "1")
    assert played(site, trainc, scenes.VALIDATE, scenes.COLD)[0].words == ("validate",)


def test_every_scene_is_played_once(site: scenes.Site, trainc: Trainc) -> None:
    rows = [(row.scene, row.cache) for row in scenes.play(site, Effort(1), lambda _name: True)]
    assert len(rows) == len(set(rows))
    known = {value for name, value in vars(scenes).items() if name.isupper() and isinstance(value, str)}
    assert {name for name, _ in rows} == known - {
        *(scenes.COLD, scenes.WARM, scenes.OWN_CHECK, scenes.HELP, scenes.PYTHON)
    }


def test_starts(trainc: Trainc, tmp_path: Path) -> None:
    rows = list(scenes.starts(tmp_path, Effort(RUNS), lambda name: name == scenes.OWN_CHECK))
    assert [row.cache for row in rows] == [scenes.COLD, scenes.WARM]
    assert [each.cached for each in trainc.found] == [False, False, False, True, True, True]


@pytest.mark.skipif(HELM is None, reason="no helm in build/peers or on the PATH (python tests/bench/peers.py)")
def test_helm_makes_our_objects(tmp_path: Path) -> None:
    assert HELM is not None
    site = scenes.Site(tmp_path / "site", 10, fleet.LIKE)
    site.settle()
    arena = contest.Arena(site, skeletons(), {"helm": HELM})
    arena.check("helm")
    values = arena.inputs / "chart" / "values.yaml"
    values.write_text(
        values.read_text(encoding="utf-8").replace("--", "-").replace("cpu-000000", "cpu-1"), encoding="utf-8"
    )
    with pytest.raises(contest.ContestError, match="one of them only has"):
        arena.check("helm")
