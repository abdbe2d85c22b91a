"""Defaulting: the API server fills in what a schema gives defaults for.

Source of the rules: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/schema/defaulting. A default goes where a key is
absent, or null where null is not allowed, and may itself be filled in further. The argument is never changed; parts
that need nothing are shared with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trainc.schema.structural import Structural, compiled
from trainc.source import Json, copied


def default(schema: Structural, data: Json) -> Json:
    """Return data with the defaults of schema filled in, or data itself where there is nothing to fill in."""
    filled: Json = compiled(_defaulter, schema)(data)
    return filled


def reaches_default(schema: Structural) -> bool:
    """Tell whether schema holds a default at any depth below its own."""
    return bool(compiled(_reaches_default, schema))


def _reaches_default(schema: Structural) -> bool:
    below = [*schema.properties.values(), *(sub for sub in (schema.items, schema.additional) if sub is not None)]
    return any(sub.default is not None or reaches_default(sub) for sub in below)


def _null_replaced(value: Any, schema: Structural) -> Any:
    return copied(schema.default) if value is None and not schema.nullable else value


def _defaulter(schema: Structural) -> Callable[[Any], Any]:
    if not reaches_default(schema):
        return lambda value: value
    given = [(name, sub) for name, sub in schema.properties.items() if sub.default is not None]
    deep = {name: sub for name, sub in schema.properties.items() if reaches_default(sub)}
    properties, additional, items = schema.properties, schema.additional, schema.items
    if additional is not None and additional.default is None and not reaches_default(additional):
        additional = None

    def fill(value: Any) -> Any:
        if value.__class__ is list:
            return value if items is None else _fill_items(value, items)
        if value.__class__ is not dict:
            return value
        result = value
        for name, sub in given:
            if value.get(name) is None and not (name in value and sub.nullable):
                if result is value:
                    result = dict(value)
                result[name] = copied(sub.default)
        for name, item in list(result.items()):
            old, child = item, deep.get(name)
            if child is None and additional is not None and name not in properties:
                child, item = additional, _null_replaced(item, additional)  # noqa: PLW2901 - old is kept beside it
            if child is not None and (item.__class__ is dict or item.__class__ is list):
                item = compiled(_defaulter, child)(item)  # noqa: PLW2901
            if item is not old:
                if result is value:
                    result = dict(value)
                result[name] = item
        return result

    return fill


def _fill_items(value: list[Any], items: Structural) -> list[Any]:
    fill = compiled(_defaulter, items)
    filled = [fill(_null_replaced(item, items)) for item in value]
    return filled if any(new is not old for new, old in zip(filled, value, strict=True)) else value
