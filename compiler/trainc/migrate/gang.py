"""Gang scheduling: the scheduling policy of an old job becomes the podGroupPolicy of a runtime."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import Path
from trainc.migrate.documents import Old
from trainc.migrate.jobs import Replicas, RunPolicy
from trainc.migrate.trees import mapping
from trainc.upstream import VOLCANO_QUEUE

VOLCANO: Final = "volcano"


def schedule_together(
    old: Old, policy: RunPolicy, sets: Mapping[str, Replicas], runtime: CommentedMap, jobs: list[CommentedMap]
) -> None:
    """Add a podGroupPolicy to a runtime if the old job has a scheduling policy, or names Volcano's scheduler.

    An operator creates PodGroups only if it was started with a gang scheduler, which the job does not say. A job that
    names no scheduler and no timeout, which only coscheduling has, is taken to be for Volcano.
    """
    path, pods = policy.gang, [job["template"]["spec"]["template"]["spec"] for job in jobs]
    schedulers = {str(pod["schedulerName"]) for pod in pods if pod.get("schedulerName")}
    if path is None and schedulers != {VOLCANO}:
        return
    timeout = old.get(*path, "scheduleTimeoutSeconds") if path is not None else None
    coscheduled = schedulers - {VOLCANO} or (not schedulers and timeout is not None)
    scheduler = "coscheduling" if coscheduled else VOLCANO
    add_pod_group(runtime, scheduler, mapping())
    named = ((*one.pod, "schedulerName") for one in sets.values())
    where = path or next(each for each in named if old.get(*each) is not None)
    message = f"the job is scheduled by podGroupPolicy.{scheduler}: all pods start, or none"
    hint = "without a gang scheduler in the cluster, remove podGroupPolicy and schedulerName from the runtime"
    old.note(where, message, hint)
    waits = any("dependsOn" in job for job in jobs)
    if waits or any(job.get("replicas", 1) > 1 for job in jobs):
        why = "some wait for others" if waits else "it counts one pod per replicated job"
        message = f"Trainer's PodGroup has the wrong number of pods, since {why} (TC459)"
        old.warn(where, message, "add gang-min-member to fixes in trainc.yaml")
    if not coscheduled:
        report_metadata(old, "annotations")
        for pod in pods:
            pod["schedulerName"] = pod.get("schedulerName") or VOLCANO
    if path is None:
        _add_queue_of_pods(old, sets, runtime)
    else:
        old.undo(*path)
        _fields(old, path, sets, runtime, pods)


def _add_queue_of_pods(old: Old, sets: Mapping[str, Replicas], runtime: CommentedMap) -> None:
    """Give the PodGroup the queue that the pods name: Volcano reads it there if no operator makes a PodGroup."""
    paths = ((*one.template, "metadata", "annotations", VOLCANO_QUEUE) for one in sets.values())
    if (path := next((path for path in paths if old.get(*path) is not None), None)) is not None:
        add_queue(old, path, runtime)


def _fields(
    old: Old, path: Path, sets: Mapping[str, Replicas], runtime: CommentedMap, pods: list[CommentedMap]
) -> None:
    """Read the scheduling policy."""
    group, total = runtime["spec"]["podGroupPolicy"].get("coscheduling"), sum(one.count for one in sets.values())
    check_least(old, (*path, "minAvailable"), total, total)
    if old.get(*path, "minResources") is not None:
        old.note((*path, "minResources"), "Trainer computes minResources from the requests of the pods")
    if group is None:
        add_queue(old, (*path, "queue"), runtime)
        if old.get(*path, "scheduleTimeoutSeconds") is not None:
            old.warn((*path, "scheduleTimeoutSeconds"), "Volcano has no scheduleTimeoutSeconds")
    else:
        old.put(group, "scheduleTimeoutSeconds", *path, "scheduleTimeoutSeconds")
        if not all(pod.get("schedulerName") for pod in pods):
            which = "some pods" if any(pod.get("schedulerName") for pod in pods) else "the pods"
            message = f"{which} get no schedulerName: the operator sets that of the gang scheduler it was started with"
            hint = "set schedulerName in the runtime, unless the default scheduler has the plugin coscheduling"
            where = (*path, "scheduleTimeoutSeconds")
            old.warn(where if old.get(*where) is not None else path, message, hint)
            old.undo(*path)  # which the warning has counted as imported, with unknown fields
    if name := old.read(*path, "priorityClass"):
        for pod in pods:
            pod["priorityClassName"] = pod.get("priorityClassName") or name
        report_priority(old, (*path, "priorityClass"), sets.values())


def add_pod_group(runtime: CommentedMap, scheduler: str, policy: CommentedMap) -> None:
    """Add the podGroupPolicy of a scheduler to a runtime."""
    spec = runtime["spec"]
    spec.insert(list(spec).index("template"), "podGroupPolicy", CommentedMap({scheduler: policy}))


def add_queue(old: Old, path: Path, runtime: CommentedMap) -> None:
    """Move the name of Volcano's queue to the annotation that Trainer copies to the PodGroup."""
    if old.read(*path):
        runtime["spec"]["template"].insert(0, "metadata", mapping(annotations=mapping()))
        old.put(runtime["spec"]["template"]["metadata"]["annotations"], VOLCANO_QUEUE, *path)


def report_metadata(old: Old, kind: str, of_pods: Collection[str] = ()) -> None:
    """Report labels or annotations that an operator copies to the PodGroup, where Volcano looks for its own.

    ``of_pods`` are those that the pods get, too.
    """
    for key in old.keys("metadata", kind):
        if key.partition("/")[0].endswith("volcano.sh") and key not in of_pods:
            message = f"{key} has no effect: Trainer's PodGroup gets no {kind} of the job"
            old.warn(("metadata", kind, key), message)


def check_least(old: Old, path: Path, needed: int, total: int) -> None:
    """Report a least number of pods that is not the number needed: Trainer's PodGroup has all pods."""
    if (least := old.read(*path)) not in (None, needed):
        old.warn(path, f"Trainer waits for all {total} pods, not for {least}")


def report_priority(old: Old, path: Path, sets: Iterable[Replicas]) -> None:
    """Report that pods got a priority class, which a compiled job needs, or that the PodGroup gets theirs instead."""
    own = (old.get(*one.pod, "priorityClassName") for one in sets)
    other = next((name for name in own if name and name != old.get(*path)), None)
    message = "the PodGroup gets the priority class of the pods, "
    message += "so the pods now have it" if other is None else f"and those with {other} keep it"
    hint = "add the PriorityClass to a file of runtimes/: Trainer refuses a job whose class it does not find"
    old.warn(path, message, hint)
