"""The Jobs, pods, claims and Service that controllers create for a JobSet, as the API server sees them in a request.

For each replicated job, the first Job and its first pod; the others differ only in indexes and names. A pod is the
object that the Job controller sends, with the server's defaults, but without the additions of other admission plugins:
the volume with the service account's token, the defaults of a LimitRange. Claims and the Service are without defaults.

Sources: JobSet v0.12.0 pkg/controllers/jobset_controller.go (constructJob, createHeadlessSvcIfNecessary),
volume_claim_policy.go (createPVCsIfNecessary) and pkg/webhooks/pod_webhook.go (setExclusiveAffinities),
k8s.io/kubernetes v1.34 pkg/controller/job, pkg/controller/volume/ephemeral and pkg/registry/batch/job/strategy.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from trainc.admission.update import POD_TEMPLATE, WHILE_SUSPENDED
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects, put
from trainc.basics.memo import keeping
from trainc.gitops.pods import claim_templates, replicated_jobs
from trainc.kube.generated import JOB_UID, JOBSET_UID, LONGEST_PREFIX
from trainc.kube.gotypes import POD_SPEC, decode
from trainc.kube.pods import default_job, default_pod, gated_fields, prepared_pod
from trainc.upstream import EXCLUSIVE, JOBSET_API, JOBSET_LABEL

JOBSET_LABELS: Final = "jobset.sigs.k8s.io/"
"""The prefix of the labels that JobSet adds."""
_UID: Final = f"{JOBSET_LABELS}jobset-uid"
BY_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"
_NODES_OF_JOB: Final = "alpha.jobset.sigs.k8s.io/namespaced-job"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
CONTROLLERS: Final = ("controller-uid", CONTROLLER_UID)
JOB_NAMES: Final = ("job-name", "batch.kubernetes.io/job-name")
"""The labels that the Job controller adds to pods."""

_LABELS: Final[Path] = ("metadata", "labels")
_TEMPLATE: Final[Path] = ("spec", "template")
_METADATA: Final[tuple[Path, ...]] = ((*_LABELS, _UID), ("metadata", "annotations", _UID))
_OWNER_UID: Final[Path] = ("metadata", "ownerReferences", 0, "uid")
_JOB_UNKNOWN: Final[tuple[Path, ...]] = (
    ("metadata", "uid"),
    *_METADATA,
    _OWNER_UID,
    *((*_TEMPLATE, *path) for path in _METADATA),
    *((*_TEMPLATE, *_LABELS, key) for key in CONTROLLERS),
    ("spec", "selector", "matchLabels", CONTROLLER_UID),
    ("status",),
    ("metadata", "generation"),
)
_POD_UNKNOWN: Final[tuple[Path, ...]] = (
    *((*_LABELS, key) for key in CONTROLLERS),
    _OWNER_UID,
    ("metadata", "name"),
)
_SELECTORS: Final = ("affinity", "topologySpreadConstraints")
"""The fields of a pod that select pods by labels."""


class CreatedObject(msgspec.Struct, frozen=True, eq=False):
    """An object that a controller creates. ``template`` is the path of its template in the JobSet.

    ``unknown`` are the paths of values that only a cluster knows. ``hint`` is for findings on an object that
    differs from a new one because JobSet resumes it.
    """

    data: JsonObject
    template: Path
    unknown: tuple[Path, ...]
    hint: str | None = None


def resumed(jobset: JsonObject, before: JsonObject) -> JsonObject:
    """Return a JobSet whose Jobs are as those that exist resume, if it or ``before``, its old form, is suspended.

    They keep the annotations and the coordinator of ``before``, and JobSet only adds to their pod templates, whose
    other fields cannot change. Source: JobSet v0.12.0 resumeJob in jobset_controller.go.
    """
    if not any(get(each, "spec", "suspend") is True for each in (jobset, before)):
        return jobset
    old = {job.get("name"): job for job in objects(get(before, "spec", "replicatedJobs"))}
    new = objects(get(jobset, "spec", "replicatedJobs"))
    jobs: list[Json] = [_resumed(job, old.get(job.get("name"), {})) for job in new]
    suspend = get(jobset, "spec", "suspend") is True
    return {**before, "spec": {**as_object(before["spec"]), "replicatedJobs": jobs, "suspend": suspend}}


def _resumed(job: JsonObject, before: JsonObject) -> JsonObject:
    for path in ((*POD_TEMPLATE, *path) for path in WHILE_SUSPENDED):
        kept, new = get(before, *path), get(job, *path)
        if isinstance(kept, dict):
            job = put(job, path, {**kept, **as_object(new)})
        elif isinstance(kept, list):
            known = {msgspec.json.encode(item, order="sorted") for item in kept}
            added = [item for item in as_list(new) if msgspec.json.encode(item, order="sorted") not in known]
            job = put(job, path, [*kept, *added])
    return job


def names_own_metadata(jobset: JsonObject) -> bool:
    """Return whether a pod template may have labels, annotations or node selectors that JobSet sets itself."""
    templates = [get(job, *POD_TEMPLATE) for _, job in replicated_jobs(jobset)]
    values = (get(template, *path) for template in templates for path in WHILE_SUSPENDED)
    return any(JOBSET_LABELS in key for value in values if isinstance(value, dict) for key in value)


def has_gated_fields(jobset: JsonObject) -> bool:
    """Return whether a pod template has fields that Kubernetes keeps only with a feature gate."""
    specs = (as_object(get(job, *POD_TEMPLATE, "spec")) for _, job in replicated_jobs(jobset))
    return any(True for spec in specs for _ in gated_fields(spec))


def created_objects(jobset: JsonObject, *, resumed: bool = False, gated: bool = False) -> Iterator[CreatedObject]:
    """Yield the first Job and the first pod of every replicated job that has one.

    When JobSet creates a Job, its own labels, annotations and node selectors replace those of the pod template. With
    ``resumed`` it is the other way round, as when it resumes the Job. With ``gated``, all feature gates are on.
    """
    counts = _counts(jobset)
    for path, replicated in replicated_jobs(jobset):
        if replicated.get("replicas", 1) == 0:
            continue
        template = (*path, "template")
        job = default_job(_job(jobset, replicated, counts[replicated.get("name")]), gated=gated)
        job = _replaced(job, replicated) if resumed else job
        yield CreatedObject(job, template, _made(job, _JOB_UNKNOWN))
        yield from created_pod(job, template, _METADATA)


def created_pod(job: JsonObject, template: Path = (), unknown: tuple[Path, ...] = ()) -> Iterator[CreatedObject]:
    """Yield the first pod of a Job, which has the server's defaults, if it has one.

    ``template`` leads to the Job's own template in the JobSet. ``unknown`` are further paths.
    """
    if get(job, "spec", "parallelism") != 0 and get(job, "spec", "completions") != 0:
        pod = _pod(job)
        selected = (path for field in _SELECTORS for path in _lists_of_uids(get(pod, "spec", field), ("spec", field)))
        known_later = (*unknown, *_made(job, _POD_UNKNOWN), *only_in_clusters(pod), *selected)
        yield CreatedObject(pod, (*template, *_TEMPLATE), known_later)


def _made(job: JsonObject, unknown: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the paths of a Job or its pod, without uids that the server only adds where it generates the selector."""
    is_manual = get(job, "spec", "manualSelector") is True
    return tuple(path for path in unknown if path[-1] not in CONTROLLERS) if is_manual else unknown


