"""The recorded cases below vectors/: chosen ones and random ones, each with what upstream made of it.

``python tests/kube/kube_vectors.py`` (with compiler/ on PYTHONPATH) records them anew; that needs Go.
"""

from __future__ import annotations

import json
from pathlib import Path

from kube_cases import Case, ask, make

VECTORS = Path(__file__).parent / "vectors"

TEXTS = """
4000m 1024Mi 2.5 1.5Gi 0.1Gi 1000 1000000 1.5e3 1000Mi 1024 1e3 2e0 +1 5. 2.125 1000E . - + 00 0 0m 0Ki -0 .5 -.5 0.5
100m 0.1m 0.1n 1n 1u 1.1n 0.5Mi 0.5Ki 1Ki 1023 1024Ki 8Ki 9Ki 16Mi 1.0 1.00 1.000 10.000 0100 1E 1Ei 8Ei 7Ei 1024Pi
9223372036854775807 9223372036854775808 9223372036854775807Ki -9223372036854775808 -1024 -1.5 -1500m 999999999999999999k
12345678901234567890 0.123456789 0.1234567891 1e18 1e19 1E3 1e-3 1e-9 1e-10 1e+2 1e4294967296 1e99999999999999999999
1i 1e 1e- 1e+ 1mi 1KI 1K 1g 1Gib 1GB 1x 1.2.3 +-1 --1 1-1 m Mi e3 e-10 .e-10 1e3m 1e3Ki 1e1.5 0x10 1_000 \u0661 \u00bd
NaN inf 500m 250m 1500m 2500m 64Gi 0.25 3k 3M 3G 3T 3P 3E 3Ti 3Pi 20k 1e6 12e6 0.9999Gi 1.25Gi 1023Mi 1100m 1001m
"""
JSON_VALUES = [" 1", "1 ", "\u00a01", "1\n", "", " ", 1, 0, 1.5, 1000, -3, None, True, {}, ["1"], "4.0"]

