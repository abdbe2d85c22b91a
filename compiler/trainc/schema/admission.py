"""Handles a create request as an API server does, without webhooks, policies and CRD rules.

Source of the order: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/customresource_handler.go (decoding) and
pkg/registry/customresource (strategy.go, validator.go).
"""

from __future__ import annotations

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object
from trainc.findings import suggest
from trainc.kube.fielderror import NO_FIELD
from trainc.schema.kinds import Resource
from trainc.schema.metadata import (
    SUBDOMAIN,
    EmbeddedError,
    embedded_violations,
    known_fields,
    object_meta_violations,
    read_embedded,
    read_metadata,
)
from trainc.schema.structural import Structural, has_embedded, has_rules
from trainc.schema.walk import PRUNE, STORE, Mode, node_of
from trainc.schema.wording import UNKNOWN, UNREADABLE, Failures, Violation, native_violation, violations

_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation"
)


class Admitted(msgspec.Struct, frozen=True):
    """An object as the server would store it, the paths of the unknown fields that it dropped, and violations.

    ``readable``: a webhook's Go type can read it, if it has no violations.
    """

    data: JsonObject
    dropped: tuple[Path, ...] = ()
    violations: tuple[Violation, ...] = ()
    readable: bool = True


def admit(resource: Resource, data: JsonObject, go: str = "", *, reads: bool = False) -> Admitted:
    """Decode, prune, default and validate an object as the API server does on create.

    ``data`` is a whole object of the resource's kind, returned unchanged if it cannot be decoded. ``go``: the Go type
    from which a mutating webhook writes the object again before it is stored or, with ``reads``, into which a
    validating one reads it.
    """
    named, dropped, refusal = read_metadata(data, namespaced=resource.namespaced)
    if refusal is not None:
        return Admitted(data, violations=(refusal,))
    schema, failures = resource.schema, _walk_status(resource, named)
    mode = Mode(native=resource.native, reads=reads)
    if has_embedded(schema):
        try:
            read, inner = read_embedded(schema, named)
        except EmbeddedError as error:
            return Admitted(data, violations=(error.violation,))
        named = as_object(read)
        dropped += inner
    stored = as_object(node_of(schema, mode, go, whole=True).visit(_without_status(resource, named), failures))
    stored = _without_status(resource, stored)
    dropped += tuple(failure.path for failure in failures if failure.keyword == UNKNOWN)
    found = _violations(resource, stored, failures)
    if resource.native and any(violation.decode for violation in found):
        stored = data
    return Admitted(stored, dropped, found, not any(failure.keyword == UNREADABLE for failure in failures))


def _without_status(resource: Resource, data: JsonObject) -> JsonObject:
    if resource.status and "status" in data:
        return {key: value for key, value in data.items() if key != "status"}
    return data


def _walk_status(resource: Resource, data: JsonObject) -> Failures:
    """Return the unknown fields of a status, which the server ignores on create, and those that Go cannot decode."""
    failures: Failures = []
    schema = resource.schema.properties.get("status")
    if resource.status and "status" in data and schema is not None:
        node_of(schema, STORE._replace(native=resource.native)).visit(data["status"], failures)
        failures = [f for f in failures if f.keyword == UNKNOWN or (resource.native and f.keyword != "required")]
        for failure in failures:
            failure.steps.append("status")
    return failures


def _violations(resource: Resource, stored: JsonObject, failures: Failures) -> tuple[Violation, ...]:
    """Return the violations of a stored object; ``failures`` are those of the walk over it."""
    metadata = stored.get("metadata", {})
    assert isinstance(metadata, dict), "Go has decoded it"
    if resource.native:
        from trainc.schema.native import NAME_RULES

        rules = NAME_RULES.get(resource.kind, SUBDOMAIN)
        found = object_meta_violations(metadata, namespaced=resource.namespaced, name_rules=rules)
        return (*found, *(native_violation(failure) for failure in failures if failure.keyword != UNKNOWN))
    found = object_meta_violations(metadata, namespaced=resource.namespaced)
    if failures:
        found += violations(resource.schema, failures)
    if has_embedded(resource.schema):
        found += embedded_violations(resource.schema, stored)
    return with_unchecked_rules(resource.schema, found) if found else ()


def with_unchecked_rules(schema: Structural, found: tuple[Violation, ...]) -> tuple[Violation, ...]:
    """Add the server's note that errors keep it from evaluating the CRD's rules."""
    if not any(violation.blocking for violation in found) or not has_rules(schema):
        return found
    note = Violation(
        "TC110",
        (),
        "the CRD's rules are not checked until the other errors are fixed",
        f"{NO_FIELD}: Invalid value: null: {_NOT_CHECKED}",
        secondary=True,
    )
    return (*found, note)


def check(schema: Structural, data: Json) -> tuple[Json, tuple[Path, ...], tuple[Violation, ...]]:
    """Return data without unknown fields, their paths, and violations; no defaults are set.

    For trainc's own files that have a structural schema.
    """
    failures: Failures = []
    pruned = node_of(schema, PRUNE).visit(data, failures)
    return (
        pruned,
        tuple(failure.path for failure in failures if failure.keyword == UNKNOWN),
        violations(schema, failures),
    )


def unknown_field_hint(resource: Resource, path: Path) -> str | None:
    """Return ``did you mean '...'?`` for a dropped field, or None where nothing is spelled like it."""
    *parents, name = path
    if parents == ["metadata"]:
        return suggest(str(name), known_fields())
    parent = resource.schema.at(tuple(parents))
    return suggest(str(name), parent.properties) if parent is not None else None
