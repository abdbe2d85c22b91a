"""Where a finding about an object belongs: the place in the inputs that a field came from."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.basics.jsonvalues import Path, existing
from trainc.inputs.source import Document
from trainc.plugins.model import Model, Object, Origin

LOCK = "images.lock.yaml"
REGISTRIES = "registries"
REWRITES = frozenset((("lock", LOCK), ("environment", REGISTRIES)))
"""Kinds and names of origins that only rewrite a value: a finding about it belongs where it was written."""


def nearest(origins: Mapping[Path, Origin], path: Path) -> Origin | None:
    """Return the origin of path, or of its nearest ancestor that has one."""
    for end in range(len(path), -1, -1):
        if (found := origins.get(path[:end])) is not None:
            return found
    return None


def blamed(model: Model, made: Object, path: Path) -> tuple[Document, Path]:
    """Return the document and the path in it that the value at a path of an object comes from.

    For a default it is where the value was left out; without any origin it is the TrainJob's name.
    """
    origins = made.origins()
    for end in range(len(path), 0, -1):
        origin = _written(nearest(origins, path[:end]))
        if origin is not None and origin.document is not None:
            return origin.document, existing(origin.document.data, origin.path)
    return model.job, ("metadata", "name")


def _written(origin: Origin | None) -> Origin | None:
    """Return the origin at which somebody wrote the value: the one before those that only rewrite it."""
    while origin is not None and origin.earlier is not None:
        if origin.document is not None and (origin.kind, origin.name) not in REWRITES:
            break
        origin = origin.earlier
    return origin
