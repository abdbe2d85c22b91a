"""The environment's patches of emitted objects: strategic merge, as kubectl patch does it.

Lists in the spec of a JobSet, a Job and a claim merge by their keys. The other kinds have no such lists that anybody
patches: there maps are merged, lists replaced, and null takes away (RFC 7386).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from trainc.admission.jobsetdefaults import overlay
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, existing, get, paths
from trainc.documents.classify import CLAIM_SPEC
from trainc.findings import Finding, report
from trainc.gitops.base import Pass, option_path
from trainc.gitops.naming import titled
from trainc.inputs.options import Options
from trainc.inputs.settings import Patch
from trainc.inputs.source import Document
from trainc.kube.gotypes import JOB_SET_SPEC, GoDecodeError, decode
from trainc.kube.merge import MergeError, merge
from trainc.plugins.model import Findings, Model, Object, Objects, Origin
from trainc.plugins.origins import nearest
from trainc.schema import admit
from trainc.schema.kinds import BUILT_IN, split_version

CODE: Final = "TC605"
FIXED: Final = ("apiVersion", "kind", "status")
SPECS: Final[Mapping[str, str]] = {
    "JobSet": JOB_SET_SPEC,
    "Job": "v1.JobSpec",
    "PersistentVolumeClaim": CLAIM_SPEC,
}
"""Kind to the Go type of its spec."""
METADATA: Final = ("labels", "annotations")
"""What a patch changes of an object's metadata: the rest makes it that one, or is the server's."""


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects after the environment's patches; one that cannot be merged changes nothing."""
    if not model.options.settings.patches:
        return objects
    return tuple(_patched(obj, model.options) for obj in titled(model, objects))


def patched_companion(obj: Object, options: Options) -> Object:
    """Return a companion after the environment's patches, which are the origins of what they change."""
    after = _patched(obj, options)
    return replace(after, origins=lambda: _origins(obj, after, options)) if after.data != obj.data else obj


def _origins(before: Object, after: Object, options: Options) -> Mapping[Path, Origin]:
    """Return the origins of a patched object: what differs is a patch's."""
    own, found = before.origins(), {}
    for path in paths(after.data):
        old, new = get(before.data, *path), get(after.data, *path)
        same = old == new or (old is not None and isinstance(new, dict | list))
        origin = nearest(own, path) if same else _by_patch(options, _meant(after, options), after.data, path)
        if origin is not None:
            found[path] = origin
    return found


def check(model: Model) -> Findings:
    """Refuse patches that cannot be merged into anything, where trainc.yaml has them."""
    return tuple(
        _finding(model.options, model.job, patch, path, message)
        for patch in model.options.settings.patches
        for path, message in _wrong(patch.patch)
    )


