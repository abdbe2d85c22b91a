"""Structural schemas as JSON Schema: one conversion, for the judge and for the jsonschema library.

What an API server reads differently becomes explicit: a nullable type is a list with null in it, int-or-string a list
of two types, formats that it ignores are gone, and the limits of numbers are one keyword of this dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from trainc.schema.formats import known_format
from trainc.schema.structural import OF_DEFAULTS, Structural, compiled

NUMBER: Final = "x-number"
"""Keyword of the dialect: type, format and limits of a number, checked together."""

LIST_TYPE: Final = "x-kubernetes-list-type"
LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_NUMBER_LIMITS = ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_AS_IS = ("maxLength", "minLength", "pattern")
_LIST = ("minItems", "maxItems")
_OBJECT = ("minProperties", "maxProperties")


def convert(schema: Structural) -> dict[str, Any]:
    """Return schema in this dialect, sub-schemas included; equal sub-schemas are one dictionary.

    The keywords stand in the order in which an API server checks them. ``type`` is always there, maybe empty.
    """
    converted: dict[str, Any] = compiled(_convert, schema)
    return converted


def flat(schema: Structural) -> dict[str, Any]:
    """Return the keywords of schema in this dialect, with nothing in the place of sub-schemas: what a checker reads."""
    converted: dict[str, Any] = compiled(_convert_alone, schema)
    return converted


def _convert(schema: Structural) -> dict[str, Any]:
    return _converted(schema, convert)


def _convert_alone(schema: Structural) -> dict[str, Any]:
    return _converted(schema, lambda _: {})


def _converted(schema: Structural, below: Callable[[Structural], dict[str, Any]]) -> dict[str, Any]:
    keywords = schema.keywords
    of_defaults = OF_DEFAULTS in keywords
    either = schema.int_or_string and not of_defaults
    names = ["integer", "string"] if either else [schema.type] if schema.type else []
    single = names[0] if len(names) == 1 else ""
    form = keywords.get("format", "")
    if not of_defaults:
        form = known_format(single, form)
    result: dict[str, Any] = {"type": [*names, "null"] if names and schema.nullable else names}
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in keywords:
            result[keyword] = [below(sub) for sub in schema.alternatives(keyword)]
    if (negated := schema.negated()) is not None:
        result["not"] = below(negated)
    _copy(keywords, result, _AS_IS)
    if form:
        result["format"] = form
    _add_number(keywords, result, single, known_format(single, form))
    if schema.items is not None:
        result["items"] = below(schema.items)
    _copy(keywords, result, _LIST)
    if keywords.get(LIST_TYPE) in ("set", "map"):
        result[LIST_TYPE] = keywords[LIST_TYPE]
        result[LIST_KEYS] = keywords.get(LIST_KEYS, [])
    if keywords.get("enum"):
        result["enum"] = keywords["enum"]
    _copy(keywords, result, _OBJECT)
    if schema.properties:
        result["properties"] = {name: below(sub) for name, sub in schema.properties.items()}
    if schema.additional is not None:
        result["additionalProperties"] = below(schema.additional)
    _copy(keywords, result, ("required",))
    return result


def _copy(keywords: Any, result: dict[str, Any], names: tuple[str, ...]) -> None:
    result.update((name, keywords[name]) for name in names if name in keywords)


def _add_number(keywords: Any, result: dict[str, Any], single: str, form: str) -> None:
    limits = {name: keywords[name] for name in _NUMBER_LIMITS if name in keywords}
    kind = single if single in ("integer", "number") else ""
    if kind or limits:
        result[NUMBER] = {"type": kind, "format": form if kind else "", **limits}
