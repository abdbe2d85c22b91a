"""The MPI plugin."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, get
from trainc.findings import report
from trainc.kube.fielderror import invalid
from trainc.kube.gojson import int32
from trainc.plugins.base import (
    config_map,
    env_names,
    gpu_count,
    node_resources,
    refused,
    secret_must_exist,
    typed_env,
)
from trainc.plugins.model import Container, Findings, Model, Objects, PodSet
from trainc.plugins.mpi.forwarding import forwarded
from trainc.plugins.mpi.hosts import MAX_HOSTS, host_count, hostfile
from trainc.plugins.mpi.implementations import (
    HOSTFILE,
    HOSTFILE_DIRECTORY,
    IMPLEMENTATION_PATH,
    IMPLEMENTATIONS,
    Implementation,
    implementation_of,
)
from trainc.plugins.mpi.kubexec import VOLUME, kubexec_map, kubexec_volume
from trainc.plugins.mpi.ssh import SSH_VOLUME, check_known_hosts, secret_keys, secret_name, ssh_arguments, ssh_volume
from trainc.plugins.mpi.transport import by_kubexec
from trainc.plugins.mpi.warnings import counts_launchers, known_bugs
from trainc.upstream import LAUNCHER, NODE

__all__ = ["Mpi", "secret_name"]

HOSTFILE_VOLUME = "mpi-hostfile"
_ITEMS: Final[list[Json]] = [{"key": HOSTFILE, "path": HOSTFILE, "mode": 0o444}]


def hostfile_volume(model: Model) -> JsonObject:
    """Return the volume with the hostfile."""
    return {"name": HOSTFILE_VOLUME, "configMap": {"name": f"{model.name}-mpi-hostfile", "items": _ITEMS}}


def slots(model: Model, policy: JsonObject) -> int:
    """Return the processes of a node (M5): the TrainJob's, else the GPUs where the runtime says 1, else its own."""
    if model.num_proc_per_node is not None:
        return model.num_proc_per_node
    own = policy["numProcPerNode"]
    assert isinstance(own, int)
    gpus = gpu_count(node_resources(model)) if own == 1 else 0
    return int32(gpus) if gpus > 1 else own


def counted(model: Model, policy: JsonObject) -> Model:
    """Return the model with the number of nodes given to job node; a launcher that is a node takes one (M1)."""
    node, wanted = model.pod_set(NODE), nodes(model)
    if node is None or wanted is None:
        return model
    if policy.get("runLauncherAsNode") is True:
        wanted = max(wanted - 1, 0 if model.fixed("launcher-counts-as-node") else 1)
    return model.with_pod_set(replace(node, count=wanted))


def nodes(model: Model) -> int | None:
    """Return the number of nodes: spec.trainer.numNodes; None for what job node has itself.

    With the fix it is the runtime's where the TrainJob gives none (M3). An API server writes numNodes 1 into a runtime
    that says nothing, so 1 takes second place to a parallelism of job node.
    """
    if model.num_nodes is not None or not model.fixed("mpi-num-nodes") or not counts_launchers(model):
        return model.num_nodes
    own = model.ml_policy.get("numNodes") if model.ml_policy else None
    node = next((job for job in model.jobs if job.get("name") == NODE), None)
    if not isinstance(own, int) or (own == 1 and get(node, "template", "spec", "parallelism") is not None):
        return None
    return own


class Mpi(Struct, frozen=True):
    """Runs where mlPolicy.mpi is set."""

    name: str = "MPI"

    def check(self, model: Model) -> Findings:
        """Refuse what the webhook and the build refuse, and warn of known bugs."""
        policy = model.policy("mpi")
        if policy is None:
            return ()
        findings = [*_check_launcher(model, policy), *_check_reserved(model, policy)]
        findings += _check_implementation(model, policy)
        findings += check_known_hosts(model, policy)
        if (count := host_count(counted(model, policy))) > MAX_HOSTS:
            detail = f"the hostfile would have {count} lines, more than {MAX_HOSTS}"
            path = ("spec", "trainer", "numNodes")
            findings.append(refused("TC407", model.job, path, detail, detail, stage="build"))
        if model.options.faithful:  # else gitops/keys brings the Secret
            findings += secret_must_exist(model, secret_name(model), secret_keys(model, policy))
        return (*findings, *known_bugs(model, policy))

    def shape(self, model: Model) -> Model:
        """Set counts and slots; add volumes, mounts and the launcher's variables."""
        policy = model.policy("mpi")
        if policy is None:
            return model
        model = counted(model, policy)
        policy = {**policy, "numProcPerNode": slots(model, policy)}
        model = replace(model, ml_policy={**(model.ml_policy or {}), "mpi": policy})
        shaped = (_pod_set(model, policy, p) if p.name in (NODE, LAUNCHER) else p for p in model.pod_sets)
        return replace(model, pod_sets=tuple(shaped))

    def build(self, model: Model) -> Objects:
        """Return the ConfigMap with the hostfile; for kubectl exec also with its scripts."""
        policy = model.policy("mpi")
        if policy is None:
            return ()
        implementation = implementation_of(policy)
        count = policy["numProcPerNode"]
        assert isinstance(count, int)
        text = hostfile(model, implementation, count) if implementation else ""
        if by_kubexec(model):
            return (kubexec_map(model, text, count),)
        return (config_map(model, f"{model.name}-mpi-hostfile", {HOSTFILE: text}),)


