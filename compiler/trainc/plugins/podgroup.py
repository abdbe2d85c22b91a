"""The size and the resources of a gang, for both gang schedulers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trainc.basics.jsonvalues import Json, JsonObject, get, objects
from trainc.kube.gojson import int32
from trainc.kube.quantity import Quantity
from trainc.plugins.base import known_bug, manifest
from trainc.plugins.model import Findings, Model, Object, PodSet
from trainc.upstream import DATASET_INITIALIZER, MODEL_INITIALIZER, TRAINER

FIX = "gang-min-member"


def members(model: Model, *, after_another: bool = False) -> tuple[int, dict[str, Json]]:
    """Return the number of pods over all pod sets, and their requests summed (S1, S2).

    Replicas do not multiply the count, and initializers count, too. Go multiplies quantities beyond 64 bits in place,
    so with both schedulers, the second one reads multiplied quantities. With the fix, only pods that start
    together count, including replicas.
    """
    if model.fixed(FIX):
        return _together(model)
    total: dict[str, Quantity] = {}
    count = 0
    for pod_set in model.pod_sets:
        count = int32(count + pod_set.count)
        for name, quantity in pod_set.requests.items():
            share = quantity.mul(pod_set.count)
            if after_another and quantity.wide:
                share = share.mul(pod_set.count)
            total[name] = total.get(name, Quantity()).add(share)
    return count, _canonical(total)


def _together(model: Model) -> tuple[int, dict[str, Json]]:
    """Return the number of pods that start together, and their requests summed."""
    total: dict[str, Quantity] = {}
    count = 0
    counted = gang(model).counted
    for pod_set in (each for each in model.pod_sets if each.name in counted):
        pods = pod_set.count * _replicas(pod_set)
        count += pods
        for name, quantity in pod_set.requests.items():
            total[name] = total.get(name, Quantity()).add(quantity.mul(pods))
    return count, _canonical(total)


def _canonical(total: Mapping[str, Quantity]) -> dict[str, Json]:
    return {name: total[name].canonical() for name in sorted(total)}


def _replicas(pod_set: PodSet) -> int:
    """Return the replicas in the JobSet: one for trainer and initializers."""
    return 1 if pod_set.ancestor in (TRAINER, DATASET_INITIALIZER, MODEL_INITIALIZER) else pod_set.replicas


def ungrouped(model: Model) -> frozenset[str]:
    """Return the pod sets outside of the group; none without the fix."""
    return gang(model).outside if model.fixed(FIX) else frozenset()


def pod_group(model: Model, api_version: str, spec: JsonObject) -> Object:
    """Return a PodGroup with the job's name."""
    return Object(manifest(model, api_version, "PodGroup", model.name, spec=spec))


def pod_group_exists(model: Model, api_version: str) -> bool:
    """Tell whether the PodGroup exists in the cluster and is not updated, since the TrainJob is not suspended."""
    found = model.cluster.get((f"{api_version}/PodGroup", model.home, model.name))
    return found is not None and get(model.job.data, "spec", "suspend") is not True


def _counted_twice(model: Model) -> bool:
    """Tell whether the second of two schedulers multiplies a quantity again."""
    if any(model.pod_group(kind) is None for kind in ("coscheduling", "volcano")):
        return False
    return any(quantity.wide for each in model.pod_sets if each.count > 1 for quantity in each.requests.values())


def check_members(model: Model) -> Findings:
    """Warn if minMember is not the number of pods that start together (S1, S2)."""
    if model.fixed(FIX):
        return ()
    found = gang(model)
    if found.outside:
        what = "counts all pods of the JobSet, including those that start only when the initializers are complete"
        effect = "the gang can never be satisfied"
    elif len(found.counted) < len(model.pod_sets):
        what = "counts all pods of the JobSet, including those that start only when others are ready"
        effect = "the gang can never be satisfied"
    elif any(_replicas(pod_set) != 1 for pod_set in model.pod_sets):
        what = "counts the pods of one replica of each job"
        effect = "the gang starts before there is room for all of its pods"
    elif _counted_twice(model):
        message = "minResources of the second PodGroup counts the pods twice, since a quantity exceeds 64 bits"
        return known_bug(FIX, model.runtime, ("spec", "podGroupPolicy"), message)
    else:
        return ()
    return known_bug(FIX, model.runtime, ("spec", "podGroupPolicy"), f"minMember {what}: {effect}")


# The gang: the pods that must be scheduled at once.
#
# A gang is satisfied when minMember of its pods exist and fit. Pods that are created only when others are ready, or
# complete, can never be counted with those others.

IN_ORDER = "InOrder"
READY = "Ready"


class Gang(NamedTuple):
    """Names of pod sets. ``counted`` start together with the trainer, or with the pods whose readiness it waits for;
    ``outside`` run at another time. The others join the gang later.
    """

    counted: frozenset[str]
    outside: frozenset[str]


def gang(model: Model) -> Gang:
    """Return the gang of a joined model, by the jobs' dependsOn and the startup policy."""
    ready, before = _waits(model)
    trainer = model.trainer_set or (model.pod_sets[-1] if model.pod_sets else None)
    if trainer is None:
        return Gang(frozenset(), frozenset())
    start = trainer.name
    while ready[start]:  # the first of a chain of pod sets that wait for readiness
        start = min(ready[start], key=list(ready).index)
    counted = frozenset(name for name in before if before[name] == before[start])
    return Gang(counted, frozenset(name for name in before if name not in counted and not before[name] & counted))


def _waits(model: Model) -> tuple[Mapping[str, frozenset[str]], Mapping[str, frozenset[str]]]:
    """Return for each job the jobs whose readiness it waits for, and all jobs that it waits for."""
    ready: dict[str, frozenset[str]] = {}
    before: dict[str, frozenset[str]] = {}
    in_order = get(model.spec, "startupPolicy", "startupPolicyOrder") == IN_ORDER
    for job in model.jobs:
        waits = _dependencies(job, before)
        named = frozenset(waits) | (frozenset(before) if in_order else frozenset())
        name = str(job.get("name"))
        ready[name] = frozenset(other for other in named if waits.get(other, READY) == READY)
        before[name] = named.union(*(before[other] for other in named))
    return ready, before


def _dependencies(job: JsonObject, earlier: Mapping[str, object]) -> dict[str, str]:
    """Return a job's dependencies on earlier jobs, with their status."""
    found = {str(wait.get("name")): str(wait.get("status")) for wait in objects(job.get("dependsOn"))}
    return {name: status for name, status in found.items() if name in earlier}
