"""Which fields of a pod's spec the node carries out and which it may pass over. Any other is an error with its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .errors import Unsupported
from .fields import ANY
from .fields import _problems as problems

_PROBE: Final = {
    "exec": {"command": ANY},
    "tcpSocket": {"port": ANY},
    **dict.fromkeys(("initialDelaySeconds", "periodSeconds", "timeoutSeconds"), ANY),
    **dict.fromkeys(("successThreshold", "failureThreshold"), ANY),
}
_SECCOMP: Final = {"type": ANY, "localhostProfile": ANY}
_USER: Final = dict.fromkeys(("runAsUser", "runAsGroup", "runAsNonRoot"), ANY)
_CONTAINER: Final = {
    **dict.fromkeys(("name", "image", "command", "args", "workingDir", "imagePullPolicy"), ANY),
    "env": [{"name": ANY, "value": ANY, "valueFrom": {"fieldRef": {"fieldPath": ANY, "apiVersion": ("v1",)}}}],
    "ports": [{"name": ANY, "containerPort": ANY, "protocol": ANY}],
    "resources": {"limits": ANY, "requests": ANY},
    "volumeMounts": [dict.fromkeys(("name", "mountPath", "readOnly"), ANY)],
    "readinessProbe": _PROBE,
    "securityContext": {
        **_USER,
        **dict.fromkeys(("readOnlyRootFilesystem", "allowPrivilegeEscalation"), ANY),
        "capabilities": {"add": ANY, "drop": ANY},
        "seccompProfile": _SECCOMP,
    },
    **dict.fromkeys(("stdin", "stdinOnce", "tty"), (False,)),
}
_ITEMS: Final = [{"key": ANY, "path": ANY, "mode": ANY}]
_VOLUME: Final = {
    "name": ANY,
    "emptyDir": {"medium": ("", "Memory"), "sizeLimit": ANY},
    "configMap": {"name": ANY, "items": _ITEMS, "defaultMode": ANY},
    "secret": {"secretName": ANY, "items": _ITEMS, "defaultMode": ANY},
    "persistentVolumeClaim": {"claimName": ANY, "readOnly": ANY},
}
SPEC: Final = {
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "volumes": [_VOLUME],
    **dict.fromkeys(("hostname", "subdomain", "nodeName"), ANY),
    **dict.fromkeys(("serviceAccountName", "serviceAccount", "automountServiceAccountToken"), ANY),
    **dict.fromkeys(("terminationGracePeriodSeconds", "enableServiceLinks"), ANY),
    "restartPolicy": ("Always", "OnFailure", "Never"),
    **dict.fromkeys(("hostNetwork", "hostPID", "hostIPC"), (False,)),
    "dnsPolicy": ("ClusterFirst",),
    "securityContext": {**_USER, "fsGroup": ANY, "seccompProfile": _SECCOMP},
    **dict.fromkeys(("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "schedulerName"), ANY),
    **dict.fromkeys(("priority", "priorityClassName", "preemptionPolicy", "runtimeClassName", "overhead"), ANY),
    "imagePullSecrets": ANY,
}
"""What a pod's spec may say: what the rendered objects of cases need."""

PASSED_OVER: Final = {
    "affinity": "there is one node",
    "nodeSelector": "there is one node",
    "tolerations": "there is one node",
    "topologySpreadConstraints": "there is one node",
    "schedulerName": "there is one node",
    "priority": "there is one node",
    "priorityClassName": "there is one node",
    "preemptionPolicy": "there is one node",
    "runtimeClassName": "there is one runtime",
    "overhead": "no control groups",
    "imagePullSecrets": "images are there",
    "containers.imagePullPolicy": "images are there",
    "containers.resources": "no control groups",
    "containers.securityContext.seccompProfile": "no seccomp filter",
    "securityContext.seccompProfile": "no seccomp filter",
    "volumes.emptyDir.sizeLimit": "held to for medium Memory only",
}
"""What has no effect here, with the reason. The node says so for each pod that uses it."""


def check(pod: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what of a pod is passed over, each with its reason.

    Raises:
        Unsupported: The node does not carry out all that the spec says; the text names the pod and every such field.
    """
    spec = pod["spec"]
    found = [*problems(spec, SPEC, "spec"), *_unknown_names(spec)]
    if found:
        raise Unsupported(f"Pod {pod['metadata']['name']}: not carried out: {', '.join(found)}")
    return tuple(f"{path} ({PASSED_OVER[path]})" for path in dict.fromkeys(_paths(spec, "")) if path in PASSED_OVER)


def _unknown_names(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the API server would refuse and the node would stumble over."""
    volumes = {volume["name"] for volume in spec.get("volumes") or ()}
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            for mount in container.get("volumeMounts") or ():
                if mount["name"] not in volumes:
                    yield f"spec.{kind}.volumeMounts: {container['name']} mounts {mount['name']}, which is no volume"


def _paths(found: Any, path: str) -> Iterator[str]:
    if isinstance(found, list):
        for item in found:
            yield from _paths(item, path)
    elif isinstance(found, dict):
        for name, value in found.items():
            if value in (None, [], {}, ""):
                continue
            below = f"{path}.{name}" if path else name.replace("initContainers", "containers")
            yield below
            yield from _paths(value, below)
