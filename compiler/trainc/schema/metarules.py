"""Rules for the metadata of an object: names, namespaces, labels, annotations, owners, finalizers.

Source of the rules: k8s.io/apimachinery v0.36 pkg/api/validation/objectmeta.go, as the create strategy of custom
resources calls it. managedFields are not looked at: a server replaces what a request says there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trainc.kube.fielderror import go_value, invalid
from trainc.kube.gojson import go_json
from trainc.kube.gotypes import fields
from trainc.kube.names import (
    TOTAL_ANNOTATION_SIZE_LIMIT,
    is_dns1123_subdomain,
    is_qualified_name,
    mask_trailing_dash,
    validate_annotations,
    validate_labels,
    validate_namespace_name,
)
from trainc.schema.violation import Violation
from trainc.source import JsonObject, Path, dotted

_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"

NameRule = Callable[[str], tuple[str, ...]]


def _subdomain_prefix(prefix: str) -> tuple[str, ...]:
    return is_dns1123_subdomain(mask_trailing_dash(prefix))


SUBDOMAIN: tuple[NameRule, NameRule] = (is_dns1123_subdomain, _subdomain_prefix)
"""The rules for the names of custom resources and for their beginnings."""


def object_meta_violations(
    metadata: JsonObject,
    *,
    namespaced: bool,
    path: Path = ("metadata",),
    name_rules: tuple[NameRule, NameRule] = SUBDOMAIN,
) -> tuple[Violation, ...]:
    """Return what is wrong with metadata that Go has decoded and written again.

    ``namespaced``: the object lies in a namespace; one that is not said is the request's, and taken as good.
    ``name_rules``: for a name, and for the beginning of one.
    """
    text = dotted(path)
    found: list[Violation] = []
    if prefix := metadata.get("generateName"):
        details = name_rules[1](str(prefix))
        found += _invalid((*path, "generateName"), str(prefix), details, "is not the beginning of a valid name")
    if name := metadata.get("name"):
        found += _invalid((*path, "name"), str(name), name_rules[0](str(name)), "is not a valid name")
    else:
        found.append(_nameless(path))
    found += _namespace_violations(metadata, path, namespaced=namespaced)
    generation: Any = metadata.get("generation", 0)
    if generation < 0:
        upstream = invalid(f"{text}.generation", generation, "must be greater than or equal to 0")
        found.append(_violation((*path, "generation"), "must not be negative", upstream, generation))
    found += _label_violations(metadata.get("labels", {}), (*path, "labels"))
    found += _annotation_violations(metadata.get("annotations", {}), (*path, "annotations"))
    found += _owner_violations(metadata.get("ownerReferences", []), (*path, "ownerReferences"))
    found += _finalizer_violations(metadata.get("finalizers", []), (*path, "finalizers"))
    return tuple(found)


def _violation(path: Path, message: str, upstream: str, value: Any, expected: str | None = None) -> Violation:
    shown = go_json(value)
    return Violation(
        "TC108",
        path,
        f"{dotted(path)} {message}",
        upstream,
        found=shown if len(shown) <= 60 else shown[:57] + "...",
        expected=expected,
    )


def _invalid(path: Path, value: str, details: Iterable[str], message: str) -> Iterator[Violation]:
    for detail in details:
        yield _violation(path, message, invalid(dotted(path), value, detail), value, detail)


def _nameless(path: Path) -> Violation:
    upstream = f"{dotted((*path, 'name'))}: Required value: name or generateName is required"
    return Violation("TC103", path, f"{dotted(path)} lacks name", upstream, expected="name", blocking=True)


def _namespace_violations(metadata: JsonObject, path: Path, *, namespaced: bool) -> Iterator[Violation]:
    namespace = metadata.get("namespace")
    if not namespace:
        return
    path = (*path, "namespace")
    if namespaced:
        details = validate_namespace_name(str(namespace))
        yield from _invalid(path, str(namespace), details, "is not a valid name of a namespace")
    else:
        upstream = f"{dotted(path)}: Forbidden: not allowed on this type"
        yield _violation(path, "is not allowed on this kind", upstream, namespace)


def _label_violations(labels: Any, path: Path) -> Iterator[Violation]:
    for key in sorted(labels):
        of_key = len(is_qualified_name(key))
        for number, upstream in enumerate(validate_labels({key: labels[key]}, dotted(path))):
            expected = upstream.partition('": ')[2]
            at_fault = key if number < of_key else labels[key]
            yield _keyed(path, key, "is not a valid label", upstream, value=at_fault, expected=expected)


def _annotation_violations(annotations: Any, path: Path) -> Iterator[Violation]:
    size = 0
    for key in sorted(annotations):
        size += len(key.encode()) + len(annotations[key].encode())
        for upstream in validate_annotations({key: ""}, dotted(path)):
            expected = upstream.partition('": ')[2]
            yield _keyed(path, key, "is not a valid key of an annotation", upstream, value=key, expected=expected)
    if size > TOTAL_ANNOTATION_SIZE_LIMIT:
        limit = f"may not be more than {TOTAL_ANNOTATION_SIZE_LIMIT} bytes"
        upstream = f"{dotted(path)}: Too long: {limit}"
        message = f"{dotted(path)} are too long together"
        yield Violation("TC108", path, message, upstream, f"{size} bytes", limit, blocking=True)


def _keyed(path: Path, key: str, message: str, upstream: str, *, value: Any, expected: str) -> Violation:
    whole = _violation((*path, key), message, upstream, value, expected)
    return Violation("TC108", whole.path, f'{dotted(path)} "{key}" {message}', upstream, whole.found, expected)


def _owner_violations(owners: Any, path: Path) -> Iterator[Violation]:
    """Check owners. Go names no index, so that texts may repeat; the path has it."""
    text = dotted(path)
    controller = ""
    for index, owner in enumerate(owners):
        here = (*path, index)
        version = owner["apiVersion"]
        group, slash, name = version.partition("/")
        checks = {"apiVersion": (name if slash else group, "version must not be empty")}
        if version == "/" or "/" in name:
            checks["apiVersion"] = ("", "version must not be empty")
        checks.update({key: (owner[key], "must not be empty") for key in ("kind", "name", "uid")})
        for key, (value, detail) in checks.items():
            if not value:
                upstream = invalid(f"{text}.{key}", owner[key], detail)
                yield _violation((*here, key), detail, upstream, owner[key])
        if version == "v1" and owner["kind"] == "Event":
            upstream = f"{text}: Invalid value: {_struct(owner)}: /v1, Kind=Event is disallowed from being an owner"
            yield _violation(here, "is an Event, which may not own anything", upstream, owner)
        if owner.get("controller"):
            current = f"{owner['kind']}/{owner['name']}"
            if controller:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for'
                    f" {controller} and {current}"
                )
                upstream = f"{text}: Invalid value: [{','.join(map(_struct, owners))}]: {detail}"
                yield _violation(here, "is a second controller", upstream, owner)
            controller = controller or current


def _struct(owner: JsonObject) -> str:
    ordered = (key for key in fields("v1.OwnerReference") if key in owner)
    return "{" + ",".join(f"{go_json(key)}:{go_json(owner[key])}" for key in ordered) + "}"


def _finalizer_violations(finalizers: Any, path: Path) -> Iterator[Violation]:
    text = dotted(path)
    for index, finalizer in enumerate(finalizers):
        for detail in is_qualified_name(finalizer):
            upstream = invalid(text, finalizer, detail)
            yield _violation((*path, index), "is not a valid finalizer", upstream, finalizer, detail)
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        detail = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        upstream = f"{text}: Invalid value: {go_value(finalizers)}: {detail}"
        yield _violation(path, f"hold both {_ORPHAN} and {_FOREGROUND}", upstream, finalizers)
