"""What an API server does with a create request for a custom resource, but for webhooks, policies and CRD rules.

Source of the order: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/customresource_handler.go (decoding) and
pkg/registry/customresource (strategy.go, validator.go).
"""

from __future__ import annotations

from trainc.findings import suggest
from trainc.kube.fielderror import NO_FIELD
from trainc.records import dataclass
from trainc.schema.defaulting import default
from trainc.schema.embedded import EmbeddedError, embedded_violations, read_embedded
from trainc.schema.fitting import fit
from trainc.schema.judge import is_clean
from trainc.schema.metadata import known_fields, read_metadata
from trainc.schema.metarules import object_meta_violations
from trainc.schema.pruning import drop_nulls, prune
from trainc.schema.structural import Resource, Structural, compiled
from trainc.schema.violation import Violation
from trainc.source import JsonObject, Path

_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation"
)


@dataclass(frozen=True, slots=True)
class Admitted:
    """An object as the server would go on with it, the paths of the unknown fields it dropped, and what is wrong."""

    data: JsonObject
    dropped: tuple[Path, ...] = ()
    violations: tuple[Violation, ...] = ()


def admit(resource: Resource, data: JsonObject) -> Admitted:
    """Prune, default and validate an object as the API server does on create.

    ``data`` is a whole object of the resource's kind. Where it cannot be decoded, it comes back as it was.
    """
    if resource.native:
        from trainc.schema.native import read_native

        return Admitted(*read_native(resource, data))
    if (fitted := fit(resource, data)) is not None:
        return Admitted(fitted)
    decoded = read(resource, data)
    if decoded.violations:
        return decoded
    return Admitted(decoded.data, decoded.dropped, validate_object(resource, decoded.data))


def read(resource: Resource, data: JsonObject) -> Admitted:
    """Do what happens before any webhook is asked: decode metadata, prune, drop nulls, default, drop the status."""
    named, unknown, refusal = read_metadata(resource, data)
    if refusal is not None:
        return Admitted(data, violations=(refusal,))
    pruned, dropped = prune(resource.schema, named)
    try:
        coerced, inner = read_embedded(resource.schema, drop_nulls(resource.schema, pruned))
    except EmbeddedError as error:
        return Admitted(data, violations=(error.violation,))
    filled = default(resource.schema, coerced)
    assert isinstance(filled, dict), "an object stays one"
    if resource.status and "status" in filled:
        filled = {key: value for key, value in filled.items() if key != "status"}
    return Admitted(filled, (*unknown, *dropped, *inner))


def validate(schema: Structural, data: JsonObject) -> tuple[Violation, ...]:
    """Return every failure of data against schema and its list types; empty for a document that fits.

    ``data`` is pruned and defaulted. The CRD's rules are not evaluated; where the server would not do so either, the
    last violation says it.
    """
    if is_clean(schema, data):
        return ()
    from trainc.schema.explain import explain

    return with_unchecked_rules(schema, explain(schema, data))


def validate_object(resource: Resource, data: JsonObject) -> tuple[Violation, ...]:
    """Return every failure of a whole object, its metadata included.

    ``data`` is what ``read`` gives, or what webhooks made of that.
    """
    metadata = data.get("metadata", {})
    assert isinstance(metadata, dict), "Go has decoded it"
    found = object_meta_violations(metadata, namespaced=resource.namespaced)
    if not is_clean(resource.schema, data):
        from trainc.schema.explain import explain

        found += explain(resource.schema, data)
    found += embedded_violations(resource.schema, data)
    return with_unchecked_rules(resource.schema, found) if found else ()


def with_unchecked_rules(schema: Structural, violations: tuple[Violation, ...]) -> tuple[Violation, ...]:
    """Add what the server says when errors keep it from evaluating the CRD's rules."""
    if not any(violation.blocking for violation in violations) or not has_rules(schema):
        return violations
    note = Violation(
        "TC110",
        (),
        "the CRD's rules are checked once the other errors are gone",
        f"{NO_FIELD}: Invalid value: null: {_NOT_CHECKED}",
        secondary=True,
    )
    return (*violations, note)


def has_rules(schema: Structural) -> bool:
    """Tell whether schema has x-kubernetes-validations, at any depth."""
    return bool(compiled(_has_rules, schema))


def _has_rules(schema: Structural) -> bool:
    below = (*schema.properties.values(), schema.items, schema.additional)
    return bool(schema.rules) or any(sub is not None and has_rules(sub) for sub in below)


def unknown_field_hint(resource: Resource, path: Path) -> str | None:
    """Return ``did you mean '...'?`` for a dropped field, or None where nothing is spelt like it."""
    *parents, name = path
    if parents == ["metadata"]:
        return suggest(str(name), known_fields())
    parent = resource.schema.at(tuple(parents))
    return suggest(str(name), parent.properties) if parent is not None else None
