"""The known bugs of Trainer v2.3.0's MPI plugin, each a warning that names its fix."""

from __future__ import annotations

from trainc.model import LAUNCHER, NODE, Findings, Model
from trainc.plugins.base import known_bug, pod_containers
from trainc.source import Json, JsonObject, get

POLICY = ("spec", "mlPolicy", "mpi")


def known_bugs(model: Model, policy: JsonObject) -> Findings:
    """Return a warning for every known bug that this job meets."""
    return (
        *_openmpi5(model, policy),
        *_launcher_as_node(model, policy),
        *_num_nodes(model),
        *_env_to_workers(model, policy),
        *_key_mode(model),
        *_known_hosts(model),
    )


def _openmpi5(model: Model, policy: JsonObject) -> Findings:
    if policy.get("mpiImplementation") != "OpenMPI":
        return ()
    return known_bug(
        "openmpi5-variables",
        model.runtime,
        (*POLICY, "mpiImplementation"),
        "Open MPI 5 and newer ignore the OMPI_MCA_orte_* variables: with such an image every rank runs in the"
        " launcher's pod and the job still succeeds",
    )


def _launcher_as_node(model: Model, policy: JsonObject) -> Findings:
    if policy.get("runLauncherAsNode") is not True or model.num_nodes != 1:
        return ()
    return known_bug(
        "launcher-counts-as-node",
        model.job,
        ("spec", "trainer", "numNodes"),
        "with runLauncherAsNode one node becomes two hosts: the launcher and one worker",
    )


def _num_nodes(model: Model) -> Findings:
    nodes = model.ml_policy.get("numNodes") if model.ml_policy else None
    trainer_set = model.trainer_set
    if nodes in (None, 1) or trainer_set is None or trainer_set.name != LAUNCHER:
        return ()
    return known_bug(
        "mpi-num-nodes",
        model.runtime,
        ("spec", "mlPolicy", "numNodes"),
        f"mlPolicy.numNodes goes to the launcher, which gets {nodes} pods, and not to job node",
    )


def _env_to_workers(model: Model, policy: JsonObject) -> Findings:
    if not model.trainer_list("env"):
        return ()
    where = "launcher's and the node's containers" if policy.get("runLauncherAsNode") is True else "launcher only"
    return known_bug(
        "env-to-workers",
        model.job,
        ("spec", "trainer", "env"),
        f"these variables reach the {where}; ssh and mpirun do not hand them to the ranks on other hosts",
    )


def _key_mode(model: Model) -> Findings:
    for index, job in enumerate(model.jobs):
        if get(job, "name") == LAUNCHER and _runs_as_root_without_group(job):
            return known_bug(
                "ssh-key-mode",
                model.runtime,
                ("spec", "template", "spec", "replicatedJobs", index),
                "id_rsa is mounted with mode 0640, which ssh refuses where the container runs as root without fsGroup",
            )
    return ()


def _runs_as_root_without_group(job: Json) -> bool:
    context = get(job, "template", "spec", "template", "spec", "securityContext")
    if get(context, "fsGroup") is not None:
        return False
    users = [get(c, "securityContext", "runAsUser") for c in pod_containers(job) if c.get("name") == NODE]
    return any((user if user is not None else get(context, "runAsUser")) in (None, 0) for user in users)


def _known_hosts(model: Model) -> Findings:
    return known_bug(
        "ssh-known-hosts",
        model.runtime,
        POLICY,
        "no known_hosts is mounted: ssh either skips the check of host keys (StrictHostKeyChecking no) or fails",
    )
