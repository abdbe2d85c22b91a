"""Volcano: its PodGroup, with queue, priority and network topology."""

from __future__ import annotations

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, Path, as_list, get
from trainc.inputs.source import Document
from trainc.kube.fielderror import invalid, quote
from trainc.plugins.base import Plugin, refused
from trainc.plugins.model import Findings, Model, Objects
from trainc.plugins.podgroup import check_members, members, pod_group, pod_group_exists, ungrouped
from trainc.upstream import COSCHEDULING_API, VOLCANO_API, VOLCANO_GROUP, VOLCANO_QUEUE

SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def priority_classes(model: Model) -> list[tuple[Path, str]]:
    """Return the priority classes of the replicated jobs, with their paths in the runtime."""
    pod_spec = ("template", "spec", "template", "spec", "priorityClassName")
    found: list[tuple[Path, str]] = []
    for index, job in enumerate(model.jobs):
        if isinstance(name := get(job, *pod_spec), str):
            found.append((("spec", "template", "spec", "replicatedJobs", index, *pod_spec), name))
    return found


def _queue_position(model: Model) -> tuple[Document, Path]:
    """Return the position of the queue: in the last runtime patch with one, else in the runtime."""
    annotation = ("template", "metadata", "annotations", VOLCANO_QUEUE)
    patches = as_list(get(model.job.data, "spec", "runtimePatches"))
    for index in reversed(range(len(patches))):
        if get(patches[index], "trainingRuntimeSpec", *annotation) is not None:
            return model.job, ("spec", "runtimePatches", index, "trainingRuntimeSpec", *annotation)
    return model.runtime, ("spec", *annotation)


def check(model: Model) -> Findings:
    """Refuse an empty queue and unknown priority classes (S3)."""
    if model.pod_group("volcano") is None:
        return ()
    findings = list(check_members(model))
    if model.annotations.get(VOLCANO_QUEUE) == "":
        detail = "Volcano queue name must not be empty"
        text = invalid(f"spec.annotations[{VOLCANO_QUEUE}]", "", detail)
        findings.append(refused("TC406", *_queue_position(model), text, detail))
    for path, name in priority_classes(model):
        if name in SYSTEM_CLASSES:
            return tuple(findings)  # upstream stops the check here
        if ("scheduling.k8s.io/v1/PriorityClass", "", name) in model.cluster:
            continue
        detail = f"PriorityClass {quote(name)} doesn't exist: PriorityClass.scheduling.k8s.io {quote(name)} not found"
        text = invalid("spec.templateSpec.priorityClassName", name, detail)
        hint = "add the PriorityClass as a document, for example to the runtime's file"
        findings.append(refused("TC406", model.runtime, path, text, detail, found=name, hint=hint))
    return tuple(findings)


def shape(model: Model) -> Model:
    """Add every pod to the group; with the fix, only those that run at the same time."""
    if model.pod_group("volcano") is None:
        return model
    annotations = {**model.pod_annotations, VOLCANO_GROUP: model.name}
    return replace(model, pod_annotations=annotations, ungrouped=ungrouped(model))


def build(model: Model) -> Objects:
    """Return the PodGroup."""
    policy = model.pod_group("volcano")
    if policy is None or pod_group_exists(model, VOLCANO_API):
        return ()
    second = model.pod_group("coscheduling") is not None and not pod_group_exists(model, COSCHEDULING_API)
    count, resources = members(model, after_another=second)
    spec: JsonObject = {"minMember": count, "minResources": resources}
    if VOLCANO_QUEUE in model.annotations:
        spec["queue"] = model.annotations[VOLCANO_QUEUE]
    for _, name in priority_classes(model):
        spec["priorityClassName"] = name
    topology = policy.get("networkTopology")
    if isinstance(topology, dict):
        spec["networkTopology"] = {
            "mode": topology["mode"],
            "highestTierAllowed": topology["highestTierAllowed"],
        }
    return (pod_group(model, VOLCANO_API, spec),)


PLUGIN = Plugin("Volcano", check, shape, build)
