"""MPIJob: v2beta1 of MPI Operator (v0.6), and v1 of Training Operator (v1.9) and v1alpha2, which use kubectl exec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from trainc.basics.jsonvalues import as_object
from trainc.migrate.documents import Converted, Old
from trainc.migrate.gang import schedule_together
from trainc.migrate.jobs import (
    Replicas,
    RunPolicy,
    new_job,
    new_runtime,
    own_name,
    replicas_of,
    succeed_with,
    without_pods,
)
from trainc.migrate.pods import PodSet, literal, replicated_job
from trainc.migrate.trees import in_brackets, mapping, ordered, sequence
from trainc.upstream import LAUNCHER, NODE, TRANSPORT

_FIELD: Final = "mpiReplicaSpecs"
_ROLE: Final = "K_MPI_JOB_ROLE"
_NO_GPUS: Final = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
_BY_RSH: Final = (("I_MPI_HYDRA_BOOTSTRAP", "rsh"), ("I_MPI_HYDRA_BOOTSTRAP_EXEC", "/etc/mpi/kubexec.sh"))
_DISCOVERY: Final = "discover_hosts.sh"
_IMPLEMENTATIONS: Final = {"IntelMPI": "Intel", "Intel": "Intel", "MPICH": "MPICH"}
_KUBECTL: Final = (
    "mpirun reaches the workers by kubectl exec, but the operator's init container that brings kubectl is not imported"
)
_KUBECTL_HINT: Final = (
    "use an image with kubectl, or set transport.image in trainc.yaml; to use ssh instead, remove the annotation"
    " trainc.dev/transport from the runtime and run sshd in its nodes"
)


class _Operator(msgspec.Struct, frozen=True):
    """What an operator adds to the pods of a job: the restart policy of launchers, and the command of workers."""

    restart: str
    command: tuple[str, ...]
    args: tuple[str, ...] = ()
    by_exec: bool = False


_V2: Final = _Operator("OnFailure", ("/usr/sbin/sshd", "-De"))
_V1: Final = _Operator("Never", ("sleep",), ("365d",), by_exec=True)


def convert(old: Old) -> Converted | None:
    """Return a TrainJob for an MPIJob of v2beta1, whose launcher reaches the workers by ssh."""
    as_worker = old.read("spec", "runLauncherAsWorker") is True
    waits = old.read("spec", "launcherCreationPolicy") == "WaitForWorkersReady"
    policy = mapping(mpiImplementation=str(old.get("spec", "mpiImplementation") or "OpenMPI"))
    old.moved(policy, "mpiImplementation", "spec", "mpiImplementation")
    policy["sshAuthMountPath"] = str(old.get("spec", "sshAuthMountPath") or "/root/.ssh")
    old.moved(policy, "sshAuthMountPath", "spec", "sshAuthMountPath")
    return _convert(old, _V2, policy, as_worker=as_worker, waits=waits)


def convert_v1(old: Old) -> Converted | None:
    """Return a TrainJob for an MPIJob of v1 or v1alpha2, with a runtime whose transport is kubexec.

    kubectl-delivery, the init container of its launcher, waits for all workers. A launcher with a GPU is a host.
    """
    distribution = old.read("spec", "mpiDistribution")
    text = str(old.get("spec", _FIELD))
    implementation = _IMPLEMENTATIONS.get(str(distribution), "Intel" if "I_MPI_" in text else "OpenMPI")
    sets = replicas_of(old, _FIELD, None, "Never", "Launcher")
    limits = [
        name
        for one in sets.values()
        for container in old.items(*one.pod, "containers")
        for name in as_object(as_object(container.get("resources")).get("limits"))
    ]
    as_worker = any("gpu" in name for name in limits)
    old.warn(("apiVersion",), _KUBECTL, _KUBECTL_HINT)
    return _convert(old, _V1, mapping(mpiImplementation=implementation), as_worker=as_worker, waits=True)


def _convert(old: Old, operator: _Operator, policy: CommentedMap, *, as_worker: bool, waits: bool) -> Converted | None:
    main = str(old.read("spec", "mainContainer") or "") or None
    sets: Mapping[str, Replicas] = {
        **replicas_of(old, _FIELD, None, operator.restart, "Launcher"),
        **replicas_of(old, _FIELD, main, "Never", "Worker", count=0),
    }
    if "Launcher" not in sets:
        without_pods(old, _FIELD)
        return None
    if not operator.by_exec:  # transport kubexec has the script, too
        _refuse_discovery(sets["Launcher"])
    job = new_job(old)
    trainer = job["spec"]["trainer"]
    run = RunPolicy(old, job)
    workers = sets["Worker"].count if "Worker" in sets else 0
    trainer["numNodes"] = workers + as_worker
    trainer["numProcPerNode"] = 1
    if "Worker" in sets:
        old.moved(trainer, "numNodes", *sets["Worker"].path, "replicas")
    if old.get("spec", "slotsPerWorker") is not None:
        old.put(trainer, "numProcPerNode", "spec", "slotsPerWorker")
    is_intel = policy["mpiImplementation"] == "Intel"
    launcher = _launcher(sets["Launcher"], run, job, operator, as_worker=as_worker, is_intel=is_intel)
    jobs = [launcher]
    if workers:
        jobs.insert(1 if as_worker and not waits else 0, _worker(sets["Worker"], run, operator))
        if waits:
            launcher.insert(1, "dependsOn", sequence(mapping(name=NODE, status="Ready")))
    elif not as_worker:
        old.refuse(("spec", _FIELD), "an MPIJob without workers has no equal: its hostfile is empty")
    if as_worker:
        policy["runLauncherAsNode"] = True
        if workers and waits:
            old.warn(
                sets["Launcher"].path, "the launcher, which waits for the workers, is the last host, not the first"
            )
    runtime = new_runtime(own_name("mpi", old), "mpi", mapping(numNodes=1, mpi=policy), *jobs)
    if operator.by_exec:
        runtime["metadata"]["annotations"] = annotations = mapping()
        annotations[TRANSPORT] = "kubexec"
    succeed_with(runtime, LAUNCHER)
    schedule_together(old, run, sets, runtime, jobs)
    return Converted(job, runtime)


def _refuse_discovery(launcher: Replicas) -> None:
    """Report the use of the operator's script that prints the workers that run now."""
    for key in ("command", "args"):
        words = launcher.old.get(*launcher.container, key)
        for index, word in enumerate(words if isinstance(words, list) else ()):
            if _DISCOVERY in str(word):
                message = f"{_DISCOVERY} has no equal: nothing changes the number of pods while a job runs"
                hint = "list the workers with --hostfile /etc/mpi/hostfile"
                launcher.old.refuse((*launcher.container, key, index), message, hint)


