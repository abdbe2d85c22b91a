"""Validates updates as the webhooks of JobSet, Trainer and Kueue do.

Sources: JobSet v0.12.0 pkg/webhooks/jobset_webhook.go ValidateUpdate, with every feature gate at its default (off);
Trainer v2.3.0 pkg/webhooks/trainjob_webhook.go (the defaulter) and pkg/runtime/framework/plugins/jobset
checkRuntimePatchesImmutability. Trainer's webhooks for runtimes compare nothing with the old object. JobSet's defaults
are set on create only, so whole objects are compared.
Kueue v0.17.0 pkg/controller/jobframework/validation.go ValidateJobOnUpdate, with every alpha feature off.
For other kinds: Kubernetes v1.34 pkg/apis/core, batch and rbac, validation of updates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from trainc.admission.jobset import overlay
from trainc.admission.native import without_dropped_sources
from trainc.basics.differences import same
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, get, objects, put
from trainc.findings.redaction import masked_value
from trainc.kube.fielderror import forbidden, go_value, invalid
from trainc.kube.gotypes import JOB_SET, TRAIN_JOB, decode, typed
from trainc.kube.quantity import from_json
from trainc.upstream import KUEUE_LABELS, MAX_TIME_LABEL, PRIORITY_LABEL, QUEUE_LABEL

IMMUTABLE = "field is immutable"
FROZEN = "field is immutable when `immutable` is set"
POD_TEMPLATE = ("template", "spec", "template")
"""The path of the pod template of a replicated job."""
WHILE_SUSPENDED = (
    ("metadata", "annotations"),
    ("metadata", "labels"),
    ("spec", "nodeSelector"),
    ("spec", "tolerations"),
    ("spec", "schedulingGates"),
)
"""The fields of a pod template that may change while, or when, a JobSet is suspended, as Kueue requires."""

PATCHES: Path = ("spec", "runtimePatches")
_SUSPEND_FIRST = "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"


class ForbiddenChange(NamedTuple):
    """A field that a webhook does not allow to change: its path, the compared values, and the texts."""

    path: Path
    new: Json
    old: Json
    message: str
    upstream: str


def jobset_changes(new: JsonObject, old: JsonObject) -> Iterator[ForbiddenChange]:
    """Yield the changed fields of a JobSet that are immutable.

    Both are whole JobSets as a cluster stores them. Raises GoDecodeError for other data.
    """
    after, before = as_object(decode(new, JOB_SET)), as_object(decode(old, JOB_SET))
    if get(after, "spec", "suspend") is True or get(before, "spec", "suspend") is True:
        after = _while_suspended(after, before)
    for name in ("replicatedJobs", "managedBy"):
        path = ("spec", name)
        value, was = get(after, *path), get(before, *path)
        if value != was:
            shown = typed(value, "v1alpha2.ReplicatedJob") if isinstance(value, list) else value
            shown = masked_value(put(after, path, shown), path)  # the text is of all pods, which are of two documents
            text = f"{dotted(path)}: Invalid value: {go_value(shown, struct=True)}: {IMMUTABLE}"
            yield ForbiddenChange(path, value, was, IMMUTABLE, text)


IF_SUSPENDED = "Kueue allows this change only if it leaves the JobSet suspended"
_KEEPS_PRIORITY = "Kueue never allows a priority class to be removed"
_ADDED = "WorkloadPriorityClass cannot be added to a non-suspended workload"
_REMOVED = "WorkloadPriorityClass cannot be removed from a workload"


def may_wait(jobset: JsonObject) -> bool:
    """Return whether Kueue may have suspended a JobSet, which waits in its queue."""
    return get(jobset, "spec", "suspend") is not True and bool(_label(jobset, QUEUE_LABEL))


def kueue_changes(new: JsonObject, old: JsonObject, *, waits: bool) -> Iterator[ForbiddenChange]:
    """Yield the changed labels of a JobSet that Kueue refuses to change; ``waits``: while the JobSet waits in a queue.

    A sync leaves spec.suspend as Kueue has set it, unless it sets or removes the field. Left out is a queue that is
    removed in a namespace with a default queue.
    """
    suspended = waits or get(new, "spec", "suspend") is True
    before = waits or get(old, "spec", "suspend") is True
    for label in KUEUE_LABELS:
        path = ("metadata", "labels", label)
        value, was = _label(new, label), _label(old, label)
        is_removed = label == PRIORITY_LABEL and not value
        is_allowed = suspended and (before or label != MAX_TIME_LABEL)
        if value == was or (not is_removed and (is_allowed or (label == PRIORITY_LABEL and was))):
            continue
        message = _KEEPS_PRIORITY if is_removed else IF_SUSPENDED
        text = _REMOVED if is_removed else _ADDED if label == PRIORITY_LABEL else IMMUTABLE
        upstream = invalid(f"metadata.labels[{label}]", value, text)
        yield ForbiddenChange(path, get(new, *path), get(old, *path), message, upstream)


def _label(jobset: JsonObject, name: str) -> str:
    value = get(jobset, "metadata", "labels", name)
    return value if isinstance(value, str) else ""


_CLAIM = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_ROLE = "cannot change roleRef"
_LESS = "field can not be less than status.capacity"
_JOB_SPEC = ("selector", "template", "completionMode", "podFailurePolicy", "successPolicy", "backoffLimitPerIndex")
_CLAIM_SPEC = ("accessModes", "selector", "storageClassName", "volumeMode", "volumeName")
_FIXED: Mapping[str, tuple[tuple[Path, ...], str]] = {
    "ClusterRoleBinding": ((("roleRef",),), _ROLE),
    "Job": (tuple(("spec", name) for name in _JOB_SPEC), IMMUTABLE),
    "PersistentVolumeClaim": ((*(("spec", name) for name in _CLAIM_SPEC), ("spec", "resources", "limits")), _CLAIM),
    "RoleBinding": ((("roleRef",),), _ROLE),
    "Secret": ((("type",),), IMMUTABLE),
}
"""The fields of a kind that may not change, and the API server's message."""

