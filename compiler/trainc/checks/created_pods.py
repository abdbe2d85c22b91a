"""The Jobs and pods that controllers create for a JobSet, as the API server sees them in a request.

For each replicated job the first Job and its first pod: the others differ in indexes and names. A pod is what the Job
controller sends, with the server's defaults, and without what other admission plugins of a cluster add: the volume
with the service account's token, the defaults of a LimitRange.

Sources: JobSet v0.12.0 pkg/controllers/jobset_controller.go (constructJob), k8s.io/kubernetes v1.34
pkg/controller/job and pkg/registry/batch/job/strategy.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects
from trainc.kube.gotypes import POD_SPEC, decode
from trainc.kube.pods import default_job, default_pod
from trainc.upstream import JOBSET_API

_PREFIX: Final = "jobset.sigs.k8s.io/"
_UID: Final = f"{_PREFIX}jobset-uid"
_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_BY_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_CONTROLLERS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_SOMETHING: Final = "00000000-0000-0000-0000-000000000000"
"""Replaces a uid; no expression sees it."""

_MAX_PREFIX: Final = 58
"""The most characters of a name before its random end."""

_PRIORITY: Final[tuple[Path, ...]] = (("spec", "priority"), ("spec", "preemptionPolicy"))
_STATUS: Final[tuple[Path, ...]] = (("status",), ("metadata", "generation"))


class CreatedObject(msgspec.Struct, frozen=True, eq=False):
    """An object that a controller creates. ``template`` is the path of its template in the JobSet.

    ``unknown`` are the paths of values that only a cluster knows.
    """

    data: JsonObject
    template: Path
    unknown: tuple[Path, ...]


def created_objects(jobset: JsonObject) -> Iterator[CreatedObject]:
    """Yield the first Job and the first pod of every replicated job that has one."""
    for index, replicated in enumerate(objects(get(jobset, "spec", "replicatedJobs"))):
        if replicated.get("replicas", 1) == 0:
            continue
        template: Path = ("spec", "replicatedJobs", index, "template")
        job = _job(jobset, replicated)
        uids = (*_labels(), ("metadata", "annotations", _UID), ("metadata", "ownerReferences", 0, "uid"))
        below = tuple(("spec", "template", *path) for path in (*_labels(), ("metadata", "annotations", _UID)))
        controlled = tuple(("spec", "template", "metadata", "labels", key) for key in _CONTROLLERS)
        selector = (("spec", "selector", "matchLabels", _CONTROLLERS[1]),)
        yield CreatedObject(job, template, (*uids, *below, *controlled, *selector, *_STATUS))
        if get(job, "spec", "parallelism") != 0 and get(job, "spec", "completions") != 0:
            pod = _pod(job)
            own = tuple(("metadata", "labels", key) for key in _CONTROLLERS)
            yield CreatedObject(pod, (*template, "spec", "template"), (*uids, *own, *_STATUS, *_unresolved(pod)))


def _labels() -> tuple[Path, ...]:
    return (("metadata", "labels", _UID),)


def _unresolved(pod: JsonObject) -> Iterator[Path]:
    """Yield what a pod gets of its priority class and its service account, which may be the cluster's default."""
    yield ("metadata", "name")
    yield from _PRIORITY
    for field in ("priorityClassName", "imagePullSecrets"):
        if not get(pod, "spec", field):
            yield ("spec", field)
    if get(pod, "spec", "resources") is not None:
        yield ("spec", "resources")


