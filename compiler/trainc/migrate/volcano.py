"""Volcano Job (batch.volcano.sh/v1alpha1): each task becomes a replicated job, what plugins add becomes plain fields.

Facts: the Job API, pkg/controllers/job and the admission webhook, at v1.16.0-alpha.1-42 (ed72c7c8).
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import Json, Path, as_object, get, objects, paths
from trainc.migrate.documents import Converted, Old
from trainc.migrate.jobs import new_job, new_runtime
from trainc.migrate.lifecycle import Lifecycle, job_policies, jobset_policies, lifecycle_of
from trainc.migrate.pods import MANAGER, PATCHABLE, PATCHABLE_OF_CONTAINERS
from trainc.migrate.trees import mapping, sequence
from trainc.migrate.volcanoplugins import FOLDER, KEYS, Plugins, host
from trainc.upstream import ANCESTOR_LABEL, LAUNCHER, NODE, TRAINER, VOLCANO_QUEUE

TTL: Final = (
    "ttlSecondsAfterFinished is not imported: where Argo CD or Flux sync out/, a job that a cluster deletes runs again"
)
TTL_HINT: Final = (
    "delete the job's file when it is done; if nothing syncs out/, set ttlSecondsAfterFinished of the runtime's JobSet"
)

_SCHEDULER: Final = "volcano"
_OF_PODS: Final = (
    *("volcano.sh/preemptable", "volcano.sh/cooldown-time", "volcano.sh/revocable-zone"),
    *("volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"),
)
"""Annotations that Volcano copies from a job to its pods."""
_NUMA: Final = "volcano.sh/numa-topology-policy"
_OWN_LABELS: Final = "volcano.sh/"
"""The prefix of labels that Volcano sets on pods, and by which an affinity may select them."""
_OF_TRAINER: Final = ("image", "command", "args", "env")


class Task(msgspec.Struct, eq=False):
    """A task: its path, name and number of pods, and the replicated job that has them from index ``first`` on.

    ``completing`` are the indexes of pods, such as 0 or 1-2, which complete the replicated job for all.
    """

    path: Path
    name: str
    count: int
    lifecycle: Lifecycle
    job: str
    first: int = 0
    completing: tuple[str, ...] = ()

    @property
    def pod(self) -> Path:
        """The path of the pod's spec."""
        return (*self.path, "template", "spec")


def convert(old: Old) -> Converted | None:
    """Return a TrainJob and a runtime with a replicated job for each task."""
    tasks, plugins = _tasks(old), Plugins(old)
    job = new_job(old)
    if not tasks:
        old.refuse(("spec", "tasks"), "no task has pods")
        return Converted(job)
    main = _arrange(old, tasks, plugins)
    plugins.hosts = {task.name: [host(task.job, task.first + index) for index in range(task.count)] for task in tasks}
    _report_hosts(old, tasks)
    counts: dict[str, int] = {}
    for task in tasks:
        counts[task.job] = counts.get(task.job, 0) + task.count
    templates = [_Template(old, job, task, plugins, main) for task in tasks if not task.first]
    jobs = {template.task.job: template.replicated(counts[template.task.job]) for template in templates}
    policy = mapping(numNodes=1)
    if main.job == LAUNCHER:
        policy["mpi"] = mapping(numProcPerNode=1, mpiImplementation="OpenMPI", sshAuthMountPath=KEYS)
        policy["mpi"]["runLauncherAsNode"] = False
    framework = "mpi" if main.job == LAUNCHER else "torch" if "pytorch" in plugins else "plain"
    runtime = new_runtime(f"volcano-{framework}", framework, policy, *_ordered(old, tasks, jobs))
    job["spec"]["trainer"].insert(0, "numNodes", counts[NODE if main.job == LAUNCHER else main.job])
    _complete(old, job, runtime, tasks, [template.patch for template in templates if template.patch])
    return Converted(job, runtime)


