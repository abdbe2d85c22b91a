"""Files that the kubelet writes for a volume of kind configMap or secret, and for tokens."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .downward import Facts
from .environment import ConfigError, Lookup, config_keys, config_value

KINDS: Final = ("configMap", "secret")
_DEFAULT_MODE: Final = 0o644
_CONFIG_LACKS: Final = "configmap references non-existent config"
_SECRET_LACKS: Final = "references non-existent secret"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a volume; ``owner`` is a user id."""

    data: bytes
    mode: int
    owner: int = 0


Tokens = Mapping[str, bytes]
"""What a pod's service account gives it: token, ca.crt, namespace."""


def payload(volume: Mapping[str, Any], facts: Facts, lookup: Lookup) -> dict[str, File]:
    """Return the files of such a volume by their paths in it.

    Raises:
        ConfigError: An object or a key is not there; the kubelet then tries again.
    """
    kind = next(kind for kind in KINDS if volume.get(kind) is not None)
    source = volume[kind]
    mode = source.get("defaultMode", _DEFAULT_MODE)
    name = str(source.get("secretName") or source.get("name"))
    found = lookup("ConfigMap" if kind == "configMap" else "Secret", facts.namespace, name)
    if found is None:
        raise ConfigError(f'{kind.lower()} "{name}" not found')
    found = {"kind": "ConfigMap" if kind == "configMap" else "Secret", **found}
    items = source.get("items")
    if items is None:
        items = [{"key": key, "path": key} for key in config_keys(found)]
    files = {}
    for item in items:
        value = config_value(found, item["key"])
        if value is None:
            what = _CONFIG_LACKS if kind == "configMap" else _SECRET_LACKS
            raise ConfigError(f"{what} key: {item['key']}")
        files[item["path"]] = File(value, item.get("mode", mode))
    return files


def token_files(tokens: Tokens, facts: Facts) -> dict[str, File]:
    """Return what a pod's service account gives its containers. The token has mode 0600 where one user runs all
    containers or there is an fsGroup (pkg/volume/projected, collectData).
    """
    spec = facts.pod["spec"]
    of_pod = spec.get("securityContext") or {}
    users = {
        (container.get("securityContext") or {}).get("runAsUser", of_pod.get("runAsUser"))
        for container in (*(spec.get("initContainers") or ()), *spec["containers"])
    }
    owner = users.pop() if len(users) == 1 else None
    private = owner is not None or of_pod.get("fsGroup") is not None
    access = (0o600, owner or 0) if private else (_DEFAULT_MODE, 0)
    return {name: File(data, *(access if name == "token" else (_DEFAULT_MODE, 0))) for name, data in tokens.items()}


def write(folder: Path, files: Mapping[str, File]) -> None:
    """Write files as the kubelet's AtomicWriter does (pkg/volume/util/atomic_writer.go): into a folder named by the
    time, which `..data` links to, and a link for each first part of a path.
    """
    data = folder / "..data"
    stamp = time.strftime("..%Y_%m_%d_%H_%M_%S", time.gmtime()) + f".{time.time_ns() % 10**10}"
    versioned = folder / stamp
    versioned.mkdir(mode=0o755)
    for name, file in files.items():
        path = versioned / name
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(file.mode)
        if file.owner:
            os.chown(path, file.owner, -1)
    link = folder / "..data_tmp"
    link.symlink_to(stamp)
    link.rename(data)
    visible = {name.partition("/")[0] for name in files}
    for first in sorted(visible):
        if not (folder / first).is_symlink():
            (folder / first).symlink_to(f"..data/{first}")