def _job(jobset: JsonObject, replicated: JsonObject) -> JsonObject:
    name = f"{get(jobset, 'metadata', 'name')}-{replicated.get('name')}-0"
    namespace = get(jobset, "metadata", "namespace")
    made = created_job(jobset, replicated)
    spec = {**as_object(made["spec"]), "suspend": get(jobset, "spec", "suspend") is True}
    marks, notes = _marks(jobset, replicated, name), _exclusive(jobset, replicated)
    pod = as_object(spec["template"])
    metadata = _marked(as_object(made["metadata"]), marks, notes)
    pod_spec = as_object(decode(_placed(as_object(pod.get("spec")), metadata, f"{namespace}_{name}"), POD_SPEC))
    pod_metadata = _marked(as_object(pod.get("metadata")), marks, notes)
    controlled = {"job-name": name, "batch.kubernetes.io/job-name": name, **dict.fromkeys(_CONTROLLERS, _SOMETHING)}
    pod_metadata["labels"] = {**controlled, **as_object(pod_metadata["labels"])}
    spec["template"] = {**pod, "metadata": pod_metadata, "spec": pod_spec}
    spec["selector"] = {"matchLabels": {_CONTROLLERS[1]: _SOMETHING}}
    metadata = {"name": name, "namespace": namespace, **metadata}
    metadata["ownerReferences"] = [_owner(JOBSET_API, "JobSet", get(jobset, "metadata", "name"))]
    return default_job({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})


def _marked(metadata: JsonObject, marks: JsonObject, notes: JsonObject) -> JsonObject:
    """Return the labels and annotations of a template with those that say of which JobSet and job it is."""
    return {
        "labels": {**as_object(metadata.get("labels")), **marks},
        "annotations": {**as_object(metadata.get("annotations")), **marks, **notes},
    }


def _marks(jobset: JsonObject, replicated: JsonObject, job: str) -> JsonObject:
    spec, name = as_object(jobset["spec"]), replicated.get("name")
    every = objects(spec.get("replicatedJobs"))
    group = [each for each in every if each.get("groupName") == replicated.get("groupName")]
    marks: JsonObject = {
        "jobset-name": get(jobset, "metadata", "name"),
        "jobset-uid": _SOMETHING,
        "replicatedjob-name": name,
        "restart-attempt": "0",
        "replicatedjob-replicas": str(_replicas([replicated])),
        "global-replicas": str(_replicas(every)),
        "job-index": "0",
        "job-key": _key(f"{get(jobset, 'metadata', 'namespace')}/{job}"),
        "job-global-index": _before(every, name),
        "group-name": replicated.get("groupName") or "",
        "group-replicas": str(_replicas(group)),
        "job-group-index": _before(group, name),
    }
    if isinstance(coordinator := spec.get("coordinator"), dict):
        owner = get(jobset, "metadata", "name")
        place = "-".join(str(coordinator.get(field) or 0) for field in ("replicatedJob", "jobIndex", "podIndex"))
        marks["coordinator"] = f"{owner}-{place}.{get(spec, 'network', 'subdomain') or owner}"
    return {f"{_PREFIX}{key}": value for key, value in marks.items()}