_SET_BY_CLUSTER = ("storageClassName", "volumeName")
"""Fields of a claim that a cluster sets if they are absent, so that adding them may change nothing."""

_EMPTY_IS_SET = ("selector", "storageClassName")
"""Fields of a claim that are pointers: an empty value differs from none."""

_CLASS: Path = ("spec", "volumeAttributesClassName")
_CLASS_KEPT = "update to {} is forbidden when status.currentVolumeAttributesClassName is not nil"
OLD_CLASS: Path = ("metadata", "annotations", "volume.beta.kubernetes.io/storage-class")
_REQUESTS: Path = ("spec", "resources", "requests")
_STORAGE: Path = (*_REQUESTS, "storage")


def refused_changes(new: JsonObject, old: JsonObject) -> Iterator[ForbiddenChange]:
    """Yield the changed fields that the API server does not let change in an object of a built-in kind.

    Both are objects with the same kind, namespace and name, as a cluster stores them.
    """
    kind = str(new["kind"])
    paths, message = _FIXED.get(kind, ((), ""))
    fixed = [(path, message) for path in paths]
    if kind in ("ConfigMap", "Secret") and old.get("immutable") is True:
        fixed += [((name,), FROZEN) for name in ("immutable", "data", "binaryData", "stringData")]
    if kind == "PersistentVolumeClaim":
        requests = {**as_object(get(old, *_REQUESTS)), **as_object(get(new, *_REQUESTS))}
        fixed += [((*_REQUESTS, name), _CLAIM) for name in requests if name != _STORAGE[-1]]
        fixed += _claim_rules(new, old)
    for path, text in fixed:
        value, was = get(new, *path), get(old, *path)
        known = was is not None or path[-1] not in _SET_BY_CLUSTER
        is_set = value or was or path[-1] in _EMPTY_IS_SET  # other empty values are stored as none
        if known and not same(value, was) and is_set:
            yield ForbiddenChange(path, value, was, text, forbidden(dotted(path), text))
    if kind == "PersistentVolumeClaim":
        yield from _changed_source(as_object(new.get("spec")), as_object(old.get("spec")))


