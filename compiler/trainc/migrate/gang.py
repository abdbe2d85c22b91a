"""Gang scheduling: the scheduling policy of an old job becomes the podGroupPolicy of a runtime."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
    fields = old.keys(*path) if path is not None else ()
    coscheduled = schedulers - {VOLCANO} or (not schedulers and "scheduleTimeoutSeconds" in fields)
    add_pod_group(runtime, "coscheduling" if coscheduled else VOLCANO, mapping())
    if not coscheduled:
        report_metadata(old, "annotations")
        for pod in pods:
            pod.setdefault("schedulerName", VOLCANO)
    if path is not None:
        total = sum(one.count for one in sets.values())
        _fields(old, path, total, runtime, pods)
        waits = any("dependsOn" in job for job in jobs)
        if waits or any(job.get("replicas", 1) > 1 for job in jobs):
            why = "some wait for others" if waits else "it counts one pod per replicated job"
            message = f"Trainer's PodGroup has the wrong number of pods, since {why} (TC459)"
            old.warn(path, message, "add gang-min-member to fixes in trainc.yaml")
            old.undo(*path)


def _fields(old: Old, path: Path, total: int, runtime: CommentedMap, pods: list[CommentedMap]) -> None:
    """Read the scheduling policy, for ``total`` pods."""
    group = runtime["spec"]["podGroupPolicy"].get("coscheduling")
    scheduler = VOLCANO if group is None else "coscheduling"
    message = f"the job is scheduled by podGroupPolicy.{scheduler}: all pods start, or none"
    hint = "without a gang scheduler in the cluster, remove podGroupPolicy and schedulerName from the runtime"
    old.note(path, message, hint)
    old.undo(*path)
    check_least(old, (*path, "minAvailable"), total, total)
    if old.get(*path, "minResources") is not None:
        old.note((*path, "minResources"), "Trainer computes minResources from the requests of the pods")
    if group is None:
        add_queue(old, (*path, "queue"), runtime)
        if old.get(*path, "scheduleTimeoutSeconds") is not None:
            old.warn((*path, "scheduleTimeoutSeconds"), "Volcano has no scheduleTimeoutSeconds")
    else:
        old.put(group, "scheduleTimeoutSeconds", *path, "scheduleTimeoutSeconds")
        if not any(pod.get("schedulerName") for pod in pods):
            message = "the pods get no schedulerName: the operator sets that of the gang scheduler it was started with"
            hint = "set schedulerName in the runtime, unless the default scheduler has the plugin coscheduling"
            old.warn((*path, "scheduleTimeoutSeconds"), message, hint)
    if (name := old.read(*path, "priorityClass")) is not None:
        for pod in pods:
            pod.setdefault("priorityClassName", name)
        report_priority(old, (*path, "priorityClass"))


def add_pod_group(runtime: CommentedMap, scheduler: str, policy: CommentedMap) -> None:
    """Add the podGroupPolicy of a scheduler to a runtime."""
    spec = runtime["spec"]
    spec.insert(list(spec).index("template"), "podGroupPolicy", CommentedMap({scheduler: policy}))


def add_queue(old: Old, path: Path, runtime: CommentedMap) -> None:
    """Move the name of Volcano's queue to the annotation that Trainer copies to the PodGroup."""
    if old.get(*path) is not None:
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


def report_priority(old: Old, path: Path) -> None:
    """Report that pods got a priority class, which a compiled job needs."""
    message = "the PodGroup gets the priority class of the pods, so the pods now have it"
    hint = "add the PriorityClass to a file of runtimes/: Trainer refuses a job whose class it does not find"
    old.warn(path, message, hint)