def _key(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _replicas(jobs: list[JsonObject]) -> int:
    return sum(count for job in jobs if isinstance(count := job.get("replicas", 1), int))


def _before(jobs: list[JsonObject], name: Json) -> str:
    """Return the number of Jobs that come before the first one of a replicated job."""
    names = [job.get("name") for job in jobs]
    return str(_replicas(jobs[: names.index(name)]))


def _exclusive(jobset: JsonObject, replicated: JsonObject) -> JsonObject:
    """Return the annotations that place a Job alone in a topology domain; those of the replicated job win."""
    found: JsonObject = {}
    for holder in (jobset, as_object(replicated.get("template"))):
        given = as_object(get(holder, "metadata", "annotations"))
        if _EXCLUSIVE in given:
            found |= {key: given[key] for key in (_EXCLUSIVE, _BY_SELECTOR) if key in given}
    return found


def _placed(spec: JsonObject, metadata: JsonObject, job: str) -> JsonObject:
    """Return the spec of pods that are alone on nodes labelled for their Job, where annotations ask for that."""
    annotations = as_object(metadata["annotations"])
    if _EXCLUSIVE not in annotations or _BY_SELECTOR not in annotations:
        return spec
    selector = {**as_object(spec.get("nodeSelector")), "alpha.jobset.sigs.k8s.io/namespaced-job": job}
    toleration: JsonObject = {
        "key": "alpha.jobset.sigs.k8s.io/no-schedule",
        "operator": "Exists",
        "effect": "NoSchedule",
    }
    return {**spec, "nodeSelector": selector, "tolerations": [*as_list(spec.get("tolerations")), toleration]}


def _owner(api_version: str, kind: str, name: Json) -> JsonObject:
    names: JsonObject = {"apiVersion": api_version, "kind": kind, "name": name, "uid": _SOMETHING}
    return {**names, "controller": True, "blockOwnerDeletion": True}


def _pod(job: JsonObject) -> JsonObject:
    name = str(get(job, "metadata", "name"))
    template = as_object(get(job, "spec", "template"))
    metadata, spec = {**as_object(template.get("metadata"))}, as_object(template.get("spec"))
    prefix = f"{name}-"
    if get(job, "spec", "completionMode") == "Indexed":
        numbered = f"{name}-0-"
        prefix = numbered if len(numbered) <= _MAX_PREFIX else f"{numbered[: _MAX_PREFIX - 3]}-0-"
        metadata["labels"] = {**as_object(metadata.get("labels")), _INDEX: "0"}
        metadata["annotations"] = {**as_object(metadata.get("annotations")), **_counted(job), _INDEX: "0"}
        spec = {**_numbered(spec), "hostname": f"{name}-0"}
    metadata["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    metadata["ownerReferences"] = [_owner("batch/v1", "Job", name)]
    metadata = {"generateName": prefix, "namespace": get(job, "metadata", "namespace"), **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": default_pod(spec)}


def _counted(job: JsonObject) -> JsonObject:
    failures = "batch.kubernetes.io/job-index-failure-count"
    return {failures: "0"} if get(job, "spec", "backoffLimitPerIndex") is not None else {}


def _numbered(spec: JsonObject) -> JsonObject:
    """Return a pod's spec whose containers know their index."""
    source: JsonObject = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{_INDEX}']"}
    variable: JsonObject = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": source}}
    found = dict(spec)
    for field in ("initContainers", "containers"):
        if field in spec:
            found[field] = [_with(container, variable) for container in objects(spec[field])]
    return found


def _with(container: JsonObject, variable: JsonObject) -> JsonObject:
    given = objects(container.get("env"))
    if any(each.get("name") == variable["name"] for each in given):
        return container
    return {**container, "env": [*given, variable]}


# The Jobs that the JobSet controller makes of a JobSet, as far as they are not its templates unchanged.
# Source: JobSet v0.12.0 pkg/controllers/jobset_controller.go, constructJob.


def created_job(jobset: JsonObject, job: JsonObject) -> JsonObject:
    """Return metadata and spec of the Jobs of a replicated job, without the labels and annotations that JobSet adds.

    Every pod gets the subdomain of the JobSet, and a volume for each claim that the JobSet makes and a container
    mounts.
    """
    template = as_object(job.get("template"))
    spec = as_object(template.get("spec"))
    pod = as_object(spec.get("template"))
    pod_spec = as_object(pod.get("spec"))
    jobset_spec = as_object(jobset.get("spec"))
    network = as_object(jobset_spec.get("network"))
    if network.get("enableDNSHostnames") is not False:
        pod_spec = {**pod_spec, "subdomain": network.get("subdomain") or get(jobset, "metadata", "name")}
    policies = objects(jobset_spec.get("volumeClaimPolicies"))
    if policies and (volumes := _claimed(jobset, policies, pod_spec)):
        pod_spec = {**pod_spec, "volumes": [*as_list(pod_spec.get("volumes")), *volumes]}
    changed: JsonObject = {**pod, "spec": pod_spec}
    return {"metadata": template.get("metadata") or {}, "spec": {**spec, "template": changed}}


def _claimed(jobset: JsonObject, policies: list[JsonObject], pod_spec: JsonObject) -> list[Json]:
    """Return the volumes of the claims that a container mounts, in order of the claims."""
    containers = [c for kind in ("initContainers", "containers") for c in objects(pod_spec.get(kind))]
    mounted = {mount.get("name") for c in containers for mount in objects(c.get("volumeMounts"))}
    owner = get(jobset, "metadata", "name")
    names = [get(template, "metadata", "name") for policy in policies for template in objects(policy.get("templates"))]
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{owner}"}} for name in names if name in mounted
    ]
