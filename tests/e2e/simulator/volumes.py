"""Volumes of a pod: folders on the node, laid out, owned and mounted as the kubelet does it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from . import kernel
from .downward import Facts
from .environment import Lookup
from .payload import KINDS, Tokens, payload, token_files, write
from .rootfs import Mount

TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_VOLUME: Final = "kube-api-access"
_READ_WRITE, _READ, _FOLDER = 0o660, 0o440, 0o2110


class Volumes:
    """The volumes of one pod below ``folder``; claims are folders below ``claims`` that pods share by name."""

    def __init__(self, folder: Path, claims: Path, spec: Mapping[str, Any], *, token: bool) -> None:
        self._folder = folder
        self._claims = claims
        self._group = (spec.get("securityContext") or {}).get("fsGroup")
        self._token = token
        given = {volume["name"]: volume for volume in spec.get("volumes") or ()}
        self._volumes: dict[str, Mapping[str, Any]] = {**given, **({TOKEN_VOLUME: {"token": True}} if token else {})}
        self._places: dict[str, Path] = {}

    def set_up(self, facts: Facts, lookup: Lookup, tokens: Tokens) -> None:
        """Make every volume that is not made yet.

        Raises:
            ConfigError: What one needs is not there (yet); may be called again.
        """
        for name, volume in self._volumes.items():
            if name not in self._places:
                self._places[name] = self._make(name, volume, facts, lookup, tokens)

    def mounts(self, container: Mapping[str, Any]) -> Iterator[Mount]:
        """Yield where a container has them."""
        mounted = [*(container.get("volumeMounts") or ())]
        if self._token and all(mount["mountPath"].rstrip("/") != TOKEN_PATH for mount in mounted):
            mounted.append({"name": TOKEN_VOLUME, "mountPath": TOKEN_PATH, "readOnly": True})
        for mount in mounted:
            volume = self._volumes[mount["name"]]
            written = any(volume.get(kind) is not None for kind in KINDS)
            claim = volume.get("persistentVolumeClaim") or {}
            read_only = bool(mount.get("readOnly") or written or claim.get("readOnly"))
            yield Mount(str(self._places[mount["name"]]), mount["mountPath"], read_only)

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
        files = None
        if volume.get("token"):
            files = token_files(tokens, facts)
        elif any(volume.get(kind) is not None for kind in KINDS):
            files = payload(volume, facts, lookup)
        place.mkdir(parents=True)
        empty = volume.get("emptyDir") or {}
        if volume.get("token") or volume.get("secret") is not None or empty.get("medium") == "Memory":
            size = f",size={_bytes(empty['sizeLimit'])}" if empty.get("sizeLimit") else ""
            kernel.mount("tmpfs", str(place), "tmpfs", 0, "mode=1777" + size)
        else:
            place.chmod(0o777)
        if files is not None:
            write(place, files)
        self._own(place, _READ_WRITE if files is None else _READ)
        return place

    def _own(self, place: Path, mask: int) -> None:
        """Give it to the fsGroup as pkg/volume/volume_linux.go does: the group of everything, more mode bits."""
        if self._group is None:
            return
        for path in (place, *place.rglob("*")):
            os.chown(path, -1, self._group, follow_symlinks=False)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | mask | (_FOLDER if path.is_dir() else 0))


def _bytes(size: object) -> int:
    """Return the bytes of a size limit: a number, or one with Ki, Mi or Gi."""
    text = str(size)
    power = {"Ki": 1, "Mi": 2, "Gi": 3}.get(text[-2:], 0)
    return int(text[:-2] if power else text) * 1024**power
