"""TrainJobs and runtimes of Trainer v2.0 to v2.2, edited to mean the same in v2.3.0.

Only fields that v2.3.0 lacks, or reads differently, change; the rest of the text keeps its bytes. Facts: the CRDs and
the controllers of v2.0.0, v2.0.1, v2.1.0, v2.2.0, v2.2.1 and v2.3.0 (pkg/runtime/core/trainingruntime.go, and
pkg/runtime/framework/plugins), and for datasetConfig and modelConfig the API before v2.0.0-rc.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, get, objects
from trainc.documents.rewrite import Moved, Rewrite
from trainc.kube.quantity import QuantityError
from trainc.migrate.documents import Converted, Old, whole_number
from trainc.migrate.pods import MANAGER
from trainc.pipeline.runtimes import CLUSTER_WIDE, builtin_names, builtin_object
from trainc.plugins.base import gpu_count, node_containers, quantities
from trainc.upstream import NODE

_OVERRIDES: Final = ("podSpecOverrides", "podTemplateOverrides")
"""The fields of v2.0 and of v2.1: strategic merge patches of pod templates, applied in order."""
_METADATA: Final = ("labels", "annotations")

_POD_FIELDS: Final = frozenset(
    (
        *("serviceAccountName", "nodeSelector", "affinity", "tolerations", "volumes", "initContainers", "containers"),
        *("schedulingGates", "imagePullSecrets"),
    )
)
"""The fields of an override in v2.0 or v2.1. A runtime patch has them all."""
_OWN_NAMES: Final = {"trainer-node": NODE, "trainer": NODE}
"""Names of jobs and containers in the runtimes that Trainer shipped before v2.0.0, and those of today."""

_TORCH: Path = ("spec", "mlPolicy", "torch")
_PROCESSES: Path = ("spec", "trainer", "numProcPerNode")
_RESOURCES: Path = ("spec", "trainer", "resourcesPerNode")
_SET_RESOURCES: Final = "set them here, too, or remove them from the runtime"

_REMOVED: Final = {
    "mpi-distributed": "removed in Trainer v2.1: add the runtime to runtimes/, or use deepspeed-distributed",
}
"""Runtimes that an earlier release shipped."""
_CLAIMS: Final = ("torchtune-llama3.2-1b", "torchtune-llama3.2-3b", "torchtune-qwen2.5-1.5b")
"""Runtimes that used a claim of their own name before v2.2, and create one for each job since."""
_TORCH_IMAGE: Final = "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime"
"""The image of torch-distributed in v2.0.1 and v2.1.0."""


def convert_job(old: Old) -> Converted | None:
    """Return the edits of a TrainJob; None if it has no field of an earlier release."""
    runtime = _runtime_of(old)
    edits = [*_initializers(old), *_patches(old), *_processes(old, runtime)]
    if not edits and not old.findings:
        if added := _added_resources(old, runtime):
            message = f"if the job ran with Trainer v2.2 or earlier, it had less: v2.3.0 adds {added} of the runtime"
            old.note(_RESOURCES, message, _SET_RESOURCES)
        return None
    of_earlier = any(old.get("spec", name) is not None for name in (*_OVERRIDES, *_METADATA))
    if of_earlier or isinstance(old.get(*_PROCESSES), str):
        _changed_runtimes(old, runtime)
    return Converted(edits=tuple(edits))


def convert_runtime(old: Old) -> Converted | None:
    """Return the edits of a runtime; None if it has no field of an earlier release."""
    torch = as_object(old.get(*_TORCH))
    removed = [(*_TORCH, key) for key in ("numProcPerNode", "elasticPolicy") if key in torch]
    if (*_TORCH, "numProcPerNode") in removed:
        _report_processes(old)
    if (*_TORCH, "elasticPolicy") in removed:
        old.warn(
            (*_TORCH, "elasticPolicy"),
            "no release of Trainer has used elasticPolicy: it is removed, and the pods stay the same",
            "numNodes is the number of nodes; to restart torchrun's workers, set PET_MAX_RESTARTS in the container",
        )
    edits = [Rewrite(_TORCH, "torch", {})] if removed and set(torch) == {path[-1] for path in removed} else []
    edits = edits or [Rewrite(path) for path in removed]
    jobs = ("spec", "template", "spec", "replicatedJobs")
    for index, _ in enumerate(as_list(old.get(*jobs))):
        path = (*jobs, index, "template", "spec", "template", "spec", "workloadRef")
        if old.get(*path) is not None:
            old.warn(path, "Kubernetes 1.34 has no workloadRef: it is removed, and the pods stay the same")
            edits.append(Rewrite(path))
    return Converted(edits=tuple(edits)) if edits else None


def _runtime_of(old: Old) -> JsonObject:
    """Return the runtime of a TrainJob: among the documents of this run, then built-in; else an empty object."""
    name, kind = (
        old.get("spec", "runtimeRef", "name"),
        old.get("spec", "runtimeRef", "kind") or CLUSTER_WIDE,
    )
    for document in old.runtimes:
        data = document.data
        is_near = (get(data, "metadata", "namespace") or old.namespace) == old.namespace
        is_visible = kind == CLUSTER_WIDE or is_near or old.get("metadata", "namespace") is None
        if is_visible and data.get("kind") == kind and get(data, "metadata", "name") == name:
            return data
    built_in = kind == CLUSTER_WIDE and name in builtin_names()
    return builtin_object(str(name)) if built_in else {}


def _is_built_in(old: Old, runtime: JsonObject) -> bool:
    """Return whether the runtime of a job is the one that trainc has built in."""
    name = str(old.get("spec", "runtimeRef", "name"))
    return name in builtin_names() and runtime == builtin_object(name)


# datasetConfig and modelConfig.


def _initializers(old: Old) -> Iterator[Rewrite]:
    """Move datasetConfig and modelConfig.input below initializer."""
    sources: dict[str, Path] = {"dataset": ("spec", "datasetConfig"), "model": ("spec", "modelConfig", "input")}
    found = {key: path for key, path in sources.items() if old.get(*path) is not None}
    if old.get("spec", "modelConfig", "output") is not None:
        old.refuse(
            ("spec", "modelConfig", "output"),
            "Trainer does not save the model",
            "save it in the training code, remove this field, and import again",
        )
        return  # the field stays, so the whole of modelConfig does
    if not found:
        return
    if old.get("spec", "initializer") is not None:
        for path in found.values():
            old.refuse(path[:2], f"the job has spec.initializer and {path[1]}: keep one of the two")
        return
    for path in found.values():
        if get(old.data, *path, "secretRef", "namespace") is not None:
            old.refuse(
                (*path, "secretRef", "namespace"), "a secretRef has no namespace", "use a Secret of the job's namespace"
            )
    fields = [path[:2] for path in found.values()]
    yield Rewrite(fields[0], "initializer", {key: Moved(path) for key, path in found.items()}, tuple(fields[1:]))


# Overrides, labels and annotations.


def _patches(old: Old) -> Iterator[Rewrite]:
    """Replace overrides, labels and annotations by runtimePatches.

    All items that change different jobs become one patch. An item for a job that an earlier one changes, which v2.1
    allows, becomes a patch of its own, since patches are applied in order, and each is merged as the override was.
    """
    found = [("spec", key) for key in (*_METADATA, *_OVERRIDES) if old.get("spec", key) is not None]
    if not found:
        return
    if old.get("spec", "runtimePatches") is not None:
        message = "no release of Trainer reads both this field and runtimePatches"
        for path in found:
            old.refuse(path, message, "remove the one that is not in use")
        return
    layers: list[dict[str, Any]] = [{}]
    refused = len(old.errors)
    for path in found:
        if path[1] in _OVERRIDES:
            for index, item in enumerate(as_list(old.get(*path))):
                _add(old, (*path, index), as_object(item), layers)
    if len(old.errors) > refused:
        return  # the overrides stay until the user has changed them
    metadata = {key: Moved(("spec", key)) for key in _METADATA if old.get("spec", key)}
    patches = []
    for number, layer in enumerate(layers):
        template: dict[str, Any] = {"metadata": metadata} if metadata and not number else {}
        if layer:
            template["spec"] = {
                "replicatedJobs": [{"name": name, "template": change} for name, change in layer.items()]
            }
        if template:
            manager = MANAGER if not number else f"{MANAGER}-{number + 1}"
            patches.append({"manager": manager, "trainingRuntimeSpec": {"template": template}})
    *others, last = sorted(found, key=old.document.locate)
    yield Rewrite(last, "runtimePatches", patches, tuple(others)) if patches else Rewrite(last, also=tuple(others))


def _add(old: Old, path: Path, item: JsonObject, layers: list[dict[str, Any]]) -> None:
    """Add an override to the last of the patches, or to a new one if that has one of its jobs."""
    change = _change(old, path, item)
    if not change:
        return
    jobs = [_current_name(old, str(get(job, "name"))) for job in objects(item.get("targetJobs"))]
    if any(job in layers[-1] for job in jobs):
        layers.append({})
    for job in jobs:
        layers[-1][job] = {"spec": {"template": change}}


def _change(old: Old, path: Path, item: JsonObject) -> dict[str, Any]:
    """Return the patch of a pod template: a whole mapping of the override if all of it moves, else its fields."""
    change: dict[str, Any] = {}
    metadata = as_object(item.get("metadata"))
    for key in sorted(set(metadata) - set(_METADATA)):
        old.note((*path, "metadata", key), "overrides of v2.1 changed only labels and annotations: left out")
    kept = {key: Moved((*path, "metadata", key)) for key in _METADATA if metadata.get(key)}
    if kept:
        change["metadata"] = Moved((*path, "metadata")) if set(kept) == set(metadata) else kept
    in_v2_0 = path[1] == _OVERRIDES[0]
    spec, below = (item, path) if in_v2_0 else (as_object(item.get("spec")), (*path, "spec"))
    for key in set(spec) - _POD_FIELDS - {"targetJobs"}:
        hint = "set it in the runtime, remove it here, and import again"
        old.refuse((*below, key), f"an override cannot set {key}, and no release of Trainer v2 has", hint)
    values: dict[str, Any] = {key: Moved((*below, key)) for key in spec if key in _POD_FIELDS}
    for key in ("containers", "initContainers"):
        if any(_check_container(old, (*below, key, index), each) for index, each in enumerate(objects(spec.get(key)))):
            values[key] = [{**each, "name": _current_name(old, str(each.get("name")))} for each in objects(spec[key])]
    if values:
        whole = not in_v2_0 and all(isinstance(value, Moved) for value in values.values()) and len(values) == len(spec)
        change["spec"] = Moved(below) if whole else values
    return change


def _check_container(old: Old, path: Path, container: JsonObject) -> bool:
    """Report fields that a patch cannot set; return whether the container has another name today."""
    for key in set(container) - {"name", "env", "volumeMounts"}:
        instead = f"set spec.trainer.{key}" if key in ("command", "args", "image") else "set it in the runtime"
        hint = f"{instead}, remove it here, and import again"
        old.refuse((*path, key), f"a runtime patch cannot set {key} of a container", hint)
    name = str(container.get("name"))
    return _current_name(old, name) != name


def _current_name(old: Old, name: str) -> str:
    """Return the name that a job or container of a built-in runtime has today."""
    return _OWN_NAMES.get(name, name) if _is_built_in(old, _runtime_of(old)) else name


# numProcPerNode.


def _processes(old: Old, runtime: JsonObject) -> Iterator[Rewrite]:
    """Replace words in numProcPerNode by what they mean, and take over the number of the runtime.

    In v2.1, the job's value wins over that of mlPolicy.torch in the runtime, and ``auto`` is the default. Without
    spec.trainer, no variable is set, so that the number has no effect.
    """
    value, of_runtime = old.get(*_PROCESSES), get(runtime, *_TORCH, "numProcPerNode")
    trainer = old.get("spec", "trainer")
    effective = value if value is not None else of_runtime
    if effective is None or not isinstance(trainer, dict) or isinstance(value, int):
        return
    number = _number(old, effective, _resources(old, runtime))
    if value is not None and number is None:
        alone = len(trainer) == 1  # without a trainer at all, Trainer sets no variables
        yield Rewrite(_PROCESSES[:-1], "trainer", {}) if alone else Rewrite(_PROCESSES)
    elif value is not None:
        yield Rewrite(_PROCESSES, "numProcPerNode", number)
    elif number is not None:
        message = f"numProcPerNode of the runtime is now that of its jobs: {number}"
        old.note(("spec", "trainer"), message)
        yield Rewrite(_PROCESSES, "numProcPerNode", number, adds=True)


def _number(old: Old, value: Json, resources: JsonObject) -> Json:
    """Return the number of processes that a value of v2.1 means; None to let Trainer derive the same one."""
    if isinstance(value, int):
        return value
    path = _PROCESSES if old.get(*_PROCESSES) is not None else ("spec", "trainer")
    if (number := whole_number(value)) is not None:
        old.note(path, f"numProcPerNode is a number, {value}: Trainer v2.0 and v2.1 refused the text")
        return number
    gpus = _gpus(resources)
    if value == "cpu" and gpus:
        return _cpus(resources, "requests", "limits")
    if value == "gpu" and not gpus:
        hint = "write the number of processes, or request GPUs in spec.trainer.resourcesPerNode"
        old.refuse(path, "numProcPerNode: gpu starts one process per GPU, but no GPU is requested", hint)
        return value
    if value not in ("auto", "cpu", "gpu"):
        old.refuse(path, "numProcPerNode must be a number, auto, cpu or gpu", "write a number, or remove the field")
        return value
    return None


def _cpus(resources: JsonObject, *kinds: str) -> int:
    """Return the number of CPUs of the first kind of amounts that has some, at least 1."""
    found = (quantities(resources, kind).get("cpu") for kind in kinds)
    return max(1, next((amount.value() for amount in found if amount is not None and not amount.is_zero()), 1))


def _processes_of_v2_0(value: Json, resources: JsonObject) -> Json:
    """Return the number of processes of Trainer v2.0: it looked at limits, then at requests, which are 1 if absent."""
    for kind in ("limits", "requests"):
        amounts = resources.get(kind)
        by_cpu = value == "auto" and not any("gpu" in name.lower() for name in as_object(amounts))
        if amounts is not None and (by_cpu or (value == "cpu" and "cpu" in as_object(amounts))):
            return _cpus(resources, kind)
    return 1 if resources.get("requests") is None or value == "cpu" else value


def _resources(old: Old, runtime: JsonObject) -> JsonObject:
    """Return the resources that count: those of the job, else those of the runtime's container."""
    own = old.get(*_RESOURCES)
    return own if isinstance(own, dict) else _resources_of(runtime)