def _tasks(old: Old) -> list[Task]:
    """Return the tasks that have pods."""
    found = []
    for index, item in enumerate(old.items("spec", "tasks")):
        path: Path = ("spec", "tasks", index)
        name = str(item.get("name") or f"default{index}")
        count = item.get("replicas")
        old.done(*path, "name")
        old.done(*path, "replicas")
        if not isinstance(count, int) or count < 1:
            old.warn(path, f"task {name} has no pods and is left out")
            continue
        never = get(item, "template", "spec", "restartPolicy") == "Never"
        found.append(Task(path, name, count, lifecycle_of(old, path, name, never=never), name))
    unique = {(finding.code, finding.path, finding.message): finding for finding in old.findings}
    old.findings[:] = unique.values()  # policies of the job are read for each task
    return found


def _arrange(old: Old, tasks: list[Task], plugins: Plugins) -> Task:
    """Choose the replicated jobs of the tasks, and return the main task, whose container is the trainer."""
    named = {task.name: task for task in tasks}
    main = next((task for task in tasks if task.lifecycle.completes), tasks[0])
    if "pytorch" in plugins:
        master, worker = (named.get(plugins.role("pytorch", role)) for role in ("master", "worker"))
        if master is not None and worker is not None:
            _merge(old, master, worker, plugins)
        main = master or main
    elif "ssh" in plugins:
        launcher = named.get(plugins.role("mpi", "master")) if "mpi" in plugins else _launcher(tasks)
        if launcher is not None and len(tasks) == 2 and launcher.count == 1:
            worker = next(task for task in tasks if task is not launcher)
            launcher.job, worker.job = LAUNCHER, NODE
            path: Path = ("spec", "plugins", "ssh" if "ssh" in old.keys("spec", "plugins") else "mpi")
            old.note(
                path,
                f"an init container writes Trainer's keys and Volcano's ssh configuration to {plugins.ssh_path()}",
            )
            main = launcher
        else:
            hint = "create a Secret with keys, and mount it in the templates"
            old.refuse(plugins.path("ssh"), "Trainer makes ssh keys for a launcher and its workers only", hint)
    if len(tasks) == 1:
        main.job = NODE
    for task in tasks:
        task.lifecycle.name = task.job
    return main


def _launcher(tasks: list[Task]) -> Task | None:
    """Return the task that starts mpirun: the one that completes the job, or is called so."""
    completing = [task for task in tasks if task.lifecycle.completes and task.count == 1]
    return next(iter(completing), None) or next(
        (task for task in tasks if any(word in task.name for word in ("master", LAUNCHER))), None
    )


def _merge(old: Old, master: Task, worker: Task, plugins: Plugins) -> None:
    """Put master and worker into one job, so that RANK is the index of the pod. Their pods must be equal."""
    templates = []
    for task in (master, worker):
        template: Any = {**as_object(old.get(*task.path, "template"))}
        spec = {**as_object(template.get("spec"))}
        spec["containers"] = [{**each, "name": ""} for each in objects(spec.get("containers"))]
        templates.append((spec, as_object(template.get("metadata")).get("annotations")))
    first, second = templates
    different = sorted(key for key in {*first[0], *second[0]} if first[0].get(key) != second[0].get(key))
    if different or first[1] != second[1]:
        message = f"master and worker must have equal pods, so that RANK is an index: {', '.join(different)} differ"
        hint = "make the templates equal, and import again"
        old.refuse((*worker.pod, different[0]) if different else worker.path, message, hint)
        return
    if msgspec.structs.replace(worker.lifecycle, completes=False, name="") != msgspec.structs.replace(
        master.lifecycle, completes=False, name=""
    ):
        old.warn((*worker.path, "policies"), f"the policies of {master.name} also apply to the pods of {worker.name}")
    if "env" in plugins and "_TASK_INDEX" in str(old.get(*worker.path)):
        old.warn(
            worker.pod, f"VC_TASK_INDEX counts from {master.count}, since these pods follow those of {master.name}"
        )
    old.done(*worker.path)
    master.job = worker.job = NODE
    worker.first = master.count
    ranges = {master: (0, master.count), worker: (master.count, master.count + worker.count)}
    master.completing = tuple(
        str(start) if end - start == 1 else f"{start}-{end - 1}"
        for task, (start, end) in ranges.items()
        if task.lifecycle.completes
    )


