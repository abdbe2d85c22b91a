"""JobSet: the object itself, initializers, and the checks of runtime patches."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects
from trainc.basics.memo import Once, keeping
from trainc.findings import Finding, Severity, report, suggest
from trainc.inputs.source import Document
from trainc.kube.fielderror import invalid
from trainc.kube.gotypes import typed
from trainc.kube.names import is_domain_prefixed_path
from trainc.plugins.base import (
    POD_SPEC,
    Plugin,
    ancestor,
    dataset_uri,
    environment,
    fix_hint,
    is_gpu,
    known_bug,
    literal,
    node_resources,
    pod_containers,
    refused,
)
from trainc.plugins.model import Container, Model, Object, Objects, PodSet, upsert
from trainc.plugins.podgroup import ungrouped
from trainc.plugins.ports import upsert_ports
from trainc.upstream import (
    DATASET_INITIALIZER,
    FIXES,
    JOBSET_API,
    MODEL_INITIALIZER,
    NODE,
    STORAGE_URI,
    TRAINER,
    TRAINER_PORT,
)

# The checks of initializers and runtime patches: those of Trainer's webhook, and others.

INITIALIZER_MOUNT = "initializer"
CACHE_FIX = "cache-dataset-mount"
PATCHES = "spec.runtimePatches"
NO_ENV = (DATASET_INITIALIZER, MODEL_INITIALIZER, NODE)


def check(model: Model) -> Iterator[Finding]:
    """Yield the findings in upstream's order: initializers, then patches; then the known bugs."""
    yield from _check_initializer(model, "dataset", DATASET_INITIALIZER)
    yield from _check_initializer(model, "model", MODEL_INITIALIZER)
    yield from _check_patches(model)
    yield from _lost_ports(model)
    yield from _two_sources(model)
    yield from _known_bugs(model)
    yield from _two_gpus(model)


def _check_initializer(model: Model, field: str, name: str) -> Iterator[Finding]:
    """Report an initializer whose job, container or mount is missing."""
    initializer = get(model.job.data, "spec", "initializer", field)
    if not isinstance(initializer, dict):
        return
    jobs = [job for job in model.jobs if job.get("name") == name]
    containers, others = (
        [c for job in jobs for c in pod_containers(job, kind) if c.get("name") == name]
        for kind in ("containers", "initContainers")
    )
    mounts = [mount.get("name") for container in containers for mount in objects(container.get("volumeMounts"))]
    code, hint = "TC306", None
    if not jobs:
        detail = f"must have {name} job when trainJob is configured with input {field}Config"
    elif not containers and not others:
        detail = f"must have container with name - {name} in the {name} job"
    elif INITIALIZER_MOUNT in mounts:
        return
    else:
        detail = f"must have volumeMount with name - {INITIALIZER_MOUNT} in container {name} of the {name} job"
        hint = f"mount a volume {INITIALIZER_MOUNT!r} there, as runtime torchtune-llama3.2-1b does"
        gets_it = field == "dataset" and model.labelled(name) is not None
        if gets_it and str(dataset_uri(model)).startswith("cache://"):  # it needs no volume
            if model.fixed(CACHE_FIX):
                return
            code, hint = FIXES[CACHE_FIX].code, fix_hint(CACHE_FIX)
    reference = typed(get(model.job.data, "spec", "runtimeRef"), "v1alpha1.RuntimeRef")
    text = invalid("spec.runtimeRef", reference, detail)
    path = ("spec", "initializer", field)
    yield refused(code, model.job, path, text, detail, severity=Severity.ERROR, hint=hint)