def _launcher(
    replicas: Replicas, run: RunPolicy, job: CommentedMap, operator: _Operator, *, as_worker: bool, is_intel: bool
) -> CommentedMap:
    """Return the launcher, with its variables and resources, which Trainer would give to nodes too if it is one.

    The operator of v1 sets variables of Intel MPI in any launcher. Transport kubexec does so for Intel MPI.
    """
    names = () if as_worker else _NO_GPUS
    roles = () if operator.by_exec else ((_ROLE, "launcher"),)

    own = {str(variable.get("name")) for variable in replicas.old.items(*replicas.container, "env")}
    added = [variable for variable in _BY_RSH if operator.by_exec and not is_intel and variable[0] not in own]
    replaced = [name for name, _ in (*roles, *(_BY_RSH if operator.by_exec and is_intel else ()))]

    def environment() -> list[CommentedMap]:
        return [literal(*variable) for variable in (*roles, *((name, "") for name in names), *added)]

    pods = PodSet(
        name=LAUNCHER,
        job=job,
        environment=environment,
        variables=(*names, *replaced),
        everywhere=False,
        fails_fast=operator.by_exec,
    )
    _restart_like_pods(replicas)
    launcher = replicated_job(replicas, run.backoff_limit, pods)
    account = (*replicas.pod, "serviceAccount")
    if not operator.by_exec:
        _resolve_in_host_network(launcher)
    elif replicas.old.get(*account) and not replicas.old.get(*replicas.pod, "serviceAccountName"):
        replicas.old.note(account, "serviceAccount is left out: the operator does not read it, and makes an account")
        del launcher["template"]["spec"]["template"]["spec"]["serviceAccountName"]
    if "activeDeadlineSeconds" in job["spec"]:
        # As MPI Operator does. That of the TrainJob counts from the start of all Jobs.
        spec = launcher["template"]["spec"]
        replicas.old.relocate(job["spec"], "activeDeadlineSeconds", spec)
        spec.move_to_end("template")
    return launcher


def _worker(replicas: Replicas, run: RunPolicy, operator: _Operator) -> CommentedMap:
    """Return the workers. MPI Operator's backoffLimit is that of its Job, which is the launcher."""
    roles = () if operator.by_exec else ((_ROLE, "worker"),)

    def environment() -> list[CommentedMap]:
        return [literal(*role) for role in roles]

    names = tuple(name for name, _ in roles)
    pods = PodSet(name=NODE, environment=environment, variables=names, everywhere=False, fails_fast=operator.by_exec)
    _restart_like_pods(replicas)
    worker = replicated_job(replicas, run.backoff_limit if operator.by_exec else None, pods)
    if not operator.by_exec:
        _resolve_in_host_network(worker)
    containers: CommentedSeq = worker["template"]["spec"]["template"]["spec"]["containers"]
    container = next(one for one in containers if one.get("name") == NODE)
    if not container.get("command") and (operator.by_exec or not container.get("args")):
        container["command"] = in_brackets(*operator.command)
        if operator.args:
            container["args"] = in_brackets(*operator.args)
        ordered(container, "name", "image", "command", "args")
    return worker


def _restart_like_pods(replicas: Replicas) -> None:
    """ExitCode is Never: neither operator looks at the exit codes of MPI jobs."""
    if replicas.restart == "ExitCode":
        replicas.old.note((*replicas.path, "restartPolicy"), "restartPolicy ExitCode of an MPIJob is Never")
        replicas.restart = "Never"


def _resolve_in_host_network(job: CommentedMap) -> None:
    """Resolve the names of other pods in the host network, as MPI Operator does."""
    pod = job["template"]["spec"]["template"]["spec"]
    if pod.get("hostNetwork") is True:
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"