def _lists_of_uids(value: Json, path: Path) -> Iterator[Path]:
    """Yield the paths of lists of one placeholder, which the server copies from labels that matchLabelKeys names."""
    if isinstance(value, list) and len(value) == 1 and value[0] in (JOB_UID, JOBSET_UID):
        yield path
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(as_list(value)):
        yield from _lists_of_uids(each, (*path, key))


def created_service(jobset: JsonObject) -> Iterator[CreatedObject]:
    """Yield the headless Service of a JobSet, if it has one, as the controller sends it."""
    spec, metadata = as_object(jobset.get("spec")), as_object(jobset.get("metadata"))
    network: Path = ("spec", "network")
    if get(jobset, *network, "enableDNSHostnames") is True:
        name, namespace = metadata.get("name"), metadata.get("namespace")
        early = get(spec, "network", "publishNotReadyAddresses") is not False
        service: JsonObject = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": get(spec, "network", "subdomain") or name,
                "namespace": namespace,
                "ownerReferences": [_owner(JOBSET_API, "JobSet", name, JOBSET_UID)],
            },
            "spec": {
                "clusterIP": "None",
                "selector": {JOBSET_LABEL: name},
                "publishNotReadyAddresses": early,
            },
        }
        yield CreatedObject(service, network, (_OWNER_UID,))


