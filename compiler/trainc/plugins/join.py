"""Joins a TrainJob with its runtime: patches, resources, pod sets.

Source: Trainer v2.3.0 pkg/runtime/core/trainingruntime.go, newRuntimeInfo and mergeRuntimePatches.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object, get, objects, put
from trainc.basics.memo import last
from trainc.inputs.options import Options
from trainc.inputs.source import Document
from trainc.kube.gotypes import JOB_SET_SPEC, JOB_SET_SPEC_PATCH, apply_configuration, decode
from trainc.kube.merge import merge, merge_resources
from trainc.kube.pods import ResourceList, pod_requests
from trainc.plugins.base import POD_SPEC, ancestor, pod_containers
from trainc.plugins.model import Container, Model, PodSet
from trainc.upstream import LAUNCHER, NODE, TRAINER

Cluster = Mapping[tuple[str, str, str], Document]

LED = ("torch", "jax", "xgboost")
"""The policies that pass the address of rank 0 to every process, in variables of the trainer's container."""

KEPT = ("limits", "requests")
"""The fields of resources that upstream merges; claims are lost (V3)."""

_MAX_CACHED = 20_000
"""The most characters of JSON of patches whose result is cached."""


def join(job: Document, runtime: Document, cluster: Cluster, options: Options) -> Model:
    """Return the model of an admitted TrainJob and its admitted runtime."""
    spec = as_object(get(job.data, "spec"))
    ml_policy = as_object(get(runtime.data, "spec", "mlPolicy"))
    trainer = spec.get("trainer")
    home = str(get(job.data, "metadata", "namespace"))
    if trainer is None and options.fixed("trainer-omitted") and any(get(ml_policy, kind) is not None for kind in LED):
        trainer = {}
    replacing = options.fixed("volume-source-replaced")
    by_launcher = options.fixed("mpi-num-nodes") and ml_policy.get("mpi") is not None
    merged = json.dumps((spec.get("runtimePatches"), get(trainer, "resourcesPerNode")))
    found = (_cached_template if len(merged) < _MAX_CACHED else _template)(runtime, merged, replacing, by_launcher)
    if isinstance(trainer, dict) and isinstance(found.resources, dict):
        trainer = {**trainer, "resourcesPerNode": found.resources}  # the same, read from JSON
    return Model(
        job=job,
        runtime=runtime,
        options=options,
        name=str(get(job.data, "metadata", "name")),
        namespace=options.settings.namespaces.get(home, home),
        spec=found.spec,
        unpatched=found.unpatched,
        pod_sets=found.pod_sets,
        labels=found.labels,
        annotations=found.annotations,
        trainer=trainer if isinstance(trainer, dict) else None,
        policies={**as_object(get(runtime.data, "spec", "podGroupPolicy")), **ml_policy},
        cluster=cluster,
        command=_words(trainer, "command"),
        args=_words(trainer, "args"),
    )


class _Template(NamedTuple):
    """A runtime's template: the spec without and with patches and resources, and its pod sets."""

    unpatched: JsonObject
    spec: JsonObject
    pod_sets: tuple[PodSet, ...]
    labels: dict[str, str]
    annotations: dict[str, str]
    resources: Json


def _template(runtime: Document, merged: str, replacing: bool, by_launcher: bool) -> _Template:
    """Return the template of a runtime with the parts of a TrainJob that are merged into it.

    ``merged`` has these as JSON: the runtime patches, and spec.trainer.resourcesPerNode.
    """
    patches, resources = json.loads(merged)
    runtime_spec = as_object(get(runtime.data, "spec"))
    template = as_object(runtime_spec.get("template"))
    ml_policy = runtime_spec.get("mlPolicy")
    unpatched = as_object(decode(template.get("spec") or {}, JOB_SET_SPEC))
    spec: JsonObject = {"runtimePatches": patches}
    changed = patched(unpatched, spec, replacing=replacing)
    applied = as_object(apply_configuration(changed, JOB_SET_SPEC))
    applied = _with_resources(applied, resources, ml_policy)
    # Quantities of a runtime reach the plugins as written; with a patch they are canonical.
    written = as_object(template.get("spec")) if changed is unpatched else changed
    written = _with_resources(written, resources, ml_policy)
    pods = zip(objects(applied.get("replicatedJobs")), objects(written.get("replicatedJobs")), strict=True)
    pod_sets = tuple(
        _pod_set(job, ml_policy, by_launcher, pod_requests(get(as_written, *POD_SPEC))) for job, as_written in pods
    )
    return _Template(
        unpatched,
        applied,
        pod_sets,
        propagated(template, spec, "labels"),
        propagated(template, spec, "annotations"),
        resources,
    )


@lru_cache(maxsize=512)
def _cached_template(runtime: Document, merged: str, replacing: bool, by_launcher: bool) -> _Template:
    """Return the template from a cache: the jobs of a fleet have few different patches.

    The parts are kept, so that schema, rules and YAML evaluate each once. Without this, 1,000 jobs take 1.13.
    """
    found = _template(runtime, merged, replacing, by_launcher)
    containers = [c for pod_set in found.pod_sets for c in (*pod_set.containers, *pod_set.init_containers)]
    items = [each for c in containers for each in (c.env, c.ports, c.volume_mounts)]
    for part in (found.spec, found.resources or {}, *items):
        last(part)
    return found


