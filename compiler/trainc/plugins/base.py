"""The type of the plugins, and functions that several of them use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from msgspec import Struct

from trainc.basics.about import docs_page
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects
from trainc.basics.memo import last
from trainc.findings import Finding, report
from trainc.inputs.source import Document
from trainc.kube.gotypes import typed
from trainc.kube.quantity import Quantity, from_json
from trainc.plugins.model import Model, Object, Objects
from trainc.upstream import ANCESTOR_LABEL, FIXES, NODE, STORAGE_URI, TRAINER, TRAINER_VERSION

POD_SPEC: Final = ("template", "spec", "template", "spec")
"""The path of the pod spec in a replicated job."""
DATASET: Final = ("spec", "initializer", "dataset")


class Plugin(Struct, frozen=True):
    """A plugin of Trainer, under upstream's name.

    ``policy`` is the path in the runtime's spec of the policy that it implements, without which it is not called,
    unless it is ``for_all_jobs``. ``check`` returns findings on what webhook or build would refuse, and warnings.
    ``shape`` applies the policy and is idempotent. ``build`` returns the objects, in the order in which they are
    emitted.
    """

    name: str
    policy: tuple[str, ...]
    for_all_jobs: bool = False
    check: Callable[[Model], Iterable[Finding]] = lambda model: ()
    shape: Callable[[Model], Model] = lambda model: model
    build: Callable[[Model], Objects] = lambda model: ()


def literal(name: str, value: str) -> JsonObject:
    """Return an environment variable with a value."""
    return {"name": name, "value": value}


@cache
def from_field(name: str, field_path: str) -> JsonObject:
    """Return an environment variable that takes its value from a field of the Pod."""
    return last({"name": name, "valueFrom": {"fieldRef": {"fieldPath": field_path}}})


def environment(variables: list[Json]) -> tuple[JsonObject, ...]:
    """Return variables of a TrainJob as Trainer copies them into a container (V2)."""
    return tuple(_variable(variable) for variable in objects(variables))


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
    return per_node if isinstance(per_node, dict) else as_object(node_container(model).get("resources"))


def node_container(model: Model) -> JsonObject:
    """Return the container with the resources of a node: those of the runtime, merged with those of the TrainJob."""
    for job in model.jobs:
        if job.get("name") == NODE or ancestor(job) == TRAINER:
            for container in node_containers(job):
                if isinstance(container.get("resources"), dict):
                    return container
    return {}


def ancestor(job: Json) -> str | None:
    """Return the value of a replicated job's ancestor label, or None."""
    value = get(job, "template", "metadata", "labels", ANCESTOR_LABEL)
    return value if isinstance(value, str) else None


def pod_containers(job: Json, kind: str = "containers") -> list[JsonObject]:
    """Return the containers (or initContainers) of a replicated job."""
    return objects(get(job, *POD_SPEC, kind))


def node_containers(job: Json) -> list[JsonObject]:
    """Return the containers ``node`` of a replicated job."""
    return [container for container in pod_containers(job) if container.get("name") == NODE]


def quantities(resources: JsonObject, kind: str) -> dict[str, Quantity]:
    """Return requests or limits, parsed, in order of their names."""
    return {k: from_json(v) for k, v in sorted(as_object(resources.get(kind)).items())}


def is_gpu(resource: str) -> bool:
    """Return whether Trainer treats a resource as a GPU: its name contains gpu in any case (X2)."""
    return "gpu" in resource.lower()


def gpu_count(resources: JsonObject) -> int:
    """Return the number of GPUs of a node: in requests, or in limits if that is 0."""
    found = (quantities(resources, kind) for kind in ("requests", "limits"))
    count, limit = (next((q.value() for name, q in each.items() if is_gpu(name)), 0) for each in found)
    return limit if count == 0 and limit > 0 else count


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


def known_bug(fix: str, document: Document, path: Path, message: str, remedy: str | None = None) -> Finding:
    """Return the warning about a known upstream bug; ``remedy`` is the hint if the fix is enabled but cannot help."""
    return report(FIXES[fix].code, document, path, message, hint=remedy or fix_hint(fix))


def fix_hint(fix: str) -> str:
    """Return the hint that names a fix."""
    return f"known bug of Trainer {TRAINER_VERSION}: see fix {fix!r} in {docs_page('fixes')}"


def secret_must_exist(model: Model, name: str, keys: str) -> Iterator[Finding]:
    """Yield the warning about a mounted Secret that is not among the documents; ``keys`` describes its content."""
    if model.in_cluster("v1/Secret", name) is None:
        message = f"Secret {model.namespace}/{name} must exist: trainc never writes a private key"
        yield report("TC408", model.job, ("metadata", "name"), message, hint=keys)


def dataset_uri(model: Model) -> str | None:
    """Return the URI of the TrainJob's dataset, "" if it comes from elsewhere; None if the TrainJob has no dataset.

    A variable STORAGE_URI of the initializer replaces storageUri.
    """
    dataset = as_object(get(model.job.data, *DATASET))
    for variable in objects(dataset.get("env")):
        if variable.get("name") == STORAGE_URI:
            return str(variable.get("value") or "")
    uri = dataset.get("storageUri")
    return uri if isinstance(uri, str) and uri else None


def manifest(model: Model, api_version: str, kind: str, name: str, **fields: Json) -> JsonObject:
    """Return an object of the job's namespace."""
    metadata: JsonObject = {"name": name, "namespace": model.namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def config_map(model: Model, name: str, data: Mapping[str, str]) -> Object:
    """Return a ConfigMap of the job's namespace."""
    return Object(manifest(model, "v1", "ConfigMap", name, data={**data}))