_CLAIM: Final[JsonObject] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}


def created_claims(jobset: JsonObject) -> Iterator[CreatedObject]:
    """Yield the claims of a JobSet as the controller sends them."""
    name, namespace = get(jobset, "metadata", "name"), get(jobset, "metadata", "namespace")
    for path, policy, template in claim_templates(jobset):
        given = as_object(template.get("metadata"))
        metadata: JsonObject = {
            "name": f"{given.get('name')}-{name}",
            "namespace": namespace,
            "labels": {**as_object(given.get("labels")), JOBSET_LABEL: name},
        }
        if annotations := given.get("annotations"):
            metadata["annotations"] = annotations
        owned = get(policy, "retentionPolicy", "whenDeleted") == "Delete"
        if owned:
            metadata["ownerReferences"] = [_owner(JOBSET_API, "JobSet", name, JOBSET_UID)]
        claim: JsonObject = {**_CLAIM, "metadata": metadata, "spec": template.get("spec")}
        yield CreatedObject(claim, path, (_OWNER_UID,) if owned else ())


def ephemeral_claims(child: CreatedObject) -> Iterator[CreatedObject]:
    """Yield the claims of a pod's ephemeral volumes, as the controller sends them. Their names begin with the pod's."""
    for index, volume in enumerate(objects(get(child.data, "spec", "volumes"))):
        template = get(volume, "ephemeral", "volumeClaimTemplate")
        if child.data["kind"] != "Pod" or not isinstance(template, dict):
            continue
        given = as_object(template.get("metadata"))
        metadata: JsonObject = {key: given[key] for key in ("labels", "annotations") if given.get(key)}
        metadata["namespace"] = get(child.data, "metadata", "namespace")
        metadata["ownerReferences"] = [_owner("v1", "Pod", None, None)]
        claim: JsonObject = {**_CLAIM, "metadata": metadata, "spec": template.get("spec")}
        path: Path = (*child.template, "spec", "volumes", index, "ephemeral", "volumeClaimTemplate")
        owner: Path = ("metadata", "ownerReferences", 0, "name")
        yield CreatedObject(claim, path, (("metadata", "name"), owner, _OWNER_UID))


def only_in_clusters(pod: JsonObject) -> tuple[Path, ...]:
    """Return the paths of what a pod gets only in a cluster.

    If absent, some of it comes from its priority class, its service account or a default of the cluster.
    """
    fields = ("priority", "preemptionPolicy", "priorityClassName", "imagePullSecrets")
    missing = (("spec", field) for field in fields if not get(pod, "spec", field))
    return (("status",), ("metadata", "generation"), *missing)


def first_job(jobset: str, replicated: JsonObject) -> str:
    """Return the name of the first Job of a replicated job."""
    return f"{jobset}-{replicated.get('name')}-0"


def controller_labels(job: str, uid: str = JOB_UID) -> dict[str, str]:
    """Return the labels that the Job controller adds to the pods of a Job with a uid, or with a placeholder for it."""
    return {**dict.fromkeys(JOB_NAMES, job), **dict.fromkeys(CONTROLLERS, uid)}


