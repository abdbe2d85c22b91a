"""Kubernetes objects inside custom resources (x-kubernetes-embedded-resource): their type and their metadata.

None of the CRDs in this package has any; those that users validate against may.
Source of the rules: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/schema/objectmeta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from trainc.kube.fielderror import go_value
from trainc.kube.gotypes import GoDecodeError, decode
from trainc.kube.names import is_dns1035_label
from trainc.records import replace
from trainc.schema.metadata import OBJECT_META, unknown_fields
from trainc.schema.metarules import object_meta_violations
from trainc.schema.structural import Structural, compiled
from trainc.schema.violation import Violation
from trainc.source import Json, JsonObject, Path, dotted

_Visit = Callable[[JsonObject, Path, str], JsonObject]


class EmbeddedError(ValueError):
    """An embedded object that cannot be decoded: ``violation`` says why."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.upstream)
        self.violation = violation


def has_embedded(schema: Structural) -> bool:
    """Tell whether schema has embedded objects, at any depth."""
    return bool(compiled(_has_embedded, schema))


def _has_embedded(schema: Structural) -> bool:
    below = (*schema.properties.values(), schema.items, schema.additional)
    return schema.embedded or any(sub is not None and has_embedded(sub) for sub in below)


def read_embedded(schema: Structural, data: Json) -> tuple[Json, tuple[Path, ...]]:
    """Return data with the metadata of embedded objects as Go decodes it, and the paths of unknown fields.

    Raises EmbeddedError where an apiVersion, a kind or metadata cannot be decoded.
    """
    if not has_embedded(schema):
        return data, ()
    dropped: list[Path] = []

    def read(value: JsonObject, path: Path, text: str) -> JsonObject:
        for key in ("apiVersion", "kind"):
            if not isinstance(value.get(key, ""), str):
                detail = "must be a string"
                upstream = f"{text}.{key}: Invalid value: {go_value(value[key])}: {detail}"
                raise EmbeddedError(_undecodable((*path, key), detail, upstream))
        if "metadata" not in value:
            return value
        given = value["metadata"]
        try:
            metadata = decode(given, OBJECT_META)
        except GoDecodeError as error:
            upstream = f"{text}.metadata: Invalid value: {go_value(given)}: {error.message}"
            raise EmbeddedError(_undecodable((*path, "metadata", *error.path), error.message, upstream)) from None
        dropped.extend((*path, "metadata", *inner) for inner in unknown_fields(given, OBJECT_META))
        return {**value, "metadata": metadata}

    return _walk(schema, data, ((), ""), read), tuple(dropped)


def embedded_violations(schema: Structural, data: Json) -> tuple[Violation, ...]:
    """Return what is wrong with the type and the metadata of embedded objects."""
    if not has_embedded(schema):
        return ()
    found: list[Violation] = []

    def check(value: JsonObject, path: Path, text: str) -> JsonObject:
        found.extend(_type_violations(value, path, text))
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            named = {"name": "fakename", **metadata}  # an embedded object needs no name
            spaced, inner = "namespace" in metadata, (*path, "metadata")
            wrong = object_meta_violations(named, namespaced=spaced, path=inner, name_rules=SEGMENT)
            found.extend(replace(v, upstream=v.upstream.replace(dotted(inner), f"{text}.metadata", 1)) for v in wrong)
        return value

    _walk(schema, data, ((), ""), check)
    return tuple(found)


def _undecodable(path: Path, detail: str, upstream: str) -> Violation:
    message = f"{dotted(path)} cannot be decoded: {detail.removeprefix('json: ')}"
    return Violation("TC108", path, message, upstream, decode=True)


def _walk(schema: Structural, value: Any, place: tuple[Path, str], visit: _Visit) -> Any:
    """Visit every embedded object, outermost first; what visit returns takes its place.

    A place is a path and the server's spelling of it, in which the keys of maps stand in brackets.
    """
    path, text = place
    if isinstance(value, dict):
        result = visit(value, path, text) if schema.embedded else value
        changed = {}
        for key, item in result.items():
            child = schema.child(key)
            spelt = f"{text}.{key}".lstrip(".") if key in schema.properties else f"{text}[{key}]"
            changed[key] = item if child is None else _walk(child, item, ((*path, key), spelt), visit)
        return changed if any(changed[key] is not result[key] for key in changed) else result
    if isinstance(value, list) and schema.items is not None:
        places = (((*path, index), f"{text}[{index}]") for index in range(len(value)))
        return [_walk(schema.items, item, at, visit) for item, at in zip(value, places, strict=True)]
    return value


def _type_violations(value: JsonObject, path: Path, text: str) -> Iterator[Violation]:
    for key in ("apiVersion", "kind"):
        here = (*path, key)
        if key not in value:
            upstream = f"{text}.{key}: Required value"
            yield Violation("TC103", path, f"{dotted(path)} lacks {key}", upstream, expected=key, blocking=True)
            continue
        name = str(value[key])
        details = ["must not be empty"] if not name else _type_details(key, name)
        for detail in details:
            upstream = f"{text}.{key}: Invalid value: {go_value(name)}: {detail}"
            yield Violation("TC106", here, f"{dotted(here)} {detail}", upstream, found=name)


def _type_details(key: str, text: str) -> list[str]:
    if key == "apiVersion":
        return [f"unexpected GroupVersion string: {text}"] if text.count("/") > 1 else []
    details = is_dns1035_label(text.lower())
    return [f"may have mixed case, but should otherwise match: {','.join(details)}"] if details else []


def _segment_prefix(name: str) -> tuple[str, ...]:
    return tuple(f"may not contain '{char}'" for char in "/%" if char in name)


def _segment(name: str) -> tuple[str, ...]:
    return (f"may not be '{name}'",) if name in (".", "..") else _segment_prefix(name)


SEGMENT = (_segment, _segment_prefix)
"""The rules for names that need only fit into a URL, and for their beginnings."""
