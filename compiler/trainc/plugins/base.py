"""The type of the plugins, and functions that several of them use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects
from trainc.basics.memo import last
from trainc.findings import Finding, report
from trainc.inputs.source import Document
from trainc.kube.gotypes import typed
from trainc.kube.quantity import Quantity, from_json
from trainc.plugins.model import Findings, Model, Object, Objects
from trainc.upstream import ANCESTOR_LABEL, FIXES, NODE, TRAINER, TRAINER_VERSION


def _nothing(model: Model) -> tuple[()]:
    return ()


def _unchanged(model: Model) -> Model:
    return model


class Plugin(Struct, frozen=True):
    """A plugin of Trainer, under upstream's name.

    ``check`` returns findings on what webhook or build would refuse, and warnings. ``shape`` applies the policy and is
    idempotent. ``build`` returns the objects, in the order in which they are emitted.
    """

    name: str
    check: Callable[[Model], Findings] = _nothing
    shape: Callable[[Model], Model] = _unchanged
    build: Callable[[Model], Objects] = _nothing


def literal(name: str, value: str) -> JsonObject:
    """Return an environment variable with a value."""
    return _number(name, value) if value.isdigit() else {"name": name, "value": value}


# Jobs share these variables, so that schema and YAML of each are worked out once: 1,000 jobs take 1.02 without it.


@lru_cache(maxsize=1024)
def _number(name: str, value: str) -> JsonObject:
    return last({"name": name, "value": value})


@cache
def from_field(name: str, field_path: str) -> JsonObject:
    """Return an environment variable that takes its value from a field of the Pod."""
    return last({"name": name, "valueFrom": {"fieldRef": {"fieldPath": field_path}}})


def environment(variables: list[Json]) -> tuple[JsonObject, ...]:
    """Return variables of a TrainJob as Trainer copies them into a container (V2)."""
    return tuple(_variable(v) for v in variables if isinstance(v, dict))


def _variable(variable: JsonObject) -> JsonObject:
    source = variable.get("valueFrom")
    if not isinstance(source, dict):
        return {"name": variable["name"], "value": variable.get("value") or ""}
    out: JsonObject = {}
    if isinstance(ref := source.get("fieldRef"), dict):
        out["fieldRef"] = {"fieldPath": ref["fieldPath"]}
    if isinstance(ref := source.get("resourceFieldRef"), dict):
        out["resourceFieldRef"] = {
            "containerName": ref.get("containerName") or "",
            "resource": ref["resource"],
            "divisor": from_json(ref["divisor"]).canonical() if ref.get("divisor") is not None else "0",
        }
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if isinstance(ref := source.get(kind), dict):
            key: JsonObject = {"key": ref["key"], "name": ref.get("name") or ""}
            if ref.get("optional") is not None:
                key["optional"] = ref["optional"]
            out[kind] = key
    return {"name": variable["name"], "valueFrom": out}


def node_resources(model: Model) -> JsonObject:
    """Return the resources of a node: those of the TrainJob, else of the runtime, never merged (X1)."""
    per_node = model.trainer_value("resourcesPerNode")
    if isinstance(per_node, dict):
        return per_node
    for job in model.jobs:
        if get(job, "name") != NODE and get(job, "template", "metadata", "labels", ANCESTOR_LABEL) != TRAINER:
            continue
        for container in pod_containers(job):
            resources = container.get("resources")
            if container.get("name") == NODE and isinstance(resources, dict):
                return resources
    return {}


def pod_containers(job: Json, kind: str = "containers") -> list[JsonObject]:
    """Return the containers (or initContainers) of a replicated job."""
    value = job
    for step in ("template", "spec", "template", "spec", kind):
        if not isinstance(value, dict):
            return []
        value = value.get(step)
    return [] if value is None else objects(value)


def quantities(resources: JsonObject, kind: str) -> dict[str, Quantity]:
    """Return requests or limits, parsed, in order of their names."""
    return {k: from_json(v) for k, v in sorted(as_object(resources.get(kind)).items())}


def is_gpu(resource: str) -> bool:
    """Tell whether Trainer treats a resource as a GPU: its name contains gpu in any case (X2)."""
    return "gpu" in resource.lower()


def gpu_count(resources: JsonObject) -> int:
    """Return the number of GPUs of a node: in requests, or in limits if that is 0."""
    count = _gpus(quantities(resources, "requests"))
    limit = _gpus(quantities(resources, "limits"))
    return limit if count == 0 and limit > 0 else count


def _gpus(found: dict[str, Quantity]) -> int:
    return next((q.value() for name, q in found.items() if is_gpu(name)), 0)


def typed_env(model: Model) -> Json:
    """Return spec.trainer.env as Go's types print it in an error."""
    return typed(model.trainer_list("env"), "v1.EnvVar")


def env_names(model: Model) -> list[str]:
    """Return the names of spec.trainer.env, in order."""
    return [str(get(variable, "name")) for variable in model.trainer_list("env")]


def refused(
    code: str,
    document: Document,
    path: Path,
    upstream: str,
    message: str,
    *,
    stage: str = "webhook",
    **more: Any,
) -> Finding:
    """Return an error for something that the cluster refuses, with the cluster's message."""
    return report(code, document, path, message, stage=stage, upstream=upstream, **more)


def known_bug(fix: str, document: Document, path: Path, message: str, remedy: str | None = None) -> Findings:
    """Return the warning about a known upstream bug; ``remedy`` is the hint if the fix is enabled but cannot help."""
    entry = FIXES[fix]
    return (report(entry.code, document, path, message, hint=remedy or fix_hint(fix)),)


def fix_hint(fix: str) -> str:
    """Return the hint that names a fix."""
    return f"known bug of Trainer {TRAINER_VERSION}: see fix {fix!r} in docs/fixes.md"


def secret_must_exist(model: Model, name: str, keys: str) -> Findings:
    """Return the warning about a mounted Secret that is not among the documents; ``keys`` describes its content."""
    if ("v1/Secret", model.home, name) in model.cluster:
        return ()
    message = f"Secret {model.namespace}/{name} must exist: trainc never writes a private key"
    return (report("TC408", model.job, ("metadata", "name"), message, hint=keys),)


def manifest(model: Model, api_version: str, kind: str, name: str, **fields: Json) -> JsonObject:
    """Return an object of the job's namespace."""
    metadata: JsonObject = {"name": name, "namespace": model.namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def config_map(model: Model, name: str, data: Mapping[str, str]) -> Object:
    """Return a ConfigMap of the job's namespace."""
    return Object(manifest(model, "v1", "ConfigMap", name, data={**data}))