def _pod_set(model: Model, policy: JsonObject, pod_set: PodSet) -> PodSet:
    if by_kubexec(model):
        pod_set = pod_set.with_volumes(kubexec_volume(model, pod_set.name))
    else:
        pod_set = pod_set.with_volumes(ssh_volume(model, policy, pod_set.name))
        if pod_set.name == LAUNCHER:
            pod_set = pod_set.with_volumes(hostfile_volume(model))
    containers = (_container(model, policy, pod_set.name, c) if c.name == NODE else c for c in pod_set.containers)
    return replace(pod_set, containers=tuple(containers))


def _container(model: Model, policy: JsonObject, job: str, container: Container) -> Container:
    if by_kubexec(model):
        container = container.with_mounts({"name": VOLUME, "mountPath": HOSTFILE_DIRECTORY})
    else:
        container = container.with_mounts({"name": SSH_VOLUME, "mountPath": str(policy["sshAuthMountPath"])})
    if job != LAUNCHER:
        return container
    if not by_kubexec(model):
        container = container.with_mounts({"name": HOSTFILE_VOLUME, "mountPath": HOSTFILE_DIRECTORY})
    implementation = _implementation(model, policy)
    count = policy["numProcPerNode"]
    assert isinstance(count, int)
    if implementation is None:
        return container
    variables = implementation.environment(container, count, ssh_arguments(model, policy))
    return forwarded(model, implementation, container.with_env(*variables))


def _implementation(model: Model, policy: JsonObject) -> Implementation | None:
    """Return the implementation with what fixes and transport add to its variables."""
    return implementation_of(policy, prrte=model.fixed("openmpi5-variables"), kubexec=by_kubexec(model))


def _check_launcher(model: Model, policy: JsonObject) -> Findings:
    count = 1 if model.num_nodes is None else model.num_nodes
    missing = [name for name in (LAUNCHER, NODE) if model.pod_set(name) is None]
    if model.trainer is None or count < 2 or policy.get("runLauncherAsNode") is not True or not missing:
        return ()
    detail = (
        "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have either launcher and node"
    )
    text = invalid("spec.trainer.numNodes", count, detail)
    lacks = " and no ".join(map(repr, missing))
    message = f"numNodes {count} with runLauncherAsNode, but the runtime has no replicated job {lacks}"
    add = " and ".join(f"a replicated job {name!r} with a container {NODE!r}" for name in missing)
    alone = ", or set numNodes: 1: with runLauncherAsNode the launcher then trains alone" if missing == [NODE] else ""
    path, hint = ("spec", "trainer", "numNodes"), f"add {add} to the runtime{alone}"
    return (refused("TC404", model.job, path, text, message, found=str(count), hint=hint),)


def _check_reserved(model: Model, policy: JsonObject) -> Findings:
    if not model.trainer_list("env"):
        return ()
    reserved = IMPLEMENTATIONS["OpenMPI"].reserved
    own = IMPLEMENTATIONS.get(str(policy.get("mpiImplementation")))
    if own is not None:
        reserved |= own.reserved
    found = sorted({name for name in env_names(model) if name in reserved})
    if not found:
        return _check_added(model, policy, reserved)
    detail = f"must not have reserved envs, invalid envs configured: [{' '.join(found)}]"
    text = invalid("spec.trainer.env", typed_env(model), detail)
    return (refused("TC401", model.job, ("spec", "trainer", "env"), text, detail),)


def _check_added(model: Model, policy: JsonObject, reserved: frozenset[str]) -> Findings:
    """Refuse variables that a fix or the transport sets, beside those that Trainer reserves."""
    implementation = _implementation(model, policy)
    added = sorted(set(env_names(model)) & (implementation.reserved - reserved)) if implementation else []
    if not added:
        return ()
    by = "transport kubexec" if by_kubexec(model) else "fix 'openmpi5-variables'"
    text = f"must not have envs that {by} sets"
    return (report("TC401", model.job, ("spec", "trainer", "env"), text, found=" ".join(added)),)


def _check_implementation(model: Model, policy: JsonObject) -> Findings:
    """Refuse an unknown implementation where the launcher would need its variables (M4)."""
    launcher = model.pod_set(LAUNCHER)
    needed = launcher is not None and launcher.container(NODE) is not None
    if not needed or implementation_of(policy) is not None:
        return ()
    expected = "one of " + ", ".join(IMPLEMENTATIONS)
    return (
        refused(
            "TC404",
            model.runtime,
            IMPLEMENTATION_PATH,
            "MPI implementation for 0x... doesn't supported",
            "mpiImplementation names no implementation: Trainer accepts that and then cannot build the job",
            stage="build",
            found=str(policy.get("mpiImplementation")),
            expected=expected,
        ),
    )