def _job(jobset: JsonObject, replicated: JsonObject, counts: JsonObject) -> JsonObject:
    jobset_name, namespace = get(jobset, "metadata", "name"), get(jobset, "metadata", "namespace")
    name = first_job(str(jobset_name), replicated)
    created = created_job(jobset, replicated)
    spec = {**as_object(created["spec"]), "suspend": get(jobset, "spec", "suspend") is True}
    labels, annotations = _jobset_labels(jobset, replicated, name, counts), _exclusive_topology(jobset, replicated)
    pod = as_object(spec["template"])
    metadata = _with_metadata(as_object(created["metadata"]), labels, annotations)
    pod_spec = _exclusive_pod_spec(as_object(pod.get("spec")), metadata, f"{namespace}_{name}")
    template = as_object(pod.get("metadata"))
    pod_metadata = {**template, **_with_metadata(template, labels, annotations)}
    if spec.get("manualSelector") is not True:
        pod_metadata["labels"] = {**controller_labels(name), **as_object(pod_metadata["labels"])}
        selector = as_object(spec.get("selector"))
        own = {CONTROLLER_UID: JOB_UID}
        spec["selector"] = {**selector, "matchLabels": {**as_object(selector.get("matchLabels")), **own}}
    spec["template"] = {**pod, "metadata": pod_metadata, "spec": as_object(decode(pod_spec, POD_SPEC))}
    metadata = {"name": name, "namespace": namespace, "uid": JOB_UID, **metadata}
    metadata["ownerReferences"] = [_owner(JOBSET_API, "JobSet", jobset_name, JOBSET_UID)]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _replaced(job: JsonObject, replicated: JsonObject) -> JsonObject:
    """Return a Job with the labels, annotations and node selectors of its pod template in place of JobSet's own."""
    for path in WHILE_SUSPENDED:
        if isinstance(own := get(replicated, *POD_TEMPLATE, *path), dict):
            job = put(job, (*_TEMPLATE, *path), {**as_object(get(job, *_TEMPLATE, *path)), **own})
    return job


def _with_metadata(metadata: JsonObject, labels: JsonObject, annotations: JsonObject) -> JsonObject:
    return {
        "labels": {**as_object(metadata.get("labels")), **labels},
        "annotations": {**as_object(metadata.get("annotations")), **labels, **annotations},
    }


def _jobset_labels(jobset: JsonObject, replicated: JsonObject, job: str, counts: JsonObject) -> JsonObject:
    """Return the labels, and annotations, by which a Job and its pods name their JobSet and replicated job."""
    jobset_name, spec, name = get(jobset, "metadata", "name"), as_object(jobset["spec"]), replicated.get("name")
    key = f"{get(jobset, 'metadata', 'namespace')}/{job}"
    values: JsonObject = {
        "jobset-name": jobset_name,
        "jobset-uid": JOBSET_UID,
        "replicatedjob-name": name,
        "restart-attempt": "0",
        "job-index": "0",
        "job-key": hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest(),
        "group-name": replicated.get("groupName") or "",
        **counts,
    }
    if isinstance(coordinator := spec.get("coordinator"), dict):
        pod = "-".join(str(coordinator.get(field) or 0) for field in ("replicatedJob", "jobIndex", "podIndex"))
        values["coordinator"] = f"{jobset_name}-{pod}.{get(spec, 'network', 'subdomain') or jobset_name}"
    return {f"{JOBSET_LABELS}{key}": value for key, value in values.items()}


def added_annotations(jobset: JsonObject, replicated: str, job: str) -> JsonObject:
    """Return the annotations that JobSet adds to a Job of a replicated job, and to its pods."""
    jobs = objects(get(jobset, "spec", "replicatedJobs"))
    each = next(each for each in jobs if each.get("name") == replicated)
    return {**_jobset_labels(jobset, each, job, _counts(jobset)[replicated]), **_exclusive_topology(jobset, each)}


