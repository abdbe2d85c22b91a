"""The recorded cases below vectors/: chosen and random objects, each with what an API server makes of it.

``python tests/schema/schema_vectors.py`` (with compiler/ on PYTHONPATH) records them anew; that needs Go.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from schema_cases import ALL_KINDS, METADATA, Data, Objects, ask, resource_of

VECTORS = Path(__file__).parent / "vectors"
RANDOM = 40
"""Random objects a kind; things get twice as many."""

_POD = ("template", "spec", "template", "spec")
_NODE = {"name": "node", "image": "img:1"}
_JOB = {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [_NODE]}}}}}
BASES: dict[str, Data] = {
    "TrainJob": {"runtimeRef": {"name": "rt"}, "trainer": {"numNodes": 2}},
    "TrainingRuntime": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [_JOB]}}},
    "ClusterTrainingRuntime": {"template": {"spec": {"replicatedJobs": [_JOB]}}},
    "JobSet": {"replicatedJobs": [_JOB]},
    "Thing": {"int": 1},
}
_JOBS = ("replicatedJobs", 0)
_CONTAINER = (*_JOBS, *_POD, "containers", 0)
CHOSEN: list[tuple[str, tuple[Any, ...], Any]] = [
    *(
        ("TrainJob", ("trainer", "numProcPerNode"), value)
        for value in ("auto", "4", 4.0, 2.5, 2**31, True, None, [], {})
    ),
    ("TrainJob", ("trainer", "numNodez"), 3),
    ("TrainJob", ("trainer", "env"), [{"name": "A"}, {"name": "A"}, {"name": "A"}]),
    ("TrainJob", ("trainer", "env"), [{"name": "A", "value": True}, {"nme": "B"}, None]),
    ("TrainJob", ("trainer", "env"), [{"name": f"N{index}"} for index in range(129)]),
    ("TrainJob", ("trainer", "command"), ["yes", True, 8, None, 1.5]),
    (
        "TrainJob",
        ("trainer", "resourcesPerNode"),
        {"limits": {"cpu": 2.5, "memory": "1Gb", "a": True, "b": 4.0, "c": None}},
    ),
    ("TrainJob", ("suspend",), "true"),
    ("TrainJob", ("suspend",), None),
    ("TrainJob", ("managedBy",), "x" * 257),
    ("TrainJob", ("runtimeRef",), {"name": ""}),
    ("TrainJob", ("runtimeRef",), {}),
    ("TrainJob", ("runtimeRef",), None),
    ("TrainJob", ("runtimePatches",), [{"manager": "example.com/m"}, {"manager": "example.com/m"}]),
    ("TrainJob", ("runtimePatches",), [{"manager": "a/b", "time": "yesterday"}, {"manager": "c/d", "time": [1]}]),
    ("TrainJob", ("activeDeadlineSeconds",), 0),
    ("TrainJob", ("initializer",), {"dataset": {"storageUri": "x" * 2049, "secretRef": {}}, "model": {"env": {}}}),
    ("TrainingRuntime", (), {}),
    ("TrainingRuntime", ("mlPolicy",), {"mpi": {"mpiImplementation": "Intel"}, "numProcPerNode": 2}),
    ("TrainingRuntime", ("mlPolicy",), {"mpi": {}, "torch": {"numProcPerNode": "auto"}}),
    ("TrainingRuntime", ("podGroupPolicy",), {"coscheduling": {}, "volcano": {"networkTopology": {"mode": "softt"}}}),
    ("TrainingRuntime", ("podGroupPolicy",), {"coscheduling": None}),
    ("ClusterTrainingRuntime", ("template", "spec", "replicatedJobs"), [_JOB, _JOB]),
    ("ClusterTrainingRuntime", ("template", "spec", "successPolicy"), {}),
    ("ClusterTrainingRuntime", ("template", "spec", "coordinator"), {"jobIndex": -1}),
    ("JobSet", (*_CONTAINER, "ports"), [{"containerPort": 81}, {"containerPort": 81, "protocol": "TCP"}]),
    ("JobSet", (*_CONTAINER, "ports"), [{"containerPort": 81}, {"containerPort": 81.0}]),
    ("JobSet", (*_CONTAINER, "ports"), [{"containerPort": 81, "protocol": "UDP"}, {"containerPort": 81}]),
    (
        "JobSet",
        (*_CONTAINER, "env"),
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": 1}}}],
    ),
    (
        "JobSet",
        (*_CONTAINER, "livenessProbe"),
        {"grpc": {"port": "http"}, "httpGet": {"port": True}, "exec": {"command": None}},
    ),
    ("JobSet", (*_JOBS, *_POD, "containers"), None),
    ("JobSet", (*_JOBS, *_POD, "containers"), [_NODE, _NODE]),
    ("JobSet", (*_JOBS, *_POD, "securityContext"), {"sysctls": [{"name": "a"}], "fsGroup": 2**40, "runAsUser": 1e20}),
    ("JobSet", (*_JOBS, "dependsOn"), [{"name": "a", "status": "Done"}, {"name": "a", "status": "Ready"}]),
    ("JobSet", (*_JOBS, "replicas"), -(2**31) - 1),
    ("JobSet", (*_JOBS, "template", "metadata"), {"creationTimestamp": None, "labels": {"a": 1}}),
    (
        "JobSet",
        ("failurePolicy",),
        {"maxRestarts": "3", "rules": [{"action": "Retry", "onJobFailureReasons": ["a", "a"]}]},
    ),
    ("JobSet", ("volumeClaimPolicies",), [{"templates": [{"metadata": {"name": "v"}, "spec": {}}]}]),
    ("JobSet", ("network",), {"enableDNSHostnames": "yes", "subdomain": 5}),
    ("JobSet", ("status",), {"restarts": "x"}),
    ("Thing", ("omap",), {"a": {"l": ["x", "x"], "n": 1}, "b": {}, "c": {"n": 2, "zz": 1}}),
    ("Thing", ("emb",), {"apiVersion": "a/b/c", "kind": "K_", "metadata": {"name": "a/b", "bogus": 1}, "other": 1}),
    ("Thing", ("emb",), {"apiVersion": 5, "kind": "K"}),
    ("Thing", ("emb",), {"apiVersion": "v1", "kind": "K", "metadata": {"labels": {"a": 1}}}),
    ("Thing", ("iosall",), 11),
    ("Thing", ("iosall",), True),
    ("Thing", ("alt",), {"a": "x", "b": 5}),
    ("Thing", ("alt2",), {"a": "x", "b": 4, "c": ["abc"]}),
    ("Thing", ("alt3",), "abc"),
    ("Thing", ("badmax",), 1),
    ("Thing", ("flt",), 3.5e38),
    ("Thing", ("r",), "x"),
]


def placed(kind: str, path: tuple[Any, ...], value: Any) -> Data:
    """Return the base object of kind with value at path of its spec."""
    data: Data = {"apiVersion": resource_of(kind).api_version, "kind": kind, "metadata": {"name": "n"}}
    data["spec"] = copy.deepcopy(BASES[kind])
    place: Any = data
    *parents, last = ("spec", *path)
    for step in parents:
        place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
    place[last] = value
    return data


def cases() -> dict[str, list[Data]]:
    """Return the objects of each kind."""
    objects = Objects(2024)
    made = {kind: [placed(of, path, value) for of, path, value in CHOSEN if of == kind] for kind in ALL_KINDS}
    for number, metadata in enumerate(METADATA):
        kind = ALL_KINDS[number % 4]
        data = placed(kind, (), copy.deepcopy(BASES[kind]))
        if len(str(metadata)) < 1000:
            data["metadata"].update(metadata)
            made[kind].append(data)
    for kind in ALL_KINDS:
        wanted = len(made[kind]) + RANDOM * (1 + (kind == "Thing"))
        while len(made[kind]) < wanted:
            data = objects.make(kind)
            if len(json.dumps(data)) < 1500:
                made[kind].append(data)
    return made


def load(kind: str) -> list[tuple[Data, Data]]:
    """Return the recorded objects of a kind, each with the API server's answer."""
    rows = json.loads((VECTORS / f"{kind.lower()}.json").read_text(encoding="utf-8"))
    return [(row["input"], row["answer"]) for row in rows]


def record() -> None:
    """Ask an API server's code, and write the files."""
    VECTORS.mkdir(exist_ok=True)
    for kind, made in cases().items():
        rows = [
            {"input": data, "answer": found} for data, found in zip(made, ask((kind, d) for d in made), strict=True)
        ]
        lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for row in rows)
        (VECTORS / f"{kind.lower()}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    record()