def _check_patches(model: Model) -> Iterator[Finding]:
    patches = get(model.job.data, "spec", "runtimePatches")
    detail = f"must not have envs for the {', '.join(NO_ENV)} containers"
    refusal = Once(lambda: invalid(PATCHES, typed(patches, "v1alpha1.RuntimePatch"), detail))
    for index, patch in enumerate(as_list(patches)):
        manager = str(get(patch, "manager") or "")
        path: Path = ("spec", "runtimePatches", index)
        for text in is_domain_prefixed_path(f"{PATCHES}.manager", manager):
            message = text.rsplit('": ', 1)[-1] if '": ' in text else text.split(": ", 1)[-1]
            yield refused("TC307", model.job, (*path, "manager"), text, message, found=manager)
        job_path = (*path, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for i, job in enumerate(as_list(get(patch, *job_path[3:]))):
            yield from _check_names(model, job, (*job_path, i))
            for number, container in enumerate(pod_containers(job)):
                if container.get("name") in NO_ENV and container.get("env"):
                    where = (*job_path, i, *POD_SPEC, "containers", number, "env")
                    yield refused("TC308", model.job, where, refusal(), detail)


def _check_names(model: Model, patch: Json, path: Path) -> Iterator[Finding]:
    """Report names that the unpatched runtime lacks (P1)."""
    jobs = {str(get(job, "name")): job for job in objects(model.unpatched.get("replicatedJobs"))}
    name = str(get(patch, "name"))
    if name not in jobs:
        message = f"the runtime has no replicated job {name!r}"
        yield _unknown(model, (*path, "name"), message, jobs, suggest(name, jobs))
        return
    containers = {kind: [str(c.get("name")) for c in pod_containers(jobs[name], kind)] for kind in KINDS}
    for kind, other in (KINDS, KINDS[::-1]):
        for index, container in enumerate(pod_containers(patch, kind)):
            found = str(container.get("name"))
            if found not in containers[kind]:
                what = "container" if kind == "containers" else "init container"
                message = f"job {name!r} of the runtime has no {what} {found!r}"
                hint = f"it is in {other}" if found in containers[other] else suggest(found, containers[kind])
                yield _unknown(model, (*path, *POD_SPEC, kind, index, "name"), message, containers[kind], hint)


def _unknown(model: Model, path: Path, message: str, names: Collection[str], hint: str | None) -> Finding:
    """Return the finding on an unknown name, which is a warning in faithful output, since upstream accepts it."""
    choices = f"one of {', '.join(sorted(names))}" if names else None
    found = str(get(model.job.data, *path))
    return report("TC309", model.job, path, message, severity=model.severity, found=found, expected=choices, hint=hint)


KINDS = ("initContainers", "containers")


def _lost_ports(model: Model) -> Iterator[Finding]:
    """Warn about each container whose ports Trainer loses."""
    for index, job in enumerate(model.jobs if not model.fixed("unnamed-ports") else ()):
        trains = ancestor(job) == TRAINER and model.trainer is not None and model.uses("torch", "jax", "xgboost")
        for container in (c for kind in KINDS for c in pod_containers(job, kind)):
            port = TRAINER_PORT if trains and container.get("name") == NODE else None
            if _ports(container, port, by_number=False) == _ports(container, port, by_number=True):
                continue
            message = f"container {container.get('name')!r} of job {job.get('name')!r} has ports"
            unnamed = [p for p in objects(container.get("ports")) if p.get("name") is None]
            if len(unnamed) > 1 or (port is not None and any(p.get("containerPort") != port for p in unnamed)):
                message += " without a name, which Trainer treats as the same port"
            else:
                message += " with the same number, which Trainer treats as the same port: one replaces the other"
            path = ("spec", "template", "spec", "replicatedJobs", index)
            yield known_bug("unnamed-ports", model.runtime, path, message)


def _ports(container: JsonObject, port: int | None, *, by_number: bool) -> tuple[JsonObject, ...]:
    """Return the ports in the JobSet: those of the container, inserted twice, and the trainer's port."""
    ports = objects(container.get("ports"))
    if not ports:
        return ()
    new: list[JsonObject] = [] if port is None else [{"containerPort": port}]
    return upsert_ports(ports, upsert_ports(ports, new, by_number=by_number), by_number=by_number)


def _two_sources(model: Model) -> Iterator[Finding]:
    """Report volumes with which no pod can be created; warnings in faithful output, since upstream accepts them."""
    fix = "volume-source-replaced"
    for job, volumes in patched_sources(model).items():
        for name, sources in volumes.items():
            message = f"volume {name!r} of job {job!r} has two sources after the patches: {' and '.join(sources)}"
            hint = f"{fix_hint(fix)}; or choose another name for the new volume"
            severity = model.severity or Severity.ERROR
            path = ("spec", "runtimePatches")
            yield report(FIXES[fix].code, model.job, path, message, severity=severity, hint=hint)


def _patched_sources(model: Model) -> dict[str, dict[str, list[str]]]:
    if not get(model.job.data, "spec", "runtimePatches"):
        return {}
    before, after = _volume_sources(model.unpatched), _volume_sources(model.spec)
    return {
        job: {
            name: sources
            for name, sources in volumes.items()
            if len(sources) > max(1, len(before.get(job, {}).get(name, sources)))
        }
        for job, volumes in after.items()
    }


patched_sources: Final = keeping(_patched_sources, 1)
"""Returns the runtime's volumes to which patches add a source, with all their sources, by replicated job."""


def _volume_sources(spec: JsonObject) -> dict[str, dict[str, list[str]]]:
    """Return the sources of volumes by the names of the replicated job and the volume."""
    found: dict[str, dict[str, list[str]]] = {}
    for job in objects(spec.get("replicatedJobs")):
        volumes = objects(get(job, "template", "spec", "template", "spec", "volumes"))
        sources = {str(volume.get("name")): sorted(key for key in volume if key != "name") for volume in volumes}
        found.setdefault(str(job.get("name")), {}).update(sources)
    return found


def _known_bugs(model: Model) -> Iterator[Finding]:
    """Warn about missing variables of torch, JAX and XGBoost, and about a wrong address of rank 0 in them."""
    policy = next((kind for kind in ("torch", "jax", "xgboost") if model.uses(kind)), None)
    if policy is not None and model.trainer is None:  # with the fix, it is never None
        message = f"without spec.trainer, the job gets no variables and no port for {policy}; add 'trainer: {{}}'"
        yield known_bug("trainer-omitted", model.job, ("spec",), message)
    injected = model.trainer is not None or get(model.policies, "torch", "envInjection", "targets")
    correct = model.fixed("master-address") or model.master == model.rank0
    if policy is not None and model.trainer_set is not None and injected and not correct:
        message = f"the variables set the address of rank 0 to {model.master}, but its pod is {model.rank0}"
        yield known_bug("master-address", model.runtime, ("spec", "template", "spec"), message)


def _two_gpus(model: Model) -> Iterator[Finding]:
    """Warn if Trainer would use one of several GPU resources at random (X3)."""
    if not model.uses("torch", "mpi", "xgboost", "flux"):
        return
    resources = node_resources(model)
    for kind in ("requests", "limits"):
        names = [name for name in sorted(as_object(resources.get(kind))) if is_gpu(name)]
        if len(names) > 1:
            from_job = model.trainer_value("resourcesPerNode") is not None
            message = f"{kind} contain {' and '.join(names)}: Trainer uses one at random, trainc uses {names[0]}"
            path: Path = ("spec", "trainer", "resourcesPerNode", kind) if from_job else ("spec", "template", "spec")
            hint = "keep only one resource with gpu in its name"
            yield report("TC409", model.job if from_job else model.runtime, path, message, hint=hint)
            return


# The JobSet plugin: assembles the JobSet from the shaped model.

INITIALIZERS = {DATASET_INITIALIZER: "dataset", MODEL_INITIALIZER: "model"}
"""Ancestor label and container name to the field of spec.initializer."""


def running(model: Model) -> Document | None:
    """Return the JobSet that exists in the cluster if neither it nor the TrainJob is suspended."""
    existing = model.in_cluster(f"{JOBSET_API}/JobSet", model.name)
    if existing is None or any(get(each.data, "spec", "suspend") is True for each in (model.job, existing)):
        return None
    return existing


def build(model: Model) -> Objects:
    """Return the JobSet; nothing if it is already running (K4)."""
    if running(model) is not None:
        return ()
    metadata: JsonObject = {"name": model.name, "namespace": model.namespace}
    for key, found in (("labels", model.labels), ("annotations", model.annotations)):
        if found:
            metadata[key] = dict(found)
    spec: JsonObject = {**model.spec, "suspend": get(model.job.data, "spec", "suspend") is True}
    if model.pod_sets:
        outside = ungrouped(model)
        pairs = zip(model.jobs, model.pod_sets, strict=True)
        spec["replicatedJobs"] = [_replicated_job(model, job, each, each.name not in outside) for job, each in pairs]
    return (Object({"apiVersion": JOBSET_API, "kind": "JobSet", "metadata": metadata, "spec": spec}),)


def _replicated_job(model: Model, job: JsonObject, pod_set: PodSet, grouped: bool) -> JsonObject:
    """Return a replicated job of the spec with the values of its pod set."""
    template = as_object(job.get("template"))
    spec = as_object(template.get("spec"))
    pod = as_object(spec.get("template"))
    metadata = as_object(pod.get("metadata"))
    for key, more in (("labels", model.pod_labels), ("annotations", model.pod_annotations)):
        if more and grouped:
            metadata = {**metadata, key: {**as_object(metadata.get(key)), **more}}
    spec = {
        **spec,
        "template": {**pod, "metadata": metadata, "spec": _pod_spec(model, as_object(pod.get("spec")), pod_set)},
        "parallelism": pod_set.count,
        "completions": pod_set.count,
    }
    out: JsonObject = {**job, "template": {**template, "spec": spec}}
    if pod_set.is_single:
        out["replicas"] = 1
    return out


def _pod_spec(model: Model, spec: JsonObject, pod_set: PodSet) -> JsonObject:
    out = {**spec}
    if pod_set.volumes:
        out["volumes"] = [*upsert(objects(spec.get("volumes")), pod_set.volumes, "name")]
    by_number = model.fixed("unnamed-ports")
    for kind, containers in (("containers", pod_set.containers), ("initContainers", pod_set.init_containers)):
        templates = objects(spec.get(kind))
        found: list[Json] = []
        for index, container in enumerate(containers):
            template: JsonObject = templates[index] if index < len(templates) else {"name": container.name}
            data = _container(template, container, by_number)
            found.append(_with_job_fields(model, pod_set, data) if kind == "containers" else data)
        if found:
            out[kind] = found
    return out


def _container(template: JsonObject, container: Container, by_number: bool) -> JsonObject:
    out = {**template}
    if container.command:
        out["command"] = [*container.command]
    if container.image:
        out["image"] = container.image
    if container.env:
        out["env"] = [*upsert(objects(template.get("env")), container.env, "name")]
    if container.ports:
        out["ports"] = [*upsert_ports(objects(template.get("ports")), container.ports, by_number=by_number)]
    if container.volume_mounts:
        out["volumeMounts"] = [*upsert(objects(template.get("volumeMounts")), container.volume_mounts, "mountPath")]
    return out


def _with_job_fields(model: Model, pod_set: PodSet, container: JsonObject) -> JsonObject:
    """Return a container with the TrainJob's own fields, which it gets after all plugins."""
    name, out = container.get("name"), {**container}
    variables: tuple[JsonObject, ...] = ()
    initializer = get(model.job.data, "spec", "initializer", INITIALIZERS.get(pod_set.ancestor or "", ""))
    if name == pod_set.ancestor and isinstance(initializer, dict):
        variables = environment(as_list(initializer.get("env")))
        if isinstance(uri := initializer.get("storageUri"), str):
            variables = (literal(STORAGE_URI, uri), *variables)
        if isinstance(secret := initializer.get("secretRef"), dict):
            reference: Json = {"secretRef": {"name": secret.get("name") or ""}}
            out["envFrom"] = [*objects(out.get("envFrom")), reference]
    elif name == NODE:
        trains = pod_set.ancestor == TRAINER
        if trains and isinstance(image := model.trainer_value("image"), str):
            out["image"] = image
        for key, words in (("command", model.command), ("args", model.args)):
            if trains and words is not None:
                out[key] = [*words]
                if not words:  # V4: an empty list removes the runtime's
                    del out[key]
        if trains or (pod_set.name == NODE and get(model.policies, "mpi", "runLauncherAsNode") is True):
            variables = environment(model.trainer_list("env"))
    if variables:
        out["env"] = [*upsert(objects(out.get("env")), variables, "name")]
    return out


PLUGIN = Plugin("JobSet", ("template",), for_all_jobs=True, check=check, build=build)
