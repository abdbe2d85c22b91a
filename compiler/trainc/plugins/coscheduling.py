"""Coscheduling: the PodGroup of the scheduler-plugins project."""

from __future__ import annotations

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject
from trainc.plugins.base import Plugin
from trainc.plugins.model import Findings, Model, Objects
from trainc.plugins.podgroup import check_members, members, pod_group, pod_group_exists, ungrouped
from trainc.upstream import COSCHEDULING_API, POD_GROUP_LABEL


def check(model: Model) -> Findings:
    """Warn about a gang that waits for pods that do not exist yet (S1)."""
    return check_members(model) if model.pod_group("coscheduling") is not None else ()


def shape(model: Model) -> Model:
    """Add every pod to the group; with the fix, only those that run at the same time."""
    if model.pod_group("coscheduling") is None:
        return model
    labels = {**model.pod_labels, POD_GROUP_LABEL: model.name}
    return replace(model, pod_labels=labels, ungrouped=ungrouped(model))


def build(model: Model) -> Objects:
    """Return the PodGroup."""
    policy = model.pod_group("coscheduling")
    if policy is None or pod_group_exists(model, COSCHEDULING_API):
        return ()
    count, resources = members(model)
    spec: JsonObject = {
        "minMember": count,
        "minResources": resources,
        "scheduleTimeoutSeconds": policy["scheduleTimeoutSeconds"],
    }
    return (pod_group(model, COSCHEDULING_API, spec),)


PLUGIN = Plugin("CoScheduling", check, shape, build)
