"""Whose resources count as those of a node, and how ports that are the same are reported."""

from __future__ import annotations

import pytest

from builders import STEP, of_kind, role, runtime, the, trainjob
from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import JsonObject, as_object, get, objects


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


def test_no_port_is_lost_without_a_trainer() -> None:
    ports = "ports: [{containerPort: 80, name: web}, {containerPort: 29500, name: meet}]"
    nodes = runtime(role(trainer=True, container=f", {ports}"), policy="{torch: {}}")
    for trainer, lost in (("null", False), ("{}", True)):
        made = compile([Source("a.yaml", f"{nodes}---\n{trainjob(trainer=trainer)}")])
        assert any(finding.code == "TC453" for finding in made.findings) == lost


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


@pytest.mark.parametrize(
    ("name", "policy", "others"),
    [("launcher", "torch: {}", ()), ("worker", "mpi: {}", (role("launcher"), role("node")))],
)
def test_only_an_mpi_launcher_is_not_counted(name: str, policy: str, others: tuple[str, ...]) -> None:
    nodes = runtime(role(name, trainer=True), *others, policy=f"{{numNodes: 2, {policy}}}")
    made = compile([Source("a.yaml", f"{nodes}---\n{trainjob()}")], Options(fixes=("mpi-num-nodes",)))
    assert get(the(made, "JobSet"), "spec", "replicatedJobs", 0, "template", "spec", "parallelism") == 2


@pytest.mark.parametrize(
    ("policy", "others", "nodes"),
    [
        ("numNodes: 0, mpi: {}", ("launcher",), 1),
        ("numNodes: -1, mpi: {}", ("launcher",), 1),
        ("mpi: {runLauncherAsNode: true}", (), 1),  # one pod is both
        ("mpi: {runLauncherAsNode: true}", ("launcher",), 0),
    ],
)
def test_a_fix_never_takes_away_the_last_node(policy: str, others: tuple[str, ...], nodes: int) -> None:
    jobs = (role(), *(role(name, trainer=True) for name in others))
    job = trainjob(trainer="{numNodes: 1}" if "AsNode" in policy else "{}")
    sources = [Source("a.yaml", f"{runtime(*jobs, policy=f'{{{policy}}}')}---\n{job}")]
    made = compile(sources, Options(fixes=("recommended",)))
    assert get(the(made, "JobSet"), "spec", "replicatedJobs", 0, "template", "spec", "parallelism") == nodes
    (hosts,) = [one.data["data"] for one in of_kind(made, "ConfigMap") if one.name == "job-mpi-hostfile"]
    assert str(get(hosts, "hostfile")).count("\n") == 1


def test_a_fix_starts_no_second_launcher() -> None:
    launcher = role("launcher", trainer=True).replace("    spec:\n", "    spec:\n            parallelism: 2\n", 1)
    sources = [Source("a.yaml", f"{runtime(role(), launcher, policy='{mpi: {}}')}---\n{trainjob()}")]
    for fixes in ((), ("mpi-num-nodes",)):
        made = the(compile(sources, Options(fixes=fixes)), "JobSet")
        assert get(made, "spec", "replicatedJobs", 1, "template", "spec", "parallelism") == 1


@pytest.mark.parametrize(
    ("fixes", "warns"),
    [
        ((), True),
        (("mpi-num-nodes",), True),
        (("launcher-counts-as-node",), True),
        (("mpi-num-nodes", "launcher-counts-as-node"), False),
    ],
)
@pytest.mark.parametrize("count", ["numNodes: 1, ", ""])  # 1 is the default
def test_one_node_of_a_runtime_becomes_two(count: str, fixes: tuple[str, ...], warns: bool) -> None:
    jobs = (role(), role("launcher", trainer=True))
    nodes = runtime(*jobs, policy=f"{{{count}mpi: {{runLauncherAsNode: true}}}}")
    made = compile([Source("a.yaml", f"{nodes}---\n{trainjob()}")], Options(fixes=fixes))
    found = [finding for finding in made.findings if finding.code == "TC452"]
    assert len(found) == warns
    assert get(the(made, "JobSet"), "spec", "replicatedJobs", 0, "template", "spec", "parallelism") == int(warns)
    for finding in found:
        assert finding.path == (("spec", "mlPolicy", "numNodes") if count else ("spec", "mlPolicy"))
        assert ("enable fix 'mpi-num-nodes'" in str(finding.hint)) == ("launcher-counts-as-node" in fixes)