def replaced_placement(jobset: JsonObject, replicated: JsonObject) -> Iterator[Path]:
    """Yield the paths in a pod template of what JobSet replaces in new Jobs by its own, for exclusive placement."""
    template, added = as_object(replicated.get("template")), _exclusive_topology(jobset, replicated)
    given = as_object(get(template, *_TEMPLATE, "metadata", "annotations"))
    yield from (("metadata", "annotations", key) for key, value in added.items() if given.get(key, value) != value)
    selector: Path = ("spec", "nodeSelector", _NODES_OF_JOB)
    of_job = {**as_object(get(template, "metadata", "annotations")), **added}
    if _selects_by_label(of_job) and get(template, *_TEMPLATE, *selector) is not None:
        yield selector


def _counts(jobset: JsonObject) -> dict[Json, JsonObject]:
    """Return the labels that count the Jobs of a JobSet, by the name of the replicated job."""
    jobs = objects(get(jobset, "spec", "replicatedJobs"))
    groups: dict[Json, int] = {}
    total, before = 0, []
    for job in jobs:
        group, replicas = job.get("groupName"), job.get("replicas", 1)
        in_group, count = groups.get(group, 0), replicas if isinstance(replicas, int) else 0
        before.append((job, count, total, in_group))
        total, groups[group] = total + count, in_group + count
    return {
        job.get("name"): {
            "replicatedjob-replicas": str(count),
            "global-replicas": str(total),
            "job-global-index": str(index),
            "group-replicas": str(groups[job.get("groupName")]),
            "job-group-index": str(in_group),
        }
        for job, count, index, in_group in before
    }


def _exclusive_topology(jobset: JsonObject, replicated: JsonObject) -> JsonObject:
    """Return the annotations for exclusive placement in a topology domain; the replicated job's take precedence."""
    found: JsonObject = {}
    for owner in (jobset, as_object(replicated.get("template"))):
        annotations = as_object(get(owner, "metadata", "annotations"))
        if EXCLUSIVE in annotations:
            found |= {key: annotations[key] for key in (EXCLUSIVE, BY_SELECTOR) if key in annotations}
    return found


def _selects_by_label(annotations: JsonObject) -> bool:
    """Return whether the annotations of a Job ask for only nodes that are labelled for it."""
    return EXCLUSIVE in annotations and BY_SELECTOR in annotations


def _exclusive_pod_spec(spec: JsonObject, metadata: JsonObject, job: str) -> JsonObject:
    """Return the spec of pods with, if annotations ask for it, only nodes that are labelled for their Job."""
    if not _selects_by_label(as_object(metadata["annotations"])):
        return spec
    selector = {**as_object(spec.get("nodeSelector")), _NODES_OF_JOB: job}
    key = "alpha.jobset.sigs.k8s.io/no-schedule"
    toleration: JsonObject = {"key": key, "operator": "Exists", "effect": "NoSchedule"}
    return {**spec, "nodeSelector": selector, "tolerations": [*as_list(spec.get("tolerations")), toleration]}


def _owner(api_version: str, kind: str, name: Json, uid: Json) -> JsonObject:
    owner: JsonObject = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
    return {**owner, "controller": True, "blockOwnerDeletion": True}


