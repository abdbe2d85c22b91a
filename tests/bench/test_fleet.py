"""The generated repositories: always the same, clean, and of the sizes that the tables state."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import fleet
import fleetruntimes
import pytest
import yaml

from trainc import Options, Severity, Source
from trainc import compile as compile_sources

PACKAGE = Path(__file__).parents[2] / "compiler"


def trainc(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "XDG_CACHE_HOME": str(root / ".cache")}
    command = [sys.executable, "-m", "trainc", *args]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("flavour", fleet.FLAVOURS)
def test_a_fleet_is_valid_and_nothing_is_said_of_it(flavour: str, tmp_path: Path) -> None:
    fleet.write(tmp_path, 10, flavour)
    done = trainc(tmp_path, "validate", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)) == (0, []), done.stderr
    assert "10 TrainJobs are valid" in done.stderr


@pytest.mark.parametrize("flavour", fleet.FLAVOURS)
def test_a_fleet_is_always_the_same(flavour: str) -> None:
    once = dict(fleet.repository(60, flavour))
    assert once == dict(fleet.repository(60, flavour))
    assert len(once) == len(list(fleet.repository(60, flavour)))


def test_a_larger_fleet_holds_the_smaller_one() -> None:
    assert list(fleet.jobs(70))[:30] == list(fleet.jobs(30))


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (fleet.job(0).path, ":1.0.0", ":latest", "an image has the tag latest"),
        (fleet.job(0).path, 'limits: {cpu: "4", memory: 8Gi}', 'limits: {cpu: "4"}', "a container has no memory limit"),
        ("runtimes/jax.yaml", "ml-platform\n", "''\n", "label example.com/team is missing"),
    ],
)
def test_the_three_rules_are_asked(name: str, old: str, new: str, message: str) -> None:
    files = dict(fleet.repository(5, fleet.LIKE))
    config = yaml.safe_load(files.pop("trainc.yaml"))
    assert old in files[name]
    files[name] = files[name].replace(old, new)
    build = compile_sources([Source(*each) for each in files.items()], Options(environment="prod", config=config))
    assert message in " ".join(finding.message for finding in build.findings if finding.severity == Severity.ERROR)


def test_no_such_flavour() -> None:
    with pytest.raises(ValueError, match="like for like, everything"):
        list(fleet.repository(1, "vanilla"))


def test_the_mix() -> None:
    jobs = list(fleet.jobs(1000))
    assert len({(each.namespace, each.name) for each in jobs}) == 1000
    assert len({each.namespace for each in jobs}) == 1000 // fleet.NAMESPACE_SIZE
    assert {kind: sum(each.kind == kind for each in jobs) for kind in fleet.KINDS} == dict.fromkeys(fleet.KINDS, 200)
    assert sum(each.runtime == fleet.TENTH for each in jobs) == 100
    assert {each.runtime for each in jobs} == set(fleetruntimes.texts())
    assert 500 <= statistics.fmean(len(each.text) for each in jobs) <= 600


def test_jobs_are_what_they_say() -> None:
    for each in fleet.jobs(5):
        data = yaml.safe_load(each.text)
        assert data["metadata"]["name"] == each.name
        assert data["spec"]["runtimeRef"] == {"name": each.runtime}
        assert str(data["spec"]["trainer"]["numNodes"]) == each.nodes


@pytest.mark.parametrize("change", [fleet.change_job, fleet.change_runtime])
def test_a_change_makes_other_text_each_turn(change: object, tmp_path: Path) -> None:
    assert callable(change)
    fleet.write(tmp_path, 10, fleet.LIKE)
    seen = [contents(tmp_path)]
    for turn in range(3):
        change(tmp_path, turn)
        seen.append(contents(tmp_path))
    for before, after in itertools.pairwise(seen):
        assert sum(before[name] != after[name] for name in before) == 1
    assert trainc(tmp_path, "validate").returncode == 0


def contents(root: Path) -> dict[str, str]:
    return {str(path): path.read_text(encoding="utf-8") for path in root.rglob("*.yaml")}
