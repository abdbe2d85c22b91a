"""Metadata of the plain sort, as nearly every document has it: told by a look that it is as it should be.

What it says yes to, ``metadata.read_metadata`` returns as it is, and ``metarules.object_meta_violations`` finds nothing
wrong with; what it says no to may be good all the same. The tests compare the three.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from trainc.kube.names import (
    TOTAL_ANNOTATION_SIZE_LIMIT,
    is_dns1123_subdomain,
    is_qualified_name,
    is_valid_label_value,
    validate_annotations,
    validate_namespace_name,
)

_MANY = 4096
"""How many labels, keys of annotations and namespaces are remembered: a fleet repeats its few."""


def is_plain(metadata: Any, *, namespaced: bool) -> bool:
    """Tell whether metadata is a name, a namespace, labels and annotations, all of them valid and none empty.

    ``namespaced``: objects of the kind lie in a namespace; elsewhere a namespace is not plain.
    """
    if metadata.__class__ is not dict or "name" not in metadata:
        return False
    for key, value in metadata.items():
        if key == "name":
            if value.__class__ is not str or not value or is_dns1123_subdomain(value):
                return False
        elif key == "namespace":
            if value.__class__ is not str or not namespaced or not _is_namespace(value):
                return False
        elif value.__class__ is not dict or not value:
            return False
        elif key == "labels":
            for name, text in value.items():
                if text.__class__ is not str or not _is_label(name, text):
                    return False
        elif key != "annotations" or not _are_annotations(value):
            return False
    return True


def _are_annotations(annotations: dict[str, Any]) -> bool:
    size = 0
    for name, text in annotations.items():
        if text.__class__ is not str or not text.isascii() or not _is_annotation(name):
            return False
        size += len(name) + len(text)
    return size <= TOTAL_ANNOTATION_SIZE_LIMIT


@lru_cache(_MANY)
def _is_namespace(name: str) -> bool:
    return bool(name) and not validate_namespace_name(name)


@lru_cache(_MANY)
def _is_label(name: str, text: str) -> bool:
    return not (is_qualified_name(name) or is_valid_label_value(text))


@lru_cache(_MANY)
def _is_annotation(name: str) -> bool:
    return name.isascii() and not validate_annotations({name: ""}, "")