NODE = {"name": "node", "image": "img:1"}
ITEMS = [{"name": "first"}, {"name": "node", "image": "i"}, {"name": "last"}]
MERGES: list[tuple[str, object, object]] = [
    ("v1.PodSpec", {"containers": ITEMS}, {"containers": [{"name": "last"}, {"name": "node", "image": "j"}]}),
    ("v1.PodSpec", {"containers": ITEMS}, {"containers": [{"name": "new"}, {"name": "first"}]}),
    ("v1.PodSpec", {"containers": [NODE]}, {"containers": [{"name": "nodee", "env": [{"name": "A"}]}]}),
    ("v1.PodSpec", {"containers": [NODE]}, {"containers": [{"image": "x"}]}),
    ("v1.PodSpec", {"containers": None}, {"containers": [NODE]}),
    ("v1.PodSpec", {}, {}),
    ("v1.PodSpec", {"containers": [NODE]}, {}),
    ("v1.PodSpec", {"containers": [NODE]}, {"containers": []}),
    (
        "v1.PodSpec",
        {"volumes": [{"name": "w", "emptyDir": {}}]},
        {"volumes": [{"name": "w", "persistentVolumeClaim": {"claimName": "c"}}]},
    ),
    (
        "v1.PodSpec",
        {"volumes": [{"name": "w", "configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}}]},
        {"volumes": [{"name": "w", "configMap": {"name": "b"}}]},
    ),
    (
        "v1.PodSpec",
        {"volumes": [{"name": "w", "emptyDir": {}}]},
        {"volumes": [{"$retainKeys": ["name", "hostPath"], "name": "w", "hostPath": {"path": "/"}}]},
    ),
    ("v1.PodSpec", {"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}),
    ("v1.PodSpec", {"tolerations": [{"key": "a"}]}, {"tolerations": []}),
    ("v1.PodSpec", {"tolerations": [{"key": "a"}]}, {"tolerations": None}),
    ("v1.PodSpec", {"nodeSelector": {"a": "1", "b": "2"}}, {"nodeSelector": {"b": "3", "c": "4"}}),
    ("v1.PodSpec", {"nodeSelector": {"a": "1", "b": "2"}}, {"nodeSelector": {"a": None, "z": None}}),
    ("v1.PodSpec", {"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$patch": "replace", "b": "2"}}),
    ("v1.PodSpec", {"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$patch": "delete"}}),
    ("v1.PodSpec", {"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$patch": "merge"}}),
    ("v1.PodSpec", {"containers": ITEMS}, {"containers": [{"name": "node", "$patch": "delete"}]}),
    ("v1.PodSpec", {"containers": ITEMS}, {"containers": [{"$patch": "delete"}]}),
    ("v1.PodSpec", {"containers": ITEMS}, {"containers": [{"$patch": "replace"}, {"name": "only"}]}),
    ("v1.PodSpec", {"containers": ITEMS}, {"containers": [{"$patch": "merge"}]}),
    ("v1.PodSpec", {"containers": ITEMS}, {"containers": [{"name": "x", "$patch": "zap"}]}),
    ("v1.PodSpec", {"containers": ITEMS}, {"containers": ["text"]}),
    ("v1.PodSpec", {"containers": ITEMS}, {"containers": "text"}),
    ("v1.PodSpec", {"restartPolicy": "Never"}, {"restartPolicy": None}),
    ("v1.PodSpec", {"securityContext": {"runAsUser": 1}}, {"securityContext": {"runAsGroup": 0}}),
    ("v1.PodSpec", {"foo": {"a": 1}}, {"foo": {"b": 1}}),
    ("v1.PodSpec", {"nodeSelector": {"a": {"b": 1}}}, {"nodeSelector": {"a": {"c": 1}}}),
    ("v1.PodSpec", {"affinity": {"nodeAffinity": {"a": [1]}}}, {"affinity": {"nodeAffinity": None}}),
    ("v1.PodSpec", {"imagePullSecrets": [{"name": "a"}]}, {"imagePullSecrets": [{"name": "b"}, {"name": "a"}]}),
    ("v1.Container", {"ports": [{"containerPort": 80, "name": "h"}]}, {"ports": [{"containerPort": 80}]}),
    ("v1.Container", {"ports": [{"containerPort": 80}]}, {"ports": [{"containerPort": 81}]}),
    ("v1.Container", {"command": ["a", "b"]}, {"command": ["c"]}),
    ("v1.Container", {"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "valueFrom": {}}]}),
    ("v1.Container", {"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "B", "value": None}]}),
    ("v1.Container", {"livenessProbe": {"httpGet": {"port": 80}}}, {"livenessProbe": {"httpGet": {"port": "web"}}}),
    ("v1.Container", {"volumeMounts": [{"mountPath": "/a", "name": "x"}]}, {"volumeMounts": [{"mountPath": "/a"}]}),
    ("v1.Container", {"volumeMounts": [{"mountPath": "/a", "name": "x"}]}, {"volumeMounts": [{"name": "x"}]}),
    ("v1.Container", {"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"memory": "1Gi"}}}),
    ("v1.ObjectMeta", {"finalizers": ["a", "b", "c"]}, {"finalizers": ["c", "d", "a"]}),
    ("v1.ObjectMeta", {"finalizers": ["a", "b", "c"]}, {"$deleteFromPrimitiveList/finalizers": ["b"]}),
    (
        "v1.ObjectMeta",
        {"finalizers": ["a", "b", "c"]},
        {"$setElementOrder/finalizers": ["d", "b", "a"], "finalizers": ["d"]},
    ),
    ("v1.ObjectMeta", {"finalizers": ["a"]}, {"$setElementOrder/finalizers": ["a"], "finalizers": ["d"]}),
    ("v1.ObjectMeta", {"labels": {"a": "1"}}, {"labels": {"a": "", "b": "2"}}),
    (
        "v1.PodSpec",
        {"containers": ITEMS},
        {
            "$setElementOrder/containers": [{"name": "last"}, {"name": "new"}, {"name": "first"}],
            "containers": [{"name": "new", "image": "n"}],
        },
    ),
    ("v1.PodSpec", {"containers": ITEMS}, {"$setElementOrder/containers": [{"name": "last"}, {"name": "first"}]}),
]

# What leaves a struct at Go's zero value, for omitzero: nothing, nulls and zeros, but no empty list and no read time.
ZEROS = [
    *({"metadata": value} for value in ({}, {"labels": {}}, {"labels": None}, {"name": ""}, {"generation": 0})),
    *({"metadata": {"creationTimestamp": time}} for time in ("0001-01-01T00:00:00Z", "2024-01-01T00:00:00Z", None)),
    *({"spec": value} for value in ({}, {"suspend": False}, {"suspend": None}, {"replicatedJobs": []}, {"other": 1})),
]


def cases(name: str) -> list[Case]:
    """Return the cases of one file, without results."""
    if name == "quantities":
        chosen = [{"op": "quantity", "text": text} for text in ("", " 1", "1 ", *TEXTS.split())]
        chosen += [{"op": "quantity-json", "raw": value} for value in JSON_VALUES]
        return chosen + make("quantity", 21, 150)
    if name == "merges":
        chosen = [{"op": "merge", "type": kind, "raw": raw, "patch": patch} for kind, raw, patch in MERGES]
        return chosen + make("merge", 22, 60) + make("runtime-patch", 23, 30) + make("resources", 24, 20)
    if name == "gotypes":
        runtime = "v1alpha1.TrainingRuntime"
        chosen = [{"op": "decode", "type": runtime, "raw": {"spec": {"template": zero}}} for zero in ZEROS]
        return chosen + make("decode", 25, 48) + make("decode-bad", 26, 64) + make("apply", 27, 24)
    if name == "names":
        return make("names", 28, 36) + make("labels", 29, 20)
    assert name == "requests", name
    return make("requests", 30, 40) + make("arithmetic", 31, 60)


FILES = ("gotypes", "merges", "names", "quantities", "requests")


def load(name: str) -> list[tuple[Case, object]]:
    """Return the recorded cases of one file with their results."""
    rows = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    return [(case, result) for case, result in rows]


def record(name: str) -> str:
    """Return the text of one file, asked of upstream; one case a line."""
    asked = cases(name)
    rows = (json.dumps(row, ensure_ascii=False, sort_keys=True) for row in zip(asked, ask(asked), strict=True))
    return "[\n" + ",\n".join(rows) + "\n]\n"


if __name__ == "__main__":
    for file in FILES:
        (VECTORS / f"{file}.json").write_text(record(file), encoding="utf-8")