@pytest.mark.parametrize("trainer", ["{}", "{numNodes: 1}"])
def test_a_launcher_alone_is_one_node(trainer: str) -> None:
    alone = runtime(role("launcher", trainer=True), policy="{numNodes: 1, mpi: {runLauncherAsNode: true}}")
    made = compile([Source("a.yaml", f"{alone}---\n{trainjob(trainer=trainer)}")])
    (hosts,) = [one.data["data"] for one in of_kind(made, "ConfigMap") if one.name == "job-mpi-hostfile"]
    assert str(get(hosts, "hostfile")).count("\n") == 1
    assert all(finding.code != "TC452" for finding in made.findings)


def served(*roles: str, policy: str, patches: str = "") -> dict[str, tuple[bool, bool]]:
    """Return the replicated jobs, and whether their first container has resources and variables of spec.trainer."""
    own = "resourcesPerNode: {limits: {cpu: 2}}, env: [{name: OWN, value: x}]"
    job = trainjob(trainer=f"{{{own}}}", more=patches)
    made = compile([Source("a.yaml", f"{runtime(*roles, policy=policy)}---\n{job}")])
    containers = ("template", "spec", "template", "spec", "containers", 0)
    jobs = [as_object(each) for each in get(the(made, "JobSet"), "spec", "replicatedJobs")]  # type: ignore[union-attr]
    found = {}
    for each in jobs:
        names = [variable["name"] for variable in objects(get(each, *containers, "env"))]
        found[str(each["name"])] = (bool(get(each, *containers, "resources", "limits")), "OWN" in names)
    return found


def test_a_job_that_a_patch_makes_a_trainer_may_have_no_container_node() -> None:
    patch = f"""\
  runtimePatches:
  - manager: example.com/m
    trainingRuntimeSpec:
      template: {{spec: {{replicatedJobs: [{{name: other, template: {{metadata: {{labels: {STEP}}}}}}}]}}}}
"""
    roles = (role(trainer=True), role("other", containers='[{name: main, image: "example.com/img:1"}]'))
    found = served(*roles, policy="{numNodes: 1}", patches=patch)
    assert found == {"node": (True, True), "other": (False, False)}


def test_with_a_launcher_as_node_job_node_has_resources_and_variables_too() -> None:
    roles = (role("other"), role("launcher", trainer=True), role("node"))
    found = served(*roles, policy="{numNodes: 2, mpi: {runLauncherAsNode: true}}")
    assert found == {"other": (False, False), "launcher": (True, True), "node": (True, True)}


def test_a_job_without_init_containers_has_no_choice_of_them() -> None:
    patch = """\
  runtimePatches:
  - manager: example.com/m
    trainingRuntimeSpec:
      template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: POD}}}}]}}
""".replace("POD", "{initContainers: [{name: x}]}")
    made = compile([Source("a.yaml", f"{runtime()}---\n{trainjob(more=patch)}")])
    [finding] = [each for each in made.findings if each.code == "TC309"]
    assert (finding.found, finding.expected) == ("x", None)


def test_flux_needs_processes() -> None:
    text = f"{runtime(policy='{flux: {}}')}---\n{trainjob(trainer='{numNodes: 1, numProcPerNode: 0}')}"
    found = [each.path for each in compile([Source("a.yaml", text)]).findings if each.code == "TC405"]
    assert found == [("spec", "trainer", "numProcPerNode")]


@pytest.mark.parametrize("name", ["JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"])
def test_variables_of_jax_are_reserved_with_the_fix(name: str) -> None:
    job = trainjob(trainer=f"{{env: [{{name: {name}, value: x}}]}}")
    sources = [Source("a.yaml", f"{runtime(policy='{jax: {}}')}---\n{job}")]
    made = compile(sources, Options(fixes=("jax-reserved-env",)))
    assert [each.found for each in made.findings if each.code == "TC401"] == [name]


@pytest.mark.parametrize("suspended", [(False, False), (True, False), (False, True)])
def test_only_a_jobset_that_runs_is_not_generated_again(suspended: tuple[bool, bool]) -> None:
    of_job, of_jobset = (f"suspend: {str(each).lower()}" for each in suspended)
    job = trainjob().replace("spec:\n", f"spec:\n  {of_job}\n", 1)
    existing = f"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: job}}\nspec: {{{of_jobset}}}\n"
    sources = [Source("a.yaml", f"{runtime(role(trainer=True))}---\n{job}---\n{existing}")]
    made = compile(sources, Options(faithful=True))
    assert [each.code for each in made.findings if each.code == "TC313"] == ["TC313"] * (not any(suspended))
    assert [each.kind for each in made.objects] == ["JobSet"] * any(suspended)
