"""Puts together what a run of a container is made of, from its pod's spec and the image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import kernel
from .downward import Facts
from .environment import command_line, container_variables, with_image
from .images import Image
from .network import host_name, hosts, resolv_conf
from .process import Process
from .rootfs import Mount, Root
from .security import identity
from .volumes import Volumes

Prepared = tuple[Root, Process, str]
"""A container's root, its program, and its stop signal."""


class Preparation:
    """The part of a pod's folder that its containers share."""

    def __init__(self, folder: Path, volumes: Volumes) -> None:
        self._etc = folder / "etc"
        self._shared_memory = folder / "shm"
        self._volumes = volumes

    def write_files(self, pod: Mapping[str, Any], address: str) -> None:
        """Write the files of /etc and make /dev/shm, 64 MiB as containerd does."""
        self._etc.mkdir()
        for name, text in (
            ("hosts", hosts(pod, address)),
            ("hostname", host_name(pod)[0] + "\n"),
            ("resolv.conf", resolv_conf(pod)),
        ):
            (self._etc / name).write_text(text, encoding="utf-8")
            (self._etc / name).chmod(0o644)
        self._shared_memory.mkdir()
        flags = kernel.NO_SUID | kernel.NO_DEVICES | kernel.NO_EXEC
        kernel.mount("shm", str(self._shared_memory), "tmpfs", flags, "mode=1777,size=65536k")

    def remove(self) -> None:
        """Unmount what was mounted."""
        if self._shared_memory.is_mount():
            kernel.unmount(str(self._shared_memory))

    def run(self, spec: Mapping[str, Any], folder: Path, image: Image, facts: Facts) -> Prepared:
        """Return what a run of a container needs; it may write below ``folder``.

        Raises:
            ConfigError: Something that it names is not there (yet).
        """
        who = identity(facts.pod, spec, image)
        variables = container_variables(spec, facts)
        argv = command_line(spec, image, variables)
        upper = folder / "root"
        upper.mkdir(exist_ok=True)
        root = Root(str(image.root), str(upper), who.read_only, self._mounts(spec))
        process = Process(
            argv,
            with_image(variables, image, host_name(facts.pod)[0]),
            spec.get("workingDir") or image.working_dir,
            who.user,
            who.group,
            who.groups,
            who.capabilities,
            who.no_new_privileges,
        )
        return root, process, image.stop_signal

    def _mounts(self, spec: Mapping[str, Any]) -> tuple[Mount, ...]:
        read_only = bool((spec.get("securityContext") or {}).get("readOnlyRootFilesystem"))
        own = [
            Mount(str(self._etc / "hosts"), "/etc/hosts", read_only),
            Mount(str(self._etc / "hostname"), "/etc/hostname", read_only),
            Mount(str(self._etc / "resolv.conf"), "/etc/resolv.conf", read_only),
            Mount(str(self._shared_memory), "/dev/shm", read_only=False),
        ]
        given = tuple(self._volumes.mounts(spec))
        taken = {mount.target.rstrip("/") for mount in given}
        return (*(mount for mount in own if mount.target not in taken), *given)
