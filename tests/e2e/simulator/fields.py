"""Which fields of which kinds the simulator carries out. Any other is an error that names it.

The specs of pods are not here: the node has its own list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from .errors import Unsupported

ANY: Final = "any"
"""Whatever stands there: data, or what somebody else checks."""

Shape = Mapping[str, Any] | list[Any] | tuple[Any, ...] | Literal["any"]
"""A mapping: these fields and no others; a list of one: each item; a tuple: one of these values; ANY."""

_METADATA: Final = {
    **dict.fromkeys(("name", "namespace", "labels", "annotations", "uid", "resourceVersion", "creationTimestamp"), ANY),
    "ownerReferences": ANY,
    "generation": ANY,
}
_TEMPLATE_METADATA: Final = {"labels": ANY, "annotations": ANY, "finalizers": ANY}
_OBJECT: Final = {"apiVersion": ANY, "kind": ANY, "metadata": _METADATA}
_JOB_SPEC: Final = {
    "parallelism": ANY,
    "completions": ANY,
    "completionMode": ("Indexed", "NonIndexed"),
    "backoffLimit": ANY,
    "activeDeadlineSeconds": ANY,
    "selector": ANY,
    "manualSelector": (False,),
    "ttlSecondsAfterFinished": ANY,
    "template": {"metadata": _TEMPLATE_METADATA, "spec": ANY},
}
_JOBSET_SPEC: Final = {
    "network": {"enableDNSHostnames": ANY, "subdomain": ANY, "publishNotReadyAddresses": ANY},
    "successPolicy": {"operator": ("All",), "targetReplicatedJobs": ANY},
    "failurePolicy": {
        "maxRestarts": ANY,
        "restartStrategy": ("Recreate",),
    },
    "startupPolicy": {"startupPolicyOrder": ("AnyOrder",)},
    "coordinator": {"replicatedJob": ANY, "jobIndex": ANY, "podIndex": ANY},
    "managedBy": ("jobset.sigs.k8s.io/jobset-controller",),
    "suspend": (False,),
    "ttlSecondsAfterFinished": ANY,
    "volumeClaimPolicies": [
        {
            "templates": [{"metadata": {"name": ANY, "labels": ANY, "annotations": ANY}, "spec": ANY, "status": ({},)}],
            "retentionPolicy": ANY,
        }
    ],
    "replicatedJobs": [
        {
            "name": ANY,
            "groupName": ANY,
            "replicas": ANY,
            "dependsOn": [{"name": ANY, "status": ("Ready", "Complete")}],
            "template": {"metadata": _TEMPLATE_METADATA, "spec": _JOB_SPEC},
        }
    ],
}
_RULE: Final = {"apiGroups": ANY, "resources": ANY, "resourceNames": ANY, "verbs": ANY}

SHAPES: Final[Mapping[tuple[str, str], Shape]] = {
    ("v1", "ConfigMap"): {**_OBJECT, "data": ANY, "binaryData": ANY, "immutable": ANY},
    ("v1", "Secret"): {**_OBJECT, "data": ANY, "stringData": ANY, "type": ANY, "immutable": ANY},
    ("v1", "ServiceAccount"): {**_OBJECT, "automountServiceAccountToken": ANY, "imagePullSecrets": ANY},
    ("v1", "PersistentVolumeClaim"): {**_OBJECT, "spec": ANY},
    ("rbac.authorization.k8s.io/v1", "Role"): {**_OBJECT, "rules": [_RULE]},
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): {
        **_OBJECT,
        "roleRef": {"apiGroup": ANY, "kind": ("Role",), "name": ANY},
        "subjects": [{"kind": ("ServiceAccount",), "name": ANY, "namespace": ANY}],
    },
    ("batch/v1", "Job"): {**_OBJECT, "spec": _JOB_SPEC},
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): {**_OBJECT, "spec": _JOBSET_SPEC},
}
"""What a manifest may be."""


def check(found: Mapping[str, Any]) -> None:
    """Look whether the simulator carries out all that an object says.

    Raises:
        Unsupported: It does not; the text names the object and every such field.
    """
    kind = (str(found.get("apiVersion")), str(found.get("kind")))
    name = (found.get("metadata") or {}).get("name")
    if kind not in SHAPES:
        raise Unsupported(f"{kind[1]} {name}: the simulator knows nothing of {kind[0]} {kind[1]}")
    problems = [*_problems(found, SHAPES[kind], "")]
    if problems:
        raise Unsupported(f"{kind[1]} {name}: not carried out: {', '.join(problems)}")


def _problems(found: Any, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(shape, str) or found is None:
        return
    if isinstance(shape, tuple):
        if found not in shape:
            yield f"{path}: {found}"
    elif isinstance(shape, list):
        for index, item in enumerate(found):
            yield from _problems(item, shape[0], f"{path}[{index}]")
    elif isinstance(found, dict):
        for name, value in found.items():
            below = f"{path}.{name}" if path else name
            if name not in shape:
                yield below
            else:
                yield from _problems(value, shape[name], below)
    else:
        yield f"{path}: {found}"
