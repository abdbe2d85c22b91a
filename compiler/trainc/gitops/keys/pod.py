"""The pod that makes keys: small, without rights on its node (Pod Security's profile restricted), without disk."""

from __future__ import annotations

from typing import Final

from trainc.gitops.keys.launcher import Launcher
from trainc.settings import SshKeys
from trainc.source import Json, JsonObject, as_object, get

SCRIPT: Final = "mpi_ssh_keys.py"
FOLDER: Final = "/etc/mpi-ssh-keys"
COMPONENT: Final[JsonObject] = {"app.kubernetes.io/component": "mpi-ssh-keys"}
"""What a NetworkPolicy can select the pod by, which has to reach the API server."""

NOBODY: Final = 65534
"""A user that images have beside root: ssh-keygen runs only for one that /etc/passwd knows."""

_COPIED: Final = ("imagePullSecrets", "tolerations")
"""What the launcher's pod needs to get a node and its image, and this one as well."""

_PLATFORM: Final = ("kubernetes.io/arch", "kubernetes.io/os")
# Isolated and without site-packages: the image's Python is a stranger's, only its library is wanted.
_COMMAND: Final[list[Json]] = ["python3", "-I", "-S", "-B", f"{FOLDER}/{SCRIPT}"]
_AMOUNTS: Final[JsonObject] = {"cpu": "100m", "memory": "128Mi"}
_RESOURCES: Final[JsonObject] = {"requests": _AMOUNTS, "limits": _AMOUNTS}
_CONTEXT: Final[JsonObject] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
_MOUNTS: Final[list[Json]] = [
    {"name": "script", "mountPath": FOLDER, "readOnly": True},
    {"name": "tmp", "mountPath": "/tmp"},
]
_TMP: Final[JsonObject] = {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}


def pod_template(name: str, secret: str, launcher: Launcher, keys: SshKeys) -> JsonObject:
    """Return the template of a pod that fills a Secret, under a service account and with a script of that name."""
    user = _user(launcher) if not keys.image else NOBODY
    spec: JsonObject = {
        "restartPolicy": "Never",
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        **{field: value for field in _COPIED if (value := launcher.spec.get(field))},
        "containers": [_container(secret, keys.image or str(launcher.container.get("image", "")))],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": user,
            "runAsGroup": user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumes": [
            {"name": "script", "configMap": {"name": name, "defaultMode": 0o444}},
            _TMP,
        ],
    }
    if not keys.image and (platform := _platform(launcher)):
        spec["nodeSelector"] = platform
    return {"metadata": {"labels": {**COMPONENT}}, "spec": spec}


def _container(secret: str, image: str) -> JsonObject:
    return {
        "name": "ssh-keys",
        "image": image,
        "command": _COMMAND,
        "args": [f"--secret={secret}"],
        "resources": _RESOURCES,
        "securityContext": _CONTEXT,
        "volumeMounts": _MOUNTS,
    }


def _user(launcher: Launcher) -> int:
    """Return the user that the launcher runs as: ssh needs one that its image knows, as ssh-keygen does; not root."""
    for context in (launcher.container.get("securityContext"), launcher.spec.get("securityContext")):
        user = get(context, "runAsUser")
        if isinstance(user, int):
            return user or NOBODY
    return NOBODY


def _platform(launcher: Launcher) -> JsonObject:
    """Return what the launcher asks of a node that its image cannot do without."""
    selector = as_object(launcher.spec.get("nodeSelector"))
    return {key: selector[key] for key in _PLATFORM if key in selector}
