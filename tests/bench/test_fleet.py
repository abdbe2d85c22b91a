"""The generated repositories: always the same, clean, and of the sizes that the tables state."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import fleet
import pytest
import yaml

from trainc import Build, Options, Severity, Source
from trainc import compile as compile_sources
from trainc.basics.memo import LASTING

PACKAGE = Path(__file__).parents[2] / "compiler"


def trainc(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "XDG_CACHE_HOME": str(root / ".cache")}
    command = [sys.executable, "-m", "trainc", *args]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("flavour", fleet.FLAVOURS)
def test_a_fleet_is_valid_without_findings(flavour: str, tmp_path: Path) -> None:
    fleet.write_files(tmp_path, fleet.repository(10, flavour))
    done = trainc(tmp_path, "validate", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)) == (0, []), done.stderr
    assert "10 TrainJobs are valid" in done.stderr


@pytest.mark.parametrize("flavour", fleet.FLAVOURS)
def test_a_job_in_a_fleet_compiles_to_what_it_does_alone(flavour: str) -> None:
    """What jobs have in common is computed once; no job may leave a trace in another."""
    files = dict(fleet.repository(40, flavour))
    shared = {name: text for name, text in files.items() if not name.startswith("jobs/")}
    alone: dict[str, object] = {}
    for name in files.keys() - shared.keys():
        LASTING.clear()
        alone |= compiled({**shared, name: files[name]}).files
    assert compiled(files).files == alone
    assert len(alone) > 40


def test_one_file_with_all_jobs_compiles_to_the_same() -> None:
    many, one = (compiled(dict(fleet.repository(10, fleet.LIKE, one_file=one))) for one in (False, True))
    assert [each.data for each in many.objects] == [each.data for each in one.objects]


def compiled(files: dict[str, str]) -> Build:
    config = yaml.safe_load(files["trainc.yaml"])
    sources = [Source(name, text) for name, text in files.items() if "/" in name]
    return compile_sources(sources, Options(environment="prod", config=config))


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (fleet.job(0).path, ":1.0.0", ":latest", "an image has the tag latest"),
        (fleet.job(0).path, 'limits: {cpu: "4", memory: 8Gi}', 'limits: {cpu: "4"}', "a container has no memory limit"),
        ("runtimes/jax.yaml", "ml-platform\n", "''\n", "label example.com/team is missing"),
    ],
)
def test_the_three_rules_apply(name: str, old: str, new: str, message: str) -> None:
    files = dict(fleet.repository(5, fleet.LIKE))
    assert old in files[name]
    build = compiled({**files, name: files[name].replace(old, new)})
    assert message in " ".join(finding.message for finding in build.findings if finding.severity == Severity.ERROR)


def test_the_mix() -> None:
    jobs = list(fleet.jobs(1000))
    assert len({(each.namespace, each.name) for each in jobs}) == 1000
    assert len({each.namespace for each in jobs}) == 1000 // fleet.NAMESPACE_SIZE
    assert {kind: sum(each.kind == kind for each in jobs) for kind in fleet.KINDS} == dict.fromkeys(fleet.KINDS, 200)
    assert sum(each.runtime == fleet.TENTH for each in jobs) == 100
    assert {each.runtime for each in jobs} == set(fleet.runtimes())
    assert 500 <= statistics.fmean(len(each.text) for each in jobs) <= 600


def test_jobs_are_what_they_say() -> None:
    for each in fleet.jobs(5):
        data = yaml.safe_load(each.text)
        assert data["metadata"]["name"] == each.name
        assert data["spec"]["runtimeRef"] == {"name": each.runtime}
        assert str(data["spec"]["trainer"]["numNodes"]) == each.nodes


def test_each_turn_changes_the_first_job_anew(tmp_path: Path) -> None:
    fleet.write_files(tmp_path, fleet.repository(1, fleet.LIKE))
    texts = [fleet.job(0).text]
    for turn in range(3):
        fleet.change_job(tmp_path, turn)
        texts.append((tmp_path / fleet.job(0).path).read_text(encoding="utf-8"))
    assert len(set(texts)) == 4
