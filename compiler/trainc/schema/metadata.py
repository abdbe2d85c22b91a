"""Object metadata, which the API server decodes into its own Go struct before any schema is looked at.

Source of the rules: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/schema/objectmeta/coerce.go and
customresource_handler.go; what a create request then does to metadata: k8s.io/apiserver pkg/registry/rest.
"""

from __future__ import annotations

from trainc.kube.gotypes import GoDecodeError, decode, fields
from trainc.schema.structural import Resource
from trainc.schema.violation import Violation
from trainc.source import Json, JsonObject, Path

OBJECT_META = "v1.ObjectMeta"
"""The Go type of metadata."""


def known_fields() -> tuple[str, ...]:
    """Return the names of the fields of metadata."""
    return tuple(fields(OBJECT_META))


def read_metadata(resource: Resource, data: JsonObject) -> tuple[JsonObject, tuple[Path, ...], Violation | None]:
    """Return data with its metadata as the API server decodes it, the paths dropped, and why it cannot be decoded.

    Unknown and empty fields go, null is no value; a namespace goes where the kind has none.
    """
    if "metadata" not in data:
        return data, (), None
    given = data["metadata"]
    try:
        metadata = decode(given, OBJECT_META)
    except GoDecodeError as error:
        return data, (), _refusal(error)
    assert isinstance(metadata, dict), "a struct is written as an object"
    if not resource.namespaced and "namespace" in metadata:
        metadata = {key: value for key, value in metadata.items() if key != "namespace"}
    dropped = tuple(("metadata", *path) for path in unknown_fields(given, OBJECT_META))
    return {**data, "metadata": metadata} if metadata != given else data, dropped, None


def _refusal(error: GoDecodeError) -> Violation:
    return Violation(
        "TC108",
        ("metadata", *error.path),
        f"metadata cannot be decoded: {error.message.removeprefix('json: ')}",
        error.message,
        decode=True,
    )


def unknown_fields(value: Json, struct: str) -> list[Path]:
    """Return the paths in value that a Go struct has no field for."""
    if not isinstance(value, dict):
        return []
    known = fields(struct)
    paths: list[Path] = []
    for key, item in value.items():
        if key not in known:
            paths.append((key,))
        elif (kind := known[key].kind).startswith("[]v1.") and isinstance(item, list):
            for index, entry in enumerate(item):
                paths.extend((key, index, *path) for path in unknown_fields(entry, kind[2:]))
    return paths
