"""What an API server forbids in the schemas of a CRD that structurality does not: keywords, and their combinations.

Source of the rules: k8s.io/apiextensions-apiserver v0.34 pkg/apis/apiextensions/validation/validation.go
(ValidateCustomResourceDefinitionOpenAPISchema). The CEL of x-kubernetes-validations is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from trainc.records import dataclass, replace
from trainc.schema.definition.place import Place, forbidden, invalid, required, unsupported
from trainc.schema.violation import Violation

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META = ("metadata", "kind", "apiVersion")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LIST_TYPE, _LIST_KEYS, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


@dataclass(frozen=True, slots=True)
class _Context:
    """Where a schema stands: why defaults are forbidden there, and whether it describes metadata."""

    no_defaults: str | None = None
    meta: bool = False
    root: bool = False


def openapi_violations(schema: Any, place: Place) -> list[Violation]:
    """Return what is forbidden in a schema, the root of a version, as keywords.normal gives it."""
    return list(_violations(schema, place, _Context(root=True)))


def _violations(schema: Any, place: Place, context: _Context) -> Iterator[Violation]:
    yield from _forbidden_keywords(schema, place, context)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(place.child("uniqueItems"), detail)
    yield from _children(schema, place, context)
    keyword = "x-kubernetes-preserve-unknown-fields"
    if schema.get(keyword) is False:
        yield invalid(place.child(keyword), False, "must be true or undefined")
    yield from _map_type(schema, place)
    yield from _list_type(schema, place)
    yield from _list_map(schema, place)
    yield from _keys_and_items(schema, place)
    for index, rule in enumerate(schema.get("x-kubernetes-validations", ())):
        yield from _rule(rule, place.child("x-kubernetes-validations").index(index))


def _forbidden_keywords(schema: Any, place: Place, context: _Context) -> Iterator[Violation]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield unsupported(place.child("type"), kind, _TYPES)
    if schema.get("default") is not None and context.no_defaults is not None:
        yield forbidden(place.child("default"), f"must not be set {context.no_defaults}")
    for keyword in _UNSUPPORTED:
        if keyword in schema:
            yield forbidden(place.child(keyword), f"{keyword} is not supported")
    if kind == "null":
        yield forbidden(place.child("type"), "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield forbidden(place.child("items"), "items must be a schema object and not an array")
    if context.meta and schema.get("x-kubernetes-embedded-resource"):
        yield forbidden(place.child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta")


def _children(schema: Any, place: Place, context: _Context) -> Iterator[Violation]:
    root, context = context.root, replace(context, root=False)
    properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
    if properties and (additional is False or isinstance(additional, dict)):
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden(place.child("additionalProperties"), detail)
    if isinstance(additional, dict):
        reason = "inside additionalProperties applying to object metadata"
        inner = replace(context, no_defaults=reason) if context.meta else context
        yield from _violations(additional, place.child("additionalProperties"), inner)
    whole = root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, sub in properties.items():
        inner = context
        if whole and name in _META:
            inner = replace(context, meta=True)
            if root:
                inner = replace(inner, no_defaults=f"in top-level {name}")
        yield from _violations(sub, place.child("properties").key(name), inner)
    for sub, at in _others(schema, place):
        yield from _violations(sub, at, context)


def _others(schema: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    """Yield the sub-schemas that stand where their parent stands, and those of items."""
    for keyword in ("not", "items"):
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword], place.child(keyword)
    for keyword in ("allOf", "oneOf", "anyOf", "items"):
        if isinstance(schema.get(keyword), list):
            at = place.child(keyword)
            yield from ((sub, at.index(index)) for index, sub in enumerate(schema[keyword]))
    for keyword in ("definitions", "dependencies"):
        at = place.child(keyword)
        for name, sub in schema.get(keyword, {}).items():
            if isinstance(sub, dict):
                yield sub, at.key(name)


def _typed(schema: Any, place: Place, kind: str, keyword: str) -> Iterator[Violation]:
    """Check that a keyword for one type stands beside that type."""
    found, detail = schema.get("type", ""), f"must be {kind} if {keyword} is specified"
    if found != kind:
        yield invalid(place.child("type"), found, detail) if found else required(place.child("type"), detail)


def _map_type(schema: Any, place: Place) -> Iterator[Violation]:
    if (map_type := schema.get(_MAP_TYPE)) is None:
        return
    yield from _typed(schema, place, "object", _MAP_TYPE)
    if map_type not in ("atomic", "granular"):
        yield unsupported(place.child(_MAP_TYPE), map_type, ("atomic", "granular"))


def _list_type(schema: Any, place: Place) -> Iterator[Violation]:
    if (list_type := schema.get(_LIST_TYPE)) is None:
        return
    items, at = schema.get("items"), place.child("items")
    if schema.get("type", "") != "array":
        yield from _typed(schema, place, "array", _LIST_TYPE)
    elif list_type == "set" and isinstance(items, dict):
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        kind, inner = items.get("type", ""), items.get(_LIST_TYPE)
        if kind == "array" and inner not in (None, "atomic"):
            yield invalid(at.child(_LIST_TYPE), inner, detail)
        if kind == "object" and items.get(_MAP_TYPE) != "atomic":
            yield invalid(at.child(_MAP_TYPE), inner, detail)
    if list_type not in ("atomic", "set", "map"):
        yield unsupported(place.child(_LIST_TYPE), list_type, ("atomic", "set", "map"))


def _list_map(schema: Any, place: Place) -> Iterator[Violation]:
    list_type, keys, items = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS, []), schema.get("items")
    at = place.child("items")
    if keys and list_type != "map":
        detail = f"must be map if {_LIST_KEYS} is non-empty"
        here = place.child(_LIST_TYPE)
        yield required(here, detail) if list_type is None else invalid(here, list_type, detail)
    if list_type != "map":
        return
    if not keys:
        yield required(place.child(_LIST_KEYS), f"must not be empty if {_LIST_TYPE} is map")
    if items is None:
        yield required(at, f"must have a schema if {_LIST_TYPE} is map")
    elif not isinstance(items, dict):
        yield invalid(at, items, f"must only have a single schema if {_LIST_TYPE} is map")
    elif items.get("type", "") != "object":
        yield invalid(at.child("type"), items.get("type", ""), f"must be object if parent array's {_LIST_TYPE} is map")
    else:
        yield from _list_keys(items, keys, place)


def _list_keys(items: Any, keys: Any, place: Place) -> Iterator[Violation]:
    properties, here = items.get("properties", {}), place.child(_LIST_KEYS)
    for number, key in enumerate(keys):
        if key not in properties:
            yield invalid(here, keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid(place.child("items", "properties").key(key).child("type"), items["type"], detail)
        if key in keys[:number]:
            yield invalid(here, keys, "must not contain duplicate entries")


def _keys_and_items(schema: Any, place: Place) -> Iterator[Violation]:
    """Check that items of sets and maps are never null, and that every key of a map is always there."""
    list_type, items, at = schema.get(_LIST_TYPE), schema.get("items"), place.child("items")
    if list_type not in ("set", "map") or not isinstance(items, dict):
        return
    if items.get("nullable"):
        yield forbidden(at.child("nullable"), f"cannot be nullable when {_LIST_TYPE} is {list_type}")
    for key in schema.get(_LIST_KEYS, ()) if list_type == "map" else ():
        field, here = items.get("properties", {}).get(key), at.child("properties").key(key)
        if field is None:
            continue
        why = f"this property is in {_LIST_KEYS}, so it"
        if key not in items.get("required", ()) and field.get("default") is None:
            yield required(here.child("default"), f"{why} must have a default or be a required property")
        if field.get("nullable"):
            yield forbidden(here.child("nullable"), f"{why} cannot be nullable")


def _rule(rule: Any, place: Place) -> Iterator[Violation]:
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        yield required(place.child("rule"), "rule is not specified")
    elif message and not message.strip():
        yield invalid(place.child("message"), message, "must be non-empty if specified")
    elif _breaks(message.strip()):
        yield invalid(place.child("message"), message, "must not contain line breaks")
    elif _breaks(text.strip()) and not message.strip():
        yield required(place.child("message"), "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        yield required(place.child("messageExpression"), "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield unsupported(place.child("reason"), reason, _REASONS)
    path = rule.get("fieldPath") or ""
    if path and not path.strip():
        yield invalid(place.child("fieldPath"), path, "must be non-empty if specified")
    if _breaks(path):
        yield invalid(place.child("fieldPath"), path, "must not contain line breaks")


def _breaks(text: str) -> bool:
    return re.search(r"[\n\r]", text) is not None
