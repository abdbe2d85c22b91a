"""The known bugs of Trainer v2.3.0's MPI plugin, each a warning that names its fix."""

from __future__ import annotations

from trainc.basics.jsonvalues import JsonObject
from trainc.plugins.base import env_names, known_bug
from trainc.plugins.model import Findings, Model
from trainc.plugins.mpi.forwarding import left_behind
from trainc.plugins.mpi.implementations import implementation_of
from trainc.plugins.mpi.ssh import roots_alone, strict
from trainc.plugins.mpi.transport import by_kubexec
from trainc.upstream import LAUNCHER, NODE, TRAINER

POLICY = ("spec", "mlPolicy", "mpi")


def known_bugs(model: Model, policy: JsonObject) -> Findings:
    """Return a warning for every known bug that this job meets."""
    general = (*_launcher_as_node(model, policy), *_num_nodes(model), *_env_to_workers(model, policy))
    if by_kubexec(model):  # without ssh, and Open MPI 5 gets its variables
        return general
    return (*_openmpi5(model, policy), *general, *_key_mode(model), *_known_hosts(model, policy))


def counts_launchers(model: Model) -> bool:
    """Tell whether mlPolicy.numNodes is the number of launchers: they are what the trainer's label marks."""
    launcher = model.pod_set(LAUNCHER)
    return launcher is not None and launcher.ancestor == TRAINER


def _openmpi5(model: Model, policy: JsonObject) -> Findings:
    if policy.get("mpiImplementation") != "OpenMPI" or model.fixed("openmpi5-variables"):
        return ()
    return known_bug(
        "openmpi5-variables",
        model.runtime,
        (*POLICY, "mpiImplementation"),
        "Open MPI 5 and newer ignore the OMPI_MCA_orte_* variables: with such an image every rank runs in the"
        " launcher's pod and the job still succeeds",
    )


def _launcher_as_node(model: Model, policy: JsonObject) -> Findings:
    fixed = model.fixed("launcher-counts-as-node")
    if policy.get("runLauncherAsNode") is not True or model.num_nodes != 1 or fixed:
        return ()
    return known_bug(
        "launcher-counts-as-node",
        model.job,
        ("spec", "trainer", "numNodes"),
        "with runLauncherAsNode one node becomes two hosts: the launcher and one worker",
    )


def _num_nodes(model: Model) -> Findings:
    nodes = model.ml_policy.get("numNodes") if model.ml_policy else None
    if nodes in (None, 1) or not counts_launchers(model) or model.fixed("mpi-num-nodes"):
        return ()
    return known_bug(
        "mpi-num-nodes",
        model.runtime,
        ("spec", "mlPolicy", "numNodes"),
        f"mlPolicy.numNodes goes to the launcher, which gets {nodes} pods, and not to job node",
    )


def _env_to_workers(model: Model, policy: JsonObject) -> Findings:
    implementation = implementation_of(policy)
    if implementation is None or not (left := left_behind(model, implementation)):
        return ()
    these = "these variables reach" if left == env_names(model) else f"of these variables {' and '.join(left)} reach"
    where = "launcher's and the node's containers" if policy.get("runLauncherAsNode") is True else "launcher only"
    shell = "kubectl exec" if by_kubexec(model) else "ssh"
    message = f"{these} the {where}; {shell} and mpirun do not hand them to the ranks on other hosts"
    remedy = "name them on mpirun's command line: -x NAME" if model.fixed("env-to-workers") else None
    return known_bug("env-to-workers", model.job, ("spec", "trainer", "env"), message, remedy)


def _key_mode(model: Model) -> Findings:
    rooted = next((name for name in (LAUNCHER, NODE) if roots_alone(model, name)), None)
    if rooted is None or model.fixed("ssh-key-mode"):
        return ()
    index = next(index for index, job in enumerate(model.jobs) if job.get("name") == rooted)
    return known_bug(
        "ssh-key-mode",
        model.runtime,
        ("spec", "template", "spec", "replicatedJobs", index),
        "id_rsa is mounted with mode 0640, which ssh refuses where the container runs as root without fsGroup",
    )


def _known_hosts(model: Model, policy: JsonObject) -> Findings:
    if strict(model, policy):
        return ()
    message = "no known_hosts is mounted: ssh either skips the check of host keys (StrictHostKeyChecking no) or fails"
    if not model.fixed("ssh-known-hosts"):
        return known_bug("ssh-known-hosts", model.runtime, POLICY, message)
    message += "; the nodes' command line does not say that sshd serves the job's key (-h .../id_rsa)"
    mount = str(policy.get("sshAuthMountPath")).rstrip("/")
    remedy = f"give sshd of job {NODE} in the runtime the argument -h {mount}/id_rsa, and ssh will check host keys"
    return known_bug("ssh-known-hosts", model.runtime, POLICY, message, remedy)
