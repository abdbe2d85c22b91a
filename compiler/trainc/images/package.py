"""An OCI artifact of generated manifests, which Argo CD (``oci://`` sources) and Flux (OCIRepository) read.

Sources: image-spec v1.1 (guidelines for artifact usage), Argo CD v3.5.7 (util/oci/client.go: one content layer, of the
media type below) and Flux (it extracts the first layer, a tar compressed with gzip).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from trainc.basics.jsonvalues import JsonObject
from trainc.images.layers import Entry, Facts, upper_layer
from trainc.images.layout import MANIFEST, REF_NAME, Documents, canonical, digest_of, index_of

LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
ARTIFACT: Final = "application/vnd.trainc.manifests.v1"
CONFIG: Final = "application/vnd.oci.empty.v1+json"
"""The configuration of an artifact that is not an image: ``{}``."""

_BLOCK: Final = 0xFFFF


def package(
    files: Mapping[str, bytes], reference: str, annotations: Mapping[str, str] | None = None
) -> tuple[bytes, Documents]:
    """Return the layer with the files, by their paths in it, and the documents of the artifact.

    ``reference`` is the name in index.json: a tag, or a full name with a tag.
    """
    layer = b"".join(_gzip(upper_layer([Entry(name, data) for name, data in files.items()], Facts(""), 0)))
    config = b"{}"
    manifest: JsonObject = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": ARTIFACT,
        "config": {"mediaType": CONFIG, "digest": digest_of(config), "size": len(config)},
        "layers": [{"mediaType": LAYER, "digest": digest_of(layer), "size": len(layer)}],
    }
    if annotations:
        manifest["annotations"] = dict(annotations)
    return layer, index_of(
        config, canonical(manifest), {"artifactType": ARTIFACT, "annotations": {REF_NAME: reference}}
    )


def _gzip(data: bytes) -> Iterator[bytes]:
    """Yield data in gzip's format (RFC 1952) without compression, whose output depends on the library's version."""
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        is_last = start + _BLOCK >= len(data)
        yield struct.pack("<BHH", is_last, len(block), len(block) ^ _BLOCK)
        yield block
    yield struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
