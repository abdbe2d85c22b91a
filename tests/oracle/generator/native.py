"""What Kubernetes itself judges: specs of pods and Jobs by their types in Go, objects beside a runtime, and changes."""

from __future__ import annotations

import copy
from typing import Any

from oracle.generator.jobsets import jobset_fields
from oracle.generator.rng import Rng
from oracle.generator.values import Context, Map
from trainc.data import load_json

NAMES = ("a", "b", "node", "v", "v2")
ODD = (
    "",
    "a",
    "b",
    "node",
    "A_b",
    "a.b",
    "a.b/c",
    "/a",
    "/",
    "..",
    "a/../b",
    "a b",
    "x" * 64,
    "1",
    "-a",
    "é",
    "::1",
    "C:\\x",
)
NUMBERS = (0, 1, 2, 5, 80, 255, 256, 600, 8080, 65535, 65536, -1, 100001, 2147483647)
QUANTITIES = ("1", "0", "1Gi", "500m", "0.5m", "-1", "2Mi", "1.5", "3000000000000000000000", "1e3", 2, "1u")
RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi", "ephemeral-storage", "foo", "storage")
LABELS = ("a", "jobset.sigs.k8s.io/jobset-name", "batch.kubernetes.io/job-completion-index")
OF_CONTROLLERS = (
    "alpha.jobset.sigs.k8s.io/exclusive-topology",
    "alpha.jobset.sigs.k8s.io/namespaced-job",
    "alpha.jobset.sigs.k8s.io/node-selector",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-index-failure-count",
    "batch.kubernetes.io/job-index-ignored-failure-count",
    "batch.kubernetes.io/job-name",
    "batch.kubernetes.io/job-tracking",
    "container.apparmor.security.beta.kubernetes.io/node",
    "controller-uid",
    "job-name",
    "jobset.sigs.k8s.io/coordinator",
    "jobset.sigs.k8s.io/group-name",
    "jobset.sigs.k8s.io/job-index",
    "jobset.sigs.k8s.io/jobset-name",
    "jobset.sigs.k8s.io/priority",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "jobset.sigs.k8s.io/restart-attempt",
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubernetes.io/config.mirror",
    "scheduler.alpha.kubernetes.io/critical-pod",
    "seccomp.security.alpha.kubernetes.io/pod",
)
"""Labels and annotations that controllers and the API server set or read."""
PULL, POLICIES = ("Always", "IfNotPresent", "Never"), ("Honor", "Ignore")
ENUMS: dict[str, tuple[Any, ...]] = {
    "accessModes": ("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod", "Foo"),
    "action": ("Ignore", "FailJob", "Count", "FailIndex", "Restart"),
    "cachingMode": ("None", "ReadOnly"),
    "completionMode": ("Indexed", "NonIndexed"),
    "dnsPolicy": ("ClusterFirst", "Default", "None", "ClusterFirstWithHostNet"),
    "effect": ("NoSchedule", "NoExecute", "PreferNoSchedule"),
    "expirationSeconds": (600, 3600, 1),
    "fieldPath": (
        "metadata.name",
        "metadata.labels['a']",
        "status.hostIP",
        "metadata.labels",
        "metadata.annotations['A b']",
    ),
    "finalizers": ("a", "a/b", "kubernetes", "foregroundDeletion", "", None),
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "image": ("a:1",),
    "imagePullPolicy": PULL,
    "iqn": ("iqn.2001-04.com.example:x", "bad"),
    "keyType": ("RSA3072",),
    "kind": ("Shared", "Dedicated", "Managed", "PersistentVolumeClaim"),
    "managedBy": ("kubernetes.io/job-controller", "a.b/c"),
    "matchLabelKeys": LABELS,
    "medium": ("", "Memory", "HugePages", "HugePages-2Mi"),
    "mismatchLabelKeys": LABELS,
    "mountPropagation": ("None", "HostToContainer", "Bidirectional"),
    "nodeAffinityPolicy": POLICIES,
    "nodeTaintsPolicy": POLICIES,
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal"),
    "podReplacementPolicy": ("Failed", "TerminatingOrFailed"),
    "preemptionPolicy": ("Never", "PreemptLowerPriority"),
    "procMount": ("Default", "Unmasked"),
    "protocol": ("TCP", "UDP", "SCTP"),
    "pullPolicy": PULL,
    "recursiveReadOnly": ("Disabled", "Enabled", "IfPossible"),
    "resource": ("limits.cpu", "requests.memory", "limits.hugepages-2Mi"),
    "resourceName": ("cpu", "memory"),
    "restartPolicy": ("Always", "OnFailure", "Never", "NotRequired"),
    "scheme": ("HTTP", "HTTPS"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
    "status": ("True", "False", "Unknown"),
    "stopSignal": ("SIGTERM",),
    "succeededIndexes": ("0", "0-1", "a"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
    "volumeMode": ("Block", "Filesystem"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
}
# fmt: off
USUAL = frozenset((
    "accessModes", "action", "claimName", "conditionType", "containerPort", "devicePath", "driver", "endpoints",
    "fieldPath", "gateway", "image", "ip", "iqn", "key", "keyType", "lun", "maxSkew", "monitors", "mountPath",
    "name", "nodeSelectorTerms", "operator", "path", "podAffinityTerm", "port", "preference", "registry",
    "repository", "resource", "resourceName", "resources", "secretName", "secretRef", "server", "shareName",
    "signerName", "spec", "status", "system", "targetPortal", "topologyKey", "type", "value", "values", "volume",
    "volumeClaimTemplate", "volumePath", "weight", "whenUnsatisfiable",
))
# fmt: on
"""Fields that are set where they exist: without them, nearly all objects would only lack something."""
NEVER = frozenset(
    ("containers", "creationTimestamp", "ephemeralContainers", "managedFields", "ownerReferences", "status")
)
JOB = frozenset(("template",))


def of_type(rng: Rng, kind: str, name: str, depth: int = 0) -> Any:
    """Return some value of a type in Go, for a field of this name."""
    kind = kind.lstrip("*")
    if kind.startswith("{}"):
        keys = RESOURCES if "Quantity" in kind else ("a", "b/c", "a b", "A", "x" * 64, "app.kubernetes.io/name")
        return {rng.pick(keys): of_type(rng, kind[2:], "", depth + 1) for _ in range(1 + rng.chance(25))}
    if kind.startswith("[]") and kind != "[]byte":
        item = name if name in ENUMS else name.rstrip("s")
        return [of_type(rng, kind[2:], item, depth + 1) for _ in range(rng.pick((0, 1, 1, 1, 2)))]
    kind = kind.partition(":")[0]
    types: dict[str, Any] = load_json("gotypes.json")
    if kind in types:
        return _struct(rng, kind, [row for row in types[kind] if row[0] not in NEVER], depth)
    if name in ENUMS and rng.chance(85):
        return rng.pick(ENUMS[name])
    return _scalar(rng, kind, name)


def _scalar(rng: Rng, kind: str, name: str) -> Any:
    if kind == "bool":
        return rng.chance(60)
    if kind.startswith("int") and not kind.startswith("intstr"):
        return rng.pick(NUMBERS)
    if kind in ("Time", "MicroTime"):
        return "2020-01-01T00:00:00Z"
    if name == "name" and rng.chance(70):
        return rng.pick(NAMES)
    return rng.pick({"Quantity": QUANTITIES, "IntOrString": (80, "http", 0, "a b"), "[]byte": ("YQ==",)}.get(kind, ODD))


def _struct(rng: Rng, kind: str, rows: list[list[str]], depth: int) -> Map:
    if kind == "v1.Volume":
        source = rng.pick([row for row in rows if row[0] != "name"])
        return {"name": rng.pick(NAMES), source[0]: of_type(rng, source[1], source[0], depth + 1)}
    usual = [row for row in rows if row[0] in USUAL and not kind.endswith("v1.VolumeSource")]
    chosen = [row for row in usual if rng.chance(90)]
    rest = [row for row in rows if row not in usual]
    count = rng.pick((0, 1, 1, 2, 3) if depth < 4 else (0, 1))
    chosen += [rest.pop(rng.below(len(rest))) for _ in range(min(count, len(rest)))]
    return {row[0]: of_type(rng, row[1], row[0], depth + 1) for row in chosen}


def _field(rng: Rng, kind: str, but: frozenset[str] = frozenset()) -> tuple[str, Any]:
    name, of, *_ = rng.pick([row for row in load_json("gotypes.json")[kind] if row[0] not in NEVER | but])
    return name, of_type(rng, of, name, 1)


def job_and_runtime(rng: Rng) -> list[Map]:
    """Return a TrainJob and a runtime with a few odd fields in the Jobs and pods of its replicated jobs."""
    count = 1 + rng.chance(15)
    jobs = [_replicated(rng, ("node", "more")[index], mutated=index == count - 1) for index in range(count)]
    spec: Map = {"replicatedJobs": jobs}
    if rng.chance(15):
        spec |= jobset_fields(Context(rng), jobs)
    if rng.chance(10):
        jobs[-1]["groupName"] = rng.pick(("default", "g", "A b", ""))
    if count > 1 and rng.chance(50):
        jobs[-1]["replicas"] = rng.pick((0, 2))  # a job of the TrainJob must have one
    if rng.chance(5):
        templates = [{"metadata": {"name": "v3", **metadata(rng, name=False)}, "spec": claim_spec(rng)}]
        spec["volumeClaimPolicies"] = [{"templates": templates}]
        mounts = jobs[0]["template"]["spec"]["template"]["spec"]["containers"][0].setdefault("volumeMounts", [])
        mounts.append({"name": "v3", "mountPath": "/v3"})
    return around(spec)


def around(spec: Map | None = None) -> list[Map]:
    """Return a TrainJob and its runtime, with the spec of a JobSet."""
    spec = spec or {"replicatedJobs": [_replicated(Rng(0), "node", mutated=False)]}
    runtime = {"mlPolicy": {"numNodes": 1}, "template": {"spec": spec}}
    api = {"apiVersion": "trainer.kubeflow.org/v1alpha1"}
    job = {"runtimeRef": {"name": "rt"}, "trainer": {"numNodes": 2}}
    return [
        {**api, "kind": "TrainJob", "metadata": {"name": "job", "namespace": "default"}, "spec": job},
        {**api, "kind": "ClusterTrainingRuntime", "metadata": {"name": "rt"}, "spec": runtime},
    ]


def _replicated(rng: Rng, name: str, *, mutated: bool) -> Map:
    pod: Map = {"containers": [{"name": name, "image": "python:3.13.1"}]}
    template: Map = {"spec": {"template": {"spec": pod}}}
    if name == "node":
        template["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    if mutated and rng.chance(50):
        pod["volumes"] = [{"name": "v", "emptyDir": {}}, {"name": "v2", "persistentVolumeClaim": {"claimName": "x"}}]
    for _ in range(rng.pick((1, 1, 2, 2, 3, 5)) if mutated else 0):
        _mutate(rng, template, pod)
    return {"name": name, "template": template}


def _mutate(rng: Rng, template: Map, pod: Map) -> None:
    """Set a field of the pod, of a container, of the Job, or of metadata."""
    where = rng.below(10)
    if where < 4:
        name, value = _field(rng, "v1.PodSpec")
        pod[name] = [*pod.get("volumes", ()), *value] if name == "volumes" else value
        if name == "volumes" and value:
            mounts = pod["containers"][0].setdefault("volumeMounts", [])
            mounts.append({"name": value[-1]["name"], "mountPath": "/m"})
    elif where < 8:
        container = pod["containers"][0]
        if where == 7:
            container = {"name": rng.pick(("i", "node2")), "image": "a:1"}
            pod.setdefault(rng.pick(("containers", "initContainers", "initContainers")), []).append(container)
        container.update([_field(rng, "v1.Container", frozenset(("name", "image")))])
    elif where == 8:
        template["spec"].update([_field(rng, "v1.JobSpec", JOB)])
        if "podFailurePolicy" in template["spec"]:
            pod["restartPolicy"] = "Never"
    else:
        owner = rng.pick((template, template["spec"]["template"], template["spec"]["template"]))
        key = rng.pick(("labels", "annotations", "finalizers"))
        if key != "finalizers" and rng.chance(60):
            value = {rng.pick(OF_CONTROLLERS): rng.pick(("a", "0", "1", "true", "runtime/default", "job-node-0"))}
        else:
            value = of_type(rng, "[]string" if key == "finalizers" else "{}string", key, 2)
        old = owner.setdefault("metadata", {})
        old[key] = value if key == "finalizers" else {**old.get(key, {}), **value}


def metadata(rng: Rng, *, name: bool = True) -> Map:
    """Return odd metadata."""
    names = ("A", "a.b", "a_b", "x" * 64, "x" * 254, "system:foo", "a%b", "..", "1", "-a", "é", "")
    found: Map = {"name": rng.pick(names) if rng.chance(25) else "trainer"} if name else {}
    if rng.chance(20):
        values = ("a", "", "a b", "x" * 64, "true", 1, True, None)
        found["labels"] = {rng.pick(("a", "b/c", "a b", "kubernetes.io/x", "")): rng.pick(values)}
    if rng.chance(20):
        keys = ("a", "A", "b/c", "a b", "x.y/" + "z" * 64)
        found["annotations"] = {rng.pick(keys): rng.pick(("", "a", None, 1, True, "x\ny"))}
    if rng.chance(10):
        found["finalizers"] = [rng.pick(ENUMS["finalizers"])]
    if name and rng.chance(5):
        keys = (
            "generateName",
            "uid",
            "resourceVersion",
            "generation",
            "selfLink",
            "creationTimestamp",
            "managedFields",
        )
        found[rng.pick(keys)] = rng.pick(("a", None, 1, "2020-01-01T00:00:00Z", []))
    return found


CLAIM: dict[str, tuple[Any, ...]] = {
    "dataSource": (
        {"kind": "PersistentVolumeClaim", "name": "a"},
        {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"},
        {"apiGroup": "x.io", "kind": "A", "name": "s"},
        {"kind": "A", "name": "s"},
        {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "a"},
        None,
    ),
    "dataSourceRef": (
        {"kind": "PersistentVolumeClaim", "name": "a"},
        {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s", "namespace": "o"},
        {"apiGroup": "x.io", "kind": "A", "name": "s"},
        {"apiGroup": "x.io", "kind": "A", "name": "s", "namespace": ""},
        {"apiGroup": "A b", "kind": "A", "name": "s"},
        None,
    ),
    "selector": (
        {},
        {"matchLabels": {"a": "b c"}},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["a"]}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists"}], "matchLabels": {"a": "b"}},
        None,
    ),
    "storageClassName": ("", "a", "A b", None),
    "volumeAttributesClassName": ("", "a", "A b", None),
    "volumeMode": ("Block", "Filesystem", "Foo", "", None),
    "volumeName": ("a", "A b", ""),
}


def claim_spec(rng: Rng) -> Map:
    """Return the spec of a PersistentVolumeClaim."""
    modes = (
        ["ReadWriteOnce"],
        ["ReadWriteMany", "ReadWriteOnce"],
        ["ReadWriteOncePod"],
        ["ReadWriteOnce"] * 2,
        [],
        ["Foo"],
    )
    sizes = ("1Gi", "1Gi", "1024Mi", "1.5Gi", "0.5m", "1u", "1", "0", "-1", "1e9", 1, 1.5, "1000000000000000000000000")
    resources: Map = {"requests": {"storage": rng.pick(sizes)}}
    if rng.chance(15):
        resources["limits"] = {rng.pick(("storage", "cpu", "foo", "a b")): rng.pick(("1Gi", "2Gi", "0.1m", "-1"))}
    if rng.chance(10):
        resources["requests"][rng.pick(("cpu", "foo", "nvidia.com/gpu", "a b"))] = rng.pick(("1", "-1", "0.5m"))
    more = {name: rng.pick(values) for name, values in CLAIM.items() if rng.chance(13)}
    return {"accessModes": rng.pick(modes), "resources": resources, **more}


def _configmap(rng: Rng) -> Map:
    keys, texts = (
        ("a", "a.b", "a b", "..", "..a", "x" * 254, "", ".", "A_b"),
        ("a", "", None, 1, True, "é", "a\r\nb", "\0"),
    )
    encoded = ("YQ==", "YQ", "YQ==\n", "", "Y Q==", None, "YQ==YQ==", "_-8=")
    parts = {
        "data": rng.pick(({}, {rng.pick(keys): rng.pick(texts), "b": "b"})),
        "binaryData": rng.pick(({}, {rng.pick(("a", "c")): rng.pick(encoded)})),
        "immutable": rng.pick((True, False, None)),
    }
    return {key: value for key, value in parts.items() if rng.chance(50)}


def _account(rng: Rng) -> Map:
    references: tuple[Any, ...] = ([], [{"name": "a"}], [{}], [None], None, [{"name": "A b"}], [{"name": "a"}] * 2)
    parts = {
        "automountServiceAccountToken": rng.pick((True, False, None)),
        "secrets": rng.pick((*references, [{"name": "a", "namespace": "o", "kind": "x"}])),
        "imagePullSecrets": rng.pick(references),
    }
    return {key: value for key, value in parts.items() if rng.chance(50)}


def _rule(rng: Rng) -> Any:
    lists: tuple[Any, ...] = (["*"], [""], ["get", "list"], [], None, [None], ["a b"])
    keys = ("verbs", "apiGroups", "resources")
    rule = {key: rng.pick(lists) if rng.chance(30) else ["get"] for key in keys if rng.chance(90)}
    if rng.chance(20):
        rule["resourceNames"] = rng.pick(lists)
    if rng.chance(10):
        rule["nonResourceURLs"] = rng.pick((["/healthz"], [], None))
    return rule if rng.chance(97) else rng.pick((None, {}))


def _subject(rng: Rng) -> Any:
    kinds, names = ("ServiceAccount", "ServiceAccount", "User", "Group", "Foo", ""), ("a", "b", "A:b", "", "system:x")
    subject = {"kind": rng.pick(kinds), "name": rng.pick(names)}
    if rng.chance(30):
        subject["namespace"] = rng.pick(("default", "", "other", "A b"))
    if rng.chance(30):
        subject["apiGroup"] = rng.pick(("", "rbac.authorization.k8s.io", "x"))
    return subject if rng.chance(97) else None


def _binding(rng: Rng) -> Map:
    group = rng.pick(("rbac.authorization.k8s.io", "rbac.authorization.k8s.io", "", "x"))
    name = rng.pick(("a", "a", "a:b", "a/b", "..", "A b", ""))
    role = {"kind": rng.pick(("Role", "Role", "ClusterRole", "Foo")), "name": name, "apiGroup": group}
    if rng.chance(20):
        del role["apiGroup"]
    return {"roleRef": role, "subjects": [_subject(rng) for _ in range(rng.below(3))] if rng.chance(95) else None}


CONTENT = {
    "ConfigMap": ("v1", _configmap),
    "PersistentVolumeClaim": ("v1", lambda rng: {"spec": claim_spec(rng)}),
    "Role": ("rbac.authorization.k8s.io/v1", lambda rng: {"rules": [_rule(rng) for _ in range(rng.below(3))]}),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", _binding),
    "ServiceAccount": ("v1", _account),
}


def companion(rng: Rng) -> Map:
    """Return an object beside a runtime."""
    kind = rng.pick(tuple(CONTENT))
    version, content = CONTENT[kind]
    return {"apiVersion": version, "kind": kind, "metadata": metadata(rng), **content(rng)}


def change(rng: Rng) -> tuple[Map, Map]:
    """Return an object beside a runtime as it was, and with one or two parts of another, or with other labels."""
    old = companion(rng)
    old["metadata"] = {"name": "trainer"}
    new, (_, content) = copy.deepcopy(old), CONTENT[old["kind"]]
    other, part = content(rng), new
    if "spec" in other:
        other, part = other["spec"], new["spec"]
    for key in rng.some(sorted({*other, *part} - {"apiVersion", "kind", "metadata"}), 2):
        if key in other:
            part[key] = other[key]
        else:
            del part[key]
    if rng.chance(10):
        new["metadata"]["labels"] = {"a": "b"}
    return old, new
