"""The documents of an OCI image (image-spec v1.1): configuration, manifest, index. Pure: bytes from values.

JSON is written with sorted keys and without spaces, so that equal values have equal digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.images.definition import PATH, Definition

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX: Final = "application/vnd.oci.image.index.v1+json"
CONFIG: Final = "application/vnd.oci.image.config.v1+json"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
"""A layer without compression: the bytes that compression makes depend on the library and its version."""

REF_NAME: Final = "org.opencontainers.image.ref.name"
"""The annotation that names a manifest: in full, or only its tag."""

FULL_NAME: Final = "io.containerd.image.name"
"""The annotation by which BuildKit and containerd give the full name beside the tag."""

MARKER: Final = b'{"imageLayoutVersion":"1.0.0"}'
"""The content of the file oci-layout."""


class Layer(Struct, frozen=True):
    """A layer by the digest (``sha256:`` and hexadecimal) and the size of its tar, and what made it."""

    digest: str
    size: int
    made_by: str


class Documents(Struct, frozen=True):
    """What a layout holds beside its layers: configuration, manifest and index.json, and the manifest's digest."""

    config: bytes
    manifest: bytes
    index: bytes
    digest: str


def documents(definition: Definition, layers: Sequence[Layer]) -> Documents:
    """Return the documents of an image of these layers, lowest first."""
    config = canonical(_config(definition, layers))
    manifest = canonical(_manifest(definition, config, layers))
    return Documents(config, manifest, canonical(_index(definition, manifest)), digest_of(manifest))


def digest_of(data: bytes) -> str:
    """Return a digest as OCI writes it: ``sha256:`` and hexadecimal."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def canonical(value: Json) -> bytes:
    """Return JSON with sorted keys and nothing that is not needed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def labels(definition: Definition) -> Mapping[str, str]:
    """Return the labels of an image, which are the annotations of its manifest as well."""
    name, _, tag = definition.image.rpartition(":")
    own = {
        "org.opencontainers.image.created": definition.created,
        "org.opencontainers.image.description": definition.description,
        "org.opencontainers.image.licenses": definition.licenses,
        "org.opencontainers.image.title": name.rpartition("/")[2],
        "org.opencontainers.image.version": tag,
    }
    return {**definition.labels, **{key: value for key, value in own.items() if value}}


def _config(definition: Definition, layers: Sequence[Layer]) -> JsonObject:
    environment = {"PATH": PATH, **definition.environment}
    run: JsonObject = {
        "Env": [f"{name}={value}" for name, value in sorted(environment.items())],
        "Labels": dict(labels(definition)),
        "WorkingDir": definition.working_directory,
    }
    if definition.entrypoint:
        run["Entrypoint"] = list(definition.entrypoint)
    if definition.command:
        run["Cmd"] = list(definition.command)
    return {
        "architecture": definition.architecture,
        "os": "linux",
        "created": definition.created,
        "config": run,
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
        "history": [{"created": definition.created, "created_by": layer.made_by} for layer in layers],
    }


def _manifest(definition: Definition, config: bytes, layers: Sequence[Layer]) -> JsonObject:
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": digest_of(config), "size": len(config)},
        "layers": [{"mediaType": LAYER, "digest": layer.digest, "size": layer.size} for layer in layers],
        "annotations": dict(labels(definition)),
    }


def _index(definition: Definition, manifest: bytes) -> JsonObject:
    entry: JsonObject = {
        "mediaType": MANIFEST,
        "digest": digest_of(manifest),
        "size": len(manifest),
        "platform": {"architecture": definition.architecture, "os": "linux"},
        "annotations": {FULL_NAME: definition.image, REF_NAME: definition.image.rpartition(":")[2]},
    }
    return {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
