"""The environment's patches of emitted objects: strategic merge, as kubectl patch does it.

Lists in the spec of a JobSet, a Job and a claim are merged by their keys. For other kinds the patch is a JSON merge
patch (RFC 7386), which replaces lists.
"""

from __future__ import annotations

import base64
from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from trainc.admission.jobset import overlay
from trainc.admission.native import faults_of
from trainc.basics.differences import counterpart, is_set, same, varied_object, with_keys
from trainc.basics.jsonvalues import (
    Json,
    JsonObject,
    Path,
    as_list,
    as_object,
    dotted,
    get,
    paths,
    without_nulls,
)
from trainc.basics.memo import Remembered, keeping
from trainc.documents.classify import CLAIM_SPEC
from trainc.findings import Finding, report
from trainc.gitops.base import JOBSET, Pass, option_origin
from trainc.gitops.namespaces import renamed_subject
from trainc.gitops.naming import with_titles
from trainc.inputs.options import Options
from trainc.inputs.source import Document
from trainc.kube.gotypes import JOB_SET_SPEC, VOLCANO_POD_GROUP_SPEC, GoDecodeError, decode, unknown_fields
from trainc.kube.merge import MergeError, merge
from trainc.kube.pods import with_rounded_resources
from trainc.plugins.model import Findings, Model, Object, Objects, Origin
from trainc.plugins.origins import nearest
from trainc.schema import Resource, admit
from trainc.schema.kinds import BUILT_IN, split_version
from trainc.schema.metadata import object_meta_violations, undecodable
from trainc.upstream import RBAC_GROUP, VOLCANO_API

FIXED: Final = ("apiVersion", "kind", "status")
SPECS: Final[Mapping[str, str]] = {
    "JobSet": JOB_SET_SPEC,
    "Job": "v1.JobSpec",
    "PersistentVolumeClaim": CLAIM_SPEC,
}
"""Kind to the Go type of its spec."""
_JOBS: Final = "replicatedJobs"
_ORDERING: Final = ("$patch", f"$setElementOrder/{_JOBS}")
METADATA: Final = ("labels", "annotations")
"""The fields of metadata that a patch can change. The others identify the object or are set by the server."""


def _after_patches(model: Model, objects: Objects, *, of_jobset: bool) -> Objects:
    """Return the objects after the environment's patches of the JobSet, or of all others.

    A patch that cannot be merged has no effect, and is noted.
    """
    if not model.options.settings.patches:
        return objects
    titled = with_titles(model, objects)
    return tuple(_patched(obj, model.options) if (obj.kind == JOBSET) is of_jobset else obj for obj in titled)


def patched_companion(obj: Object, options: Options) -> Object:
    """Return a companion after the environment's patches, which are the origins of changed fields."""
    after = _patched(obj, options)

    def origins() -> Mapping[Path, Origin]:
        unpatched, found = obj.origins(), {}
        other = _patched(replace(obj, data=varied_object(obj.data)), options).data
        for path in paths(after.data):
            old, new = get(obj.data, *path), get(after.data, *path)
            is_new = old != new and (old is None or not isinstance(new, dict | list))
            if is_new or is_set(other, after.data, path):
                origin: Origin | None = _by_patch(options, _target(after), after.data, path)
            else:
                origin = nearest(unpatched, path)
            if origin is not None:
                found[path] = origin
        return found

    return replace(after, origins=origins) if after.data != obj.data else after


def check(model: Model) -> Findings:
    """Refuse patches that no object accepts, at their position in trainc.yaml."""
    return tuple(
        _finding(model.options, model.job, (number, "patch", *path), message)
        for number, patch in enumerate(model.options.settings.patches)
        for path, message in _invalid_fields(patch.patch)
    )


