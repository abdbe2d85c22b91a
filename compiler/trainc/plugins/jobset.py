"""JobSet: the object itself, initializers, and the checks of runtime patches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects
from trainc.findings import Finding, Severity, report, suggest
from trainc.kube.fielderror import invalid
from trainc.kube.gotypes import typed
from trainc.kube.names import is_domain_prefixed_path
from trainc.plugins.base import (
    Plugin,
    environment,
    fix_hint,
    is_gpu,
    known_bug,
    literal,
    node_resources,
    pod_containers,
    refused,
)
from trainc.plugins.model import Container, Findings, Model, Object, Objects, PodSet, upsert_mounts, upsert_named
from trainc.plugins.ports import upsert_ports, upsert_ports_by_number
from trainc.upstream import (
    ANCESTOR_LABEL,
    DATASET_INITIALIZER,
    FIXES,
    JOBSET_API,
    MODEL_INITIALIZER,
    NODE,
    TRAINER,
    TRAINER_PORT,
)

# What Trainer's webhook refuses of initializers and runtime patches, and what it misses.

INITIALIZER_MOUNT = "initializer"
CACHE_FIX = "cache-dataset-mount"
PATCHES = "spec.runtimePatches"
NO_ENV = (DATASET_INITIALIZER, MODEL_INITIALIZER, NODE)


def check(model: Model) -> Findings:
    """Return the findings in upstream's order: initializers, then patches; then the known bugs."""
    return (
        *_check_initializer(model, "dataset", DATASET_INITIALIZER),
        *_check_initializer(model, "model", MODEL_INITIALIZER),
        *_check_patches(model),
        *_unnamed_ports(model),
        *_two_sources(model),
        *_trainer_omitted(model),
        *_master_address(model),
        *_two_gpus(model),
    )


def _check_initializer(model: Model, field: str, name: str) -> Iterator[Finding]:
    if not isinstance(get(model.job.data, "spec", "initializer", field), dict):
        return
    lacking, code = _lacking(model, name), "TC306"
    if lacking == "job":
        detail = f"must have {name} job when trainJob is configured with input {field}Config"
    elif lacking == "container":
        detail = f"must have container with name - {name} in the {name} job"
    elif lacking == "mount":
        cached = field == "dataset" and _goes_to_cache(model)
        if cached and model.fixed(CACHE_FIX):
            return
        detail = f"must have volumeMount with name - {INITIALIZER_MOUNT} in container {name} of the {name} job"
        if cached:
            code = FIXES[CACHE_FIX].code
    else:
        return
    reference = typed(get(model.job.data, "spec", "runtimeRef"), "v1alpha1.RuntimeRef")
    path = ("spec", "initializer", field)
    text = invalid("spec.runtimeRef", reference, detail)
    hint = None if code == "TC306" else fix_hint(CACHE_FIX)
    yield refused(code, model.job, path, text, detail, severity=Severity.ERROR, hint=hint)


def _lacking(model: Model, name: str) -> str | None:
    """Return what a JobSet's spec lacks of an initializer: its job, the container, or the mount there."""
    found = [job for job in model.jobs if job.get("name") == name]
    if not found:
        return "job"
    containers = [c for job in found for c in pod_containers(job) if c.get("name") == name]
    others = (c for job in found for c in pod_containers(job, "initContainers"))
    if not containers and all(c.get("name") != name for c in others):
        return "container"
    mounts = [get(mount, "name") for c in containers for mount in as_list(c.get("volumeMounts"))]
    return None if INITIALIZER_MOUNT in mounts else "mount"


def _goes_to_cache(model: Model) -> bool:
    """Tell whether the data set is streamed from a cache, so that no volume has to hold it."""
    uri = get(model.job.data, "spec", "initializer", "dataset", "storageUri")
    return isinstance(uri, str) and uri.startswith("cache://")


