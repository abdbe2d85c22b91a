"""Volcano Job (batch.volcano.sh/v1alpha1): each task becomes a replicated job, what plugins add becomes plain fields.

Facts: the Job API, pkg/controllers/job and the admission webhook, at v1.16.0-alpha.1-42 (ed72c7c8).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from heapq import heappop, heappush
from typing import Any, Final

import msgspec
from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import Path, as_object, get, objects
from trainc.migrate.documents import Converted, Old
from trainc.migrate.gang import VOLCANO, add_pod_group, add_queue, check_least, report_metadata, report_priority
from trainc.migrate.jobs import Replicas, new_job, new_runtime, report_ttl
from trainc.migrate.lifecycle import Lifecycle, check_restarts, job_policies, jobset_policies, lifecycle_of
from trainc.migrate.pods import PodSet, can_list_hosts, host, replicated_job
from trainc.migrate.trees import mapping, sequence
from trainc.migrate.volcanoplugins import FOLDER, KEYS, Plugins
from trainc.upstream import LAUNCHER, NODE

_LABELS_OF_PODS: Final = ("volcano.sh/preemptable", "volcano.sh/cooldown-time")
_ANNOTATIONS_OF_PODS: Final = (
    *(*_LABELS_OF_PODS, "volcano.sh/revocable-zone"),
    *("volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"),
)
"""Labels and annotations that Volcano copies from a job to its pods."""
_NUMA: Final = "volcano.sh/numa-topology-policy"
_OF_EACH_TASK: Final = ("name", "replicas", "template", "policies", "minAvailable")
"""The fields of a task that may differ between two tasks whose pods become those of one job."""


class Task(msgspec.Struct, eq=False):
    """A task: its pods, and the replicated job that has them.

    ``first`` is the index of its first pod there, which is not 0 if another task's pods come first. ``alone``: each pod
    has a Job of its own. ``is_main``: its container is the trainer. ``completing`` are the indexes of pods, such as 0
    or 1-2, which complete the job for all.
    """

    name: str
    pods: Replicas
    lifecycle: Lifecycle
    job: str
    first: int = 0
    alone: bool = False
    is_main: bool = False
    completing: tuple[str, ...] = ()

    @property
    def hosts(self) -> list[str]:
        """The hosts of the pods."""
        indexes = range(self.first, self.first + self.pods.count)
        return [host(self.job, 0, index) if self.alone else host(self.job, index) for index in indexes]


def convert(old: Old) -> Converted | None:
    """Return a TrainJob and a runtime with a replicated job for each task."""
    tasks, plugins = _tasks(old), Plugins(old)
    if not tasks:
        old.refuse(("spec", "tasks"), "no task has pods")
        return None
    job = new_job(old)
    main = _arrange(old, tasks, plugins)
    count = len(tasks) * sum(task.pods.count for task in tasks)
    lists = "svc" in plugins and can_list_hosts(old, plugins.path("svc"), count)
    plugins.hosts = {task.name: task.hosts if lists else [] for task in tasks}
    counts: dict[str, int] = {}
    for task in tasks:
        counts[task.job] = counts.get(task.job, 0) + task.pods.count
    is_mpi = plugins.has_keys
    if main.alone:
        del job["spec"]["trainer"]
    else:
        job["spec"]["trainer"]["numNodes"] = counts[NODE if is_mpi else main.job]
    jobs = {}
    for task in tasks:
        if not task.first:
            jobs[task.job] = _replicated(old, job, task, plugins, counts[task.job])
    policy = None if main.alone else mapping(numNodes=1)
    if policy is not None and is_mpi:
        policy["mpi"] = mapping(numProcPerNode=1, mpiImplementation="OpenMPI", sshAuthMountPath=KEYS)
        policy["mpi"]["runLauncherAsNode"] = False
    framework = "mpi" if is_mpi else "torch" if "pytorch" in plugins else "plain"
    runtime = new_runtime(framework, framework, policy, *_ordered(old, tasks, jobs))
    _complete(old, runtime, tasks)
    return Converted(job, runtime)


def _tasks(old: Old) -> list[Task]:
    """Return the tasks that have pods."""
    found = []
    of_job = cache(lambda never: lifecycle_of(old, ("spec",), "", never=never))
    for index, item in enumerate(old.items("spec", "tasks")):
        path: Path = ("spec", "tasks", index)
        name = str(item.get("name") or f"default{index}")
        policy = get(item, "template", "spec", "restartPolicy")
        pods = Replicas(old, path, None, str(policy) if policy in ("Never", "OnFailure") else "OnFailure", 0)
        old.done(*path, "name")
        if pods.count < 1:
            old.warn(path, f"task {name} has no pods and is left out")
            continue
        if not pods.names:
            old.refuse(path, f"task {name} has no container")
            continue
        if not pods.is_well_formed():
            continue
        old.done(*pods.pod, "restartPolicy")
        if policy not in ("Never", "OnFailure"):
            old.note(pods.pod, "restartPolicy is OnFailure: a Job has no Always, the default of a pod in a Volcano Job")
            old.undo(*pods.pod)
        lifecycle = lifecycle_of(old, path, name, never=policy == "Never")
        lifecycle.follow(of_job(lifecycle.never))
        check_restarts(old, (*path, "name"), lifecycle)
        found.append(Task(name, pods, lifecycle, name))
    _report_failures(old, found)
    return found


def _report_failures(old: Old, tasks: list[Task]) -> None:
    """Report what becomes of the other pods when one fails for good: a Job that fails stops them."""
    without = [task for task in tasks if task.lifecycle.never and task.lifecycle.failed is None]
    if without and sum(task.pods.count for task in tasks) > 1:
        message = "a failed pod fails the job and stops the others: without a policy, Volcano lets them run on"
        hint = "set a policy for PodFailed: TerminateJob, RestartJob or RestartPod"
        old.warn((*without[0].pods.path, "name"), message, hint)


def _arrange(old: Old, tasks: list[Task], plugins: Plugins) -> Task:
    """Choose the replicated jobs of the tasks, and return the main task, whose container is the trainer."""
    named = {task.name: task for task in tasks}
    main = next((task for task in tasks if task.lifecycle.completes), tasks[0])
    if "pytorch" in plugins:
        master, worker = (named.get(plugins.role("pytorch", role)) for role in ("master", "worker"))
        main = master or main
        if master is not None and master.pods.count > 1:
            message = "each pod of the master gets a RANK of its own: Volcano sets 0 in all of them"
            old.warn((*master.pods.path, "replicas"), message)
        if master is not None and (other := next((task for task in tasks if task not in (master, worker)), None)):
            message = "WORLD_SIZE does not count the pods of this task: Volcano v1.10.0 does, later releases do not"
            old.warn((*other.pods.path, "name"), message)
        if master is not None and worker is not None:
            _merge(old, master, worker, plugins)
        if "ssh" in plugins:
            _refuse_keys(old, plugins)
    elif "ssh" in plugins:
        launcher = named.get(plugins.role("mpi", "master")) if "mpi" in plugins else _launcher(tasks)
        if launcher is not None and len(tasks) == 2 and launcher.pods.count == 1:
            worker = next(task for task in tasks if task is not launcher)
            launcher.job, worker.job = LAUNCHER, NODE
            path = plugins.ssh_path()
            old.note(
                plugins.path("ssh"),
                f"an init container writes Trainer's keys and Volcano's ssh configuration to {path}",
            )
            plugins.has_keys = True
            main = launcher
        else:
            _refuse_keys(old, plugins)
    if len(tasks) == 1:
        main.job = NODE
    for task in tasks:
        task.lifecycle.name = task.job
    main.is_main = True
    return main


def _refuse_keys(old: Old, plugins: Plugins) -> None:
    hint = "create a Secret with keys, and mount it in the templates"
    old.refuse(plugins.path("ssh"), "Trainer makes ssh keys for a launcher and its workers only", hint)


def _launcher(tasks: list[Task]) -> Task | None:
    """Return the task that starts mpirun: the one that completes the job, or is called so."""
    completing = [task for task in tasks if task.lifecycle.completes and task.pods.count == 1]
    named = [task for task in tasks if "master" in task.name or LAUNCHER in task.name]
    return next(iter((*completing, *named)), None)


def _merge(old: Old, master: Task, worker: Task, plugins: Plugins) -> None:
    """Let RANK be an index: of the pods in one job if the tasks are alike, else of jobs with one pod each."""
    templates: list[Any] = []
    for task in (master, worker):
        template = as_object(old.get(*task.pods.template))
        pod = {**as_object(template.get("spec"))}
        pod["containers"] = [{**each, "name": ""} for each in objects(pod.get("containers"))]
        metadata = as_object(template.get("metadata"))
        others = {key: value for key, value in as_object(old.get(*task.pods.path)).items() if key not in _OF_EACH_TASK}
        templates.append((pod, others, *(as_object(metadata.get(key)) for key in ("labels", "annotations"))))
    if templates[0] != templates[1]:
        master.alone = worker.alone = True
        return
    of_worker, of_master = (
        msgspec.structs.replace(one.lifecycle, completes=False, name="") for one in (worker, master)
    )
    if of_worker != of_master:
        path = (*worker.pods.path, "policies")
        old.warn(path, f"the policies of {master.name} also apply to the pods of {worker.name}")
    if "env" in plugins and "_TASK_INDEX" in str(old.get(*worker.pods.path)):
        message = f"VC_TASK_INDEX counts from {master.pods.count}, since these pods follow those of {master.name}"
        old.warn(worker.pods.pod, message)
    old.same(worker.pods.template, master.pods.template)
    old.done(*worker.pods.path)
    master.job = worker.job = NODE
    worker.first = master.pods.count
    total = worker.first + worker.pods.count
    ranges = [(master, 0, worker.first), (worker, worker.first, total)]
    master.completing = tuple(
        str(start) if end - start == 1 else f"{start}-{end - 1}"
        for task, start, end in ranges
        if task.lifecycle.completes
    )


def _replicated(old: Old, job: CommentedMap, task: Task, plugins: Plugins, count: int) -> CommentedMap:
    """Return the replicated job of a task."""
    is_main = task.is_main and not task.alone
    container = NODE if is_main or plugins.has_keys else task.pods.names[0]
    pods = PodSet(
        name=task.job,
        job=job if is_main else None,
        container=container,
        environment=lambda: plugins.variables(task.name, alone=task.alone),
        variables=plugins.names(task.name),
        roles=plugins.hosts,
        fails_fast=False,
        metadata=_metadata(old, task),
    )
    one = replicated_job(task.pods, None, pods)
    spec = one["template"]["spec"]
    if task.completing:
        rules = sequence(*(mapping(succeededIndexes=indexes) for indexes in task.completing))
        spec.insert(0, "successPolicy", mapping(rules=rules))
    for key, value in reversed([*job_policies(old, task.lifecycle).items()]):
        spec.insert(0, key, value)
    if task.alone:
        one.insert(1, "replicas", count)
    elif not is_main:
        spec.insert(0, "parallelism", count)
    _set_pod(old, task, plugins, spec["template"]["spec"])
    return one


def _metadata(old: Old, task: Task) -> dict[str, dict[str, Any]]:
    """Return the labels and annotations that Volcano sets in the pods of a task."""
    labels = {key: old.get("metadata", "labels", key) for key in _LABELS_OF_PODS}
    annotations = {key: old.get("metadata", "annotations", key) for key in _ANNOTATIONS_OF_PODS}
    annotations[_NUMA] = old.read(*task.pods.path, "topologyPolicy")
    both = {"labels": labels, "annotations": annotations}
    return {kind: {key: value for key, value in each.items() if value is not None} for kind, each in both.items()}


def _set_pod(old: Old, task: Task, plugins: Plugins, pod: CommentedMap) -> None:
    """Add what Volcano sets in a pod: scheduler, priority, volumes of the job, and what its plugins add."""
    if pod.get("hostNetwork") and "dnsPolicy" not in pod:
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    scheduler = old.read("spec", "schedulerName") or VOLCANO
    pod["schedulerName"] = pod.get("schedulerName") or scheduler
    if priority := old.read("spec", "priorityClassName"):
        pod["priorityClassName"] = pod.get("priorityClassName") or priority
    for container in pod.get("initContainers", ()):
        added = plugins.variables(task.name, alone=task.alone, is_container=False)
        if added:
            container["env"] = sequence(*added, *container.get("env", ()))
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        plugins.open_ports(container)
    for number, volume in enumerate(old.items("spec", "volumes")):
        claim, path = volume.get("volumeClaimName"), str(volume.get("mountPath"))
        if claim:
            source = mapping(claimName=claim)
            volumes = pod.setdefault("volumes", sequence())
            volumes.append(mapping(name=f"volume-{number}", persistentVolumeClaim=source))
        for container in pod["containers"]:
            mounts = container.setdefault("volumeMounts", sequence())
            mounts.append(mapping(name=f"volume-{number}", mountPath=path))
    hosts = "svc" in plugins and FOLDER in str(old.get(*task.pods.template))
    plugins.add_files(pod, as_object(old.get(*task.pods.container)), hosts=hosts)


def _ordered(old: Old, tasks: list[Task], jobs: dict[str, CommentedMap]) -> list[CommentedMap]:
    """Return the replicated jobs, each after those that it depends on, and workers before their launcher.

    Where each pod has a Job of its own, its rank is the index of that Job among all: the master's is the first.
    """
    named = {task.name: task.job for task in tasks}
    depends: dict[str, dict[str, None]] = {task.job: {} for task in tasks}
    for task in tasks:
        path: Path = (*task.pods.path, "dependsOn")
        names = old.read(*path, "name")
        if old.read(*path, "iteration") == "any" and isinstance(names, list) and len(names) > 1:
            old.warn((*path, "iteration"), "JobSet waits for all tasks, not for any of them")
        for name in names if isinstance(names, list) else ():
            if (other := named.get(str(name))) is not None and other != task.job:
                depends[task.job][other] = None
    ranked = [task.job for task in sorted(tasks, key=lambda task: not task.is_main) if task.alone]
    unranked = sorted((name for name in jobs if name not in ranked), key=lambda name: name == LAUNCHER)
    ordered = _after_others([*ranked, *unranked], depends)
    if ordered[: len(ranked)] != ranked:
        first = next(task for task in tasks if task.alone and depends[task.job])
        message = "RANK is the order in which Jobs start: master and workers cannot wait for other tasks"
        old.refuse((*first.pods.path, "dependsOn"), message, "remove dependsOn: torch.distributed waits for all ranks")
    for name, others in depends.items():
        if others:
            jobs[name].insert(1, "dependsOn", sequence(*(mapping(name=other, status="Ready") for other in others)))
    return [jobs[name] for name in ordered]


def _after_others(names: Sequence[str], depends: Mapping[str, Collection[str]]) -> list[str]:
    """Return names in order, but each after those that it depends on. In a circle, the first comes first."""
    missing = {name: len(depends[name]) for name in names}
    followers: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        for other in depends[name]:
            followers.setdefault(other, []).append(at)
    ready = [at for at, name in enumerate(names) if not missing[name]]
    rest, ordered = iter(names), dict[str, None]()
    while len(ordered) < len(names):
        name = names[heappop(ready)] if ready else next(name for name in rest if name not in ordered)
        if name in ordered:
            continue
        ordered[name] = None
        for at in followers.get(name, ()):
            missing[names[at]] -= 1
            if not missing[names[at]]:
                heappush(ready, at)
    return [*ordered]


def _complete(old: Old, runtime: CommentedMap, tasks: list[Task]) -> None:
    """Add what concerns all tasks: the ends of the job, claims, and gang scheduling."""
    spec = runtime["spec"]["template"]["spec"]
    first = {task.job: task for task in reversed(tasks)}
    policies = jobset_policies(old, [task.lifecycle for task in first.values()][::-1])
    for key, value in reversed(policies.items()):
        spec.insert(0, key, value)
    if old.get("spec", "ttlSecondsAfterFinished") is not None:
        report_ttl(old, ("spec", "ttlSecondsAfterFinished"))
    _minimum_success(old, spec)
    claims = sequence()
    for number, volume in enumerate(old.items("spec", "volumes")):
        path: Path = ("spec", "volumes", number)
        old.done(*path, "mountPath")
        if old.read(*path, "volumeClaimName"):
            old.done(*path, "volumeClaim")  # Volcano reads it only for a claim without a name
        elif volume.get("volumeClaim") is not None:
            claims.append(mapping(metadata=mapping(name=f"volume-{number}")))
            old.put(claims[-1], "spec", *path, "volumeClaim")
        else:
            old.refuse(path, "a volume needs volumeClaimName or volumeClaim")
    if claims:
        spec["volumeClaimPolicies"] = sequence(mapping(templates=claims))
    _gang(old, runtime, tasks)


def _minimum_success(old: Old, spec: CommentedMap) -> None:
    path: Path = ("spec", "minSuccess")
    count = old.get(*path)
    if count is None:
        return
    jobs = spec["replicatedJobs"]
    if len(jobs) > 1 or "successPolicy" in jobs[0]["template"]["spec"]:
        old.refuse(path, "JobSet counts successful pods in one replicated job only, not in all of them")
        return
    old.done(*path)
    rules = sequence(mapping(succeededCount=count))
    jobs[0]["template"]["spec"].insert(1, "successPolicy", mapping(rules=rules))


def _gang(old: Old, runtime: CommentedMap, tasks: list[Task]) -> None:
    """Add the pod group policy and the queue."""
    total = sum(task.pods.count for task in tasks)
    check_least(old, ("spec", "minAvailable"), total, total)
    for task in tasks:
        check_least(old, (*task.pods.path, "minAvailable"), task.pods.count, total)
    if VOLCANO not in str(old.get("spec", "schedulerName") or VOLCANO):
        old.done("spec", "queue")
        return
    policy = mapping()
    for key in ("mode", "highestTierAllowed"):
        old.done("spec", "networkTopology", key)
        old.put(policy, key, "spec", "networkTopology", key)
    waits = [task for task in tasks if old.get(*task.pods.path, "dependsOn") is not None]
    alone = [task for task in tasks if task.alone]
    if waits or alone:
        path: Path = (*waits[0].pods.path, "dependsOn") if waits else (*alone[0].pods.path, "template")
        why = "some wait for others" if waits else "it counts one pod per replicated job"
        old.warn(path, f"there is no gang scheduling: Trainer's PodGroup has the wrong number of pods, since {why}")
        old.undo(*path)
    else:
        topology = {"networkTopology": policy} if policy else {}
        add_pod_group(runtime, VOLCANO, mapping(**topology))
    report_metadata(old, "labels", _LABELS_OF_PODS)
    report_metadata(old, "annotations", _ANNOTATIONS_OF_PODS)
    add_queue(old, ("spec", "queue"), runtime)
    if old.get("spec", "priorityClassName"):
        report_priority(old, ("spec", "priorityClassName"), (task.pods for task in tasks))
