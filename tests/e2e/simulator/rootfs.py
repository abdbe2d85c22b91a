"""The file system that a container sees: an overlay of its image, the mounts of runc's defaults, its volumes.

Runs in a forked child that has a mount namespace of its own and lies in the container's other namespaces.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import kernel
from .kernel import NO_DEVICES, NO_EXEC, NO_SUID, READ_ONLY

OLD: Final = "/.old-root"

_NODES: Final = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
_LINKS: Final = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
    "core": "/proc/kcore",
}
_MASKED: Final = (
    *("/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list"),
    *("/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"),
    *("/sys/devices/virtual/powercap",),
)
_FIXED: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of the node at a place in the container."""

    source: str
    target: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Root:
    """A container's file system. ``upper`` is an empty folder of the node that takes what the container writes.

    ``mounts`` are volumes and what the kubelet adds (/etc/hosts and the like, /dev/shm).
    """

    image: str
    upper: str
    read_only: bool
    mounts: tuple[Mount, ...]


def enter(root: Root) -> None:
    """Make it this process's root folder; what was the root before is gone for it.

    Raises:
        OSError: A mount fails; its text says which.
    """
    kernel.mount("", "/", flags=kernel.RECURSIVE | kernel.PRIVATE)
    base = _overlay(root)
    os.chdir(base)
    Path(base + OLD).mkdir()
    kernel.pivot(base, base + OLD)
    os.chdir("/")  # from here on links in the image cannot lead out of it
    os.umask(0o022)
    _system()
    _devices()
    for mount in sorted(root.mounts, key=lambda mount: mount.target.rstrip("/").count("/")):
        _place(mount)
    _restrict()
    kernel.unmount(OLD)
    Path(OLD).rmdir()
    if root.read_only:
        kernel.mount("", "/", flags=kernel.BIND | kernel.REMOUNT | READ_ONLY)


def _overlay(root: Root) -> str:
    for name in ("files", "work", "root"):
        Path(root.upper, name).mkdir()
    Path(root.upper, "files").chmod(0o755)
    place = f"{root.upper}/root"
    layers = f"lowerdir={_escaped(root.image)},upperdir={root.upper}/files,workdir={root.upper}/work"
    kernel.mount("overlay", place, "overlay", 0, layers)
    return place


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")


def _system() -> None:
    secure = NO_SUID | NO_DEVICES | NO_EXEC
    for folder in ("/proc", "/sys", "/dev"):
        Path(folder).mkdir(mode=0o755, exist_ok=True)
    kernel.mount("proc", "/proc", "proc", secure)
    kernel.mount("sysfs", "/sys", "sysfs", secure | READ_ONLY)
    kernel.mount("tmpfs", "/dev", "tmpfs", NO_SUID, "mode=755,size=65536k")


def _devices() -> None:
    for name, (major, minor) in _NODES.items():
        os.mknod(f"/dev/{name}", 0o20666, os.makedev(major, minor))
        Path("/dev", name).chmod(0o666)
    for name, target in _LINKS.items():
        Path("/dev", name).symlink_to(target)
    for folder, kind, data in (
        ("/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620,gid=5"),
        ("/dev/mqueue", "mqueue", ""),
    ):
        Path(folder).mkdir(mode=0o755)
        with contextlib.suppress(FileNotFoundError):
            kernel.mount(kind, folder, kind, NO_SUID | NO_EXEC | (NO_DEVICES if kind == "mqueue" else 0), data)


def _place(mount: Mount) -> None:
    source = OLD + mount.source
    target = Path(mount.target)
    if Path(source).is_dir():
        target.mkdir(mode=0o755, parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        if target.is_symlink():  # a resolv.conf that points into /run, say
            target.unlink()
        target.touch(mode=0o644)
    kernel.bind(source, mount.target, read_only=mount.read_only)


def _restrict() -> None:
    for path in _FIXED:
        if Path(path).exists():
            kernel.bind(path, path, read_only=True)
    for path in _MASKED:
        if Path(path).is_dir():
            kernel.mount("tmpfs", path, "tmpfs", READ_ONLY, "size=0k")
        elif Path(path).exists():
            kernel.bind("/dev/null", path)
