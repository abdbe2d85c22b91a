"""The runtimes and TrainJobs of the table's rows: a repository as a user has it, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from matrix import Row
from ruamel.yaml import YAML

NAMESPACE: Final = "team-mpi"

IMAGES: Final = {
    "openmpi4": "ghcr.io/trainc/mpi4py:0.1.0",
    "openmpi5": "ghcr.io/trainc/mpi4py-openmpi5:0.1.0",
    "mpich": "ghcr.io/trainc/mpi4py-mpich:0.1.0",
}
KUBECTL: Final = "docker.io/alpine/kubectl:1.34.1"

WHERE: Final = """\
import json
import socket

from mpi4py import MPI

world = MPI.COMM_WORLD
where = world.gather((world.Get_rank(), socket.gethostname()), root=0)
total = world.allreduce(world.Get_rank() + 1)
if world.Get_rank() == 0:
    print(json.dumps({"hosts": dict(where), "total": total}), flush=True)
"""
"""A program of ranks: prints on which host each runs, and a sum over all."""

CONFIG: Final = f"""\
environments:
  prod:
    fixes: recommended
    transport: {{image: "{KUBECTL}"}}
"""

_WAIT: Final = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"


def write(folder: Path, every: list[Row]) -> None:
    """Write a repository with the jobs of rows."""
    (folder / "runtimes").mkdir(parents=True)
    (folder / "jobs" / NAMESPACE).mkdir(parents=True)
    (folder / "trainc.yaml").write_text(CONFIG, encoding="utf-8")
    for row in every:
        _dump(folder / "runtimes" / f"{row.name}.yaml", runtime(row))
        _dump(folder / "jobs" / NAMESPACE / f"{row.name}.yaml", job(row))


def job(row: Row) -> dict[str, Any]:
    """Return the TrainJob of a row."""
    hosts = len(row.hosts)
    env = [{"name": "OMPI_MCA_mpi_yield_when_idle", "value": "1"}]
    if row.user == "root" and row.mpi != "mpich":
        env += [{"name": f"OMPI_ALLOW_RUN_AS_ROOT{end}", "value": "1"} for end in ("", "_CONFIRM")]
    ranks = str(hosts * row.slots)
    trainer = {
        "numNodes": hosts,
        "numProcPerNode": row.slots,
        "command": ["mpirun", "-n", ranks, "python3", "-m", "mpi4py", "-c"],
        "args": [WHERE],
        "env": env,
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": row.name},
        "spec": {"runtimeRef": {"name": row.name}, "trainer": trainer},
    }


def runtime(row: Row) -> dict[str, Any]:
    """Return the ClusterTrainingRuntime of a row."""
    mpi: dict[str, Any] = {
        "numProcPerNode": 1,
        "mpiImplementation": "MPICH" if row.mpi == "mpich" else "OpenMPI",
        "runLauncherAsNode": row.launcher == "node",
    }
    if row.transport == "ssh":
        mpi["sshAuthMountPath"] = _keys(row)
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    launcher = {
        "name": "launcher",
        "dependsOn": [{"name": "node", "status": "Ready"}],
        "template": {"metadata": {"labels": step}, "spec": _pods(row, {})},
    }
    spec = {
        "network": {"publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]},
        "replicatedJobs": [{"name": "node", "template": {"spec": _pods(row, _waiting(row))}}, launcher],
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {
            "name": row.name,
            "labels": {"trainer.kubeflow.org/framework": "mpi"},
            "annotations": {"trainc.dev/transport": row.transport},
        },
        "spec": {"mlPolicy": {"numNodes": 1, "mpi": mpi}, "template": {"spec": spec}},
    }


def _keys(row: Row) -> str:
    return "/root/.ssh" if row.user == "root" else "/home/mpiuser/.ssh"


def _pods(row: Row, container: dict[str, Any]) -> dict[str, Any]:
    ids = ("runAsUser", "runAsGroup", "fsGroup")
    security = {"securityContext": dict.fromkeys(ids, 1000)} if row.user == "mpiuser" else {}
    main = {"name": "node", "image": IMAGES[row.mpi], **container}
    return {
        "backoffLimit": 0,
        "template": {"spec": {"restartPolicy": "Never", **security, "containers": [main]}},
    }


def _waiting(row: Row) -> dict[str, Any]:
    """Return what the nodes run."""
    if row.transport == "kubexec":
        return {"command": ["/bin/sh", "-c"], "args": [_WAIT]}
    port = 22 if row.user == "root" else 2222
    options = ["StrictModes=no", "UsePAM=no", "PidFile=none"]
    return {
        "command": ["/usr/sbin/sshd", "-De", "-p", str(port)],
        "args": [*(word for option in options for word in ("-o", option)), "-h", f"{_keys(row)}/id_rsa"],
        "readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1},
    }


def _dump(file: Path, document: dict[str, Any]) -> None:
    yaml = YAML()
    yaml.width = 4096
    with file.open("w", encoding="utf-8") as stream:
        yaml.dump(document, stream)
