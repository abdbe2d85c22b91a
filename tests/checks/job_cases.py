"""Jobs for the oracle: one that is fine, and what people get wrong, alone and in threes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from oracle.generator.rng import Rng

C = "template.spec.containers.0."
I = "template.spec.initContainers"  # noqa: E741 - as short as its neighbours
S = "template.spec."
P = "podFailurePolicy"
A = "template.spec.affinity"
LONG = "x" * 64
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

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


def _volume(source: Any, name: str = "v") -> Change:
    return (S + "volumes.+", {"name": name, **source})


def _term(*expressions: Any) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}


JOB: list[Change] = [
    *((field, -1) for field in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit")),
    *((field, -1) for field in ("ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes")),
    *((field, None) for field in ("parallelism", "completions", "completionMode")),
    ("parallelism", 0),
    ("parallelism", 100001),
    ("completionMode", "NonIndexed"),
    ("completionMode", "Sparse"),
    ("maxFailedIndexes", 1),
    ("maxFailedIndexes", 200000),
    ("completions", 200000),
    ("backoffLimitPerIndex", 3),
    ("managedBy", "kueue"),
    ("managedBy", "kueue.x-k8s.io/" + LONG),
    ("podReplacementPolicy", "Failed"),
    ("podReplacementPolicy", "Never"),
    ("successPolicy", {"rules": []}),
    ("successPolicy", {"rules": [{}]}),
    ("successPolicy", {"rules": [{"succeededCount": 9}, {"succeededCount": -1}]}),
    *((S + "restartPolicy", value) for value in (None, "", "Always", "Never", "always", "OnFailure")),
    (P, {"rules": []}),
    (P, {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3, 1, 1, 0]}}]}),
    (P, {"rules": [{"action": "Stop", "onExitCodes": {"operator": "Is", "values": []}}]}),
    (
        P,
        {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [0], "containerName": "x"}}]},
    ),
    (P, {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}),
    (P, {"rules": [{"action": "", "onPodConditions": [{"type": "a b", "status": "x"}, {"type": "A", "status": ""}]}]}),
    (P, {"rules": [{"action": "Count"}]}),
    (
        P,
        {
            "rules": [
                {
                    "action": "Count",
                    "onExitCodes": {"operator": "", "values": list(range(1, 300))},
                    "onPodConditions": [{"type": "A", "status": "True"}] * 21,
                }
            ]
            * 21
        },
    ),
]

METADATA: list[Change] = [
    ("template.metadata.labels", {"a b": "c", "ok": "x y", "long": LONG, "/x": "", "a/b/c": "", "UP/x": "", "y/": ""}),
    ("template.metadata.labels", {LONG: "", f"{'p' * 254}/n": ""}),
    ("template.metadata.annotations", {"a b": "anything", "Ok.Io/x": "y"}),
    ("template.metadata.annotations", {"big": "z" * 300_000}),
]

CONTAINER: list[Change] = [
    *((C + "name", value) for value in ("", "Node", "a_b", LONG, "a.b", "sidecar", "first", "-a")),
    (S + "containers.1.name", "node"),
    (S + "containers", []),
    *((C + "image", value) for value in ("", None)),
    *((C + "imagePullPolicy", value) for value in ("Always", "always", "IfNotThere")),
    *((C + "terminationMessagePolicy", value) for value in ("File", "Logs")),
    (C + "restartPolicy", "Always"),
    (I + ".0.restartPolicy", "Always"),
    (I + ".0.restartPolicy", "Never"),
    (I + ".0.livenessProbe", {"exec": {"command": ["true"]}}),
    (I + ".0.readinessProbe", {"exec": {"command": ["true"]}}),
    (I + ".0.startupProbe", {"exec": {"command": ["true"]}}),
    (I + ".0.lifecycle", {"postStart": {"exec": {"command": ["true"]}}}),
    (I, [{"name": "a", "restartPolicy": "Always", "livenessProbe": {}, "lifecycle": {"preStop": {}}}]),
    (I, [{"name": "a", "image": "i"}, {"name": "a", "image": "i"}, {"name": "node", "image": "i"}, {"image": "i"}]),
    (
        I,
        [
            {
                "name": "a",
                "image": "i",
                "ports": [{"containerPort": 1, "hostPort": 1}, {"containerPort": 2, "hostPort": 1}],
            }
        ],
    ),
    (C + "ports", [{"containerPort": 0}, {"containerPort": 70000}, {"containerPort": -1, "hostPort": 99999}]),
    (
        C + "ports",
        [{"containerPort": 1, "name": n} for n in ("a", "a", "UPPER", "12", "way-too-long-a-name", "a--b", "-")],
    ),
    (C + "ports", [{"containerPort": 1, "protocol": "tcp"}, {"containerPort": 2, "protocol": "SCTP"}]),
    (C + "ports", [{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 80}]),
    (S + "containers.1.ports", [{"containerPort": 5, "hostPort": 80, "hostIP": "10.0.0.1"}]),
    (S + "hostNetwork", True),
    (S + "hostNetwork", False),
]
CONTAINER += [
    (C + "env", [{"name": "A", "valueFrom": {}}, {"name": ""}, {"name": "a=b"}, {"name": "1 a"}, {"name": "é"}]),
    (C + "env", [{"name": "A", "value": "v", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]),
    *(
        (C + "env", [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}])
        for path in (
            "",
            "metadata.labels",
            "metadata.labels['a b']",
            "metadata.annotations['A/B']",
            "metadata.annotations['']",
            "spec.containers['x']",
            "spec.host",
            "status.phase",
            "status.podIPs",
            "nonsense",
            "metadata.labels['x'",
        )
    ),
    (C + "env", [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}}]),
    *(
        (C + "env", [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": name, "divisor": divisor}}}])
        for name, divisor in (
            ("", "0"),
            ("limits.gpu", "3"),
            ("limits.cpu", "2"),
            ("requests.memory", "1Mi"),
            ("requests.memory", "3Mi"),
            ("limits.ephemeral-storage", "2"),
            ("limits.hugepages-2Mi", "1Mi"),
            ("requests.hugepages-2Mi", "7"),
        )
    ),
    (C + "env", [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "", "key": ""}}}]),
    (C + "env", [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "A_b", "key": "a b"}}}]),
    (
        C + "env",
        [
            {
                "name": "A",
                "valueFrom": {
                    "configMapKeyRef": {"name": "a", "key": "..x"},
                    "secretKeyRef": {"name": "a", "key": ".."},
                },
            }
        ],
    ),
    (C + "env", [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "tmp", "path": "a", "key": "b"}}}]),
    (C + "envFrom", [{}, {"secretRef": {"name": ""}}, {"configMapRef": {"name": "A"}, "secretRef": {"name": "b-"}}]),
    (C + "envFrom", [{"prefix": "a=", "secretRef": {"name": "b"}}, {"prefix": "1_", "configMapRef": {"name": "b"}}]),
]

PROBES: list[Change] = [
    (C + kind, probe)
    for kind in ("livenessProbe", "readinessProbe", "startupProbe")
    for probe in (
        {},
        {"exec": {}, "httpGet": {"port": 80}},
        {"httpGet": {"port": "a b", "scheme": "ftp", "httpHeaders": [{"name": "x y", "value": "z"}]}},
        {"httpGet": {"port": 0}},
        {"tcpSocket": {"port": 70000}, "successThreshold": 2},
        {
            "grpc": {"port": 0},
            "initialDelaySeconds": -1,
            "periodSeconds": -1,
            "timeoutSeconds": -2,
            "failureThreshold": -1,
        },
        {"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 0, "successThreshold": -1},
        {"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 9},
    )
] + [
    (C + "lifecycle", {"preStop": {"sleep": {"seconds": 31}}}),
    (C + "lifecycle", {"preStop": {"sleep": {"seconds": -1}}, "postStart": {"exec": {}}}),
    (C + "lifecycle", {"preStop": {"httpGet": {"port": "-"}, "sleep": {"seconds": 1}}}),
    (S + "terminationGracePeriodSeconds", 0),
    (S + "terminationGracePeriodSeconds", -3),
]

RESOURCES: list[Change] = [
    (C + "resources", value)
    for value in (
        {"requests": {"nvidia.com/gpu": "1"}},
        {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}},
        {"requests": {"nvidia.com/gpu": "3"}, "limits": {"nvidia.com/gpu": "2"}},
        {"limits": {"nvidia.com/gpu": "500m"}},
        {"limits": {"nvidia.com/gpu": "-1"}, "requests": {"cpu": "-100m"}},
        {"requests": {"cpu": "3", "memory": "2Gi"}, "limits": {"cpu": "2500m", "memory": "1Gi"}},
        {"requests": {"memory": "1000Mi"}, "limits": {"memory": "0.5Gi"}},
        {"limits": {"gpu": "1"}},
        {"limits": {"pods": "1", "storage": "1Gi", "requests.cpu": "1"}},
        {"limits": {"requests.nvidia.com/gpu": "1", "a b": "1", "kubernetes.io/x": "1", "x.kubernetes.io/y": "1500m"}},
        {"limits": {"hugepages-2Mi": "4Mi"}},
        {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}, "requests": {"hugepages-2Mi": "2Mi"}},
        {"limits": {"hugepages-x": "4Mi", "memory": "1"}},
        {"limits": {"cpu": "1u"}, "requests": {"cpu": "1500u"}},
        {"limits": {"ephemeral-storage": "1Gi"}, "requests": {"ephemeral-storage": "2Gi"}},
        {"limits": {f"example.com/{LONG}": "1", f"{'d' * 240}.example.com/x": "1"}},
        {"claims": [{"name": "a"}, {"name": ""}, {"name": "a", "request": "R"}]},
        {"claims": [{"name": "a", "request": "r"}, {"name": "a"}, {"name": "a", "request": "r"}]},
    )
] + [
    (C + "resizePolicy", [{"resourceName": "gpu", "restartPolicy": "x"}, {"resourceName": "cpu", "restartPolicy": ""}]),
    (C + "resizePolicy", [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}] * 2),
    (S + "resources", {"requests": {"cpu": "8"}, "limits": {"cpu": "4", "nvidia.com/gpu": "1"}}),
    (S + "resources", {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1500m"}}),
    (S + "overhead", {"cpu": "-1", "gpu": "1"}),
    (
        S + "resourceClaims",
        [{"name": "a", "resourceClaimName": "b"}, {"name": "a", "resourceClaimName": "B"}, {"name": "A"}, {}],
    ),
    (S + "resourceClaims", [{"name": "a", "resourceClaimName": "b", "resourceClaimTemplateName": "c"}]),
]

MOUNTS: list[Change] = [
    (C + "volumeMounts", value)
    for value in (
        [{"name": "absent", "mountPath": "/a"}],
        [{"name": "", "mountPath": ""}],
        [{"name": "tmp", "mountPath": "/a"}, {"name": "data", "mountPath": "/a"}],
        [
            {"name": "tmp", "mountPath": "a:b", "subPath": "/abs"},
            {"name": "tmp", "mountPath": "/x", "subPathExpr": "../up"},
        ],
        [{"name": "tmp", "mountPath": "/x", "subPath": "a", "subPathExpr": "b"}],
        [{"name": "tmp", "mountPath": "/x", "mountPropagation": "Bidirectional"}],
        [{"name": "tmp", "mountPath": "/x", "mountPropagation": "Both"}],
        [{"name": "tmp", "mountPath": "/x", "recursiveReadOnly": "Enabled", "mountPropagation": "HostToContainer"}],
        [{"name": "tmp", "mountPath": "/x", "recursiveReadOnly": "Yes"}],
    )
] + [
    (C + "volumeDevices", [{"name": "data", "devicePath": "/dev/x"}, {"name": "tmp", "devicePath": "/tmp"}]),
    (C + "volumeDevices", [{"name": "absent", "devicePath": ""}, {"name": "", "devicePath": "/a/../b"}]),
    (C + "volumeDevices", [{"name": "data", "devicePath": "/d"}, {"name": "data", "devicePath": "/d"}]),
]

VOLUMES: list[Change] = [
    _volume({}, ""),
    _volume({}, "V"),
    _volume({}, "tmp"),
    _volume({}, LONG),
    _volume({"emptyDir": {}, "secret": {"secretName": "s"}, "persistentVolumeClaim": {"claimName": "c"}}, "tmp2"),
    _volume({"emptyDir": {"sizeLimit": "-1"}}),
    _volume({"hostPath": {"path": ""}}),
    _volume({"hostPath": {"path": "/a/../b", "type": "Folder"}}),
    _volume({"hostPath": {"path": "/a", "type": "Directory"}, "downwardAPI": {}, "cephfs": {"monitors": []}}),
    _volume(
        {"secret": {"defaultMode": 512, "items": [{"key": "", "path": ""}, {"key": "a", "path": "/b", "mode": -1}]}}
    ),
    _volume({"secret": {"secretName": "a", "items": [{"key": "a", "path": "../b"}, {"key": "a", "path": "..b"}]}}),
    _volume({"configMap": {"name": ""}}),
    _volume({"configMap": {"name": "a", "defaultMode": 511, "items": [{"key": "a", "path": "b/../c"}]}}),
    _volume({"persistentVolumeClaim": {"claimName": ""}}),
    _volume({"nfs": {"server": "", "path": "rel"}}),
    _volume({"nfs": {"server": "a", "path": ""}}),
    _volume({"csi": {"driver": ""}}),
    _volume({"csi": {"driver": "Upper.io", "nodePublishSecretRef": {"name": ""}}}),
    _volume({"csi": {"driver": LONG, "nodePublishSecretRef": {"name": "A"}}}),
    _volume({"ephemeral": {}}),
    _volume({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}),
    _volume(
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"labels": {"a b": "c"}},
                    "spec": {
                        "accessModes": ["RWO"],
                        "resources": {"requests": {"storage": "0"}},
                        "storageClassName": "A",
                        "volumeMode": "File",
                    },
                }
            }
        }
    ),
    _volume(
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {
                        "accessModes": ["ReadWriteOncePod", "ReadWriteMany"],
                        "resources": {"requests": {"storage": "1Gi"}},
                    }
                }
            }
        }
    ),
    _volume(
        {
            "downwardAPI": {
                "defaultMode": 600,
                "items": [{"path": ""}, {"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}],
            }
        }
    ),
    _volume({"downwardAPI": {"items": [{"path": "a", "mode": 600, "resourceFieldRef": {"resource": "limits.cpu"}}]}}),
    _volume(
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "a",
                        "fieldRef": {"fieldPath": "metadata.labels"},
                        "resourceFieldRef": {"resource": "limits.cpu", "containerName": "node"},
                    }
                ]
            }
        }
    ),
    _volume(
        {
            "projected": {
                "sources": [
                    {"secret": {"name": "", "items": [{"key": "a", "path": "x"}]}},
                    {"configMap": {"name": "c", "items": [{"key": "a", "path": "x"}]}},
                ]
            }
        }
    ),
    _volume({"projected": {"sources": [{"secret": {"name": "s"}, "configMap": {"name": ""}}, {}]}}),
    _volume(
        {"projected": {"defaultMode": -1, "sources": [{"serviceAccountToken": {"path": "", "expirationSeconds": 9}}]}}
    ),
    _volume({"projected": {"sources": [{"serviceAccountToken": {"path": "../x", "expirationSeconds": 2**33}}]}}),
    _volume(
        {
            "projected": {
                "sources": [
                    {
                        "downwardAPI": {
                            "items": [{"path": "a"}, {"path": "a", "fieldRef": {"fieldPath": "metadata.uid"}}]
                        }
                    }
                ]
            }
        }
    ),
    _volume({"gitRepo": {"repository": ""}}),
    _volume({"gcePersistentDisk": {"pdName": "", "partition": 300}}),
    _volume({"awsElasticBlockStore": {"volumeID": "", "partition": -1}}),
    _volume({"azureFile": {"secretName": "", "shareName": ""}}),
    _volume({"rbd": {"monitors": [], "image": ""}}),
    _volume({"cephfs": {"monitors": []}}),
    _volume({"glusterfs": {"endpoints": "", "path": ""}}),
    _volume({"cinder": {"volumeID": ""}}),
    _volume({"flexVolume": {"driver": ""}}),
    _volume({"vsphereVolume": {"volumePath": ""}}),
    _volume({"portworxVolume": {"volumeID": ""}}),
    _volume({"photonPersistentDisk": {"pdID": ""}}),
]

SCHEDULING: list[Change] = [
    (S + "nodeSelector", {"a b": "c", "ok": "not ok", "a/b/c": "x"}),
    *(
        (S + "tolerations", [value])
        for value in (
            {},
            {"key": "a b", "operator": "Exists"},
            {"key": "a", "operator": "Exists", "value": "b"},
            {"key": "a", "operator": "In", "value": "b"},
            {"key": "a", "value": "b c" * 30},
            {"operator": "Exists"},
            {"operator": "Equal", "value": "x"},
            {"key": "a", "operator": "Exists", "effect": "NoRun"},
            {"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3},
            {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3},
        )
    ),
    (A, {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}),
    *(
        (
            A,
            {
                "nodeAffinity": {
                    REQUIRED: _term(value),
                    PREFERRED: [{"weight": 1, "preference": _term(value)["nodeSelectorTerms"][0]}],
                }
            },
        )
        for value in (
            {"key": "a", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["b"]},
            {"key": "a", "operator": "Gt", "values": ["1", "2"]},
            {"key": "a b", "operator": "Is", "values": ["b c"]},
            {"key": "a", "operator": "NotIn", "values": ["b", "-"]},
        )
    ),
    (
        A,
        {
            "nodeAffinity": {
                PREFERRED: [
                    {"weight": 0, "preference": {}},
                    {"weight": 101, "preference": {"matchFields": [{"key": "x", "operator": "Is"}]}},
                ]
            }
        },
    ),
    (
        A,
        {
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["A", "b"]}]}
                    ]
                }
            }
        },
    ),
    (
        A,
        {
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["A"]}]}
                    ]
                }
            }
        },
    ),
    *(
        (A, {kind: {REQUIRED: [term], PREFERRED: [{"weight": 200, "podAffinityTerm": term}]}})
        for kind in ("podAffinity", "podAntiAffinity")
        for term in (
            {"topologyKey": ""},
            {"topologyKey": "a b", "namespaces": ["A", "b"], "labelSelector": {"matchLabels": {"a b": "c d"}}},
            {
                "topologyKey": "h",
                "labelSelector": {
                    "matchExpressions": [
                        {"key": "a", "operator": "Gt", "values": ["1"]},
                        {"key": "a", "operator": "In"},
                    ]
                },
            },
            {
                "topologyKey": "h",
                "matchLabelKeys": ["a"],
                "namespaceSelector": {"matchExpressions": [{"key": "b", "operator": "Exists", "values": ["x"]}]},
            },
            {"topologyKey": "h", "labelSelector": {}, "matchLabelKeys": ["a", "b c"], "mismatchLabelKeys": ["a"]},
        )
    ),
    *(
        (S + "topologySpreadConstraints", value)
        for value in (
            [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "No"}],
            [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}] * 2,
            [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 0}],
            [
                {
                    "maxSkew": 1,
                    "topologyKey": "z",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "nodeAffinityPolicy": "x",
                    "nodeTaintsPolicy": "y",
                }
            ],
            [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": ["a"]}],
            [
                {
                    "maxSkew": 1,
                    "topologyKey": "z",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"a": "b c"}},
                    "matchLabelKeys": ["a b"],
                }
            ],
        )
    ),
    (S + "schedulingGates", [{"name": "a b"}, {"name": "x"}, {"name": "x"}]),
    (S + "nodeName", "A"),
]

SECURITY: list[Change] = [
    (C + "securityContext", value)
    for value in (
        {"runAsUser": -1, "runAsGroup": 2**31},
        {"privileged": True, "allowPrivilegeEscalation": False},
        {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN", "SYS_PTRACE"], "drop": ["ALL"]}},
        {
            "privileged": True,
            "allowPrivilegeEscalation": False,
            "runAsUser": 0,
            "seLinuxOptions": {"level": "s0"},
            "seccompProfile": {"type": "RuntimeDefault"},
            "readOnlyRootFilesystem": True,
        },
        {"procMount": "Unmasked"},
        {"procMount": "Some"},
        {"seccompProfile": {"type": ""}},
        {"seccompProfile": {"type": "Local"}},
        {"seccompProfile": {"type": "Localhost"}},
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "/abs/.."}},
        {"seccompProfile": {"type": "Unconfined", "localhostProfile": "x"}},
        {"appArmorProfile": {"type": "Localhost", "localhostProfile": " x"}},
        {"appArmorProfile": {"type": "Localhost"}},
        {"appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}},
        {"appArmorProfile": {"type": "None"}},
    )
] + [
    (S + "securityContext", value)
    for value in (
        {"runAsUser": -1, "runAsGroup": -2, "fsGroup": 2**31, "supplementalGroups": [1, -1]},
        {
            "sysctls": [
                {"name": "", "value": "1"},
                {"name": "A b", "value": "1"},
                {"name": "kernel.shm_rmid_forced", "value": "1"},
                {"name": "kernel.shm_rmid_forced", "value": "1"},
            ]
        },
        {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}, {"name": "net/ipv4/tcp", "value": "1"}]},
        {"fsGroupChangePolicy": "Sometimes"},
        {"supplementalGroupsPolicy": "Lax"},
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "a/../b"}},
    )
]

SPEC: list[Change] = [
    *((S + "hostname", value) for value in ("A", "a.b", LONG, "ok")),
    *((S + "subdomain", value) for value in ("A.b", "ok")),
    *((S + "serviceAccountName", value) for value in ("Trainer", "a_b", "a.b")),
    *((S + "activeDeadlineSeconds", value) for value in (0, -1, 2**31, 60)),
    *((S + "dnsPolicy", value) for value in ("None", "Cluster", "Default")),
    (S + "dnsConfig", {"nameservers": ["1.2.3.4", "x", "010.1.1.1", "::1"], "options": [{"name": ""}]}),
    (S + "dnsConfig", {"nameservers": []}),
    (S + "dnsConfig", {"searches": ["a" * 60] * 40}),
    (S + "hostAliases", [{"ip": "1.2.3", "hostnames": ["A", "b"]}]),
    (S + "priorityClassName", "High"),
    (S + "runtimeClassName", "gVisor"),
    (S + "runtimeClassName", ""),
    (S + "preemptionPolicy", "Sometimes"),
    (S + "preemptionPolicy", "Never"),
    (S + "readinessGates", [{"conditionType": "a b"}]),
    (S + "os", {"name": ""}),
    (S + "os", {"name": "plan9"}),
    (S + "hostUsers", False),
    (S + "hostPID", True),
    (S + "hostIPC", True),
    (S + "shareProcessNamespace", True),
]

CHANGES = [*JOB, *METADATA, *CONTAINER, *PROBES, *RESOURCES, *MOUNTS, *VOLUMES, *SCHEDULING, *SECURITY, *SPEC]


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