def _wrong(patch: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield what no object can take of a patch, with its path there."""
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


def judge(model: Model, objects: Objects) -> Findings:
    """Refuse patches that cannot be merged into what they are meant for, and what no server would keep of the result.

    What a server refuses of a JobSet is told of every JobSet, patched or not; here it is only what it would drop.
    """
    if not model.options.settings.patches:
        return ()
    return tuple(dict.fromkeys(found for obj in objects for found in problems(model.options, model.job, obj)))


def problems(options: Options, document: Document, obj: Object) -> Iterator[Finding]:
    """Yield what is wrong with an object's patches, once each; ``document`` has it where trainc.yaml has no text."""
    meant = _meant(obj, options)
    if any(True for patch in meant for _ in _wrong(patch.patch)):
        return  # told of the patch itself
    data = obj.data
    for patch in meant:
        merged = _merged(data, patch.patch)  # once more: what a server drops of a JobSet is gone by now
        if isinstance(merged, str):
            yield _finding(options, document, patch, (), f"{obj.kind} {obj.plain} cannot be patched: {merged}")
            return
        data = merged
    for path, message in _unkept(data) if meant else ():
        if told := _furthest(meant, data, path):
            yield _finding(options, document, *told, f"{obj.kind} {obj.plain}: {message}")


def _unkept(data: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield what a server refuses of an object, or drops; of a JobSet only what it drops."""
    if data["kind"] == "Secret":
        found = (key for key in ("data", "stringData") if key in data)
        yield from (((key,), "a Secret has no data in git, where everybody reads it") for key in found)
    group, version = split_version(str(data["apiVersion"]))
    resource = BUILT_IN.find(group, version, str(data["kind"]))
    if resource is None:
        return
    result = admit(resource, data)
    if data["kind"] != "JobSet":
        yield from ((violation.path, violation.message) for violation in result.violations)
    if not result.violations:
        yield from ((path, f"unknown field {dotted(path)}") for path in result.dropped)


def _meant(obj: Object, options: Options) -> list[Patch]:
    """Return the patches for an object; a run number and a hash in its name do not count."""
    namespace = str(get(obj.data, "metadata", "namespace") or "")
    return [patch for patch in options.settings.patches if patch.matches(obj.kind, namespace, obj.plain)]


def _finding(options: Options, document: Document, patch: Patch, inside: Path, message: str) -> Finding:
    where = place(options, patch, ("patch", *inside)) or (document, ("metadata", "name"))
    return report(CODE, *where, message)


def place(options: Options, patch: Patch, inside: Path) -> tuple[Document, Path] | None:
    """Return where a patch stands in trainc.yaml; None where its text is not known."""
    document, path = options.config_document, option_path(options, "patches")
    if document is None or path is None:
        return None
    return document, existing(document.data, (*path, options.settings.patches.index(patch), *inside))


def _patched(obj: Object, options: Options) -> Object:
    data = obj.data
    for patch in _meant(obj, options):
        merged = _merged(data, patch.patch)
        data = data if isinstance(merged, str) else _without_nothing(merged)
    return obj if data == obj.data else replace(obj, data=go_encoded(data))


def _without_nothing(data: JsonObject) -> JsonObject:
    """Return an object without empty labels and annotations, which no server keeps: they would differ for ever."""
    metadata = as_object(data.get("metadata"))
    if all(metadata.get(key, True) for key in METADATA):
        return data
    return {**data, "metadata": {key: value for key, value in metadata.items() if value or key not in METADATA}}


def _merged(data: JsonObject, patch: JsonObject) -> JsonObject | str:
    """Return the data merged with a patch, or what is wrong with that."""
    kind = SPECS.get(str(data["kind"]))
    if kind is None or "spec" not in patch:
        return as_object(_json_merged(data, patch))
    rest = as_object(_json_merged(data, {key: value for key, value in patch.items() if key != "spec"}))
    try:
        return {**rest, "spec": merge(data["spec"], patch["spec"], kind)}
    except MergeError as error:
        return str(error)


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
    """Return the origin: the patch of the object that leads furthest to the path, the last one of several."""
    name, namespace = (str(get(root, "metadata", key)) for key in ("name", "namespace"))
    plain = model.title + name.removeprefix(model.name) if name.startswith(model.name) else name
    kind = str(get(root, "kind"))
    meant = [patch for patch in model.options.settings.patches if patch.matches(kind, namespace, plain)]
    return _by_patch(model.options, meant, root, path)


def _by_patch(options: Options, meant: Iterable[Patch], root: Json, path: Path) -> Origin:
    told = _furthest(meant, root, path)
    found = place(options, told[0], ("patch", *told[1])) if told else None
    return Origin("environment", *found, "patches") if found else Origin("environment", name="patches")


def _furthest(patches: Iterable[Patch], data: Json, path: Path) -> tuple[Patch, Path] | None:
    """Return the patch that leads furthest to a path of the patched data, with its own path; None if none does."""
    trails = [(patch, _trail(patch.patch, data, path)) for patch in patches]
    longest = max((len(trail) for _, trail in trails), default=0)
    return next((found for found in reversed(trails) if longest and len(found[1]) == longest), None)


def _trail(patch: Json, data: Json, path: Path) -> Path:
    """Return the path in a patch that leads to a path of the patched data, as far as the patch has it."""
    trail: list[str | int] = []
    for step in path:
        data = get(data, step)
        if isinstance(patch, list):
            here: str | int | None = next((index for index, item in enumerate(patch) if _became(item, data)), None)
        else:
            here = step if step in as_object(patch) else None
        if here is None:
            break
        trail.append(here)
        patch = get(patch, here)
    return tuple(trail)


def _became(item: Json, merged: Json) -> bool:
    """Tell whether an item of a patch's list is what was merged into an item of the data: by its name, if any."""
    if not isinstance(item, dict) or not isinstance(merged, dict):
        return item == merged
    if "name" in item:
        return item["name"] == merged.get("name")
    return all(merged.get(key) == value for key, value in item.items() if not isinstance(value, dict | list))


def go_encoded(data: JsonObject) -> JsonObject:
    """Return the object as Go writes it: quantities canonical, and zero values that Go's types do not omit.

    A server, or a webhook that writes the whole object, then changes nothing. Other kinds, and a spec that Go cannot
    read, stay as they are.
    """
    kind, spec = SPECS.get(str(data.get("kind"))), data.get("spec")
    if kind is None or not isinstance(spec, dict):
        return data
    try:
        return {**data, "spec": overlay(spec, decode(spec, kind))}
    except GoDecodeError:  # whoever admits it says what is wrong
        return data


PASS: Final = Pass("patches", shape, cause, check=check, judge=judge)
