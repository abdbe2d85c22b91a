"""Jobs for the oracle: one that is fine, and what people get wrong, alone and in threes (``job_changes.jsonl``)."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oracle.generator.rng import Rng

Change = tuple[str, Any]


def fine() -> dict[str, Any]:
    """Return the spec of a Job that uses much and has nothing wrong."""
    return {
        "completionMode": "Indexed",
        "parallelism": 2,
        "completions": 2,
        "backoffLimit": 0,
        "template": {
            "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b c"}},
            "spec": {
                "subdomain": "job",
                "restartPolicy": "OnFailure",
                "hostUsers": True,
                "serviceAccountName": "trainer",
                "nodeSelector": {"gpu": "h100"},
                "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
                "volumes": [
                    {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
                    {"name": "none"},
                    {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                    {"name": "conf", "configMap": {"name": "conf", "items": [{"key": "a", "path": "b/c"}]}},
                    {
                        "name": "down",
                        "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]},
                    },
                ],
                "initContainers": [{"name": "first", "image": "i:1"}],
                "containers": [
                    {
                        "name": "node",
                        "image": "i:1",
                        "env": [
                            {"name": "A", "value": "1"},
                            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x/y']"}}},
                            {
                                "name": "C",
                                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}},
                            },
                        ],
                        "ports": [{"containerPort": 29500, "name": "c10d"}],
                        "resources": {
                            "requests": {"cpu": "1", "nvidia.com/gpu": "2"},
                            "limits": {"cpu": "2", "nvidia.com/gpu": "2"},
                        },
                        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, {"name": "data", "mountPath": "/data"}],
                        "readinessProbe": {"httpGet": {"port": "c10d"}, "timeoutSeconds": 3},
                        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
                        "securityContext": {"runAsUser": 1000, "allowPrivilegeEscalation": False},
                    },
                    {"name": "sidecar", "image": "j:2"},
                ],
            },
        },
    }


_TOO_MANY = {
    "action": "Count",
    "onExitCodes": {"operator": "", "values": list(range(1, 300))},
    "onPodConditions": [{"type": "A", "status": "True"}] * 21,
}
_LARGE = {"$LONG_ANNOTATION": {"big": "z" * 300_000}, "$TOO_MANY_RULES": {"rules": [_TOO_MANY] * 21}}


def _changes() -> Iterator[Change]:
    for line in Path(__file__).with_name("job_changes.jsonl").read_text(encoding="utf-8").splitlines():
        path, value = json.loads(line)
        yield path, _LARGE[value] if isinstance(value, str) and value in _LARGE else value


CHANGES = list(_changes())
"""Paths and values, for ``changed``; answers.json is recorded in this order."""


def changed(spec: dict[str, Any], change: Change) -> None:
    """Set the value at a dotted path (None removes it, ``+`` appends); a path that is no longer there is left alone."""
    path, value = change
    *steps, last = path.split(".")
    at: Any = spec
    for step in steps:
        at = (
            at[int(step)]
            if isinstance(at, list) and int(step) < len(at)
            else at.get(step)
            if isinstance(at, dict)
            else None
        )
        if at is None:
            return
    if isinstance(at, list):
        if last == "+":
            at.append(copy.deepcopy(value))
    elif value is None:
        at.pop(last, None)
    else:
        at[last] = copy.deepcopy(value)


def single_specs() -> Iterator[dict[str, Any]]:
    """Yield the fine spec, then each change of it alone."""
    yield fine()
    for change in CHANGES:
        spec = fine()
        changed(spec, change)
        yield spec


def mixed_specs(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield so many specs with three changes at once."""
    for index in range(count):
        rng, spec = Rng(seed, index), fine()
        for _ in range(3):
            changed(spec, CHANGES[rng.below(len(CHANGES))])
        yield spec
