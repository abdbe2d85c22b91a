"""The node: kubelet, container runtime, pod network and cluster DNS of a simulated cluster."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from . import allowed, kernel
from .changes import Changes
from .dns import Server
from .endpoints import Endpoints
from .environment import ConfigError
from .errors import Unsupported
from .images import Image, resolve
from .network import API_ADDRESS, DNS_ADDRESS, Network
from .payload import Tokens
from .pod import RunningPod, Surroundings
from .runtime import Output, Runtime
from .security import identity

__all__ = ["Image", "Node", "Objects", "RunningPod", "Unsupported"]

_FOLDERS: Final = ("/srv", "/media", "/mnt", "/opt", "/home")


class Objects(Protocol):
    """Where the node looks up ConfigMaps, Secrets, ServiceAccounts and Services, each time anew."""

    def get(self, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Return an object, None where there is none."""


class Node:
    """One node of one cluster. To be made once, by root, in namespaces of the cluster's own (see isolate.py).

    ``rootfs`` maps references of images to unpacked root folders, or to an Image where its configuration counts
    (entrypoint, variables); a reference is looked up as written, then without digest, then without tag.
    ``service_account`` gives what a pod's account has. ``dns_delay`` maps a pattern of full names to the seconds after
    a pod has its address in which its name is not known yet. ``back_off`` is the pause in seconds before a first
    restart, 10 in a kubelet; it doubles up to 32 times itself.
    """

    api_address: Final = API_ADDRESS
    """Where an API server of this cluster listens, port 443; an address of this network namespace."""

    def __init__(
        self,
        rootfs: Mapping[str, Path | Image],
        objects: Objects,
        log: Callable[[str], None],
        *,
        service_account: Callable[[dict[str, Any]], Tokens | None] | None = None,
        dns_delay: Mapping[str, float] | None = None,
        back_off: float = 0.2,
    ) -> None:
        self.service_account = service_account
        """Gives what a pod's account has (token, ca.crt, namespace), None for nothing; may be set later too."""
        self._rootfs = {name: _absolute(image) for name, image in rootfs.items()}
        self._log = _patient(log)
        self._delays = dict(dns_delay or {})
        self._pods: list[RunningPod] = []
        endpoints = Endpoints(lambda: self.pods, objects.get, self._delays, self._log)
        self._numbers = itertools.count(1)
        self._changes = Changes()
        self._network = Network()
        self._dns = Server(DNS_ADDRESS, endpoints.resolve)
        self._dns.start()
        self._work = _work_folder(
            [Path(sys.executable), Path(__file__), *(each.root for each in self._rootfs.values())]
        )
        self._runtime = Runtime(self._work, self._changes.tell)
        self._output = Output(self._log)
        self._around = Surroundings(
            self._work,
            self._runtime,
            self._output,
            self._network,
            self._changes,
            objects.get,
            lambda reference: resolve(self._rootfs, reference),
            lambda pod: (self.service_account and self.service_account(pod)) or {},
            self._log,
            back_off,
        )

    @property
    def pods(self) -> tuple[RunningPod, ...]:
        """The pods that are not deleted, in the order in which they came."""
        return tuple(pod for pod in self._pods if not pod.gone)

    @property
    def version(self) -> int:
        """How many changes there were so far."""
        return self._changes.version

    def start(self, pod: dict[str, Any]) -> RunningPod:
        """Take a v1 Pod. Returns at once; all else happens by itself.

        Raises:
            Unsupported: The node does not carry out all that the pod says, or lacks an image; the text says what.
        """
        passed_over = allowed.check(pod)
        spec = pod["spec"]
        for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
            image = resolve(self._rootfs, container["image"])
            with suppress(ConfigError):  # that is the container's own matter, when it is started
                identity(pod, container, image)
        name = pod["metadata"]["name"]
        if passed_over:
            self._log(f"pod {name}: without effect here: {', '.join(passed_over)}")
        made = RunningPod(pod, next(self._numbers), self._around)
        self._pods.append(made)
        self._changes.tell()
        return made

    def delay_name(self, pattern: str, seconds: float) -> None:
        """Add to ``dns_delay``."""
        self._delays[pattern] = seconds

    def changed(self, seen: int, timeout: float) -> int:
        """Wait until ``version`` is not ``seen`` any more, at most so many seconds; return it."""
        return self._changes.after(seen, timeout)

    def wait(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds, looked at after every change; False if it does not in so many seconds."""
        return self._changes.until(condition, timeout)

    def close(self) -> None:
        """End every pod at once and leave nothing behind."""
        for pod in self._pods:
            pod.delete(0)
        for pod in self._pods:
            pod.join()
        self._runtime.close()
        self._output.close()
        self._dns.close()
        kernel.unmount(str(self._work))


def _absolute(image: Path | Image) -> Image:
    found = image if isinstance(image, Image) else Image(image)
    return replace(found, root=found.root.resolve())


def _patient(log: Callable[[str], None]) -> Callable[[str], None]:
    """Return the same for a log that may have been closed: no pod is to suffer from that."""

    def patient(line: str) -> None:
        with suppress(OSError, ValueError):
            log(line)

    return patient


def _work_folder(needed: Sequence[Path]) -> Path:
    """Mount a tmpfs for all files of the node over a folder that it does not need, so that none is ever on the disk.

    Raises:
        OSError: There is no folder to mount it over.
    """
    real = [path.resolve() for path in needed] + list(needed)
    for folder in map(Path, _FOLDERS):
        if folder.is_dir() and not any(path.is_relative_to(folder) for path in real):
            kernel.mount("simulator", str(folder), "tmpfs", 0, "mode=755")
            return folder
    raise OSError(f"no folder to mount over among {', '.join(_FOLDERS)}")
