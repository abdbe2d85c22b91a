"""The JobSet plugin: assembles the JobSet from the shaped model."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from trainc.model import (
    DATASET_INITIALIZER,
    MODEL_INITIALIZER,
    NODE,
    TRAINER,
    Container,
    Findings,
    Model,
    Object,
    Objects,
    PodSet,
    upsert_mounts,
    upsert_named,
)
from trainc.plugins.base import environment, literal
from trainc.plugins.jobset.checks import check
from trainc.ports import upsert_ports, upsert_ports_by_number
from trainc.source import Json, JsonObject, as_object, get, objects

API_VERSION = "jobset.x-k8s.io/v1alpha2"
INITIALIZERS = {DATASET_INITIALIZER: "dataset", MODEL_INITIALIZER: "model"}
"""Ancestor label and container name to the field of spec.initializer."""

_SINGLE = frozenset((TRAINER, *INITIALIZERS))
"""Ancestors of which the JobSet has one replica, whatever the template says."""

Upsert = Callable[[Iterable[JsonObject], Iterable[JsonObject]], tuple[JsonObject, ...]]
"""Puts items into those that there are."""


def runs_already(model: Model) -> bool:
    """Tell whether the cluster has the JobSet and neither it nor the TrainJob is suspended: it is then left alone."""
    there = model.cluster.get((f"{API_VERSION}/JobSet", model.home, model.name))
    return there is not None and not any(get(d.data, "spec", "suspend") is True for d in (model.job, there))


class JobSet(Struct, frozen=True):
    """Runs always."""

    name: str = "JobSet"

    def check(self, model: Model) -> Findings:
        """Refuse what the webhook refuses of initializers and patches."""
        return check(model)

    def build(self, model: Model) -> Objects:
        """Return the JobSet; none if the cluster runs one of that name (K4)."""
        if runs_already(model):
            return ()
        metadata: JsonObject = {"name": model.name, "namespace": model.namespace}
        if model.labels:
            metadata["labels"] = dict(model.labels)
        if model.annotations:
            metadata["annotations"] = dict(model.annotations)
        spec: JsonObject = {**model.spec, "suspend": get(model.job.data, "spec", "suspend") is True}
        if model.pod_sets:
            jobs = model.spec["replicatedJobs"]
            assert isinstance(jobs, list)
            spec["replicatedJobs"] = [
                _replicated_job(model, job, pod_set)
                for job, pod_set in zip(jobs, model.pod_sets, strict=True)
                if isinstance(job, dict)
            ]
        return (Object({"apiVersion": API_VERSION, "kind": "JobSet", "metadata": metadata, "spec": spec}),)


def _replicated_job(model: Model, job: JsonObject, pod_set: PodSet) -> JsonObject:
    """Return a replicated job of the spec with what its pod set says."""
    template = as_object(job.get("template"))
    spec = as_object(template.get("spec"))
    pod = as_object(spec.get("template"))
    pod = {**pod, "spec": _pod_spec(model, as_object(pod.get("spec")), pod_set)}
    pod["metadata"] = _pod_metadata(model, pod_set, as_object(pod.get("metadata")))
    spec = {**spec, "template": pod, "parallelism": pod_set.count, "completions": pod_set.count}
    out: JsonObject = {**job, "template": {**template, "spec": spec}}
    if pod_set.ancestor in _SINGLE:
        out["replicas"] = 1
    return out


def _pod_spec(model: Model, spec: JsonObject, pod_set: PodSet) -> JsonObject:
    out = {**spec}
    if pod_set.volumes:
        out["volumes"] = _with(spec.get("volumes"), pod_set.volumes, upsert_named)
    finish = _finisher(model, pod_set)
    by_number = model.fixed("unnamed-ports")
    for kind, containers in (("containers", pod_set.containers), ("initContainers", pod_set.init_containers)):
        if containers:
            templates = objects(spec.get(kind))
            out[kind] = [
                finish(kind, _container(templates[i] if i < len(templates) else {"name": c.name}, c, by_number))
                for i, c in enumerate(containers)
            ]
    return out


def _pod_metadata(model: Model, pod_set: PodSet, metadata: JsonObject) -> JsonObject:
    if not model.pod_labels and not model.pod_annotations:
        return metadata
    out = {**metadata}
    for key, more in (("labels", model.pod_labels), ("annotations", model.pod_annotations)):
        if more and pod_set.name not in model.ungrouped:
            out[key] = {**as_object(out.get(key)), **more}
    return out


def _container(template: JsonObject, container: Container, by_number: bool) -> JsonObject:
    out = {**template}
    if container.command:
        out["command"] = [*container.command]
    if container.image:
        out["image"] = container.image
    if container.env:
        out["env"] = _with(template.get("env"), container.env, upsert_named)
    if container.ports:
        upsert = upsert_ports_by_number if by_number else upsert_ports
        out["ports"] = _with(template.get("ports"), container.ports, upsert)
    if container.volume_mounts:
        out["volumeMounts"] = _with(template.get("volumeMounts"), container.volume_mounts, upsert_mounts)
    return out


def _with(given: Json, new: tuple[JsonObject, ...], upsert: Upsert) -> list[Json]:
    """Return a template's list with new items in it."""
    return [*upsert(objects(given), new)]


def _finisher(model: Model, pod_set: PodSet) -> Callable[[str, JsonObject], JsonObject]:
    """Return what the TrainJob itself sets in a container, after all plugins."""
    initializer = get(model.job.data, "spec", "initializer", INITIALIZERS.get(pod_set.ancestor or "", ""))
    as_node = get(model.ml_policy, "mpi", "runLauncherAsNode") is True and pod_set.name == NODE

    def finish(kind: str, container: JsonObject) -> JsonObject:
        if kind != "containers":
            return container
        name = container.get("name")
        if name == pod_set.ancestor and isinstance(initializer, dict):
            return _initializer(container, initializer)
        if name == NODE and pod_set.ancestor == TRAINER:
            container = _trainer(model, container)
        if name == NODE and (pod_set.ancestor == TRAINER or as_node):
            container = _with_env(container, *environment(model.trainer_list("env")))
        return container

    return finish


def _initializer(container: JsonObject, given: JsonObject) -> JsonObject:
    uri, env, secret = given.get("storageUri"), given.get("env"), given.get("secretRef")
    variables = environment(env if isinstance(env, list) else [])
    if isinstance(uri, str):
        variables = (literal("STORAGE_URI", uri), *variables)
    out = _with_env(container, *variables)
    if isinstance(secret, dict):
        reference: Json = {"secretRef": {"name": secret.get("name") or ""}}
        out = {**out, "envFrom": [*objects(out.get("envFrom")), reference]}
    return out


def _trainer(model: Model, container: JsonObject) -> JsonObject:
    out = {**container}
    if isinstance(image := model.trainer_value("image"), str):
        out["image"] = image
    for key, words in (("command", model.command), ("args", model.args)):
        if words is not None:
            out[key] = [*words]
            if not words:  # V4: an empty list removes the runtime's
                del out[key]
    return out


def _with_env(container: JsonObject, *variables: JsonObject) -> JsonObject:
    if not variables:
        return container
    return {**container, "env": [*upsert_named(objects(container.get("env")), variables)]}
