"""A pod template of an old job, divided between the trainer and the patch of a TrainJob, and a runtime."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from trainc.admission.native import QUOTED_LIMIT
from trainc.basics.jsonvalues import Path
from trainc.migrate.documents import Old
from trainc.migrate.hosts import ROLES, check_names, with_new_names
from trainc.migrate.jobs import Replicas, RunPolicy, new_runtime, own_name, succeed_with
from trainc.migrate.trees import in_brackets, mapping, ordered, sequence
from trainc.upstream import ANCESTOR_LABEL, JOB_COMPLETION_INDEX, LAUNCHER, NODE, TRAINER

MANAGER: Final = "trainc.dev/import"
PATCHABLE: Final = (
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "nodeSelector",
    "affinity",
    "tolerations",
    "schedulingGates",
    "imagePullSecrets",
    "securityContext",
    "volumes",
)
"""The fields of a pod that a runtime patch can set."""
PATCHABLE_OF_CONTAINERS: Final = ("securityContext", "volumeMounts")
_OF_TRAINER: Final = {
    "image": "image",
    "command": "command",
    "args": "args",
    "env": "env",
    "resources": "resourcesPerNode",
}
"""The fields of a container that the trainer of a TrainJob sets."""
_OF_LAUNCHER: Final = ("image", "command", "args")
"""Those of a launcher of MPI: variables and resources of a TrainJob look as if they were for the nodes, which train."""
PERMANENT: Final = range(1, 128)
"""The exit codes after which an operator does not restart a pod with restartPolicy ExitCode."""
JOBSET_NAME: Final = "JOBSET_NAME"

Environment = Callable[[], list[CommentedMap]]


def literal(name: str, value: str | int) -> CommentedMap:
    """Return a variable."""
    return mapping(name=name, value=DoubleQuotedScalarString(str(value)))


def from_field(name: str, field: str) -> CommentedMap:
    """Return a variable with the value of a field of the pod."""
    return mapping(name=name, valueFrom=mapping(fieldRef=mapping(fieldPath=field)))


def jobset_name() -> CommentedMap:
    """Return the variable with the name of the JobSet, of which names of hosts consist."""
    return from_field(JOBSET_NAME, "metadata.labels['jobset.sigs.k8s.io/jobset-name']")


def completion_index(name: str) -> CommentedMap:
    """Return a variable with the index of a pod in its Job."""
    return from_field(name, JOB_COMPLETION_INDEX)


def global_index(name: str) -> CommentedMap:
    """Return a variable with the index of a Job in its JobSet."""
    return from_field(name, "metadata.labels['jobset.sigs.k8s.io/job-global-index']")


def host(job: str, index: int | str, replica: int | str = 0) -> str:
    """Return the name of a pod's host, for use in variables after JOBSET_NAME."""
    return f"$({JOBSET_NAME})-{job}-{replica}-{index}.$({JOBSET_NAME})"


MOST_HOSTS: Final = QUOTED_LIMIT // len(host("", 0))
"""The most hosts that the variables of a JobSet can hold in all."""


def can_list_hosts(old: Old, path: Path, count: int) -> bool:
    """Return whether a JobSet can hold so many hosts, which the operator lists in variables; report if not."""
    if count > MOST_HOSTS:
        message = f"the variables of the operator list {count} hosts in all, and a JobSet can hold {MOST_HOSTS} at most"
        old.refuse(path, message, "use fewer pods, or a runtime that needs no list of them")
    return count <= MOST_HOSTS


class PodSet(msgspec.Struct, frozen=True, kw_only=True):
    """How the pods of one type of replicas become those of a replicated job.

    ``name`` is the replicated job's. ``job`` is the TrainJob whose trainer these pods are, or None. ``environment``
    returns the variables that the runtime sets, and ``variables`` are the names of all that the old operator sets, also
    in the TrainJob. ``everywhere`` says whether the operator sets them in all containers. ``port`` is the name of a
    port that is no longer needed. ``roles`` are the types of replicas in the names of the old pods. ``fails_fast`` says
    whether the operator fails the job when a pod that does not restart fails. ``metadata`` are the labels and
    annotations that it sets in place of the template's.
    """

    name: str = NODE
    job: CommentedMap | None = None
    container: str = NODE
    environment: Environment = list
    variables: Collection[str] = ()
    everywhere: bool = True
    port: str | None = None
    roles: Collection[str] = ROLES
    fails_fast: bool = True
    metadata: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


