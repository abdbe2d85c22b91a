"""The downward API: what a pod may learn of itself through variables and files."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from .errors import Unsupported

_SUFFIXES: Final = {
    "": Fraction(1),
    **{suffix: Fraction(1, 1000**power) for power, suffix in enumerate("mun", 1)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
_QUANTITY: Final = re.compile(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([A-Za-z]*))")
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
    spec = facts.pod["spec"]
    values = {
        "metadata.name": str(metadata["name"]),
        "metadata.namespace": facts.namespace,
        "metadata.uid": str(metadata.get("uid") or ""),
        "spec.nodeName": facts.node_name,
        "spec.serviceAccountName": str(spec.get("serviceAccountName") or "default"),
        "status.hostIP": facts.host_ip,
        "status.hostIPs": facts.host_ip,
        "status.podIP": facts.ip,
        "status.podIPs": facts.ip,
    }
    if path in values:
        return values[path]
    if path in ("metadata.labels", "metadata.annotations"):
        found = metadata.get(path.partition(".")[2]) or {}
        return "\n".join(f"{key}={json.dumps(found[key], ensure_ascii=False)}" for key in sorted(found))
    entry = _ENTRY.fullmatch(path)
    if entry is None:
        raise Unsupported(f"fieldRef {path}")
    return str((metadata.get(entry.group(1)) or {}).get(entry.group(2), ""))


def resource_value(reference: Mapping[str, Any], container: Mapping[str, Any], facts: Facts) -> str:
    """Return what a resourceFieldRef stands for: in units of its divisor, rounded up; a missing limit is the node's.

    Raises:
        Unsupported: It names something other than limits and requests of cpu and memory.
    """
    named = reference.get("containerName")
    if named:
        everyone = [*(facts.pod["spec"].get("initContainers") or ()), *facts.pod["spec"]["containers"]]
        container = next(entry for entry in everyone if entry["name"] == named)
    kind, _, resource = str(reference["resource"]).partition(".")
    if kind not in ("limits", "requests") or resource not in ("cpu", "memory"):
        raise Unsupported(f"resourceFieldRef {reference['resource']}")
    resources = container.get("resources") or {}
    found = (resources.get(kind) or {}).get(resource)
    if found is None and kind == "requests":
        found = (resources.get("limits") or {}).get(resource)
    node = {"cpu": os.cpu_count() or 1, "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}
    amount = quantity(found) if found is not None else Fraction(node[resource] if kind == "limits" else 0)
    divisor = quantity(reference.get("divisor") or "1") or Fraction(1)
    return str(math.ceil(amount / divisor))


def quantity(text: object) -> Fraction:
    """Return the number that a Kubernetes quantity stands for.

    Raises:
        ValueError: It is none.
    """
    match = _QUANTITY.fullmatch(str(text))
    if match is None or (match.group(3) or "") not in _SUFFIXES:
        raise ValueError(f"not a quantity: {text}")
    exponent = Fraction(10) ** int(match.group(2)) if match.group(2) else Fraction(1)
    return Fraction(match.group(1)) * exponent * _SUFFIXES[match.group(3) or ""]
