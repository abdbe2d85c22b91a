"""Handles a create request as an API server does, without webhooks, policies and CRD rules.

Source of the order: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/customresource_handler.go (decoding) and
pkg/registry/customresource (strategy.go, validator.go).
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, Path, as_object, dotted
from trainc.findings import suggest
from trainc.kube.fielderror import NO_FIELD
from trainc.kube.gotypes import fields
from trainc.schema.formats import CHARACTER, MOST_WORK, TooMuchWork
from trainc.schema.kinds import Resource
from trainc.schema.metadata import (
    NAME_RULES,
    OBJECT_META,
    SUBDOMAIN,
    embedded_violations,
    finalizer_violations,
    object_meta_violations,
    read_embedded,
    read_metadata,
)
from trainc.schema.structural import has_embedded, has_rules
from trainc.schema.walk import STORE, Mode, node_of
from trainc.schema.wording import UNKNOWN, Failures, Violation, native_violation, violations

_NOT_CHECKED = (
    "Invalid value: null: some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation"
)

_TOO_MUCH_WORK = Violation(
    "TC012",
    (),
    "the schema of its CRD takes too much work",
    "",
    expected=f"at most {MOST_WORK:,} characters times instructions of patterns; alternatives and errors count, too",
    hint="make the texts and lists of the object shorter, or its schema simpler",
    blocking=True,
)


class Admitted(msgspec.Struct, frozen=True):
    """An object as the server would store it, the paths of the unknown fields that it dropped, and violations."""

    data: JsonObject
    dropped: tuple[Path, ...] = ()
    violations: tuple[Violation, ...] = ()


def admit(resource: Resource, data: JsonObject, go: str = "") -> Admitted:
    """Decode, prune, default and validate an object as the API server does on create.

    ``data`` is a whole object of the resource's kind, returned unchanged if it cannot be decoded. ``go``: the Go type
    from which a mutating webhook writes the object again before it is stored.
    """
    schema = resource.schema
    named, dropped, refusal = read_metadata(data, namespaced=resource.namespaced)
    if refusal is None and has_embedded(schema):
        named, inner, refusal = read_embedded(schema, named)
        dropped += inner
    if refusal is not None:
        return Admitted(data, violations=(refusal,))
    mode = STORE
    if resource.native:
        from trainc.schema.native import NativeNode

        mode = Mode(native=NativeNode)
    try:
        failures = _walk_status(resource, named, mode)
        node = node_of(schema, mode, go, whole=True)
        stored = _without_status(resource, as_object(node.visit(_without_status(resource, named), failures)))
        if (refusal := _wrong_default(resource, stored)) is not None:
            return Admitted(data, violations=(refusal,))
        dropped += tuple(failure.path for failure in failures if failure.keyword == UNKNOWN)
        for path in dropped:
            failures.work.spend(CHARACTER * len(dotted(path)))
        found = _violations(resource, stored, failures)
    except TooMuchWork:
        return Admitted(data, violations=(_TOO_MUCH_WORK,))
    if resource.native and any(violation.decode for violation in found):
        stored = data
    return Admitted(stored, dropped, found)


def _wrong_default(resource: Resource, stored: JsonObject) -> Violation | None:
    """Return a violation for metadata that Go cannot decode, once it has defaults; a cluster refuses such a CRD."""
    refusal = read_metadata(stored, namespaced=resource.namespaced)[2]
    if refusal is None and has_embedded(resource.schema):
        refusal = read_embedded(resource.schema, stored)[2]
    return None if refusal is None else replace(refusal, hint="the value is a default of the CRD: correct it there")


def _without_status(resource: Resource, data: JsonObject) -> JsonObject:
    if resource.status and "status" in data:
        return {key: value for key, value in data.items() if key != "status"}
    return data


def _walk_status(resource: Resource, data: JsonObject, mode: Mode) -> Failures:
    """Return the unknown fields of a status, which the server ignores on create, and those that Go cannot decode."""
    failures = Failures()
    schema = resource.schema.properties.get("status")
    if resource.status and "status" in data and schema is not None:
        node_of(schema, mode).visit(data["status"], failures)
        failures[:] = [f for f in failures if f.keyword == UNKNOWN or (resource.native and f.keyword != "required")]
        for failure in failures:
            failure.steps.append("status")
    return failures


def _violations(resource: Resource, stored: JsonObject, failures: Failures) -> tuple[Violation, ...]:
    """Return the violations of a stored object; ``failures`` are those of the walk over it."""
    metadata = stored.get("metadata", {})
    assert isinstance(metadata, dict), "Go has decoded it"
    if resource.native:
        rules = NAME_RULES.get(resource.kind, SUBDOMAIN)
        found = object_meta_violations(metadata, namespaced=resource.namespaced, name_rules=rules)
        found += tuple(finalizer_violations(resource.kind, metadata))
        return (*found, *(native_violation(failure) for failure in failures if failure.keyword != UNKNOWN))
    found = object_meta_violations(metadata, namespaced=resource.namespaced)
    if failures:
        found += violations(resource.schema, failures)
    if has_embedded(resource.schema):
        found += tuple(embedded_violations(resource.schema, stored))
    if any(violation.blocking for violation in found) and has_rules(resource.schema):
        note = "the CRD's rules are not checked until the other errors are fixed"
        found += (Violation("TC110", (), note, f"{NO_FIELD}: {_NOT_CHECKED}", secondary=True),)
    return found


def unknown_field_hint(resource: Resource, path: Path) -> str | None:
    """Return ``did you mean '...'?`` for a dropped field, or None if no name is similar."""
    *parents, name = path
    if parents == ["metadata"]:
        return suggest(str(name), fields(OBJECT_META))
    parent = resource.schema.at(tuple(parents))
    return suggest(str(name), parent.properties) if parent is not None else None
