"""The runtimes and jobs of this repository: described, pinned, clean, and using every plugin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trainc
from trainc import Build, Options, Source
from trainc.documents.load import load
from trainc.findings import Severity
from trainc.plugins import PLUGINS
from trainc.project.config import parse

ROOT = Path(__file__).resolve().parents[2]
EXTENSIONS = {"mpi-mpich-distributed", "mpi-intel-distributed"}
"""Runtimes of MPI implementations that Trainer's CRD does not have."""


def sources(folder: str, pattern: str) -> list[Source]:
    paths = sorted((ROOT / folder).glob(pattern))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


RUNTIMES = sources("runtimes", "*.yaml")
JOBS = sources("jobs", "*/*.yaml")


def documents(found: list[Source]) -> list[dict[str, Any]]:
    return [dict(document.data) for source in found for document in load(source)[0]]


def runtime_objects() -> list[dict[str, Any]]:
    return [item for item in documents(RUNTIMES) if item["kind"].endswith("TrainingRuntime")]


def containers(runtime: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        yield from pod.get("initContainers", [])
        yield from pod["containers"]


def name_of(item: dict[str, Any]) -> str:
    return str(item["metadata"]["name"])


@pytest.fixture(scope="module")
def build() -> Build:
    config, _ = parse(Source("trainc.yaml", (ROOT / "trainc.yaml").read_bytes()))
    return trainc.compile([*JOBS, *RUNTIMES], Options(config=config.data))


def test_all_jobs_compile_without_finding(build: Build) -> None:
    assert build.findings == ()
    assert len(build.jobs) == len(JOBS)
    assert all(job.objects for job in build.jobs)


def test_trainer_itself_would_take_every_job() -> None:
    plain = [source for source in RUNTIMES if Path(source.name).stem not in EXTENSIONS]
    faithful = trainc.compile([*JOBS, *plain], Options(faithful=True))
    assert [finding for finding in faithful.findings if finding.severity is Severity.ERROR] == []
    assert all(job.objects for job in faithful.jobs)


def renamed(length: int) -> list[Source]:
    """Return the jobs under names of that length, all different."""
    found = []
    for number, source in enumerate(JOBS):
        name = f"n{number:02}".ljust(length, "x")
        found.append(Source(source.name, re.sub(r"(?m)^  name: .+$", f"  name: {name}", source.decoded(), count=1)))
    return found


def test_names_of_33_characters_fit_and_longer_ones_may_not() -> None:
    def too_long(length: int) -> set[str]:
        findings = trainc.compile([*renamed(length), *RUNTIMES], Options()).findings
        assert {finding.code for finding in findings if finding.severity is Severity.ERROR} <= {"TC802"}
        return {finding.document.source.name for finding in findings if finding.code == "TC802"}

    assert too_long(33) == set()
    assert "jobs/team-nlp/llama-1b-alpaca.yaml" in too_long(34)


def test_at_least_sixteen_jobs_in_several_namespaces() -> None:
    assert len(JOBS) >= 16
    assert len({source.name.split("/")[1] for source in JOBS}) >= 3


def test_jobs_use_every_plugin() -> None:
    by_name = {name_of(item): item["spec"] for item in runtime_objects()}
    used = {str(item["spec"]["runtimeRef"]["name"]) for item in documents(JOBS)}
    features = {"jobset"}
    for name in used:
        spec = by_name[name]
        policy = set(spec["mlPolicy"]) - {"numNodes"}
        features |= policy or {"plainml"}
        features |= set(spec.get("podGroupPolicy", {}))
    assert features == {plugin.name.lower() for plugin in PLUGINS}


def test_jobs_leave_the_namespace_to_the_folder_and_set_no_deadline() -> None:
    for item in documents(JOBS):
        assert "namespace" not in item["metadata"]
        assert "activeDeadlineSeconds" not in item["spec"]
    assert all("ttlSecondsAfterFinished" not in str(item) for item in documents(RUNTIMES))


@pytest.mark.parametrize("source", [*RUNTIMES, *JOBS], ids=lambda source: source.name)
def test_every_file_says_what_it_is(source: Source) -> None:
    assert source.decoded().startswith("# ")


@pytest.mark.parametrize("source", RUNTIMES, ids=lambda source: source.name)
def test_a_file_holds_one_runtime_and_is_named_after_it(source: Source) -> None:
    found = [item for item in documents([source]) if item["kind"].endswith("TrainingRuntime")]
    assert len(found) == 1
    namespace = found[0]["metadata"].get("namespace")
    expected = f"{namespace}-{name_of(found[0])}" if namespace else name_of(found[0])
    assert Path(source.name).stem == expected


@pytest.mark.parametrize("runtime", runtime_objects(), ids=name_of)
def test_images_are_pinned_and_described(runtime: dict[str, Any]) -> None:
    found = list(containers(runtime))
    assert found
    for container in found:
        _, _, tag = container["image"].rpartition("/")[2].partition(":")
        assert re.search(r"\d", tag), container["image"]
    page = (ROOT / "docs" / "runtimes.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith(f"| `{name_of(runtime)}` |")]
    trainer = next(container["image"] for container in reversed(found) if container["name"] == "node")
    assert len(rows) == 1
    assert f"| `{trainer}` |" in rows[0]
