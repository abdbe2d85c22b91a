"""Small objects and schemas for questions, with the expressions that reach into them."""

from __future__ import annotations

from typing import Any

Json = Any

JOBSET: Json = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "train-1", "namespace": "team-a", "labels": {"team": "a", "example.com/queue": "gpu"}},
    "spec": {
        "suspend": False,
        "ttlSecondsAfterFinished": 60,
        "replicatedJobs": [
            {"name": "launcher", "replicas": 1, "limits": {"cpu": "500m", "memory": "1Gi"}, "image": "ghcr.io/a/b:v1"},
            {"name": "node", "replicas": 4, "limits": {"cpu": 2, "nvidia.com/gpu": "8"}, "image": "b@sha256:abc"},
        ],
    },
}
CONFIGMAP: Json = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "limits", "annotations": {}},
    "data": {"gpus": "16", "ratio": "0.5", "cidr": "10.0.0.0/8", "since": "2024-01-01T00:00:00Z", "empty": ""},
    "immutable": True,
    "nothing": None,
}
TRAINJOB: Json = {
    "kind": "TrainJob",
    "metadata": {"name": "llama", "generation": 3},
    "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 2, "numProcPerNode": "auto", "rate": 1.5}},
}
REQUEST: Json = {
    "operation": "CREATE",
    "name": "train-1",
    "namespace": "team-a",
    "dryRun": False,
    "userInfo": {"username": "jo", "groups": ["dev", "ml"], "extra": {"scopes": ["x"]}},
    "kind": {"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"},
    "options": {"kind": "CreateOptions"},
}
NAMESPACE: Json = {
    "metadata": {"name": "team-a", "labels": {"env": "prod"}, "creationTimestamp": "2024-01-01T00:00:00Z"},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}

# The variables of a policy, and by type (as we know it, for the checker all below object is dyn) what to write.
POLICIES: tuple[tuple[dict[str, Json], dict[str, tuple[str, ...]]], ...] = (
    (
        {"object": JOBSET, "oldObject": None, "request": REQUEST},
        {
            "int": (
                "object.spec.ttlSecondsAfterFinished",
                "object.spec.replicatedJobs[1].replicas",
                "size(object.metadata.labels)",
            ),
            "string": (
                "object.metadata.name",
                "object.metadata.labels.team",
                "request.operation",
                "request.userInfo.username",
            ),
            "bool": ("object.spec.suspend", "has(object.spec.network)", "oldObject == null", "request.dryRun"),
            "list(dyn)": ("object.spec.replicatedJobs",),
            "list(string)": ("request.userInfo.groups", "object.spec.replicatedJobs.map(r, r.name)"),
            "map(string, string)": ("object.metadata.labels", "object.spec.replicatedJobs[0].limits"),
            "dyn": (
                "object.spec",
                "object.spec.replicatedJobs[0].limits.cpu",
                "object.spec.missing",
                "object.?spec.?suspend",
            ),
        },
    ),
    (
        {"object": CONFIGMAP, "oldObject": CONFIGMAP, "params": TRAINJOB, "namespaceObject": NAMESPACE},
        {
            "int": ("int(object.data.gpus)", "params.spec.trainer.numNodes", "size(object.data)"),
            "double": ("double(object.data.ratio)", "params.spec.trainer.rate"),
            "string": (
                "object.data.gpus",
                "params.metadata.name",
                "namespaceObject.metadata.name",
                "object.data.empty",
            ),
            "bool": ("object.immutable", "object == oldObject", "has(object.nothing)", "has(params.spec.trainer.x)"),
            "map(string, string)": ("object.data", "namespaceObject.metadata.labels", "object.metadata.annotations"),
            "dyn": ("object.data", "params.spec", "object.nothing", "object.data[?'x']", "object.data.x"),
            "google.protobuf.Timestamp": ("timestamp(object.data.since)",),
            "net.CIDR": ("cidr(object.data.cidr)",),
        },
    ),
)

_NAMED = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "port": {"x-kubernetes-int-or-string": True},
        "when": {"type": "string", "format": "date-time"},
    },
}
SCHEMA: Json = {
    "type": "object",
    "required": ["name", "count"],
    "properties": {
        "name": {"type": "string", "maxLength": 63},
        "count": {"type": "integer", "minimum": 0},
        "ratio": {"type": "number"},
        "on": {"type": "boolean"},
        "port": {"x-kubernetes-int-or-string": True},
        "tags": {
            "type": "array",
            "maxItems": 10,
            "x-kubernetes-list-type": "set",
            "items": {"type": "string", "maxLength": 10},
        },
        "list": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
        "items": {
            "type": "array",
            "maxItems": 10,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": _NAMED,
        },
        "labels": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string", "maxLength": 10}},
        "maybe": {"type": "string", "nullable": True, "maxLength": 10},
        "when": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "wait": {"type": "string", "format": "duration"},
        "blob": {"type": "string", "format": "byte", "maxLength": 20},
        "foo-bar": {"type": "integer"},
        "a.b/c": {"type": "string", "maxLength": 10},
        "namespace": {"type": "string", "maxLength": 10},
        "in": {"type": "string", "maxLength": 10},
        "x__y": {"type": "integer"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "loose": {"x-kubernetes-preserve-unknown-fields": True},
        "pod": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"spec": {"type": "object"}},
        },
    },
}
SELF: Json = {
    "name": "node",
    "count": 3,
    "ratio": 2,
    "on": True,
    "port": "http",
    "tags": ["b", "a"],
    "list": [1, 2, 2],
    "items": [{"name": "x", "port": 80}, {"name": "y", "when": "2024-01-01T00:00:00Z"}],
    "labels": {"k": "v"},
    "when": "2024-05-06T07:08:09.5Z",
    "day": "2024-05-06",
    "wait": "1h",
    "blob": "aGk=",
    "foo-bar": 7,
    "a.b/c": "z",
    "namespace": "ns",
    "in": "out",
    "x__y": 1,
    "free": {"a": {"b": 1}},
    "loose": [1],
    "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}},
}
OLD: Json = {
    "name": "node",
    "count": 2,
    "ratio": 1.5,
    "port": 80,
    "tags": ["a", "b"],
    "list": [2, 1, 2],
    "items": [{"name": "y", "when": "2024-01-01T00:00:00Z"}, {"name": "x", "port": 80}],
    "labels": {"k": "w"},
}
FIELDS: dict[str, tuple[str, ...]] = {
    "int": (
        "self.count",
        "self.list[0]",
        "self.foo__dash__bar",
        "oldSelf.count",
        "self.x__underscores__y",
        "size(self.items)",
    ),
    "double": ("self.ratio", "oldSelf.ratio"),
    "string": (
        "self.name",
        "self.a__dot__b__slash__c",
        "self.namespace",
        "self.__namespace__",
        "self.__in__",
        "self.maybe",
    ),
    "bool": (
        "self.on",
        "has(self.maybe)",
        "has(oldSelf.on)",
        "self.tags == oldSelf.tags",
        "self.items == oldSelf.items",
    ),
    "list(int)": ("self.list", "oldSelf.list"),
    "list(string)": ("self.tags", "oldSelf.tags", "self.tags + oldSelf.tags"),
    "map(string, string)": ("self.labels", "oldSelf.labels"),
    "google.protobuf.Timestamp": ("self.when", "self.day"),
    "google.protobuf.Duration": ("self.wait",),
    "bytes": ("self.blob",),
    "dyn": ("self.port", "oldSelf.port", "self.items[0].port"),
}
