"""MPICH and Intel MPI: extensions of default output, refused under faithful; and the limit of the hostfile."""

from __future__ import annotations

from typing import Any

import pytest

from builders import role, runtime, trainjob
from effort import thorough
from trainc import Options, Source, compile
from trainc.plugins.model import Model, Object
from trainc.plugins.mpi import implementations, plugin
from trainc.plugins.mpi.implementations import IMPLEMENTATIONS, Implementation

RUNTIME = runtime(
    role("launcher", trainer=True, image="i:1", container="%s"),
    role(image="i:1"),
    policy="{mpi: {mpiImplementation: %s, numProcPerNode: 3, runLauncherAsNode: true}}",
)
JOB = trainjob("j", trainer="{numNodes: %s%s}")


def build(implementation: str, env: str = "", nodes: str = "3", trainer: str = "", **options: Any):  # type: ignore[no-untyped-def]
    sources = [Source("rt.yaml", RUNTIME % (implementation, env)), Source("job.yaml", JOB % (nodes, trainer))]
    return compile(sources, Options(**options))


def hostfile(objects: tuple[Object, ...]) -> str:
    (found,) = [o.data["data"]["hostfile"] for o in objects if o.name == "j-mpi-hostfile"]  # type: ignore[index,call-overload]
    assert isinstance(found, str)
    return found


def launcher_env(objects: tuple[Object, ...]) -> list[tuple[str, str]]:
    (jobset,) = [o.data for o in objects if o.kind == "JobSet"]
    container = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]  # type: ignore[index,call-overload]
    return [(v["name"], v["value"]) for v in container["env"]]  # type: ignore[index,call-overload]


LINES = ["j-launcher-0-0.j", "j-node-0-0.j", "j-node-0-1.j"]


def test_mpich() -> None:
    objects = build("MPICH").objects
    assert hostfile(objects) == "".join(f"{line}:3\n" for line in LINES)
    assert launcher_env(objects) == [
        ("HYDRA_HOST_FILE", "/etc/mpi/hostfile"),
        ("HYDRA_LAUNCHER_EXTRA_ARGS", "-o ConnectionAttempts=10"),
        ("HYDRA_IFACE", "eth0"),
    ]


def test_the_runtime_may_name_another_interface() -> None:
    env = launcher_env(build("MPICH", ", env: [{name: HYDRA_IFACE, value: ib0}]").objects)
    assert [value for name, value in env if name == "HYDRA_IFACE"] == ["ib0"]


def test_intel() -> None:
    objects = build("Intel").objects
    assert hostfile(objects) == "".join(f"{line}:3\n" for line in LINES)
    assert launcher_env(objects) == [
        ("I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile"),
        ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-o ConnectionAttempts=10"),
        ("I_MPI_PERHOST", "3"),
        ("I_MPI_HYDRA_IFACE", "eth0"),
    ]


def test_open_mpi_is_upstreams() -> None:
    assert hostfile(build("OpenMPI").objects) == "".join(f"{line} slots=3\n" for line in LINES)


@pytest.mark.parametrize("implementation", ["MPICH", "Intel"])
def test_faithful_refuses_them_as_the_crd_does(implementation: str) -> None:
    found = [f for f in build(implementation, faithful=True).findings if f.severity == "error"]
    assert [f.upstream for f in found] == [
        f'spec.mlPolicy.mpi.mpiImplementation: Unsupported value: "{implementation}": supported values: "OpenMPI", ""'
    ]
    assert [f.stage for f in found] == ["runtime-crd"]


def test_an_unknown_implementation_is_an_error_by_default_too() -> None:
    assert [f.code for f in build("LAM").findings if f.severity == "error"] == ["TC104"]


def test_their_variables_are_reserved() -> None:
    trainer = ', env: [{name: HYDRA_HOST_FILE, value: "x"}]'
    (found,) = [f for f in build("MPICH", trainer=trainer).findings if f.severity == "error"]
    assert found.code == "TC401"
    assert found.message == "must not have reserved envs, invalid envs configured: [HYDRA_HOST_FILE]"


