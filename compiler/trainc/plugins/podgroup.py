"""CoScheduling (scheduler-plugins) and Volcano: their PodGroups, and the pods of a gang."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object, get, objects
from trainc.findings import Finding
from trainc.inputs.source import Document
from trainc.kube.fielderror import invalid, quote
from trainc.kube.gojson import int32
from trainc.kube.quantity import Quantity
from trainc.plugins.base import POD_SPEC, Plugin, known_bug, manifest, refused
from trainc.plugins.model import Model, Object, Objects, PodSet
from trainc.upstream import (
    COSCHEDULING_API,
    POD_GROUP_LABEL,
    TRAINER,
    VOLCANO_API,
    VOLCANO_GROUP,
    VOLCANO_QUEUE,
)

FIX = "gang-min-member"


def members(model: Model, *, after_another: bool = False) -> tuple[int, JsonObject]:
    """Return the number of pods over all pod sets, and their requests summed (S1, S2).

    Replicas do not multiply the count, and initializers count, too. Go multiplies quantities beyond 64 bits in place,
    so with both schedulers, the second one reads multiplied quantities. With the fix, only pods that start
    together count, including replicas.
    """
    fixed = model.fixed(FIX)
    counted = gang(model).counted if fixed else frozenset(pod_set.name for pod_set in model.pod_sets)
    total: dict[str, Quantity] = {}
    count = 0
    for pod_set in (each for each in model.pod_sets if each.name in counted):
        pods = pod_set.count * (replicas_in_jobset(pod_set) if fixed else 1)
        count += pods
        for name, quantity in pod_set.requests.items():
            share = quantity.mul(pods)
            if after_another and quantity.wide and not fixed:
                share = share.mul(pods)
            total[name] = total.get(name, Quantity()).add(share)
    return count if fixed else int32(count), {name: total[name].canonical() for name in sorted(total)}


def replicas_in_jobset(pod_set: PodSet) -> int:
    """Return the replicas of a pod set in the JobSet: one for trainer and initializers."""
    return 1 if pod_set.is_single else pod_set.replicas


def check_members(model: Model) -> Iterator[Finding]:
    """Warn if minMember is not the number of pods that start together (S1, S2)."""
    if model.fixed(FIX):
        return
    found = gang(model)
    both = model.uses("coscheduling") and model.uses("volcano")
    several = (pod_set for pod_set in model.pod_sets if pod_set.count > 1)
    if len(found.counted) < len(model.pod_sets):
        message = (
            "minMember counts all pods of the JobSet, including those that start only when others are ready or"
            " complete: the gang can never be satisfied"
        )
    elif any(replicas_in_jobset(pod_set) != 1 for pod_set in model.pod_sets):
        message = (
            "minMember counts the pods of one replica of each job: the gang starts before there is room for all of its"
            " pods"
        )
    elif both and any(quantity.wide for pod_set in several for quantity in pod_set.requests.values()):
        message = "minResources of the second PodGroup counts the pods twice, since a quantity exceeds 64 bits"
    else:
        return
    yield known_bug(FIX, model.runtime, ("spec", "podGroupPolicy"), message)


def _existing(model: Model, api_version: str) -> Document | None:
    """Return the PodGroup that exists in the cluster and is not updated, since the TrainJob is not suspended."""
    found = model.in_cluster(f"{api_version}/PodGroup", model.name)
    return found if get(model.job.data, "spec", "suspend") is not True else None


def existing_group(model: Model) -> Document | None:
    """Return a PodGroup of the job that is not generated, since it exists."""
    kinds = (("coscheduling", COSCHEDULING_API), ("volcano", VOLCANO_API))
    found = (_existing(model, api_version) for scheduler, api_version in kinds if model.uses(scheduler))
    return next((each for each in found if each is not None), None)


def _pod_group(model: Model, api_version: str, spec: JsonObject, *, after_another: bool = False) -> Objects:
    if _existing(model, api_version) is not None:
        return ()
    count, resources = members(model, after_another=after_another)
    spec = {"minMember": count, "minResources": resources, **spec}
    return (Object(manifest(model, api_version, "PodGroup", model.name, spec=spec)),)


def ungrouped(model: Model) -> frozenset[str]:
    """Return the pod sets of a shaped model whose pods are not in the group: with the fix, those ``outside``."""
    has_group = bool(model.pod_labels or model.pod_annotations)
    return gang(model).outside if has_group and model.fixed(FIX) else frozenset()


# The gang: the pods that must be scheduled at once.
#
# A gang is satisfied when minMember of its pods exist and fit. Pods that are created only when others are ready, or
# complete, can never be counted with those others. The coscheduling plugin (v0.34) does not count pods that have ended.

IN_ORDER = "InOrder"
READY = "Ready"


class Gang(NamedTuple):
    """Names of pod sets. ``counted`` start together with the trainer, or with the pods whose readiness it waits for;
    ``outside`` run at another time, or may. The others join the gang later.
    """

    counted: frozenset[str]
    outside: frozenset[str]


def gang(model: Model) -> Gang:
    """Return the gang of a joined model, by the jobs' dependsOn and the startup policy.

    Pod sets without pods are ready, and complete, as soon as they exist: no gang starts with them.
    """
    ready, before, ended = _waits(model)
    names = [*before]
    with_pods = [pod_set for pod_set in model.pod_sets if pod_set.count > 0]
    trainer = next((each for each in with_pods if each.ancestor == TRAINER), with_pods[-1] if with_pods else None)
    if trainer is None:
        return Gang(frozenset(), frozenset())
    start = trainer.name
    while ready[start]:  # the first of a chain of pod sets that wait for readiness
        start = names[next(ones(ready[start]))]
    together = before[start]
    members = sum(1 << index for index, name in enumerate(names) if before[name] == together)
    counted = frozenset(names[index] for index in ones(members))
    filled = {pod_set.name for pod_set in with_pods}
    running = sum(1 << index for index in ones(members) if names[index] in filled)
    # Coscheduling does not count pods that have ended. So a pod set joins only if it awaits the readiness of all
    # members with pods, and no end of pods that may run longer than the members.
    joining = {name for name in names if before[name] & running == running and not ended[name] & ~ended[start]}
    return Gang(counted, frozenset(names) - counted - joining)


def _waits(model: Model) -> tuple[Mapping[str, int], Mapping[str, int], Mapping[str, int]]:
    """Return for each job the jobs whose readiness it waits for, all that it waits for, and those whose end it awaits.

    The bits of a number are the positions of jobs, since each may wait for all before it. In place of jobs without
    pods are those for which they wait themselves.
    """
    positions = {str(job.get("name")): 1 << index for index, job in enumerate(model.jobs)}
    empty = sum(positions.get(pod_set.name, 0) for pod_set in model.pod_sets if pod_set.count < 1)
    in_order = get(model.spec, "startupPolicy", "startupPolicyOrder") == IN_ORDER
    ready: dict[str, int] = {}
    before: dict[str, int] = {}
    ended: dict[str, int] = {}
    for job in model.jobs:
        name = str(job.get("name"))
        waits = {str(wait.get("name")): str(wait.get("status")) for wait in objects(job.get("dependsOn"))}
        awaited = others = positions[name] - 1 if in_order else 0
        inherited = over = 0
        for other, status in waits.items():
            if other not in before:  # JobSet refuses it
                continue
            others |= positions[other] | before[other]
            over |= ended[other]
            if status != READY:
                over |= positions[other]
                awaited &= ~positions[other]
            elif positions[other] & empty:
                inherited |= ready[other]
            else:
                awaited |= positions[other]
        ready[name], before[name], ended[name] = awaited & ~empty | inherited, others & ~empty, over & ~empty
    return ready, before, ended


def ones(bits: int) -> Iterator[int]:
    """Yield the positions of the ones in a number, from the lowest."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


