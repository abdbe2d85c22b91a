"""The downward API: what a pod may learn of itself through variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .errors import Unsupported

_ENTRY: Final = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the node knows of a pod when it makes a container."""

    pod: Mapping[str, Any]
    namespace: str
    node_name: str
    host_ip: str
    ip: str
    services: Mapping[str, str]


def field_value(path: str, facts: Facts) -> str:
    """Return what a fieldRef stands for.

    Raises:
        Unsupported: The downward API has no such field.
    """
    metadata = facts.pod["metadata"]
    values = {
        "metadata.name": str(metadata["name"]),
        "metadata.namespace": facts.namespace,
        "metadata.uid": str(metadata.get("uid") or ""),
        "spec.nodeName": facts.node_name,
        "spec.serviceAccountName": str(facts.pod["spec"].get("serviceAccountName") or "default"),
        "status.hostIP": facts.host_ip,
        "status.podIP": facts.ip,
    }
    if path in values:
        return values[path]
    entry = _ENTRY.fullmatch(path)
    if entry is None:
        raise Unsupported(f"fieldRef {path}")
    return str((metadata.get(entry.group(1)) or {}).get(entry.group(2), ""))
