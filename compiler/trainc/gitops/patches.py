"""The environment's patches of emitted objects: strategic merge, as kubectl patch does it.

Lists of a JobSet's and a Job's spec merge by their keys. The other kinds have no such lists that anybody patches: there
maps are merged, lists replaced, and null takes away (RFC 7386).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from trainc.diagnostics import Diagnostic, report
from trainc.gitops.base import Pass, by_environment
from trainc.gitops.naming import titled
from trainc.kube.gotypes import JOB_SET_SPEC
from trainc.kube.merge import MergeError, merge
from trainc.model import Findings, Model, Object, Objects, Origin
from trainc.options import Options
from trainc.schema import admit
from trainc.schema.registry import BUILT_IN, split_version
from trainc.settings import Patch
from trainc.source import Document, Json, JsonObject, Path, as_object, dotted, existing, get

CODE: Final = "TC605"
FIXED: Final = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
"""What makes an object that one: no patch changes it."""

_SPECS: Final[Mapping[str, str]] = {"JobSet": JOB_SET_SPEC, "Job": "v1.JobSpec"}
"""Kind to the Go type of its spec, by whose keys lists are merged."""


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects after the environment's patches; one that cannot be merged changes nothing."""
    if model.options.settings.patches:
        objects = titled(model, objects)
    for patch in model.options.settings.patches:
        objects = tuple(_patched(made, patch) if is_meant(made, patch) else made for made in objects)
    return objects


def check(model: Model) -> Findings:
    """Refuse patches that cannot be merged into anything, where trainc.yaml has them."""
    found = (_problem(model, patch) for patch in model.options.settings.patches)
    return tuple(finding for finding in found if finding is not None)


def judge(model: Model, objects: Objects) -> Findings:
    """Refuse patches that cannot be merged into what they are meant for, and what no server would keep of the result.

    What a server refuses of a JobSet is told of every JobSet, patched or not; here it is only what it would drop.
    """
    found: list[Diagnostic] = []
    for patch in model.options.settings.patches:
        for made in objects:
            if is_meant(made, patch):
                found += _problems(model, patch, made)
    return tuple(dict.fromkeys(found))


def _problems(model: Model, patch: Patch, made: Object) -> Iterator[Diagnostic]:
    merged = _merged(made.data, patch.patch)  # once more: what a server drops of a JobSet is gone by now
    if isinstance(merged, str):
        yield _finding(model, patch, ("patch",), merged)
        return
    group, version = split_version(str(made.data["apiVersion"]))
    resource = BUILT_IN.find(group, version, made.kind)
    if resource is None:
        return
    result = admit(resource, merged)
    wrong = [(violation.path, violation.message) for violation in result.violations if made.kind != "JobSet"]
    if not result.violations:
        wrong += [(path, f"unknown field {dotted(path)}") for path in result.dropped]
    for path, message in wrong:
        if depth := _depth(patch.patch, path):
            yield _finding(model, patch, ("patch", *path[:depth]), f"{made.kind} {made.name}: {message}")


def is_meant(made: Object, patch: Patch) -> bool:
    """Tell whether a patch is for an object; a run number and a hash in its name do not count."""
    return patch.matches(made.kind, str(get(made.data, "metadata", "namespace") or ""), made.plain)


def _problem(model: Model, patch: Patch) -> Diagnostic | None:
    for path in FIXED:
        if get(patch.patch, *path) is not None:
            return _finding(model, patch, ("patch", *path), f"a patch cannot change {'.'.join(path)}")
    return None


def _finding(model: Model, patch: Patch, inside: Path, message: str) -> Diagnostic:
    document, path = place(model.options, patch, inside) or (model.job, ("metadata", "name"))
    return report(CODE, document, path, message)


def place(options: Options, patch: Patch, inside: Path) -> tuple[Document, Path] | None:
    """Return where a patch stands in trainc.yaml; None where its text is not known."""
    document = options.config_document
    if document is None:
        return None
    own: Path = ("environments", options.environment, "patches")
    path: Path = own if get(document.data, *own) is not None else ("defaults", "patches")
    return document, existing(document.data, (*path, patch.index, *inside))


def _patched(made: Object, patch: Patch) -> Object:
    merged = _merged(made.data, patch.patch)
    return made if isinstance(merged, str) or merged == made.data else replace(made, data=merged)


def _merged(data: JsonObject, patch: JsonObject) -> JsonObject | str:
    """Return the data merged with a patch, or what is wrong with that."""
    kind = _SPECS.get(str(data["kind"]))
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
    made = dict(as_object(value))
    for key, change in patch.items():
        if change is None:
            made.pop(key, None)
        else:
            made[key] = _json_merged(made.get(key), change)
    return made


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin: the last patch of a JobSet that has the path, or leads to it."""
    for patch in reversed(model.options.settings.patches):
        depth = _depth(patch.patch, path)
        if patch.kind in ("JobSet", "*") and depth:
            found = place(model.options, patch, ("patch", *path[:depth]))
            return Origin("environment", *found, "patches") if found else by_environment("patches")
    return by_environment("patches")


def _depth(patch: Json, path: Path) -> int:
    """Return how many steps of a path a patch has; items of its lists have places of their own, so they end it."""
    depth = 0
    for step in path:
        if not isinstance(patch, dict) or step not in patch:
            return depth
        patch, depth = patch[step], depth + 1
    return depth


PASS: Final = Pass("patches", shape, cause, check=check, judge=judge)