def _claim_rules(new: JsonObject, old: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield the fields of a claim that may change, but not in this way, and the messages.

    The claim is taken to be bound, and the size and class that it has to be those that it asked for.
    """
    value, was = get(new, *_STORAGE), get(old, *_STORAGE)
    try:
        if None not in (value, was) and from_json(value) < from_json(was):
            yield _STORAGE, _LESS
    except ValueError:  # not a quantity
        pass
    if not (value := get(new, *_CLASS)):
        yield _CLASS, _CLASS_KEPT.format("nil" if value is None else "empty string")
    value, was = get(new, *OLD_CLASS), get(old, *OLD_CLASS)
    if value is not None or was is None or get(new, "spec", "storageClassName") != was:  # else it becomes the field
        yield OLD_CLASS, IMMUTABLE


def _changed_source(new: JsonObject, old: JsonObject) -> Iterator[ForbiddenChange]:
    """Yield the changed data source of a claim, whose two fields a cluster stores with the same value.

    If it has one, a cluster drops no new one.
    """
    old = without_dropped_sources(old)
    was = _source(old)
    value = _source(new if any(was) else without_dropped_sources(new))
    if not same(value, was):
        changed = (key for key in ("dataSource", "dataSourceRef") if not same(new.get(key), old.get(key)))
        path: Path = ("spec", next(changed))
        yield ForbiddenChange(path, get(new, path[-1]), get(old, path[-1]), _CLAIM, forbidden(dotted(path), _CLAIM))


def _source(spec: JsonObject) -> list[Json]:
    """Return the fields of a claim's data source; nulls without one. An empty group differs from none."""
    source = spec.get("dataSourceRef") or spec.get("dataSource")
    return [*(get(source, key) for key in ("apiGroup", "kind", "name")), get(source, "namespace") or None]


def rewritten(job: JsonObject, before: JsonObject | None = None) -> JsonObject:
    """Return a TrainJob as changed by Trainer's mutating webhook, without the times that it sets.

    If it sets the time of a runtime patch, the whole TrainJob is re-encoded from Go's types: quantities get their
    canonical form. ``before`` is the TrainJob that is updated. Raises GoDecodeError for other data.
    """
    known = {patch.get("manager"): patch for patch in objects(get(before, *PATCHES))}
    # A patch already has the time that the webhook sets if it is its own, or that of the old patch.
    patches = objects(get(job, *PATCHES))
    if all("time" in patch and known.get(patch.get("manager")) in (None, patch) for patch in patches):
        return job
    return as_object(overlay(job, decode(job, TRAIN_JOB)))


def trainjob_changes(new: JsonObject, old: JsonObject) -> Iterator[ForbiddenChange]:
    """Yield the changed fields of a TrainJob that are immutable: runtimePatches, unless it is or gets suspended.

    Both are whole TrainJobs as a cluster stores them. Raises GoDecodeError for other data.
    """
    if get(new, "spec", "suspend") is True or get(old, "spec", "suspend") is True:
        return
    patches, before = (_patches(job) for job in (new, old))
    if patches != before:
        yield ForbiddenChange(PATCHES, patches, before, _SUSPEND_FIRST, forbidden(dotted(PATCHES), _SUSPEND_FIRST))


def _patches(job: JsonObject) -> list[Json]:
    """Return the runtime patches without their time, which the webhook sets."""
    return [_without(patch, "time") for patch in objects(get(decode(job, TRAIN_JOB), *PATCHES))]


def _while_suspended(after: JsonObject, before: JsonObject) -> JsonObject:
    """Return the JobSet with the old values of what may change while it is suspended."""
    old_jobs = {job.get("name"): job for job in objects(get(before, "spec", "replicatedJobs"))}
    jobs: list[Json] = []
    for job in objects(get(after, "spec", "replicatedJobs")):
        kept = job
        if (old := old_jobs.get(job.get("name"))) is not None:
            for path in WHILE_SUSPENDED:
                kept = _with(kept, (*POD_TEMPLATE, *path), get(old, *POD_TEMPLATE, *path))
        jobs.append(kept)
    return put(after, ("spec", "replicatedJobs"), jobs)


def _with(value: JsonObject, path: tuple[str, ...], new: Json) -> JsonObject:
    """Return value with new at path, or without path if new is null."""
    if new is not None:
        return put(value, path, new)
    parent = get(value, *path[:-1])
    if not isinstance(parent, dict) or path[-1] not in parent:
        return value
    return put(value, path[:-1], _without(parent, path[-1]))


def _without(value: JsonObject, key: str) -> JsonObject:
    return {name: item for name, item in value.items() if name != key}
