"""Lists that are sets or maps: no two items may have the same value or the same key.

Source of the rules: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/schema/listtype.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from trainc.kube.gojson import as_float, go_json
from trainc.records import NamedTuple
from trainc.schema.values import json_type
from trainc.source import Json


class ListError(NamedTuple):
    """An item that breaks the list's type: where it stands, and the value or key it repeats.

    ``duplicate`` is False for an item that is no mapping where keys are asked for.
    """

    at: int
    value: Json
    duplicate: bool


def list_errors(keywords: Mapping[str, Any], items: Sequence[Json]) -> list[ListError]:
    """Return what breaks x-kubernetes-list-type in items; a value is reported once, however often it is repeated."""
    kind = keywords.get("x-kubernetes-list-type")
    if kind == "set":
        return [ListError(index, items[index], duplicate=True) for index in _repeated(items)]
    if kind == "map":
        return _map_errors(keywords.get("x-kubernetes-list-map-keys", ()), items)
    return []


def is_unique(keywords: Mapping[str, Any], items: Sequence[Any]) -> bool:
    """Tell whether list_errors is empty, for items that are known to fit their schema."""
    try:
        if keywords["x-kubernetes-list-type"] == "set":
            seen = set(items)
        elif len(keys := keywords["x-kubernetes-list-map-keys"]) == 1:
            key = keys[0]
            seen = {item[key] for item in items}
        else:
            seen = {tuple([item.get(key) for key in keys]) for item in items}
    except (TypeError, KeyError, AttributeError):
        return not list_errors(keywords, items)
    return len(seen) == len(items) or not list_errors(keywords, items)


def _map_errors(keys: Sequence[str], items: Sequence[Json]) -> list[ListError]:
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            return [ListError(index, item, duplicate=False)]
    found: list[Json] = [{key: item[key] for key in keys if isinstance(item, dict) and key in item} for item in items]
    if len(keys) == 1:  # values are compared by type and value, not by their JSON: 1 and 1.0 differ
        key = keys[0]
        lone = [entry[key] if isinstance(entry, dict) and entry else _UNSPECIFIED for entry in found]
        return [ListError(index, found[index], duplicate=True) for index in _repeated(lone)]
    return [ListError(index, found[index], duplicate=True) for index in _repeated(found)]


_UNSPECIFIED: Any = object()


def _repeated(values: Sequence[Json]) -> list[int]:
    """Return the index of the second of each group of equal values."""
    if len(values) <= 1:
        return []
    counts: dict[Hashable, int] = {}
    repeated = []
    for index, value in enumerate(values):
        identity = _identity(value)
        counts[identity] = counts.get(identity, 0) + 1
        if counts[identity] == 2:
            repeated.append(index)
    return repeated


def _identity(value: Json) -> Hashable:
    if value is _UNSPECIFIED:
        return ("unspecified",)
    if isinstance(value, dict | list):
        return "json", go_json(value)
    kind = json_type(value)
    return kind, as_float(value) if kind == "number" else value  # type: ignore[arg-type]