def _invalid_fields(patch: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield path and message of each part of a patch that no object accepts."""
    for key in FIXED:
        if key in patch:
            yield (key,), f"a patch cannot change {key}"
    for key in ("metadata", "spec"):
        if key in patch and not isinstance(patch[key], dict):
            yield (key,), f"{key} must be a mapping"
    for key, value in as_object(patch.get("metadata")).items():
        path: Path = ("metadata", key)
        if key not in METADATA:
            yield path, f"a patch cannot change {dotted(path)}"
        elif not isinstance(value, dict | None):
            yield path, f"{dotted(path)} must be a mapping"
        for name, text in as_object(value).items():
            if not isinstance(text, str | None):
                yield (*path, name), f"{dotted((*path, name))} must be a string"


def check_objects(model: Model, objects: Objects) -> Findings:
    """Refuse patches that cannot be merged into their targets, and results that a server would not keep.

    Refused JobSets are reported elsewhere, patched or not; here only fields that a server would drop.
    """
    if not model.options.settings.patches:
        return ()
    return tuple(dict.fromkeys(found for obj in objects for found in problems(model.options, model.job, obj)))


def problems(options: Options, document: Document, obj: Object) -> Iterator[Finding]:
    """Yield findings on an object's patches, or on ``document`` if the text of trainc.yaml is not available."""
    patches = _patches_of(options, _target(obj))
    if any(True for patch in patches.values() for _ in _invalid_fields(patch)):
        return  # check reports the patch itself
    if obj.unmerged:
        number, reason = obj.unmerged[0]
        message = f"{obj.kind} {obj.plain} cannot be patched: {reason}"
        yield _finding(options, document, (number, "patch"), message)
        return
    data = obj.data
    for patch in patches.values():
        merged = _merged(data, patch)  # again, since fields that a server drops of a JobSet have been removed
        data = data if isinstance(merged, str) else merged
    for path, message in _not_kept(data) if patches else ():
        # No path: a field is missing from the whole object.
        if inside := _furthest(options, _target(obj), data, path) if path else (max(patches), "patch"):
            yield _finding(options, document, inside, f"{obj.kind} {obj.plain}: {message}")


def _not_kept(data: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield the fields that a server refuses or drops; for a JobSet only those that it drops."""
    if data["kind"] == "Secret":
        found = (key for key in ("data", "stringData") if key in data)
        yield from (((key,), "do not store the data of a Secret in git") for key in found)
        changed = (key for key, value in (("type", "Opaque"), ("immutable", None)) if data.get(key) != value)
        yield from (((key,), f"a Job in the cluster fills this Secret: do not set {key}") for key in changed)
    resource = _resource_of(data)
    if resource is None:
        wrong_metadata = object_meta_violations(as_object(data["metadata"]), namespaced=True)
        yield from ((wrong.path, wrong.message) for wrong in wrong_metadata)
        if data["apiVersion"] == VOLCANO_API:
            yield from (((key,), f"unknown field {key}") for key in data if key not in (*FIXED, "metadata", "spec"))
            yield from _not_in_go(data["spec"], VOLCANO_POD_GROUP_SPEC, ("spec",))
        return
    result = admit(resource, data)
    if data["kind"] != "JobSet":
        yield from ((wrong.path, wrong.message) for wrong in (*result.violations, *faults_of(resource, result)))
    if not result.violations:
        yield from ((path, f"unknown field {dotted(path)}") for path in result.dropped)


def _not_in_go(data: Json, kind: str, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield what Go's types lack or cannot decode, for a kind without a schema: Volcano's PodGroup."""
    try:
        decode(data, kind)
    except GoDecodeError as error:
        at = (*path, *error.path)
        yield at, undecodable(at, get(data, *error.path), error).message
    else:
        yield from ((at, f"unknown field {dotted(at)}") for at in unknown_fields(data, kind, path))


Target = tuple[str, str, str]
"""The kind, namespace and name of an object, without run number and hash, to which patches apply."""


def _target(obj: Object) -> Target:
    return obj.kind, str(get(obj.data, "metadata", "namespace") or ""), obj.plain


def _patches_of(options: Options, target: Target) -> dict[int, JsonObject]:
    """Return the patches of an object by their numbers in trainc.yaml."""
    return {number: each.patch for number, each in enumerate(options.settings.patches) if each.matches(*target)}


def _finding(options: Options, document: Document, inside: Path, message: str) -> Finding:
    return report("TC605", *(patch_position(options, *inside) or (document, ("metadata", "name"))), message)


def patch_position(options: Options, *inside: str | int) -> tuple[Document, Path] | None:
    """Return a position in the patches of trainc.yaml; None if its text is not available."""
    origin = option_origin(options, "patches", *inside)
    return None if origin.document is None else (origin.document, origin.path)


def _patched(obj: Object, options: Options) -> Object:
    data, unmerged = obj.data, list[tuple[int, str]]()
    for number, patch in _patches_of(options, _target(obj)).items():
        if any(_invalid_fields(patch)):  # check reports it
            continue
        merged = _merged(data, patch)
        if isinstance(merged, str):
            unmerged.append((number, merged))
            continue
        metadata = as_object(merged.get("metadata"))
        # A server drops empty labels and annotations.
        kept = {key: value for key, value in metadata.items() if value or key not in METADATA}
        data = merged if kept == metadata else {**merged, "metadata": kept}
    obj = replace(obj, unmerged=tuple(unmerged)) if unmerged else obj
    if data is obj.data or same(data, obj.data):
        return obj
    return replace(obj, data=_stored(data))


def _stored(data: JsonObject) -> JsonObject:
    """Return a patched object as a server stores it, so without the nulls that a JSON merge patch leaves in lists.

    In an object that a server refuses, and in one without a schema, null is no field and no item.
    """
    if data["kind"] in SPECS:
        return as_object(without_nulls(go_encoded(data)))
    resource = _resource_of(data)
    result = None if resource is None else admit(resource, data)
    data = as_object(without_nulls(data)) if result is None or result.violations else result.data
    return bound(data) if data["kind"] == "RoleBinding" else go_encoded(data)


def _resource_of(data: JsonObject) -> Resource | None:
    return BUILT_IN.find(*split_version(str(data["apiVersion"])), str(data["kind"]))


def bound(data: JsonObject, renamed: Mapping[str, str] | None = None) -> JsonObject:
    """Return a RoleBinding with the namespaces of its service accounts: its own, unless they have another one.

    ``renamed`` maps namespaces to those in the cluster.
    """
    subjects: list[Json] = []
    for subject in map(as_object, as_list(data.get("subjects"))):
        if subject.get("kind") != "ServiceAccount":
            group, name = subject.get("apiGroup") or RBAC_GROUP, subject.get("name")
            named: JsonObject = {"name": renamed_subject(name, renamed)} if renamed and isinstance(name, str) else {}
            subjects.append({**subject, "apiGroup": group, **named})
        elif found := subject.get("namespace"):
            subjects.append({**subject, "namespace": (renamed or {}).get(str(found), str(found))})
        else:
            subjects.append({**subject, "namespace": get(data, "metadata", "namespace")})
    reference = as_object(data.get("roleRef"))
    reference = {**reference, "apiGroup": reference.get("apiGroup") or RBAC_GROUP}
    return {**data, "roleRef": reference, **({"subjects": subjects} if subjects else {})}


def _merged(data: JsonObject, patch: JsonObject) -> JsonObject | str:
    """Return the data merged with a patch, or an error message."""
    kind = SPECS.get(str(data["kind"]))
    if kind is None or "spec" not in patch:
        return as_object(_json_merged(data, patch))
    rest = as_object(_json_merged(data, {key: value for key, value in patch.items() if key != "spec"}))
    try:
        spec = as_object(merge(data["spec"], patch["spec"], kind))
    except MergeError as error:
        return str(error)
    return {**rest, "spec": _in_order(spec, data, as_object(patch["spec"]))}


def _in_order(spec: JsonObject, before: JsonObject, patch: JsonObject) -> JsonObject:
    """Return a patched spec with the replicated jobs that it had in their order, which the startup policy may follow.

    Trainer restores it, too. New jobs stay where strategic merge puts them, and some directives set another order.
    """
    jobs, listed = as_list(spec.get(_JOBS)), as_list(patch.get(_JOBS))
    is_replaced = any(get(job, "$patch") == "replace" for job in listed)
    if not listed or is_replaced or not patch.keys().isdisjoint(_ORDERING):
        return spec
    places = {str(get(job, "name")): index for index, job in enumerate(as_list(get(before, "spec", _JOBS)))}

    def place(job: Json) -> int:
        return places.get(str(get(job, "name")), -1)

    kept = iter(sorted((job for job in jobs if place(job) >= 0), key=place))
    return {**spec, _JOBS: [job if place(job) < 0 else next(kept) for job in jobs]}


def _json_merged(value: Json, patch: Json) -> Json:
    if not isinstance(patch, dict):
        return patch
    merged = dict(as_object(value))
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = _json_merged(merged.get(key), change)
    return merged


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin: the last patch among those that contain most of the path."""
    name, namespace = (str(get(root, "metadata", key)) for key in ("name", "namespace"))
    plain = model.title + name.removeprefix(model.name) if name.startswith(model.name) else name
    return _by_patch(model.options, (str(get(root, "kind")), namespace, plain), root, path)


def _by_patch(options: Options, target: Target, root: Json, path: Path) -> Origin:
    inside = _furthest(options, target, root, path)
    return option_origin(options, "patches", *inside) if inside else Origin("environment", name="patches")


def _furthest(options: Options, target: Target, data: Json, path: Path) -> Path | None:
    """Return the path in ``patches`` that has most of a path of patched data, in the last patch of several; or None."""
    number = nearest(_last_patches(options)[target], with_keys(data, path))
    if number is None:
        return None
    return number, "patch", *counterpart(options.settings.patches[number].patch, data, path)


def _numbers(options: Options, target: Target) -> Mapping[tuple[Hashable, ...], int]:
    """Return the number of the last of an object's patches that has each path, with the keys of list items."""
    patches = _patches_of(options, target).items()
    return {with_keys(patch, path): number for number, patch in patches for path in paths(patch) if path}


_last_patches: Final = keeping(lambda options: Remembered(partial(_numbers, options), 1), 1)
"""They are asked for path after path of one object."""


def go_encoded(data: JsonObject) -> JsonObject:
    """Return the object as Go encodes it: with canonical quantities, and zero values that Go's types do not omit.

    A server, or a webhook that writes the whole object, then changes nothing. It stores no empty map of a ConfigMap,
    and refuses to update an immutable one that has it. Other kinds, and a spec that Go cannot decode, are not changed.
    The nulls of Go's encoding, which mean the same as no field, are left out.
    """
    if data.get("kind") == "ConfigMap":
        data = {key: value for key, value in data.items() if key not in ("data", "binaryData") or value}
        bag = as_object(data.get("binaryData"))
        return {**data, "binaryData": {key: _base64(value) for key, value in bag.items()}} if bag else data
    if data.get("kind") == "ServiceAccount" and isinstance(secrets := data.get("secrets"), list):
        # The create strategy keeps only the names.
        return {**data, "secrets": [{"name": get(each, "name")} if get(each, "name") else {} for each in secrets]}
    kind, spec = SPECS.get(str(data.get("kind"))), data.get("spec")
    if kind is None or not isinstance(spec, dict):
        return data
    try:
        encoded = as_object(without_nulls(overlay(spec, decode(spec, kind))))
    except GoDecodeError:  # admission reports the error
        return data
    if kind == CLAIM_SPEC:  # An empty volumeName, applied again, would take the volume of a bound claim away.
        named = {key: value for key, value in encoded.items() if value or key != "volumeName"}
        encoded = with_rounded_resources(named)
    return {**data, "spec": encoded}


def _base64(value: Json) -> Json:
    """Return bytes as Go writes them; other values are not changed."""
    if not isinstance(value, str):
        return value
    try:
        found = base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
    except ValueError:  # admission reports the error
        return value
    return base64.b64encode(found).decode()


JOBSET_PASS: Final = Pass("patches", partial(_after_patches, of_jobset=True), cause)
"""Comes first, since other objects of a job have values of the JobSet's pods, which their own patches may replace."""
PASS: Final = Pass("patches", partial(_after_patches, of_jobset=False), cause, check, check_objects)