def replicated_job(replicas: Replicas, limit: int | None, pods: PodSet) -> CommentedMap:
    """Move a pod template to a replicated job with a backoffLimit, and to the TrainJob what belongs there."""
    old, pod = replicas.old, mapping()
    job_spec = mapping(template=mapping(spec=pod))
    template = mapping(spec=job_spec)
    if pods.job is not None:
        labels = mapping()
        labels[ANCESTOR_LABEL] = TRAINER
        template.insert(0, "metadata", mapping(labels=labels))
    _restart(replicas, limit if replicas.restart != "Never" or not pods.fails_fast else 0, pods, job_spec, pod)
    patch = mapping(), mapping()  # of the pod, and of its container
    uses_patch = (
        pods.job is not None
        and pods.name == NODE
        and len(replicas.names) == 1
        and not old.get(*replicas.pod, "initContainers")
    )
    metadata = mapping()
    for key in ("labels", "annotations"):
        old.put(metadata, key, *replicas.template, "metadata", key)
        if added := pods.metadata.get(key):
            metadata.setdefault(key, mapping()).update(added)
    for key in ("name", "creationTimestamp"):
        old.done(*replicas.template, "metadata", key)
    for key in old.keys(*replicas.pod):
        _pod_field(replicas, key, patch[0] if uses_patch and key in PATCHABLE else pod)
    for index, container in enumerate(pod.get("initContainers", ())):
        _name_ports(old, (*replicas.pod, "initContainers", index), container)
    pod["containers"] = _containers(replicas, pods, patch[1] if uses_patch else None)
    if uses_patch:
        _add_patch(pods, metadata, *patch)
    elif metadata:
        job_spec["template"].insert(0, "metadata", metadata)
    ordered(pod, "restartPolicy", "schedulerName", "initContainers", "containers")
    for tree in (template, pods.job):
        with_new_names(replicas, tree, pods.container)
    check_names(replicas, pods.name, pods.roles)
    return mapping(name=pods.name, template=template)


def separate(
    old: Old, job: CommentedMap, policy: RunPolicy, sets: Mapping[str, Replicas], pods: PodSet
) -> tuple[CommentedMap, list[CommentedMap]]:
    """Return a runtime with a replicated job per type of replicas, and with a Job per pod, whose index is the rank.

    All of the pods is in the runtime, which no other job can use. The job succeeds with its master.
    """
    del job["spec"]["trainer"]
    jobs = []
    for kind, replicas in sets.items():
        one = replicated_job(replicas, policy.backoff_limit, replace(pods, name=kind.lower()))
        old.anchor(one, "name", *replicas.path)
        if replicas.count != 1:
            one.insert(1, "replicas", replicas.count)
            old.moved(one, "replicas", *replicas.path, "replicas")
        jobs.append(one)
    framework = "torch" if pods.container == "pytorch" else pods.container
    runtime = new_runtime(own_name(framework, old), framework, None, *jobs)
    succeed_with(runtime, "master")
    return runtime, jobs


def _pod_field(replicas: Replicas, key: str, target: CommentedMap) -> None:
    old, path = replicas.old, (*replicas.pod, key)
    if key == "restartPolicy":
        if old.get(*path) != replicas.restart:
            old.note(path, f"{key} of the template is left out: the operator uses that of the replicas")
        old.done(*path)
    elif key in ("hostname", "subdomain"):
        old.warn(path, f"{key} is left out: a JobSet sets the host names of its pods")
    elif key == "serviceAccount":
        if old.get(*replicas.pod, "serviceAccountName") is None:
            old.put(target, "serviceAccountName", *path)
        old.done(*path)
    elif key != "containers":
        old.put(target, key, *path)


def _restart(replicas: Replicas, limit: int | None, pods: PodSet, job_spec: CommentedMap, pod: CommentedMap) -> None:
    """Set restartPolicy, which defaults to OnFailure, backoffLimit, and the exit codes that are permanent failures."""
    if replicas.restart == "Always":
        message = "restartPolicy Always becomes OnFailure: the pods of a Job do not restart after a success"
        replicas.old.warn((*replicas.path, "restartPolicy"), message)
    elif replicas.restart in ("Never", "ExitCode"):
        pod["restartPolicy"] = "Never"
    if limit is not None:
        job_spec.insert(0, "backoffLimit", limit)
    if replicas.restart == "ExitCode":
        codes = mapping(containerName=pods.container, operator="In", values=in_brackets(*PERMANENT))
        rules = sequence(mapping(action="FailJob", onExitCodes=codes))
        job_spec.insert(len(job_spec) - 1, "podFailurePolicy", mapping(rules=rules))


def _containers(replicas: Replicas, pods: PodSet, patch: CommentedMap | None) -> CommentedSeq:
    containers = sequence()
    for index, name in enumerate(replicas.names):
        if index == replicas.main:
            containers.append(_main(replicas, pods, patch))
            continue
        container, path = mapping(), (*replicas.pod, "containers", index)
        for key in replicas.old.keys(*path):
            if key == "env" and pods.everywhere:
                _variables(replicas.old, (*path, key), pods, container)
            else:
                replicas.old.put(container, key, *path, key)
        _name_ports(replicas.old, path, container)
        if pods.everywhere and (added := pods.environment()):
            container["env"] = sequence(*added, *container.get("env", ()))
        if pods.variables and pods.job is not None:
            what = "only the variables that the runtime sets" if pods.everywhere else "none of the operator's variables"
            replicas.old.warn((*path, "name"), f"container {name!r} gets {what}")
        containers.append(container)
    return containers