def test_reserved_variables_are_in_order() -> None:
    names = sorted(IMPLEMENTATIONS["MPICH"].reserved | IMPLEMENTATIONS["OpenMPI"].reserved)
    env = ", ".join(f'{{name: {name}, value: "x"}}' for name in reversed(names))
    (found,) = [f for f in build("MPICH", trainer=f", env: [{env}]").findings if f.severity == "error"]
    assert len(names) > 5
    assert found.message.endswith(f"[{' '.join(names)}]")


@pytest.mark.parametrize("faithful", [True, False])
@pytest.mark.parametrize("nodes", ["100001", "2000000000"])
def test_too_many_hosts_are_an_error_at_once(nodes: str, faithful: bool) -> None:
    (found,) = [f for f in build("OpenMPI", nodes=nodes, faithful=faithful).findings if f.severity == "error"]
    assert (found.code, found.stage) == ("TC407", "build")


def test_no_fix_is_without_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding on a generated object computes it again, also without the fixes: numNodes then counts launchers."""
    lines: list[int] = []

    def counted(model: Model, implementation: Implementation, slots: int) -> str:
        lines.append(implementations.hostfile(model, implementation, slots).count("\n"))
        return ""

    monkeypatch.setattr(plugin, "hostfile", counted)
    runtime = (RUNTIME % ("OpenMPI", ", env: [{name: A, value: $(A)}]")).replace("{mpi: {", "{numNodes: 200000, mpi: {")
    made = compile([Source("rt.yaml", f"{runtime}---\n{JOB % (2, '')}")], Options(fixes=("recommended",)))
    assert [f.code for f in made.findings if f.severity == "error"] == []
    assert "TC811" in [f.code for f in made.findings]
    assert {*lines} == {2, implementations.MAX_HOSTS}


def test_jobs_without_pods_are_skipped_at_once() -> None:
    runtime = (RUNTIME % ("OpenMPI", "")).replace("- name: node\n", "- name: node\n        replicas: 2000000000\n", 1)
    made = compile([Source("rt.yaml", f"{runtime}---\n{JOB % (1, '')}")], Options(fixes=("recommended",)))
    assert hostfile(made.jobs[0].objects).count("\n") == 1


@thorough
def test_as_many_hosts_as_allowed() -> None:
    made = build("OpenMPI", nodes="100000", faithful=True)
    assert hostfile(made.objects).count("\n") == 100_000
    assert [f.code for f in made.findings if f.severity == "error"] == []
    refused = build("OpenMPI", nodes="100000")  # no API server takes a ConfigMap of more than 1 MiB
    assert [f.code for f in refused.findings if f.severity == "error"] == ["TC022"]


def test_a_hostfile_that_is_too_large_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other findings on generated objects compute them again, to find the input behind a field."""
    made: list[Model] = []

    def counted(model: Model, implementation: Implementation, slots: int) -> str:
        made.append(model)
        return implementations.hostfile(model, implementation, slots)

    monkeypatch.setattr(plugin, "hostfile", counted)
    refused = build("OpenMPI", nodes="50000", fixes=("recommended",))
    assert [f.code for f in refused.findings if f.severity == "error"] == ["TC022"]
    assert len(made) == 1


def test_faithful_emits_no_secret_and_says_that_it_is_absent() -> None:
    made = build("OpenMPI", faithful=True)
    assert {o.kind for o in made.objects} == {"JobSet", "ConfigMap"}
    assert [f.message for f in made.findings if f.code == "TC408"] == [
        "Secret default/j-mpi-ssh-auth must exist: trainc never writes a private key"
    ]
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: j-mpi-ssh-auth}\n"
    sources = [
        Source("s.yaml", secret),
        Source("rt.yaml", RUNTIME % ("OpenMPI", "")),
        Source("j.yaml", JOB % ("2", "")),
    ]
    assert "TC408" not in {f.code for f in compile(sources, Options(faithful=True)).findings}