def _pod(job: JsonObject) -> JsonObject:
    name = str(get(job, "metadata", "name"))
    template = as_object(get(job, *_TEMPLATE))
    copied = ("labels", "annotations", "finalizers")
    metadata = {key: value for key, value in as_object(template.get("metadata")).items() if key in copied}
    spec = as_object(template.get("spec"))
    prefix = f"{name}-"
    if get(job, "spec", "completionMode") == "Indexed":
        prefix = f"{name}-0-"
        if len(prefix) > LONGEST_PREFIX:
            prefix = f"{prefix[: LONGEST_PREFIX - 3]}-0-"
        annotations: JsonObject = {INDEX: "0"}
        if get(job, "spec", "backoffLimitPerIndex") is not None:
            annotations = {"batch.kubernetes.io/job-index-failure-count": "0", INDEX: "0"}
        metadata["labels"] = {**as_object(metadata.get("labels")), INDEX: "0"}
        metadata["annotations"] = {**as_object(metadata.get("annotations")), **annotations}
        spec = {**spec, "hostname": f"{name}-0"}
        for kind in ("initContainers", "containers"):
            if kind in spec:
                spec[kind] = [_with_index(container) for container in objects(spec[kind])]
    metadata["finalizers"] = [*as_list(metadata.get("finalizers")), "batch.kubernetes.io/job-tracking"]
    metadata["ownerReferences"] = [_owner("batch/v1", "Job", name, JOB_UID)]
    metadata = {"generateName": prefix, "namespace": get(job, "metadata", "namespace"), **metadata}
    spec = _exclusive_affinities(default_pod(spec), metadata)
    return prepared_pod({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def _exclusive_affinities(spec: JsonObject, metadata: JsonObject) -> JsonObject:
    """Return the spec of a pod with the affinities that JobSet's webhook adds for exclusive placement."""
    annotations, job = as_object(metadata.get("annotations")), get(metadata, "labels", f"{JOBSET_LABELS}job-key")
    if job is None or EXCLUSIVE not in annotations or BY_SELECTOR in annotations:
        return spec
    key = {"key": f"{JOBSET_LABELS}job-key"}
    priority = str(spec.get("priority", JOBSET_UID))  # a placeholder, as only a cluster knows that of a class
    own: list[Json] = [{**key, "operator": "In", "values": [job]}]
    others: list[Json] = [
        {**key, "operator": "Exists"},
        {**key, "operator": "NotIn", "values": [job]},
        {"key": f"{JOBSET_LABELS}priority", "operator": "In", "values": [priority]},
    ]
    for field, expressions in (("podAffinity", own), ("podAntiAffinity", others)):
        term: JsonObject = {"topologyKey": annotations[EXCLUSIVE], "namespaceSelector": {}}
        term["labelSelector"] = {"matchExpressions": expressions}
        path: Path = ("affinity", field, "requiredDuringSchedulingIgnoredDuringExecution")
        spec = put(spec, path, [*as_list(get(spec, *path)), term])
    return spec


def _with_index(container: JsonObject) -> JsonObject:
    """Return a container of an Indexed Job with its index in a variable."""
    name, env = "JOB_COMPLETION_INDEX", objects(container.get("env"))
    if any(variable.get("name") == name for variable in env):
        return container
    source: JsonObject = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}
    return {**container, "env": [*env, {"name": name, "valueFrom": {"fieldRef": source}}]}


def created_job(jobset: JsonObject, job: JsonObject) -> JsonObject:
    """Return metadata and spec of the Jobs of a replicated job, without the labels and annotations that JobSet adds.

    Every pod gets the subdomain of the JobSet, and a volume for each claim that the JobSet creates and a container
    mounts.
    """
    template = as_object(job.get("template"))
    spec, pod = as_object(template.get("spec")), as_object(get(template, *_TEMPLATE))
    pod_spec = as_object(pod.get("spec"))
    network, jobset_name = as_object(get(jobset, "spec", "network")), get(jobset, "metadata", "name")
    if network.get("enableDNSHostnames") is not False:
        pod_spec = {**pod_spec, "subdomain": network.get("subdomain") or jobset_name}
    if volumes := _claim_volumes(jobset, pod_spec):
        pod_spec = {**pod_spec, "volumes": [*as_list(pod_spec.get("volumes")), *volumes]}
    return {"metadata": template.get("metadata") or {}, "spec": {**spec, "template": {**pod, "spec": pod_spec}}}


def _claim_volumes(jobset: JsonObject, pod_spec: JsonObject) -> list[Json]:
    """Return the volumes of the claims that a container mounts, in order of the claims."""
    containers = [c for kind in ("initContainers", "containers") for c in objects(pod_spec.get(kind))]
    mounted = {mount.get("name") for c in containers for mount in objects(c.get("volumeMounts"))}
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{get(jobset, 'metadata', 'name')}"}}
        for name in _claim_names(jobset)
        if name in mounted
    ]


@keeping  # each of thousands of replicated jobs asks for them
def _claim_names(jobset: JsonObject) -> tuple[Json, ...]:
    return tuple(get(template, "metadata", "name") for _, _, template in claim_templates(jobset))
