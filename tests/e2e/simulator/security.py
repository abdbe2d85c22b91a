"""Security contexts: who a container's program runs as, and with which capabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .environment import ConfigError
from .errors import Unsupported
from .images import Image
from .process import CAPABILITIES

DEFAULT_CAPABILITIES: Final = (
    *("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP"),
    *("NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"),
)
"""What containerd leaves a container (containerd, oci/spec.go, defaultUnixCaps)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What Process takes of a container's and its pod's security contexts."""

    user: str
    group: int | None
    groups: tuple[int, ...]
    capabilities: frozenset[int]
    no_new_privileges: bool
    read_only: bool


def identity(pod: Mapping[str, Any], container: Mapping[str, Any], image: Image) -> Identity:
    """Return who a container runs as: its own context counts, then the pod's, then the image's user.

    Raises:
        ConfigError: It must not run as root and would, or nobody can tell.
        Unsupported: It names an unknown capability.
    """
    of_pod = pod["spec"].get("securityContext") or {}
    own = container.get("securityContext") or {}
    merged = {**of_pod, **{name: value for name, value in own.items() if value is not None}}
    user = str(merged["runAsUser"]) if merged.get("runAsUser") is not None else image.user
    if merged.get("runAsNonRoot"):
        metadata = pod["metadata"]
        of = f"{metadata['name']}_{metadata.get('namespace') or 'default'}({metadata.get('uid') or ''})"
        where = f'(pod: "{of}", container: {container.get("name")})'
        _refuse_root(user, where, given=merged.get("runAsUser") is not None)
    groups = () if of_pod.get("fsGroup") is None else (of_pod["fsGroup"],)
    return Identity(
        user,
        merged.get("runAsGroup"),
        groups,
        _capabilities(own.get("capabilities") or {}),
        own.get("allowPrivilegeEscalation") is False,
        bool(own.get("readOnlyRootFilesystem")),
    )


def _capabilities(changes: Mapping[str, Any]) -> frozenset[int]:
    """Return containerd's set with the changes: ALL first, then what is added, then what is dropped."""
    names = set(DEFAULT_CAPABILITIES)
    dropped, added = (
        [str(name).upper().removeprefix("CAP_") for name in changes.get(kind) or ()] for kind in ("drop", "add")
    )
    for name in (*dropped, *added):
        if name != "ALL" and name not in CAPABILITIES:
            raise Unsupported(f"capability {name}")
    if "ALL" in added:
        names = set(CAPABILITIES)
    if "ALL" in dropped:
        names = set()
    names |= set(added) - {"ALL"}
    names -= set(dropped)
    return frozenset(CAPABILITIES.index(name) for name in names)


def _refuse_root(user: str, where: str, *, given: bool) -> None:
    """Do as the kubelet's verifyRunAsNonRoot does."""
    name = user.partition(":")[0]
    if given and name == "0":
        raise ConfigError(f"container's runAsUser breaks non-root policy {where}")
    if not given and name in ("", "0"):
        raise ConfigError(f"container has runAsNonRoot and image will run as root {where}")
    if not name.isdigit():
        what = f"image has non-numeric user ({name}), cannot verify user is non-root"
        raise ConfigError(f"container has runAsNonRoot and {what} {where}")