class _Template:
    """The pod template of a task, divided between trainer and patch of the TrainJob, and the runtime."""

    def __init__(self, old: Old, job: CommentedMap, task: Task, plugins: Plugins, main: Task) -> None:
        self.old, self.job, self.task, self.plugins = old, job, task, plugins
        self.is_main, self.has_keys = task is main, main.job == LAUNCHER
        self.patch: CommentedMap | None = None

    def replicated(self, count: int) -> CommentedMap:
        """Return the replicated job, and fill trainer and patch."""
        old, task = self.old, self.task
        spec = job_policies(old, task.lifecycle)
        if task.completing:
            rules = sequence(*(mapping(succeededIndexes=indexes) for indexes in task.completing))
            spec["successPolicy"] = mapping(rules=rules)
        if not self.is_main:
            spec.insert(0, "parallelism", count)
        spec["template"] = mapping(spec=self._pod())
        template = mapping(spec=spec)
        if self.is_main:
            labels = mapping()
            labels[ANCESTOR_LABEL] = TRAINER
            template.insert(0, "metadata", mapping(labels=labels))
        return mapping(name=task.job, template=template)

    def _pod(self) -> CommentedMap:
        old, at = self.old, self.task.pod
        pod, patch = mapping(), mapping()
        for key in PATCHABLE:
            old.put(patch, key, *at, key)
        for key in old.keys(*at):
            if key not in (*PATCHABLE, "containers", "initContainers", "restartPolicy", "hostname", "subdomain"):
                old.put(pod, key, *at, key)
        for key in ("hostname", "subdomain"):
            if old.get(*at, key) is not None:
                old.warn((*at, key), f"JobSet sets {key}: pods are called <job>-{self.task.job}-0-<index>.<job>")
        pod["restartPolicy"] = "Never" if self.task.lifecycle.never else "OnFailure"
        if old.read(*at, "restartPolicy") not in ("Never", "OnFailure"):
            old.note(at, "restartPolicy is OnFailure: a Job has no Always, the default of a pod in a Volcano Job")
        if pod.get("hostNetwork") and "dnsPolicy" not in pod:
            pod["dnsPolicy"] = "ClusterFirstWithHostNet"
        pod.setdefault("schedulerName", old.read("spec", "schedulerName") or _SCHEDULER)
        if (priority := old.read("spec", "priorityClassName")) is not None:
            pod.setdefault("priorityClassName", priority)
        self._containers(pod, patch)
        metadata = self._metadata()
        if metadata or patch:
            parts = {"metadata": metadata, "spec": patch}
            template = mapping(**{key: part for key, part in parts.items() if part})
            self.patch = mapping(name=self.task.job, template=mapping(spec=mapping(template=template)))
        return pod

    def _containers(self, pod: CommentedMap, patch: CommentedMap) -> None:
        """Move containers; the first one of the main task is the trainer."""
        old, at, plugins = self.old, self.task.pod, self.plugins
        first = self._first(patch) if self.is_main else mapping()
        name = NODE if self.is_main or self.task.job == NODE else str(old.get(*at, "containers", 0, "name"))
        old.done(*at, "containers", 0, "name")
        first.insert(0, "name", name)
        for key in old.keys(*at, "containers", 0):
            if key not in first and not self._is_patched(key):
                old.put(first, key, *at, "containers", 0, key)
        pod["containers"] = sequence(first)
        for kind in ("containers", "initContainers"):
            for index, _ in enumerate(old.items(*at, kind)):
                if kind == "initContainers" or index:
                    old.put(pod.setdefault(kind, sequence()), None, *at, kind, index)
        trainer = self.job["spec"]["trainer"] if self.is_main else first
        for kind in ("containers", "initContainers"):
            for index, container in enumerate(pod.get(kind, ())):
                is_first = kind == "containers" and not index
                self._add_variables(
                    trainer if is_first else container, (*at, kind, index), is_container=kind == "containers"
                )
                plugins.open_ports(container)
        for number, volume in enumerate(old.items("spec", "volumes")):
            claim, path = volume.get("volumeClaimName"), str(volume.get("mountPath"))
            if claim:
                source = mapping(claimName=claim)
                patch.setdefault("volumes", sequence()).append(
                    mapping(name=f"volume-{number}", persistentVolumeClaim=source)
                )
            for container in pod["containers"]:
                mount = mapping(name=f"volume-{number}", mountPath=path)
                container.setdefault("volumeMounts", sequence()).append(mount)
        hosts = "svc" in plugins and FOLDER in str(old.get(*self.task.path, "template"))
        plugins.add_files(pod, as_object(old.get(*at, "containers", 0)), keys=self.has_keys, hosts=hosts)

    def _is_patched(self, key: str) -> bool:
        return self.is_main and key in (*_OF_TRAINER, "resources", *PATCHABLE_OF_CONTAINERS)

    def _first(self, patch: CommentedMap) -> CommentedMap:
        """Move parts of the main container to the trainer and the patch; return the container of the runtime."""
        old, at = self.old, (*self.task.pod, "containers", 0)
        trainer, change = self.job["spec"]["trainer"], mapping(name=NODE)
        for key in _OF_TRAINER:
            old.put(trainer, key, *at, key)
        old.put(trainer, "resourcesPerNode", *at, "resources")
        for key in PATCHABLE_OF_CONTAINERS:
            old.put(change, key, *at, key)
        if len(change) > 1:
            patch["containers"] = sequence(change)
        return mapping(image=str(old.get(*at, "image")))

    def _add_variables(self, target: CommentedMap, path: Path, *, is_container: bool) -> None:
        """Append the variables of plugins, in place of those of the user with the same names."""
        added = self.plugins.variables(self.task.name, is_container=is_container)
        names = {each["name"] for each in added}
        env = target.get("env", sequence())
        for index in reversed(range(len(env))):
            if env[index].get("name") in names:
                message = f"a plugin sets {env[index]['name']}, so it is left out"
                self.old.note((*path, "env", index), message)
                del env[index]
        if added:
            target["env"] = env
            env.extend(added)

    def _metadata(self) -> CommentedMap:
        """Move labels and annotations of the pods, with those that Volcano copies from the job."""
        old, at = self.old, (*self.task.path, "template", "metadata")
        metadata = mapping()
        for key in ("labels", "annotations"):
            old.put(metadata, key, *at, key)
        for key in ("name", "creationTimestamp"):
            old.done(*at, key)
        if _OWN_LABELS in str(old.get(*self.task.pod)):
            labels = metadata.setdefault("labels", mapping())
            labels[f"{_OWN_LABELS}job-name"], labels[f"{_OWN_LABELS}task-spec"] = old.name, self.task.name
        copied = {key: old.get("metadata", "annotations", key) for key in _OF_PODS}
        copied[_NUMA] = old.read(*self.task.path, "topologyPolicy")
        for key, value in copied.items():
            if value is not None:
                metadata.setdefault("annotations", mapping()).setdefault(key, value)
        return metadata


