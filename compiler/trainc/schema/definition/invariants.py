"""Structural schemas: what makes a schema one, and what it must have so that pruning and defaulting are defined.

Source of the rules: k8s.io/apiextensions-apiserver v0.34 pkg/apiserver/schema (validation.go, complete.go, convert.go).
A schema comes as keywords.normal gives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.schema.definition.place import Place, forbidden, invalid, required
from trainc.schema.patterns import pattern_error
from trainc.schema.violation import Violation
from trainc.source import JsonObject

_JUNCTORS = ("anyOf", "allOf", "oneOf")
_EMPTY_TYPES = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_IGNORED = ("example", "externalDocs")
_INNER = (
    *(("type", "must be empty to be structural"), ("default", "must be undefined to be structural")),
    *(("title", "must be empty to be structural"), ("description", "must be empty to be structural")),
    *(("nullable", "must be false to be structural"),),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
"""What may not stand below allOf, anyOf, oneOf and not, in the server's order."""


def structural_violations(schema: JsonObject, place: Place) -> list[Violation]:
    """Return why a schema, the root of a version, is not structural; empty where it is."""
    return [*_invariants(schema, "root", place), *_incomplete(schema, schema, place, place)]


def _invariants(schema: Any, level: str, place: Place) -> Iterator[Violation]:
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and items is None:
        yield required(place.child("items"), "must be specified")
    if items is not None:
        yield from _invariants(items, "item", place.child("items"))
    for name, sub in schema.get("properties", {}).items():
        yield from _invariants(sub, "field", place.child("properties").key(name))
    if additional is not None and level == "root":
        yield forbidden(place.child("additionalProperties"), "must not be used at the root")
    if isinstance(additional, dict):
        yield from _invariants(additional, "field", place.child("additionalProperties"))
    yield from _extensions(schema, place)
    yield from _values(schema, place)
    yield from _types(schema, level, place)
    yield from _object_fields(schema, level, place)


def _extensions(schema: JsonObject, place: Place) -> Iterator[Violation]:
    if schema.get("x-kubernetes-int-or-string"):
        for keyword in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if schema.get(keyword):
                yield invalid(place.child(keyword), True, "must be false if x-kubernetes-int-or-string is true")


def _types(schema: JsonObject, level: str, place: Place) -> Iterator[Violation]:
    kind, at = schema.get("type", ""), place.child("type")
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    untyped = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(at, kind, detail) if kind else required(at, detail)
    elif not kind and not untyped:
        yield required(at, _EMPTY_TYPES[level])
    if embedded and "additionalProperties" in schema:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(place.child("additionalProperties"), detail)
    if level == "root" and kind and kind != "object":
        yield invalid(at, kind, "must be object at the root")


def _object_fields(schema: Any, level: str, place: Place) -> Iterator[Violation]:
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    properties, at = schema.get("properties", {}), place.child("properties")
    whole = level == "root" or embedded
    for name in ("kind", "apiVersion"):
        if whole and name in properties and (kind := properties[name].get("type", "")) != "string":
            yield invalid(at.key(name).child("type"), kind, "must be string")
    if (metadata := properties.get("metadata")) is not None:
        if whole and (kind := metadata.get("type", "")) != "object":
            yield invalid(at.key("metadata").child("type"), kind, "must be object")
        if level == "root" and not _restricts_names_only(metadata):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(at.key("metadata"), detail)
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield required(at, detail)


def _restricts_names_only(metadata: Any) -> bool:
    rest = {key for key in metadata if key not in ("type", "default", *_IGNORED)}
    names = set(metadata.get("properties", {}))
    if names and names <= {"name", "generateName"}:
        rest.discard("properties")
    return not rest


def _values(schema: Any, place: Place, *, skip_any_of: bool | None = None) -> Iterator[Violation]:
    """Check value validations. Int-or-string may be spelt out, in anyOf or in the first of allOf, types and all."""
    structural = skip_any_of is None
    if structural:
        skip_any_of = _bare(schema.get("anyOf")) == _INT_OR_STRING
    all_of = schema.get("allOf") or [{}]
    skip_first = structural and _bare(all_of[0].get("anyOf")) == _INT_OR_STRING
    for keyword in _JUNCTORS:
        if keyword == "anyOf" and skip_any_of:
            continue
        for index, sub in enumerate(schema.get(keyword, ())):
            skip = keyword == "allOf" and index == 0 and skip_first
            yield from _nested(sub, place.child(keyword).index(index), skip_any_of=skip)
    if (negated := schema.get("not")) is not None:
        yield from _nested(negated, place.child("not"))
    pattern = schema.get("pattern", "")
    if (error := pattern_error(pattern)) is not None:
        yield invalid(place.child("pattern"), pattern, f"must be a valid regular expression, but isn't: {error}")


def _bare(schemas: Any) -> Any:
    closed = ("additionalProperties", False)  # the same as nothing there
    return [
        {key: value for key, value in sub.items() if key not in _IGNORED and (key, value) != closed}
        for sub in schemas or ()
    ]


def _nested(schema: Any, place: Place, *, skip_any_of: bool = False) -> Iterator[Violation]:
    yield from _values(schema, place, skip_any_of=skip_any_of)
    if (items := schema.get("items")) is not None:
        yield from _nested(items, place.child("items"))
    properties = schema.get("properties", {})
    for name, sub in properties.items():
        yield from _nested(sub, place.child("properties").key(name))
    if schema.get("additionalProperties", False) is not False:
        yield forbidden(place.child("additionalProperties"), "must be undefined to be structural")
    for keyword, detail in _INNER:
        if keyword in schema:
            yield forbidden(place.child(keyword), detail)
    if "metadata" in properties:
        yield forbidden(place.child("properties").key("metadata"), "must not be specified in a nested context")


def _incomplete(values: Any, schema: Any, here: Place, seen: Place) -> Iterator[Violation]:
    """Yield the fields and items that value validations speak of and the schema itself does not have.

    ``values`` stands at ``seen`` and speaks of ``schema``, which stands at ``here``.
    """
    nested = [(values["not"], seen.child("not"))] if "not" in values else []
    for keyword in ("allOf", "anyOf", "oneOf"):
        at = seen.child(keyword)
        nested += [(sub, at.index(index)) for index, sub in enumerate(values.get(keyword, ()))]
    for sub, at in nested:
        yield from _incomplete_inner(sub, schema, here, at)


def _incomplete_inner(values: Any, schema: Any, here: Place, seen: Place) -> Iterator[Violation]:
    if schema is None:
        yield _undefined(here, seen)
        return
    yield from _incomplete(values, schema, here, seen)
    if (items := values.get("items")) is not None:
        yield from _incomplete_inner(items, schema.get("items"), here.child("items"), seen.child("items"))
    known = schema.get("properties", {})
    for name, sub in values.get("properties", {}).items():
        target, at = here.child("properties").key(name), seen.child("properties").key(name)
        if name in known:
            yield from _incomplete_inner(sub, known[name], target, at)
        else:
            yield _undefined(target, at)


def _undefined(here: Place, seen: Place) -> Violation:
    # The place that lacks something is not in the document: the finding stands where it is spoken of.
    found = required(here, f"because it is defined in {seen.text}")
    return Violation(found.code, seen.path, f"{found.message} and nowhere else", found.upstream)
