"""What a cluster refuses to change of an object that is there: the webhook's and the CRD's rules, and Kubernetes' own.

Sources: for JobSets admit/update.py and the CRD's rules; Kubernetes v1.34 pkg/apis/batch/validation
ValidateJobUpdate, pkg/apis/rbac/validation ValidateRoleBindingUpdate, pkg/apis/core/validation ValidateSecretUpdate and
ValidatePersistentVolumeClaimUpdate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.admission.base_revision import as_stored
from trainc.admission.rules import failures
from trainc.admission.update import FROZEN, IMMUTABLE, config_map_changes, jobset_changes
from trainc.basics.jsonvalues import Json, JsonObject, Path, dotted, existing, get
from trainc.changes.fields import named
from trainc.changes.model import Refusal
from trainc.changes.trees import unreadable
from trainc.documents.compare import changes, counterpart, same
from trainc.findings import Finding
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError
from trainc.kube.quantity import from_json
from trainc.schema import Resource
from trainc.schema.kinds import BUILT_IN, split_version

_Said = tuple[Path, str]
"""The path of a field, and why it may not change."""

_JOB: Final = ("selector", "template", "completionMode", "podFailurePolicy", "successPolicy", "backoffLimitPerIndex")
_STORAGE: Final[Path] = ("spec", "resources", "requests", "storage")
_CLAIM: Final = ("accessModes", "selector", "storageClassName", "volumeMode", "volumeName", "dataSource")


def refusals(new: Document, old: Document) -> tuple[tuple[Refusal, ...], tuple[Finding, ...]]:
    """Return what a cluster that has the old object refuses of the new one, and why an object cannot be judged.

    Both have one kind, namespace and name.
    """
    kind, name = str(new.data["kind"]), str(get(new.data, "metadata", "name"))
    if kind == "JobSet":
        found, findings = _of_jobset(new, old)
    else:
        found, findings = tuple(_of_other(kind, new.data, old.data)), ()
    return tuple(Refusal(kind, name, field, message) for field, message in found), findings


def _of_jobset(new: Document, old: Document) -> tuple[tuple[tuple[str, str], ...], tuple[Finding, ...]]:
    resource = BUILT_IN.find(*split_version(str(new.data["apiVersion"])), "JobSet")
    if resource is None:
        message = f"trainc does not know JobSets of {new.data['apiVersion']}"
        return (), (unreadable(new, message, old=False),)
    stored: list[JsonObject] = []
    for document in (new, old):
        held = as_stored(resource, document, created=True)
        if isinstance(held, Finding):
            return (), (unreadable(document, held.message, old=document is old),)
        stored.append(held)
    try:
        return tuple(_named(resource, *stored)), ()
    except GoDecodeError as error:
        return (), (unreadable(new, error.message, old=False),)


def _named(resource: Resource, new: JsonObject, old: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the fields that the CRD's rules and the webhook refuse to change, and their words."""
    told: set[Path] = set()
    for failure in failures(resource.schema, new, old):
        if failure.transition:
            path = existing(new, (*failure.path, *failure.about))
            before = counterpart(old, new, path)
            found = tuple(changes(get(new, *path), get(old, *before), path, before))
            told |= {change.name for change in found}
            yield from ((named(new, old, change), failure.message) for change in found)
            if not found:
                yield dotted(path), failure.message
    for changed in jobset_changes(new, old):
        wrapped, was = _within(changed.path, changed.new), _within(changed.path, changed.old)
        for change in changes(wrapped, was):
            if change.name not in told:
                yield named(wrapped, was, change), changed.message


def _within(path: Path, value: Json) -> Json:
    """Return an object that has nothing but the value at a path of keys."""
    for step in reversed(path):
        value = {str(step): value}
    return value


def _of_other(kind: str, new: JsonObject, old: JsonObject) -> Iterator[tuple[str, str]]:
    if kind == "ConfigMap":
        yield from ((dotted(each.path), each.message) for each in config_map_changes(new, old))
    elif kind == "Secret":
        yield from _differing(new, old, [("type",)], IMMUTABLE)
        if old.get("immutable") is True:
            yield from _differing(new, old, [("immutable",), ("data",), ("stringData",)], FROZEN)
    elif kind == "Job":
        yield from _differing(new, old, [("spec", name) for name in _JOB], IMMUTABLE)
    elif kind in ("RoleBinding", "ClusterRoleBinding"):
        yield from _differing(new, old, [("roleRef",)], "cannot change roleRef")
    elif kind == "PersistentVolumeClaim":
        message = "spec is immutable after creation except resources.requests and volumeAttributesClassName"
        yield from _differing(new, old, [("spec", name) for name in _CLAIM], message)
        yield from _less(new, old)


def _less(new: JsonObject, old: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the storage of a claim that is asked for less: a volume does not shrink, and has what was asked for."""
    sizes = [get(data, *_STORAGE) for data in (new, old)]
    try:
        size, was = (from_json(size) for size in sizes if size is not None)
    except ValueError:  # one of them says nothing, or no quantity
        return
    if size < was:
        yield dotted(_STORAGE), "field can not be less than status.capacity"


def _differing(new: JsonObject, old: JsonObject, paths: list[Path], message: str) -> Iterator[tuple[str, str]]:
    for path in paths:
        value, was = get(new, *path), get(old, *path)
        if not same(value, was) and (value or was):
            yield dotted(path), message