def _main(replicas: Replicas, pods: PodSet, patch: CommentedMap | None) -> CommentedMap:
    """Move the main container."""
    old, at = replicas.old, replicas.container
    container = mapping(name=pods.container)
    trainer = pods.job["spec"]["trainer"] if pods.job is not None else None
    chosen = _OF_LAUNCHER if pods.name == LAUNCHER else _OF_TRAINER
    in_job = {} if trainer is None else {key: _OF_TRAINER[key] for key in chosen}
    if old.get(*at, "resources", "claims"):
        in_job.pop("resources", None)  # Trainer drops the claims of a TrainJob
    if "image" in in_job and isinstance(image := old.get(*at, "image"), str):
        container["image"] = image  # required in a runtime
    if added := pods.environment():
        container["env"] = sequence(*added)
    old.done(*at, "name")
    for key in [*in_job, *(key for key in old.keys(*at) if key not in (*in_job, "name"))]:
        target = container
        if key in in_job and trainer is not None:
            target = trainer
        elif patch is not None and key in PATCHABLE_OF_CONTAINERS:
            target = patch
        if key == "env":
            _variables(old, (*at, key), pods, target)
        elif key == "ports":
            _ports(replicas, pods, target)
        elif old.get(*at, key) not in ({}, []):
            old.put(target, in_job.get(key, key), *at, key)
    return ordered(container, "name", "image", "command", "args", "env")


def _variables(old: Old, path: Path, pods: PodSet, target: CommentedMap) -> None:
    """Move the variables, but for those that the old operator replaces; refuse a name that the runtime needs."""
    env = target.get("env", sequence())
    used = {str(one["name"]) for one in pods.environment()}.difference(pods.variables)
    for index, variable in enumerate(old.items(*path)):
        name = str(variable.get("name"))
        if name in pods.variables:
            old.note((*path, index), f"{name} is left out: the operator replaces its value")
        elif name in used:
            message = f"the runtime makes other variables of {name}, and sets it itself"
            old.refuse((*path, index), message, "give the variable another name, and import again")
        else:
            old.put(env, None, *path, index)
    old.moved(target, "env", *path)
    if env:
        target["env"] = env


def _ports(replicas: Replicas, pods: PodSet, target: CommentedMap) -> None:
    """Move the ports; a name is added to those without, as Trainer sets the number of ports without names."""
    old, path = replicas.old, (*replicas.container, "ports")
    ports = sequence()
    for index, port in enumerate(old.items(*path)):
        if pods.port is not None and port.get("name") == pods.port:
            old.note((*path, index), f"port {pods.port} is left out: the runtime sets its own")
            continue
        old.put(ports, None, *path, index)
        _name_port(old, (*path, index), ports[-1])
    if ports:
        target["ports"] = ports
        old.moved(target, "ports", *path)
    old.done(*path)


def _name_port(old: Old, path: Path, port: Any) -> None:
    if port.get("name") is None:
        port.insert(0, "name", f"port-{port.get('containerPort')}")
        old.note(path, "the port gets a name: Trainer changes the numbers of ports without names")


def _name_ports(old: Old, path: Path, container: CommentedMap) -> None:
    """Name the ports of another container if several have no name: Trainer takes these for one port."""
    ports = old.items(*path, "ports")
    if sum(port.get("name") is None for port in ports) > 1:
        for index, _ in enumerate(ports):
            _name_port(old, (*path, "ports", index), container["ports"][index])


def _add_patch(pods: PodSet, metadata: CommentedMap, spec: CommentedMap, container: CommentedMap) -> None:
    """Add a runtime patch to the TrainJob, if there is anything to patch."""
    assert pods.job is not None
    if container:
        container.insert(0, "name", pods.container)
        spec["containers"] = sequence(container)
    patch = mapping()
    if metadata:
        patch["metadata"] = metadata
    if spec:
        patch["spec"] = spec
    if patch:
        add_patch(pods.job, mapping(name=pods.name, template=mapping(spec=mapping(template=patch))))


def add_patch(job: CommentedMap, change: CommentedMap) -> None:
    """Add the patch of a replicated job to the one runtime patch of a TrainJob."""
    patches = job["spec"].setdefault("runtimePatches", sequence())
    if not patches:
        spec = mapping(template=mapping(spec=mapping(replicatedJobs=sequence())))
        patches.append(mapping(manager=MANAGER, trainingRuntimeSpec=spec))
    patches[0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"].append(change)


def add_env(job: CommentedMap, *variables: CommentedMap) -> None:
    """Add variables to the trainer of a TrainJob."""
    trainer: Any = job["spec"]["trainer"]
    trainer.setdefault("env", sequence()).extend(variables)


def add_env_of_all(old: Old, job: CommentedMap, *variables: CommentedMap) -> None:
    """Add variables that depend on the number of pods to the trainer of a TrainJob."""
    add_env(job, *variables)
    env: Any = job["spec"]["trainer"]["env"]
    old.remark(env, len(env) - len(variables), "Depends on numNodes: change both.")
