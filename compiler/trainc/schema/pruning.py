"""Pruning: the API server keeps only what a schema knows, and drops nulls that mean nothing.

Source of the rules: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/schema/pruning and .../defaulting/prunenulls.go.
A pass returns its argument itself where nothing is dropped, and shares whatever it did not touch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from trainc.schema.structural import Structural, compiled
from trainc.source import Json, Path

_Drops: TypeAlias = list[list[str | int]]  # paths, innermost step first
_Pruner: TypeAlias = Callable[[Any, _Drops], Any]

OBJECT_FIELDS = ("apiVersion", "kind", "metadata")
"""What every Kubernetes object has, whether or not its schema says so."""


def prune(schema: Structural, data: Json) -> tuple[Json, tuple[Path, ...]]:
    """Drop what schema does not know from a whole object; return the rest and the paths dropped, in document order.

    apiVersion, kind and metadata are kept whole: metadata has rules of its own.
    """
    drops: _Drops = []
    pruned = compiled(_root_pruner, schema)(data, drops)
    return pruned, tuple(tuple(reversed(path)) for path in drops)


def prune_value(schema: Structural, data: Json) -> tuple[Json, tuple[Path, ...]]:
    """Drop what schema does not know from a value that is no whole object, such as a default; as ``prune`` returns."""
    drops: _Drops = []
    pruned = _pruner_of(schema)(data, drops)
    return pruned, tuple(tuple(reversed(path)) for path in drops)


def drop_nulls(schema: Structural, data: Json) -> Json:
    """Drop fields whose value is null where schema neither allows null nor has a default to put there."""
    kept: Json = compiled(_null_dropper, schema)(data)
    return kept


def _root_pruner(schema: Structural) -> _Pruner:
    return _make_pruner(schema, embedded=True)


def _pruner(schema: Structural) -> _Pruner:
    return _make_pruner(schema, embedded=schema.embedded)


def _pruner_of(schema: Structural) -> _Pruner:
    pruner: _Pruner = compiled(_pruner, schema)
    return pruner


def _prune_unknown(value: Any, drops: _Drops) -> Any:
    """Prune a value of which the schema knows nothing: mappings lose all, lists keep their length."""
    if value.__class__ is dict:
        drops.extend([key] for key in value)
        return {} if value else value
    if value.__class__ is list:
        return _prune_items(value, _prune_unknown, drops)
    return value


def _prune_items(items: list[Any], prune_item: _Pruner, drops: _Drops) -> list[Any]:
    result = items
    for index, item in enumerate(items):
        if item.__class__ is dict or item.__class__ is list:
            known = len(drops)
            kept = prune_item(item, drops)
            for path in drops[known:]:
                path.append(index)
            if kept is not item:
                if result is items:
                    result = list(items)
                result[index] = kept
    return result


class _Fields(dict[str, _Pruner | None]):
    """The pruners of a mapping's fields, compiled when first met; None for a field to drop."""

    __slots__ = ("_embedded", "_schema")

    def __init__(self, schema: Structural, *, embedded: bool) -> None:
        super().__init__()
        self._schema, self._embedded = schema, embedded

    def __missing__(self, key: str) -> _Pruner | None:
        schema = self._schema
        if self._embedded and key in OBJECT_FIELDS:
            return _keep
        child = schema.properties.get(key)
        if child is not None:
            found = self[key] = _pruner_of(child)
            return found
        if schema.open:
            return _prune_unknown if schema.additional is None else _pruner_of(schema.additional)
        return _keep if schema.preserves else None


def _keep(value: Any, _drops: _Drops) -> Any:
    return value


def _make_pruner(schema: Structural, *, embedded: bool) -> _Pruner:
    fields = _Fields(schema, embedded=embedded)
    items = schema.items
    item_pruner: _Pruner | None = None

    def prune_value(value: Any, drops: _Drops) -> Any:
        nonlocal item_pruner
        if value.__class__ is dict:
            return _prune_mapping(value, fields, drops)
        if value.__class__ is list:
            if item_pruner is None:
                item_pruner = _item_pruner(schema, items)
            return _prune_items(value, item_pruner, drops)
        return value

    return prune_value


def _item_pruner(schema: Structural, items: Structural | None) -> _Pruner:
    """Return the pruner of a list's items; below a list that keeps unknown fields, every level keeps them."""
    if items is None:
        return _keep if schema.preserves else _prune_unknown
    found: _Pruner = compiled(_preserving_pruner if schema.preserves else _pruner, items)
    return found


def _preserving_pruner(schema: Structural) -> _Pruner:
    if schema.preserves:
        return _pruner(schema)
    keywords = {**schema.keywords, "x-kubernetes-preserve-unknown-fields": True}
    return _pruner(Structural(keywords, schema.table, schema.number))


def _prune_mapping(value: dict[str, Any], fields: _Fields, drops: _Drops) -> dict[str, Any]:
    result = value
    for key, item in value.items():
        prune_item = fields[key]
        if prune_item is None:
            drops.append([key])
            if result is value:
                result = dict(value)
            del result[key]
        elif item.__class__ is dict or item.__class__ is list:
            known = len(drops)
            kept = prune_item(item, drops)
            if kept is not item:
                if result is value:
                    result = dict(value)
                result[key] = kept
            if len(drops) > known:
                for path in drops[known:]:
                    path.append(key)
    return result


def _null_dropper(schema: Structural) -> Callable[[Any], Any]:
    properties, additional, items = schema.properties, schema.additional, schema.items

    def drop(value: Any) -> Any:
        if value.__class__ is list:
            return _drop_in_items(value, items)
        if value.__class__ is not dict:
            return value
        result = value
        for key, item in value.items():
            if item is not None and item.__class__ is not dict and item.__class__ is not list:
                continue
            child = properties.get(key) or additional
            if child is None:
                continue
            kept: Any = item
            if item is not None:
                kept = compiled(_null_dropper, child)(item)
            elif not child.nullable and child.default is None:
                kept = _ABSENT
            if kept is not item:
                if result is value:
                    result = dict(value)
                if kept is _ABSENT:
                    del result[key]
                else:
                    result[key] = kept
        return result

    return drop


_ABSENT = object()


def _drop_in_items(value: list[Any], items: Structural | None) -> list[Any]:
    if items is None:
        return value
    drop = compiled(_null_dropper, items)
    kept = [drop(item) for item in value]
    return kept if any(new is not old for new, old in zip(kept, value, strict=True)) else value
