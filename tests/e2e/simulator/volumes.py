"""Volumes of a pod: folders on the node, laid out, owned and mounted as the kubelet does it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from . import kernel
from .downward import Facts, quantity
from .environment import ConfigError, Lookup, expand
from .payload import KINDS, File, Tokens, payload, write
from .rootfs import Mount

TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_VOLUME: Final = "kube-api-access"
_TOKEN: Final = {
    "name": TOKEN_VOLUME,
    "projected": {
        "sources": [
            {"serviceAccountToken": {"path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        ]
    },
}
_READ_WRITE, _READ, _FOLDER = 0o660, 0o440, 0o2110


class Volumes:
    """The volumes of one pod below ``folder``; claims are folders below ``claims`` that pods share by name."""

    def __init__(self, folder: Path, claims: Path, spec: Mapping[str, Any], *, token: bool) -> None:
        self._folder = folder
        self._claims = claims
        self._group = (spec.get("securityContext") or {}).get("fsGroup")
        self._token = token
        given = {volume["name"]: volume for volume in spec.get("volumes") or ()}
        self._volumes: dict[str, Mapping[str, Any]] = {**given, **({TOKEN_VOLUME: _TOKEN} if token else {})}
        self._places: dict[str, Path] = {}
        self._written: dict[str, Mapping[str, File]] = {}

    def set_up(self, facts: Facts, lookup: Lookup, tokens: Tokens) -> None:
        """Make every volume that is not made yet.

        Raises:
            ConfigError: What one needs is not there (yet); may be called again.
        """
        for name, volume in self._volumes.items():
            if name not in self._places:
                self._places[name] = self._make(name, volume, facts, lookup, tokens)

    def refresh(self, facts: Facts, lookup: Lookup, tokens: Tokens) -> list[str]:
        """Write anew what other objects now say, and return which volumes that were.

        What is not there any more stays as it was, and so does what a container has by subPath.
        """
        changed = []
        for name, written in self._written.items():
            try:
                files = payload(self._volumes[name], facts, lookup, tokens)
            except ConfigError:
                continue
            if files != written:
                write(self._places[name], files)
                self._own(self._places[name], _READ)
                self._written[name] = files
                changed.append(name)
        return changed

    def mounts(self, container: Mapping[str, Any], variables: Mapping[str, str]) -> Iterator[Mount]:
        """Yield where a container has them.

        Raises:
            ConfigError: A subPath leads out of its volume.
        """
        mounted = [*(container.get("volumeMounts") or ())]
        if self._token and all(mount["mountPath"].rstrip("/") != TOKEN_PATH for mount in mounted):
            mounted.append({"name": TOKEN_VOLUME, "mountPath": TOKEN_PATH, "readOnly": True})
        for mount in mounted:
            place = self._places[mount["name"]]
            below = mount.get("subPath") or expand(mount.get("subPathExpr") or "", variables)
            written = any(self._volumes[mount["name"]].get(kind) is not None for kind in KINDS)
            source = self._below(place, below) if below else place
            claim = self._volumes[mount["name"]].get("persistentVolumeClaim") or {}
            read_only = bool(mount.get("readOnly") or written or claim.get("readOnly"))
            yield Mount(str(source), mount["mountPath"], read_only)

    def tear_down(self) -> None:
        """Remove them; what claims hold stays."""
        for place in self._places.values():
            if place.is_mount():
                kernel.unmount(str(place))
        shutil.rmtree(self._folder, ignore_errors=True)

    def _make(self, name: str, volume: Mapping[str, Any], facts: Facts, lookup: Lookup, tokens: Tokens) -> Path:
        place = self._folder / name
        if volume.get("persistentVolumeClaim") is not None:
            place = self._claims.joinpath(facts.namespace, volume["persistentVolumeClaim"]["claimName"])
            place.mkdir(parents=True, exist_ok=True)
            place.chmod(0o777)
            self._own(place, _READ_WRITE)
            return place
        kind = next((kind for kind in KINDS if volume.get(kind) is not None), None)
        files = payload(volume, facts, lookup, tokens) if kind else None
        place.mkdir(parents=True)
        empty = volume.get("emptyDir") or {}
        if kind in ("secret", "projected", "downwardAPI") or empty.get("medium") == "Memory":
            size = f",size={int(quantity(empty['sizeLimit']))}" if empty.get("sizeLimit") else ""
            kernel.mount("tmpfs", str(place), "tmpfs", 0, "mode=1777" + size)
        else:
            place.chmod(0o777)
        if files is not None:
            write(place, files)
            self._written[name] = files
        self._own(place, _READ if kind else _READ_WRITE)
        return place

    def _own(self, place: Path, mask: int) -> None:
        """Give it to the fsGroup as pkg/volume/volume_linux.go does: the group of everything, more mode bits."""
        if self._group is None:
            return
        for path in (place, *place.rglob("*")):
            os.chown(path, -1, self._group, follow_symlinks=False)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | mask | (_FOLDER if path.is_dir() else 0))

    def _below(self, place: Path, below: str) -> Path:
        path = (place / below).resolve()
        if not path.is_relative_to(place.resolve()):
            raise ConfigError(f"subPath {below} leads out of its volume")
        if not path.exists():
            path.mkdir(mode=place.stat().st_mode & 0o7777, parents=True)
            path.chmod(place.stat().st_mode & 0o777)
        return path