# CoScheduling.


def _shape_coscheduling(model: Model) -> Model:
    return replace(model, pod_labels={**model.pod_labels, POD_GROUP_LABEL: model.name})


def _build_coscheduling(model: Model) -> Objects:
    timeout = as_object(model.policy("coscheduling"))["scheduleTimeoutSeconds"]
    return _pod_group(model, COSCHEDULING_API, {"scheduleTimeoutSeconds": timeout})


# Volcano.

SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def priority_classes(model: Model) -> list[tuple[Path, str]]:
    """Return the priority classes of the replicated jobs, with their paths in the runtime."""
    found: list[tuple[Path, str]] = []
    for index, job in enumerate(model.jobs):
        path = (*POD_SPEC, "priorityClassName")
        if isinstance(name := get(job, *path), str):
            found.append((("spec", "template", "spec", "replicatedJobs", index, *path), name))
    return found


def _queue_position(model: Model) -> tuple[Document, Path]:
    """Return the position of the queue: in the last runtime patch with one, else in the runtime."""
    annotation = ("template", "metadata", "annotations", VOLCANO_QUEUE)
    patches = as_list(get(model.job.data, "spec", "runtimePatches"))
    for index in reversed(range(len(patches))):
        if get(patches[index], "trainingRuntimeSpec", *annotation) is not None:
            return model.job, ("spec", "runtimePatches", index, "trainingRuntimeSpec", *annotation)
    return model.runtime, ("spec", *annotation)


def _check_volcano(model: Model) -> Iterator[Finding]:
    """Refuse an empty queue and unknown priority classes (S3)."""
    yield from check_members(model)
    if model.annotations.get(VOLCANO_QUEUE) == "":
        detail = "Volcano queue name must not be empty"
        text = invalid(f"spec.annotations[{VOLCANO_QUEUE}]", "", detail)
        yield refused("TC406", *_queue_position(model), text, detail)
    for path, name in priority_classes(model):
        if name in SYSTEM_CLASSES:
            return  # upstream stops the check here
        if ("scheduling.k8s.io/v1/PriorityClass", "", name) not in model.cluster:
            detail = f"PriorityClass {quote(name)} doesn't exist:"
            detail = f"{detail} PriorityClass.scheduling.k8s.io {quote(name)} not found"
            text = invalid("spec.templateSpec.priorityClassName", name, detail)
            hint = "add the PriorityClass as a document, for example to the runtime's file"
            yield refused("TC406", model.runtime, path, text, detail, found=name, hint=hint)


def _shape_volcano(model: Model) -> Model:
    return replace(model, pod_annotations={**model.pod_annotations, VOLCANO_GROUP: model.name})


def _build_volcano(model: Model) -> Objects:
    spec: JsonObject = {}
    if VOLCANO_QUEUE in model.annotations:
        spec["queue"] = model.annotations[VOLCANO_QUEUE]
    for _, name in priority_classes(model):
        spec["priorityClassName"] = name
    if isinstance(topology := as_object(model.policy("volcano")).get("networkTopology"), dict):
        spec["networkTopology"] = {key: topology[key] for key in ("mode", "highestTierAllowed")}
    second = model.uses("coscheduling") and _existing(model, COSCHEDULING_API) is None
    return _pod_group(model, VOLCANO_API, spec, after_another=second)


COSCHEDULING = Plugin(
    "CoScheduling",
    ("podGroupPolicy", "coscheduling"),
    check=check_members,
    shape=_shape_coscheduling,
    build=_build_coscheduling,
)
VOLCANO = Plugin(
    "Volcano", ("podGroupPolicy", "volcano"), check=_check_volcano, shape=_shape_volcano, build=_build_volcano
)