def _report_hosts(old: Old, tasks: list[Task]) -> None:
    """Report where a template names a pod as Volcano does."""
    former = re.compile("|".join(rf"\b{re.escape(f'{old.name}-{task.name}')}-\d+\b" for task in tasks))
    for task in tasks:
        for path in paths(old.get(*task.pod), task.pod):
            value = old.get(*path)
            if isinstance(value, str) and (found := former.search(value)) is not None:
                name = found[0].removeprefix(f"{old.name}-").rpartition("-")[0]
                other = next(each for each in tasks if each.name == name)
                message = f"there is no host {found[0]}: the pods of {name} are <job>-{other.job}-0-<index>.<job>"
                old.refuse(path, message, f"use the variable VC_{name.replace('-', '_').upper()}_HOSTS")


def _ordered(old: Old, tasks: list[Task], jobs: dict[str, CommentedMap]) -> list[CommentedMap]:
    """Return the replicated jobs, each after those that it depends on, and workers before their launcher."""
    named = {task.name: task.job for task in tasks}
    depends: dict[str, list[str]] = {task.job: [] for task in tasks}
    for task in tasks:
        path: Path = (*task.path, "dependsOn")
        names = old.read(*path, "name")
        if old.read(*path, "iteration") == "any" and isinstance(names, list) and len(names) > 1:
            old.warn((*path, "iteration"), "JobSet waits for all tasks, not for any of them")
        for name in names if isinstance(names, list) else ():
            if (other := named.get(str(name))) is not None and other != task.job and other not in depends[task.job]:
                depends[task.job].append(other)
    ordered: list[str] = []
    waiting = sorted(jobs, key=lambda name: name == LAUNCHER)
    while waiting:
        ready = next((name for name in waiting if set(depends[name]) <= set(ordered)), waiting[0])
        waiting.remove(ready)
        ordered.append(ready)
    for name, others in depends.items():
        if others:
            jobs[name].insert(1, "dependsOn", sequence(*(mapping(name=other, status="Ready") for other in others)))
    return [jobs[name] for name in ordered]


