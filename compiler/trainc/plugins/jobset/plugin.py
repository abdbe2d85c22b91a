"""The JobSet plugin: assembles the JobSet from the shaped model."""

from __future__ import annotations

from collections.abc import Callable

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
    upsert_ports,
)
from trainc.plugins.base import environment, literal
from trainc.plugins.jobset.checks import check
from trainc.records import dataclass
from trainc.source import Json, JsonObject, get, objects

API_VERSION = "jobset.x-k8s.io/v1alpha2"
INITIALIZERS = {DATASET_INITIALIZER: "dataset", MODEL_INITIALIZER: "model"}
"""Ancestor label and container name to the field of spec.initializer."""


def runs_already(model: Model) -> bool:
    """Tell whether the cluster has the JobSet and neither it nor the TrainJob is suspended: it is then left alone."""
    there = model.cluster.get((f"{API_VERSION}/JobSet", model.home, model.name))
    return there is not None and not any(get(d.data, "spec", "suspend") is True for d in (model.job, there))


@dataclass(frozen=True, slots=True)
class JobSet:
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
    def pod_spec(spec: JsonObject) -> JsonObject:
        out = {**spec}
        if pod_set.volumes:
            out["volumes"] = [*upsert_named(objects(spec.get("volumes")), pod_set.volumes)]
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

    out = _at(job, ("template", "spec", "template", "spec"), pod_spec)
    out = _at(out, ("template", "spec", "template"), lambda pod: _pod_metadata(model, pod_set, pod))
    counts: JsonObject = {"parallelism": pod_set.count, "completions": pod_set.count}
    out = _at(out, ("template", "spec"), lambda spec: {**spec, **counts})
    if pod_set.ancestor in (TRAINER, *INITIALIZERS):
        out["replicas"] = 1
    return out


def _at(value: JsonObject, path: tuple[str, ...], change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """Return a copy of value in which the object at path is changed."""
    if not path:
        return change(value)
    child = value.get(path[0])
    return {**value, path[0]: _at(child if isinstance(child, dict) else {}, path[1:], change)}


def _pod_metadata(model: Model, pod_set: PodSet, template: JsonObject) -> JsonObject:
    metadata = template.get("metadata")
    out: JsonObject = dict(metadata) if isinstance(metadata, dict) else {}
    for key, more in (("labels", model.pod_labels), ("annotations", model.pod_annotations)):
        if more and pod_set.name not in model.ungrouped:
            own = out.get(key)
            out[key] = {**(own if isinstance(own, dict) else {}), **more}
    return {**template, "metadata": out}


def _container(template: JsonObject, container: Container, by_number: bool) -> JsonObject:
    out = {**template}
    if container.command:
        out["command"] = [*container.command]
    if container.image:
        out["image"] = container.image
    if container.env:
        out["env"] = [*upsert_named(objects(template.get("env")), container.env)]
    if container.ports:
        out["ports"] = [*upsert_ports(objects(template.get("ports")), container.ports, by_number=by_number)]
    if container.volume_mounts:
        out["volumeMounts"] = [*upsert_mounts(objects(template.get("volumeMounts")), container.volume_mounts)]
    return out


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
