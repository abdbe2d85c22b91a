"""Files that the kubelet writes for a volume of kind configMap, secret, downwardAPI or projected."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .downward import Facts, field_value, resource_value
from .environment import ConfigError, Lookup, config_keys, config_value

KINDS: Final = ("configMap", "secret", "downwardAPI", "projected")
_DEFAULT_MODE: Final = 0o644
_SECRET_LACKS: Final = "references non-existent secret"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a volume; ``owner`` is a user id."""

    data: bytes
    mode: int
    owner: int = 0


Tokens = Mapping[str, bytes]
"""What a pod's service account gives it: token, ca.crt, namespace."""


def payload(volume: Mapping[str, Any], facts: Facts, lookup: Lookup, tokens: Tokens) -> dict[str, File]:
    """Return the files of such a volume by their paths in it.

    Raises:
        ConfigError: An object or a key that is not optional is not there; the kubelet then tries again.
    """
    kind = next(kind for kind in KINDS if volume.get(kind) is not None)
    source = volume[kind]
    mode = source.get("defaultMode", _DEFAULT_MODE)
    if kind != "projected":
        return _source(kind, source, mode, facts=facts, lookup=lookup, tokens=tokens)
    made: dict[str, File] = {}
    for each in source.get("sources") or ():
        for name, wanted in each.items():
            made.update(_source(name, wanted, mode, facts=facts, lookup=lookup, tokens=tokens))
    return made


def write(folder: Path, files: Mapping[str, File]) -> None:
    """Write files as the kubelet's AtomicWriter does (pkg/volume/util/atomic_writer.go): into a folder named by the
    time, which `..data` links to, and a link for each first part of a path.

    What was there before is replaced at one instant, so containers may read at any time.
    """
    data = folder / "..data"
    old = data.readlink() if data.is_symlink() else None
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
    for entry in folder.iterdir():
        if not entry.name.startswith("..") and entry.name not in visible:
            entry.unlink()
    if old is not None:
        shutil.rmtree(folder / old)


def _source(
    kind: str, source: Mapping[str, Any], mode: int, *, facts: Facts, lookup: Lookup, tokens: Tokens
) -> dict[str, File]:
    if kind == "downwardAPI":
        return {
            item["path"]: File(_downward(item, facts), item.get("mode", mode)) for item in source.get("items") or ()
        }
    if kind == "serviceAccountToken":
        if "token" not in tokens:
            raise ConfigError("failed to fetch token: the pod has no service account here")
        return {source["path"]: File(tokens["token"], *_token_access(mode, facts))}
    name = str(source.get("secretName") or source.get("name"))
    found = _object("ConfigMap" if kind == "configMap" else "Secret", name, facts, lookup, tokens)
    optional = bool(source.get("optional"))
    if found is None:
        if optional:
            return {}
        raise ConfigError(f'{kind.lower()} "{name}" not found')
    items = source.get("items")
    if items is None:
        items = [{"key": key, "path": key} for key in config_keys(found)]
    return dict(_items(items, found, mode, optional=optional))


def _object(kind: str, name: str, facts: Facts, lookup: Lookup, tokens: Tokens) -> Mapping[str, Any] | None:
    if (kind, name) == ("ConfigMap", "kube-root-ca.crt") and "ca.crt" in tokens:
        return {"kind": kind, "data": {"ca.crt": tokens["ca.crt"].decode()}}
    found = lookup(kind, facts.namespace, name)
    return None if found is None else {"kind": kind, **found}


def _items(
    items: Iterable[Mapping[str, Any]], found: Mapping[str, Any], mode: int, *, optional: bool
) -> Iterator[tuple[str, File]]:
    for item in items:
        value = config_value(found, item["key"])
        if value is not None:
            yield item["path"], File(value, item.get("mode", mode))
        elif not optional:
            what = "configmap references non-existent config" if found["kind"] == "ConfigMap" else _SECRET_LACKS
            raise ConfigError(f"{what} key: {item['key']}")


def _downward(item: Mapping[str, Any], facts: Facts) -> bytes:
    if item.get("fieldRef"):
        return field_value(item["fieldRef"]["fieldPath"], facts).encode()
    return resource_value(item["resourceFieldRef"], {}, facts).encode()


def _token_access(mode: int, facts: Facts) -> tuple[int, int]:
    """Return mode and owner of a token: 0600 where one user runs all containers or there is an fsGroup
    (pkg/volume/projected, collectData).
    """
    spec = facts.pod["spec"]
    of_pod = spec.get("securityContext") or {}
    users = {
        (container.get("securityContext") or {}).get("runAsUser", of_pod.get("runAsUser"))
        for container in (*(spec.get("initContainers") or ()), *spec["containers"])
    }
    owner = users.pop() if len(users) == 1 else None
    if owner is None and of_pod.get("fsGroup") is None:
        return mode, 0
    return 0o600, owner or 0