def _complete(
    old: Old, job: CommentedMap, runtime: CommentedMap, tasks: list[Task], patches: list[CommentedMap]
) -> None:
    """Add what concerns all tasks: ends of the job, claims, gang scheduling, and the patch of the TrainJob."""
    spec = runtime["spec"]["template"]["spec"]
    first = {task.job: task for task in reversed(tasks)}
    policies = jobset_policies(old, [task.lifecycle for task in first.values()][::-1])
    for key, value in reversed(policies.items()):
        spec.insert(0, key, value)
    if old.get("spec", "ttlSecondsAfterFinished") is not None:
        old.warn(("spec", "ttlSecondsAfterFinished"), TTL, TTL_HINT)
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
    template = mapping()
    if queue := _gang(old, runtime, tasks):
        annotations = mapping()
        annotations[VOLCANO_QUEUE] = queue
        template["metadata"] = mapping(annotations=annotations)
        old.moved(annotations, VOLCANO_QUEUE, "spec", "queue")
    if patches:
        template["spec"] = mapping(replicatedJobs=sequence(*patches))
    if template:
        change = mapping(template=template)
        job["spec"]["runtimePatches"] = sequence(mapping(manager=MANAGER, trainingRuntimeSpec=change))


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


def _gang(old: Old, runtime: CommentedMap, tasks: list[Task]) -> Json:
    """Add the pod group policy; return the queue, if there is one."""
    total = sum(task.count for task in tasks)
    waits = any("dependsOn" in job for job in runtime["spec"]["template"]["spec"]["replicatedJobs"])
    for path in (("spec", "minAvailable"), *((*task.path, "minAvailable") for task in tasks)):
        wanted = total if len(path) == 2 else next(task.count for task in tasks if task.path == path[:-1])
        if old.read(*path) not in (None, wanted):
            old.warn(path, f"Trainer's PodGroup always waits for all {total} pods, not for {old.get(*path)}")
    queue = old.read("spec", "queue")
    if _SCHEDULER not in str(old.get("spec", "schedulerName") or _SCHEDULER):
        return None
    policy = mapping()
    for key in ("mode", "highestTierAllowed"):
        old.put(policy, key, "spec", "networkTopology", key)
    if waits:
        path = next((*task.path, "dependsOn") for task in tasks if old.get(*task.path, "dependsOn") is not None)
        message = "there is no gang scheduling: Trainer's PodGroup needs all pods, and some wait for others"
        old.warn(path, message, "remove dependsOn to schedule all pods together")
    else:
        topology = {"networkTopology": policy} if policy else {}
        runtime["spec"].insert(1, "podGroupPolicy", mapping(volcano=mapping(**topology)))
    if old.get("spec", "priorityClassName") is not None:
        old.note(("spec", "priorityClassName"), "Trainer needs the PriorityClass: add it to the runtime's file")
    return queue
