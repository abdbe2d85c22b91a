"""Whose resources count as those of a node, and how ports that are the same are reported."""

from __future__ import annotations

import pytest

from builders import role, runtime, trainjob
from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import JsonObject, as_object, get


def built(first: str, name: str = "node") -> Build:
    other = role(name, trainer=True, container=", resources: {limits: {cpu: 2}}")
    nodes = runtime(role("first", container=f", {first}"), other, policy="{numNodes: 1, torch: {}}")
    return compile([Source("a.yaml", f"{nodes}---\n{trainjob()}")])


@pytest.mark.parametrize("name", ["node", "second"])
def test_other_jobs_are_no_nodes(name: str) -> None:
    (jobset,) = [made.data for made in built("resources: {limits: {cpu: 4}}", name).objects]
    container = get(jobset, "spec", "replicatedJobs", 1, "template", "spec", "template", "spec", "containers", 0)
    assert isinstance(container, dict)
    variables: list[JsonObject] = container["env"]  # type: ignore[assignment]
    assert {v["name"]: v.get("value") for v in variables}["PET_NPROC_PER_NODE"] == "2"


@pytest.mark.parametrize(
    ("ports", "why"),
    [
        ("{containerPort: 80, name: a}, {containerPort: 80, protocol: UDP}", "with the same number"),
        ("{containerPort: 80, name: a}, {containerPort: 80, name: b, protocol: UDP}", "with the same number"),
        ("{containerPort: 80}, {containerPort: 81}", "without a name"),
        ("{containerPort: 80, name: a}, {containerPort: 81}", None),
    ],
)
def test_lost_ports(ports: str, why: str | None) -> None:
    found = [finding.message for finding in built(f"ports: [{ports}]").findings if finding.code == "TC453"]
    assert len(found) == (why is not None)
    assert all(f"container 'node' of job 'first' has ports {why}, which Trainer" in message for message in found)


def test_a_flux_job_without_a_trainer_has_its_scripts() -> None:
    made = compile(
        [Source("a.yaml", f"{runtime(role('other'), policy='{flux: {}}')}---\n{trainjob(trainer='{numNodes: 1}')}")]
    )
    assert [one.kind for one in made.objects] == ["ConfigMap", "JobSet"]


def test_a_runtime_without_jobs_gets_none() -> None:
    empty = runtime(policy="{torch: {}}").partition("      replicatedJobs:")[0].replace("    spec:\n", "    spec: {}\n")
    job = trainjob(trainer="{resourcesPerNode: {limits: {cpu: 1}}}")
    made = compile([Source("a.yaml", f"{empty}---\n{job}")], Options(faithful=True))
    (jobset,) = [one.data for one in made.objects]
    assert "replicatedJobs" not in as_object(jobset["spec"])


def test_only_an_mpi_launcher_is_not_counted() -> None:
    text = f"{runtime(role('launcher', trainer=True), policy='{numNodes: 2, torch: {}}')}---\n{trainjob()}"
    (jobset,) = [one.data for one in compile([Source("a.yaml", text)], Options(fixes=("mpi-num-nodes",))).objects]
    assert get(jobset, "spec", "replicatedJobs", 0, "template", "spec", "parallelism") == 2
