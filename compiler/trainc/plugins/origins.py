"""Origins of fields, and findings on objects, which are reported at the input that caused them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from trainc.basics.jsonvalues import Path, existing
from trainc.findings import Finding, report
from trainc.inputs.source import Document
from trainc.plugins.model import Model, Object

LOCK = "images.lock.yaml"
REGISTRIES = "registries"
REWRITES = frozenset((("lock", LOCK), ("environment", REGISTRIES)))
"""Kinds and names of origins that only rewrite a value: findings on it are reported where it was written."""


T = TypeVar("T")


def nearest(origins: Mapping[Any, T], path: tuple[Any, ...]) -> T | None:
    """Return the origin of path, or of its nearest ancestor that has one."""
    for end in range(len(path), -1, -1):
        if (found := origins.get(path[:end])) is not None:
            return found
    return None


def source_of(model: Model, obj: Object, path: Path) -> tuple[Document, Path]:
    """Return the document, and the path in it, that a value of an object comes from.

    A default comes from the object without the value. A value without origin comes from the TrainJob's name.
    """
    origins = obj.origins()
    for end in range(len(path), 0, -1):
        origin = nearest(origins, path[:end])
        # The value was written at the last origin that does not only rewrite it.
        while origin is not None and origin.earlier is not None:
            if origin.document is not None and (origin.kind, origin.name) not in REWRITES:
                break
            origin = origin.earlier
        if origin is not None and origin.document is not None:
            return origin.document, existing(origin.document.data, origin.path)
    return model.job, ("metadata", "name")


def report_at(code: str, model: Model, obj: Object, path: Path, message: str, **details: Any) -> Finding:
    """Return a finding on a value of an object, reported at its source; ``details`` as for ``report``."""
    return report(code, *source_of(model, obj, path), message, **details)