def patched(unpatched: JsonObject, spec: JsonObject, *, replacing: bool) -> JsonObject:
    """Return the template's spec with all runtime patches merged, in list order (P5).

    Strategic merge may reorder lists (P2); only replicatedJobs keep the runtime's order, with unknown names first.
    ``replacing``: a patch's source of a volume replaces the previous one.
    """
    merged = unpatched
    for patch in objects(spec.get("runtimePatches")):
        change = get(patch, "trainingRuntimeSpec", "template", "spec")
        if isinstance(change, dict):
            typed = decode(change, JOB_SET_SPEC_PATCH)
            merged = as_object(decode(merge(merged, typed, JOB_SET_SPEC), JOB_SET_SPEC))
            if replacing:
                merged = _with_one_source(merged, as_object(typed))
    if merged is unpatched:
        return merged
    order = {job.get("name"): index for index, job in enumerate(objects(unpatched.get("replicatedJobs")))}
    jobs = sorted(objects(merged.get("replicatedJobs")), key=lambda job: order.get(job.get("name"), 0))
    return {**merged, "replicatedJobs": [*jobs]} if "replicatedJobs" in merged else merged


def _with_one_source(merged: JsonObject, patch: JsonObject) -> JsonObject:
    """Return the spec with only the patch's source in volumes for which a patch has one (P3)."""
    patched_volumes = {
        (job.get("name"), volume.get("name")): frozenset(volume)
        for job in objects(patch.get("replicatedJobs"))
        for volume in objects(get(job, *POD_SPEC, "volumes"))
        if len(volume) > 1
    }
    if not patched_volumes:
        return merged

    def volume_of(job: JsonObject, volume: JsonObject) -> JsonObject:
        kept = patched_volumes.get((job.get("name"), volume.get("name")))
        return volume if kept is None else {key: value for key, value in volume.items() if key in kept}

    jobs: list[Json] = []
    for job in objects(merged.get("replicatedJobs")):
        volumes = objects(get(job, *POD_SPEC, "volumes"))
        jobs.append(put(job, (*POD_SPEC, "volumes"), [volume_of(job, v) for v in volumes]) if volumes else job)
    return {**merged, "replicatedJobs": jobs}


def propagated(template: JsonObject, spec: JsonObject, kind: str) -> dict[str, str]:
    """Return the JobSet's labels or annotations: the template's, then every patch's (K1: never the TrainJob's)."""
    patches = (get(p, "trainingRuntimeSpec", "template") for p in objects(spec.get("runtimePatches")))
    sources = [get(source, "metadata", kind) for source in (template, *patches)]
    return {key: str(value) for source in sources for key, value in as_object(source).items()}


def _with_resources(spec: JsonObject, resources: Json, ml_policy: Json) -> JsonObject:
    """Merge spec.trainer.resourcesPerNode into container node of the trainer's jobs, and of MPI's nodes."""
    if not isinstance(resources, dict) or not isinstance(ml_policy, dict):
        return spec
    as_node = get(ml_policy, "mpi", "runLauncherAsNode") is True
    jobs: list[Json] = []
    for job in objects(spec.get("replicatedJobs")):
        names = [container.get("name") for container in pod_containers(job)]
        if NODE in names and (ancestor(job) == TRAINER or (as_node and job.get("name") == NODE)):
            path = (*POD_SPEC, "containers", names.index(NODE), "resources")
            existing = as_object(get(job, *path))
            merged = merge_resources({key: existing[key] for key in KEPT if key in existing}, resources)
            jobs.append(put(job, path, {key: merged[key] for key in KEPT if key in merged}))
        else:
            jobs.append(job)
    return {**spec, "replicatedJobs": jobs} if jobs else spec


def _pod_set(job: JsonObject, ml_policy: Json, by_launcher: bool, requests: ResourceList) -> PodSet:
    """Return the pod set of a replicated job. ``by_launcher``: there is one launcher, whatever mlPolicy.numNodes is."""
    pod_spec = as_object(get(job, *POD_SPEC))
    parallelism = get(job, "template", "spec", "parallelism")
    counted = not (by_launcher and job.get("name") == LAUNCHER)
    if ancestor(job) == TRAINER and isinstance(ml_policy, dict):
        parallelism = ml_policy.get("numNodes") if counted else 1  # replaces the template's (N2)
    replicas = job.get("replicas")
    return PodSet(
        name=str(job.get("name")),
        ancestor=ancestor(job),
        count=max(parallelism, 1) if isinstance(parallelism, int) else 1,
        replicas=replicas if isinstance(replicas, int) else 1,
        containers=tuple(map(_container, objects(pod_spec.get("containers")))),
        init_containers=tuple(map(_container, objects(pod_spec.get("initContainers")))),
        requests=requests,
    )


def _container(container: JsonObject) -> Container:
    return Container(
        name=str(container.get("name") or ""),
        image=str(container.get("image") or ""),
        command=tuple(str(word) for word in as_list(container.get("command"))),
        env=tuple(objects(container.get("env"))),
        ports=tuple(objects(container.get("ports"))),
        volume_mounts=tuple(objects(container.get("volumeMounts"))),
    )


def _words(trainer: Json, key: str) -> tuple[str, ...] | None:
    value = get(trainer, key)
    return tuple(str(word) for word in value) if isinstance(value, list) else None