def _check_patches(model: Model) -> Iterator[Finding]:
    patches = get(model.job.data, "spec", "runtimePatches")
    for index, patch in enumerate(as_list(patches)):
        manager = get(patch, "manager")
        path: Path = ("spec", "runtimePatches", index)
        for text in is_domain_prefixed_path(f"{PATCHES}.manager", str(manager or "")):
            yield refused("TC307", model.job, (*path, "manager"), text, _detail(text), found=str(manager))
        job_path = (*path, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for i, job in enumerate(as_list(get(patch, *job_path[3:]))):
            yield from _check_names(model, job, (*job_path, i))
            yield from _check_env(model, job, (*job_path, i))


def _check_names(model: Model, patch: Json, path: Path) -> Iterator[Finding]:
    """Report names that the unpatched runtime lacks (P1)."""
    own = model.unpatched.get("replicatedJobs")
    known = {str(get(job, "name")): job for job in as_list(own)}
    name = str(get(patch, "name"))
    if name not in known:
        message = f"the runtime has no replicated job {name!r}"
        yield _unknown(model, (*path, "name"), message, known, suggest(name, known))
        return
    pod_path = ("template", "spec", "template", "spec")
    containers = {kind: [str(c.get("name")) for c in pod_containers(known[name], kind)] for kind in KINDS}
    for kind, other in (KINDS, KINDS[::-1]):
        for index, container in enumerate(pod_containers(patch, kind)):
            found = str(container.get("name"))
            if found not in containers[kind]:
                message = f"job {name!r} of the runtime has no {KINDS_CALLED[kind]} {found!r}"
                hint = f"it is one of its {other}" if found in containers[other] else suggest(found, containers[kind])
                where = (*path, *pod_path, kind, index, "name")
                yield _unknown(model, where, message, containers[kind], hint)


def _unknown(model: Model, path: Path, message: str, known: Collection[str], hint: str | None) -> Finding:
    """Return the finding of a name that the unpatched runtime lacks: a warning under faithful, as upstream takes it."""
    severity = Severity.WARNING if model.options.faithful else None
    choices = f"one of {', '.join(sorted(known))}" if known else "none: there is none"
    found = str(get(model.job.data, *path))
    return report("TC309", model.job, path, message, severity=severity, found=found, expected=choices, hint=hint)


KINDS = ("initContainers", "containers")
KINDS_CALLED = {"initContainers": "init container", "containers": "container"}


def _check_env(model: Model, patch: Json, path: Path) -> Iterator[Finding]:
    detail = f"must not have envs for the {', '.join(NO_ENV)} containers"
    pod_path = ("template", "spec", "template", "spec")
    for index, container in enumerate(pod_containers(patch)):
        if container.get("name") in NO_ENV and container.get("env"):
            shown = typed(get(model.job.data, "spec", "runtimePatches"), "v1alpha1.RuntimePatch")
            where = (*path, *pod_path, "containers", index, "env")
            yield refused("TC308", model.job, where, invalid(PATCHES, shown, detail), detail)


def _unnamed_ports(model: Model) -> Iterator[Finding]:
    if model.fixed("unnamed-ports"):
        return
    injects = any(model.policy(kind) is not None for kind in ("torch", "jax", "xgboost"))
    for index, message in _lost_ports(model.jobs, injects):
        path = ("spec", "template", "spec", "replicatedJobs", index)
        yield from known_bug("unnamed-ports", model.runtime, path, message)


def _lost_ports(jobs: list[JsonObject], injects: bool) -> Iterator[tuple[int, str]]:
    """Yield the index of a replicated job and which ports Trainer loses. ``injects``: the trainer gets a port."""
    for index, job in enumerate(jobs):
        trains = get(job, "template", "metadata", "labels", ANCESTOR_LABEL) == TRAINER and injects
        for container in (c for kind in KINDS for c in pod_containers(job, kind)):
            if not container.get("ports"):
                continue
            port = TRAINER_PORT if trains and container.get("name") == NODE else None
            if _ports(container, port, by_number=False) == _ports(container, port, by_number=True):
                continue
            what = f"container {container.get('name')!r} of job {job.get('name')!r} has ports"
            unnamed = [p for p in objects(container.get("ports")) if p.get("name") is None]
            if len(unnamed) > 1 or (port is not None and any(p.get("containerPort") != port for p in unnamed)):
                message = f"{what} without a name: Trainer takes them for one and the same"
            else:
                message = f"{what} of one number: Trainer takes them for one and the same, and a name is lost"
            yield index, message


def _ports(container: JsonObject, port: int | None, *, by_number: bool) -> tuple[JsonObject, ...]:
    """Return the ports that the JobSet will have: the container's, put in twice, with the trainer's one after them."""
    own = objects(container.get("ports"))
    new: list[JsonObject] = [] if port is None else [{"containerPort": port}]
    return upsert_ports(own, upsert_ports(own, new, by_number=by_number), by_number=by_number)


def _two_sources(model: Model) -> Iterator[Finding]:
    """Report volumes of which no Pod can be made; a warning under faithful, for upstream accepts them."""
    severity = Severity.WARNING if model.options.faithful else Severity.ERROR
    for job, volumes in patched_sources(model).items():
        for name, sources in volumes.items():
            message = f"volume {name!r} of job {job!r} has two sources after the patches: "
            message += " and ".join(sources)
            hint = f"{fix_hint('volume-source-replaced')}; or give the new volume another name"
            code = FIXES["volume-source-replaced"].code
            yield report(code, model.job, ("spec", "runtimePatches"), message, severity=severity, hint=hint)


def patched_sources(model: Model) -> dict[str, dict[str, list[str]]]:
    """Return the runtime's volumes to which patches gave one source more, with all their sources, by replicated job."""
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


def _volume_sources(spec: JsonObject) -> dict[str, dict[str, list[str]]]:
    """Return the sources of volumes by the names of the replicated job and the volume."""
    found: dict[str, dict[str, list[str]]] = {}
    for job in objects(spec.get("replicatedJobs")):
        volumes = objects(get(job, "template", "spec", "template", "spec", "volumes"))
        sources = {str(volume.get("name")): sorted(key for key in volume if key != "name") for volume in volumes}
        found.setdefault(str(job.get("name")), {}).update(sources)
    return found


def _trainer_omitted(model: Model) -> Findings:
    policy = next((kind for kind in ("torch", "jax", "xgboost") if model.policy(kind) is not None), None)
    if policy is None or model.trainer is not None:  # with the fix it never is
        return ()
    message = f"without spec.trainer the job gets no variable and no port of {policy}; 'trainer: {{}}' is enough"
    return known_bug("trainer-omitted", model.job, ("spec",), message)


def _master_address(model: Model) -> Findings:
    trainer_set = model.trainer_set
    sets_it = any(model.policy(kind) is not None for kind in ("torch", "jax", "xgboost"))
    injected = model.trainer is not None or get(model.ml_policy, "torch", "envInjection", "targets")
    if model.fixed("master-address") or not sets_it or trainer_set is None or not injected:
        return ()
    if model.master == model.rank0:
        return ()
    message = f"the variables name rank 0 as {model.master}; its Pod is {model.rank0}"
    return known_bug("master-address", model.runtime, ("spec", "template", "spec"), message)


def _two_gpus(model: Model) -> Iterator[Finding]:
    """Warn where Trainer would take one of several GPU-like resources at random (X3)."""
    if not any(model.policy(kind) is not None for kind in ("torch", "mpi", "xgboost", "flux")):
        return
    resources = node_resources(model)
    for kind in ("requests", "limits"):
        names = [name for name in sorted(as_object(resources.get(kind))) if is_gpu(name)]
        if len(names) > 1:
            given = model.trainer_value("resourcesPerNode") is not None
            message = f"{kind} hold {' and '.join(names)}: Trainer takes one of them at random; trainc takes {names[0]}"
            place: Path = ("spec", "trainer", "resourcesPerNode", kind) if given else ("spec", "template", "spec")
            yield report("TC409", model.job if given else model.runtime, place, message)
            return


def _detail(text: str) -> str:
    """Return what follows the value in an error's text."""
    return text.rsplit('": ', 1)[-1] if '": ' in text else text.split(": ", 1)[-1]


# The JobSet plugin: assembles the JobSet from the shaped model.

INITIALIZERS = {DATASET_INITIALIZER: "dataset", MODEL_INITIALIZER: "model"}
"""Ancestor label and container name to the field of spec.initializer."""

_SINGLE = frozenset((TRAINER, *INITIALIZERS))
"""Ancestors of which the JobSet has one replica, whatever the template says."""


def runs_already(model: Model) -> bool:
    """Tell whether the cluster has the JobSet and neither it nor the TrainJob is suspended: it is then left alone."""
    there = model.cluster.get((f"{JOBSET_API}/JobSet", model.home, model.name))
    return there is not None and not any(get(d.data, "spec", "suspend") is True for d in (model.job, there))


def build(model: Model) -> Objects:
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
    return (Object({"apiVersion": JOBSET_API, "kind": "JobSet", "metadata": metadata, "spec": spec}),)


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
        out["env"] = [*upsert_named(objects(template.get("env")), container.env)]
    if container.ports:
        upsert = upsert_ports_by_number if by_number else upsert_ports
        out["ports"] = [*upsert(objects(template.get("ports")), container.ports)]
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


PLUGIN = Plugin("JobSet", check=check, build=build)