def _gpus(resources: JsonObject) -> int:
    """Return the number of GPUs; none where an amount is not valid, which today's CRD reports."""
    try:
        return gpu_count(resources)
    except QuantityError:
        return 0


def _resources_of(runtime: JsonObject) -> JsonObject:
    """Return the resources of the first container ``node`` that has some."""
    jobs = objects(get(runtime, "spec", "template", "spec", "replicatedJobs"))
    found = (as_object(each.get("resources")) for job in jobs for each in node_containers(job))
    return next((resources for resources in found if resources), {})


def _report_processes(old: Old) -> None:
    """Report that the jobs of a runtime now have its numProcPerNode."""
    path = (*_TORCH, "numProcPerNode")
    value = old.get(*path)
    if value == "auto":
        return
    message = f"a runtime has no numProcPerNode any more: its jobs set {value}"
    hint = "jobs imported in the same run get the number; set spec.trainer.numProcPerNode in all others"
    old.warn(path, message, hint)


# What changed although the fields did not.


def _changed_runtimes(old: Old, runtime: JsonObject) -> None:
    """Report what a job of v2.0 or v2.1 gets from its runtime today that it did not get then."""
    path: Path = ("spec", "runtimeRef", "name")
    name = str(old.get(*path))
    if not runtime and name in _REMOVED:
        old.refuse(path, f"no runtime {name} is built in", _REMOVED[name])
    if _is_built_in(old, runtime):
        if name in _CLAIMS:
            message = f"the pods used claim {name}; the runtime now creates a claim of 20Gi for each job"
            old.warn(path, message, f"to keep the data, use a copy of the runtime with claim {name}")
        elif name == "torch-distributed" and not old.get("spec", "trainer", "image"):
            old.warn(
                path, "the image of the runtime has changed", f"to keep it, set spec.trainer.image: {_TORCH_IMAGE}"
            )
    own = as_object(old.get(*_RESOURCES))
    torch = get(runtime, *_TORCH) is not None and isinstance(old.get("spec", "trainer"), dict)
    derived = {str(old.get(*_PROCESSES)), str(get(runtime, *_TORCH, "numProcPerNode"))} <= {"None", "auto"}
    if torch and derived and not own and old.get("spec", _OVERRIDES[0]) and not _gpus(_resources_of(runtime)):
        message = "Trainer v2.0 started a process per GPU even if no resources were set; now it is one per CPU request"
        old.warn(("spec", "trainer"), message, "set numProcPerNode or resourcesPerNode")
    if torch and own and old.get("spec", _OVERRIDES[0]):
        _changed_processes(old, old.get(*_PROCESSES) or get(runtime, *_TORCH, "numProcPerNode") or "auto", own)
    if added := _added_resources(old, runtime):
        message = f"Trainer v2.3.0 adds resources of the runtime that {dotted(_RESOURCES)} replaced: {added}"
        old.warn(_RESOURCES, message, _SET_RESOURCES)


def _changed_processes(old: Old, value: Json, resources: JsonObject) -> None:
    """Report a number of processes that Trainer v2.0 derived from the job's own resources in another way."""
    try:
        before = _processes_of_v2_0(value, resources)
        today = value if value not in ("auto", "cpu") else _cpus(resources, "requests", "limits")
    except QuantityError:
        return  # which today's CRD reports
    if value == "auto" and _gpus(resources):
        today = value
    if str(before) != str(today):
        now = "one per GPU" if today == "auto" else today
        message = f"with these resources, a node had {before} processes in Trainer v2.0; now it is {now}"
        old.warn(_RESOURCES, message, "set numProcPerNode to the number that you want")


def _added_resources(old: Old, runtime: JsonObject) -> str:
    """Return the resources of the runtime that a job gets in addition to its own, which replaced them before v2.3.0."""
    own = as_object(old.get(*_RESOURCES))
    return ", ".join(
        f"{kind} {name}: {amount}"
        for kind in ("limits", "requests")
        for name, amount in as_object(_resources_of(runtime).get(kind)).items()
        if own and name not in as_object(own.get(kind))
    )
