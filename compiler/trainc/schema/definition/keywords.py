"""The keywords of a schema inside a CRD: which there are, and what shape each has.

Source of the rules: JSONSchemaProps and its decoders in k8s.io/apiextensions-apiserver pkg/apis/apiextensions/v1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trainc.findings import suggest
from trainc.schema.violation import Violation
from trainc.schema.wording import show, type_hint
from trainc.source import Json, JsonObject, Path, dotted

_RULE = {
    "rule": "string",
    "message": "string",
    "messageExpression": "string",
    "reason": "string",
    "fieldPath": "string",
    "optionalOldSelf": "boolean",
}
_DOCS = {"description": "string", "url": "string"}
KEYWORDS: dict[str, str] = {
    **dict.fromkeys(("$ref", "$schema", "description", "format", "id", "pattern", "title", "type"), "string"),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "nullable", "uniqueItems"), "boolean"),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), "number"),
    **dict.fromkeys(
        ("maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"),
        "integer",
    ),
    **dict.fromkeys(("default", "example"), "any"),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), "schemas"),
    **dict.fromkeys(("definitions", "patternProperties", "properties"), "schema map"),
    **dict.fromkeys(("additionalItems", "additionalProperties"), "schema or boolean"),
    "dependencies": "dependencies",
    "enum": "list",
    "externalDocs": "docs",
    "items": "items",
    "not": "schema",
    "required": "strings",
    "x-kubernetes-embedded-resource": "boolean",
    "x-kubernetes-int-or-string": "boolean",
    "x-kubernetes-list-map-keys": "strings",
    "x-kubernetes-list-type": "string",
    "x-kubernetes-map-type": "string",
    "x-kubernetes-preserve-unknown-fields": "boolean",
    "x-kubernetes-validations": "rules",
}
"""Every keyword, and the shape of its value."""

POINTERS = frozenset(
    {
        *("$ref", "additionalItems", "additionalProperties", "default", "dependencies", "example", "items", "maxItems"),
        *("maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf"),
        *("not", "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields"),
    }
)
"""Keywords of which an empty value is not the same as none."""

_SCALARS: dict[str, tuple[str, tuple[type, ...]]] = {
    "string": ("a string", (str,)),
    "boolean": ("true or false", (bool,)),
    "integer": ("an integer", (int,)),
    "number": ("a number", (int, float)),
    "list": ("a list", (list,)),
}


def given(schema: JsonObject) -> JsonObject:
    """Return the keywords of a schema that say something: null, and what equals absence in Go, is left out."""
    return {key: value for key, value in schema.items() if value is not None and (key in POINTERS or _says(value))}


def _says(value: Json) -> bool:
    return bool(value) or (isinstance(value, int | float) and not isinstance(value, bool))


def normal(schema: JsonObject) -> JsonObject:
    """Return a whole schema as ``given`` has it, sub-schemas included; values that are no schemas stay as they are."""
    return {key: _normal_value(KEYWORDS.get(key, ""), value) for key, value in given(schema).items()}


def _normal_value(shape: str, value: Any) -> Any:
    if shape in ("schema", "items", "schema or boolean") and isinstance(value, dict):
        return normal(value)
    if shape == "schemas" or (shape == "items" and isinstance(value, list)):
        return [normal(sub or {}) for sub in value]
    if shape in ("schema map", "dependencies"):
        return {name: normal(sub or {}) if isinstance(sub or {}, dict) else sub for name, sub in value.items()}
    if shape == "rules":
        return [rule or {} for rule in value]
    return value


def shape_violations(schema: Json, path: Path) -> Iterator[Violation]:
    """Yield unknown keywords (TC101) and values of another shape than the keyword's (TC102), at any depth."""
    if not isinstance(schema, dict):
        yield _mistyped(schema, path, "a mapping")
        return
    for key, value in schema.items():
        here = (*path, key)
        if key not in KEYWORDS:
            yield _unknown(here, f"unknown keyword {key}", KEYWORDS)
        elif value is not None:
            yield from _value_violations(KEYWORDS[key], value, here)


def _value_violations(shape: str, value: Any, path: Path) -> Iterator[Violation]:
    if shape in _SCALARS:
        yield from _scalar_violations(shape, value, path)
    elif shape == "strings":
        yield from _items(value, path, lambda item, here: _scalar_violations("string", item, here))
    elif shape == "schemas" or (shape == "items" and isinstance(value, list)):
        yield from _items(value, path, shape_violations)
    elif shape == "rules":
        yield from _items(value, path, lambda item, here: _struct_violations(_RULE, item, here))
    elif shape == "docs":
        yield from _struct_violations(_DOCS, value, path)
    elif shape == "schema map":
        yield from _fields(value, path, shape_violations)
    elif shape == "dependencies":
        yield from _fields(value, path, _dependency_violations)
    elif shape == "schema" or (shape == "items" and isinstance(value, dict)):
        yield from shape_violations(value, path)
    elif shape == "items":
        yield _mistyped(value, path, "a schema")
    elif shape == "schema or boolean" and not isinstance(value, bool):
        yield from (
            shape_violations(value, path)
            if isinstance(value, dict)
            else (_mistyped(value, path, "a schema, true or false"),)
        )


def _scalar_violations(shape: str, value: Any, path: Path) -> Iterator[Violation]:
    wanted, classes = _SCALARS[shape]
    whole = shape == "integer" and isinstance(value, float) and value.is_integer()
    if not whole and (not isinstance(value, classes) or (isinstance(value, bool) and bool not in classes)):
        yield _mistyped(value, path, wanted, type_hint([shape], value))


def _struct_violations(fields: dict[str, str], value: Any, path: Path) -> Iterator[Violation]:
    if not isinstance(value, dict):
        yield _mistyped(value, path, "a mapping")
        return
    for key, item in value.items():
        if key not in fields:
            yield _unknown((*path, key), f"unknown field {key}", fields)
        elif item is not None:
            yield from _scalar_violations(fields[key], item, (*path, key))


def _dependency_violations(value: Any, path: Path) -> Iterator[Violation]:
    if isinstance(value, list):
        yield from _value_violations("strings", value, path)
    else:
        yield from shape_violations(value, path)


def _items(value: Any, path: Path, check: Any) -> Iterator[Violation]:
    if not isinstance(value, list):
        yield _mistyped(value, path, "a list")
        return
    for index, item in enumerate(value):
        if item is not None:
            yield from check(item, (*path, index))


def _fields(value: Any, path: Path, check: Any) -> Iterator[Violation]:
    if not isinstance(value, dict):
        yield _mistyped(value, path, "a mapping")
        return
    for name, item in value.items():
        if item is not None:
            yield from check(item, (*path, name))


def _unknown(path: Path, message: str, known: Iterable[str]) -> Violation:
    """Make the violation of what the server drops without a word, unless it is asked to be strict."""
    upstream = f'unknown field "{dotted(path)}"'
    name = str(path[-1])
    return Violation("TC101", path, message, upstream, found=name, hint=suggest(name, known), advisory=True)


def _mistyped(value: Json, path: Path, wanted: str, hint: str | None = None) -> Violation:
    name = path[-1] if path else "the schema"
    return Violation("TC102", path, f"{name} must be {wanted}", "", found=show(value), expected=wanted, hint=hint)
