"""What both gang schedulers share: how many pods, and what they ask for together."""

from __future__ import annotations

from trainc.kube.digits import int32
from trainc.kube.quantity import Quantity
from trainc.model import Findings, Model, Object
from trainc.plugins.base import known_bug
from trainc.source import Json, JsonObject, as_list, get


def members(model: Model, *, after_another: bool = False) -> tuple[int, dict[str, Json]]:
    """Return the number of pods over all pod sets, and their requests summed (S1, S2).

    Replicas do not multiply the count; initializers count, too. Go multiplies quantities past 64 bits in place,
    so where both schedulers are configured the second finds them multiplied already.
    """
    total: dict[str, Quantity] = {}
    count = 0
    for pod_set in model.pod_sets:
        count = int32(count + pod_set.count)
        for name, quantity in pod_set.requests.items():
            share = quantity.mul(pod_set.count)
            if after_another and quantity.wide:
                share = share.mul(pod_set.count)
            total[name] = total.get(name, Quantity()).add(share)
    return count, {name: total[name].canonical() for name in sorted(total)}


def pod_group(model: Model, api_version: str, spec: JsonObject) -> Object:
    """Return a PodGroup with the job's name."""
    metadata: JsonObject = {"name": model.name, "namespace": model.namespace}
    return Object({"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec})


def pod_group_exists(model: Model, api_version: str) -> bool:
    """Tell whether the cluster has the PodGroup already; it is then left alone unless the TrainJob is suspended."""
    found = model.cluster.get((f"{api_version}/PodGroup", model.home, model.name))
    return found is not None and get(model.job.data, "spec", "suspend") is not True


def check_members(model: Model) -> Findings:
    """Warn where the gang counts pods that start only when others have finished."""
    waits = any(
        get(dependency, "status") == "Complete" for job in model.jobs for dependency in as_list(get(job, "dependsOn"))
    )
    if not waits:
        return ()
    return known_bug(
        "gang-min-member",
        model.runtime,
        ("spec", "podGroupPolicy"),
        "minMember counts every pod of the JobSet, also those that start only when the initializers are complete:"
        " the gang can never be satisfied",
    )
