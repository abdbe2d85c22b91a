"""Which fields of a pod's spec the node carries out and which it may pass over. Any other is an error with its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .errors import Unsupported
from .fields import ANY
from .fields import _problems as problems

_PROBE_ACTIONS: Final = {
    "exec": {"command": ANY},
    "httpGet": {
        "path": ANY,
        "port": ANY,
        "scheme": ("HTTP",),
        "host": ANY,
        "httpHeaders": [{"name": ANY, "value": ANY}],
    },
    "tcpSocket": {"port": ANY, "host": ANY},
}
_PROBE: Final = {
    **_PROBE_ACTIONS,
    **dict.fromkeys(("initialDelaySeconds", "periodSeconds", "timeoutSeconds"), ANY),
    **dict.fromkeys(("successThreshold", "failureThreshold", "terminationGracePeriodSeconds"), ANY),
}
_HOOK: Final = {**_PROBE_ACTIONS, "sleep": {"seconds": ANY}}
_FIELD: Final = {"fieldPath": ANY, "apiVersion": ("v1",)}
_RESOURCE: Final = {"containerName": ANY, "resource": ANY, "divisor": ANY}
_KEY: Final = {"name": ANY, "key": ANY, "optional": ANY}
_SECCOMP: Final = {"type": ANY, "localhostProfile": ANY}
_CONTAINER: Final = {
    **dict.fromkeys(("name", "image", "command", "args", "workingDir", "imagePullPolicy"), ANY),
    "env": [
        {
            "name": ANY,
            "value": ANY,
            "valueFrom": {
                "fieldRef": _FIELD,
                "resourceFieldRef": _RESOURCE,
                "configMapKeyRef": _KEY,
                "secretKeyRef": _KEY,
            },
        }
    ],
    "envFrom": [
        {
            "prefix": ANY,
            "configMapRef": {"name": ANY, "optional": ANY},
            "secretRef": {"name": ANY, "optional": ANY},
        }
    ],
    "ports": [{"name": ANY, "containerPort": ANY, "protocol": ANY}],
    "resources": {"limits": ANY, "requests": ANY},
    "volumeMounts": [
        {
            **dict.fromkeys(("name", "mountPath", "readOnly", "subPath", "subPathExpr"), ANY),
            "mountPropagation": ("None",),
            "recursiveReadOnly": ("Disabled",),
        }
    ],
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "startupProbe": _PROBE,
    "lifecycle": {"postStart": _HOOK, "preStop": _HOOK},
    "terminationMessagePath": ANY,
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
    "securityContext": {
        **dict.fromkeys(("runAsUser", "runAsGroup", "runAsNonRoot", "privileged", "readOnlyRootFilesystem"), ANY),
        "allowPrivilegeEscalation": ANY,
        "capabilities": {"add": ANY, "drop": ANY},
        "procMount": ("Default",),
        "seccompProfile": _SECCOMP,
    },
    **dict.fromkeys(("stdin", "stdinOnce", "tty"), (False,)),
}
_ITEMS: Final = [{"key": ANY, "path": ANY, "mode": ANY}]
_DOWNWARD: Final = [{"path": ANY, "mode": ANY, "fieldRef": _FIELD, "resourceFieldRef": _RESOURCE}]
_VOLUME: Final = {
    "name": ANY,
    "emptyDir": {"medium": ("", "Memory"), "sizeLimit": ANY},
    "configMap": {"name": ANY, "items": _ITEMS, "defaultMode": ANY, "optional": ANY},
    "secret": {"secretName": ANY, "items": _ITEMS, "defaultMode": ANY, "optional": ANY},
    "downwardAPI": {"items": _DOWNWARD, "defaultMode": ANY},
    "projected": {
        "defaultMode": ANY,
        "sources": [
            {
                "configMap": {"name": ANY, "items": _ITEMS, "optional": ANY},
                "secret": {"name": ANY, "items": _ITEMS, "optional": ANY},
                "downwardAPI": {"items": _DOWNWARD},
                "serviceAccountToken": {"path": ANY, "expirationSeconds": ANY, "audience": ANY},
            }
        ],
    },
    "persistentVolumeClaim": {"claimName": ANY, "readOnly": ANY},
}
SPEC: Final = {
    "containers": [_CONTAINER],
    "initContainers": [{**_CONTAINER, "restartPolicy": ("Always",)}],
    "volumes": [_VOLUME],
    **dict.fromkeys(("hostname", "subdomain", "setHostnameAsFQDN", "nodeName"), ANY),
    **dict.fromkeys(("serviceAccountName", "serviceAccount", "automountServiceAccountToken"), ANY),
    **dict.fromkeys(("terminationGracePeriodSeconds", "activeDeadlineSeconds", "enableServiceLinks"), ANY),
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "shareProcessNamespace": ANY,
    **dict.fromkeys(("hostNetwork", "hostPID", "hostIPC"), (False,)),
    "hostAliases": [{"ip": ANY, "hostnames": ANY}],
    "dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "dnsConfig": {"nameservers": ANY, "searches": ANY, "options": [{"name": ANY, "value": ANY}]},
    "securityContext": {
        **dict.fromkeys(("runAsUser", "runAsGroup", "runAsNonRoot", "fsGroup", "supplementalGroups"), ANY),
        "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
        "supplementalGroupsPolicy": ("Merge",),
        "sysctls": [{"name": ANY, "value": ANY}],
        "seccompProfile": _SECCOMP,
    },
    **dict.fromkeys(("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "schedulerName"), ANY),
    **dict.fromkeys(("priority", "priorityClassName", "preemptionPolicy", "runtimeClassName", "overhead"), ANY),
    "imagePullSecrets": ANY,
}
"""What a pod's spec may say."""

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
    "volumes.projected.sources.serviceAccountToken.expirationSeconds": "tokens last as long as the cluster",
    "volumes.projected.sources.serviceAccountToken.audience": "there is one audience",
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
