"""Runs one case in a simulated cluster of its own: `python bench.py MODULE CASE`, isolated (simulator/isolate.py).

A case is a function `case_...(bench)`; what it asserts is compared with what the documentation or the sources of
Kubernetes and containerd say. Its pods run on the machine's own programs, over an overlay.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from simulator.images import Image
from simulator.node import Node, RunningPod

PATIENCE: Final = 20.0
"""Seconds after which something has gone wrong: everything waited for takes much less."""


class Bench:
    """A node, the objects that it sees, and short ways to make pods."""

    def __init__(self, **options: Any) -> None:
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.lines: list[str] = []
        root = Path("/")
        images: dict[str, Path | Image] = {
            "machine": root,
            "echo": Image(root, ("/bin/echo", "from"), ("image",), {"A": "image"}, "/tmp"),
        }
        self.node = Node(images, self, self._log, back_off=0.05, **options)

    def get(self, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Be the Objects of the node."""
        return self.objects.get((kind, namespace, name))

    def add(self, kind: str, name: str, **more: Any) -> None:
        """Make an object of namespace `default`, or change it."""
        self.objects[kind, "default", name] = {"kind": kind, "metadata": {"name": name}, **more}

    def service(self, name: str, **spec: Any) -> None:
        """Make a headless Service for the pods with the label app of the same value."""
        self.add("Service", name, spec={"clusterIP": "None", "selector": {"app": name}, **spec})

    def start(self, name: str, script: str, *, container: Mapping[str, Any] | None = None, **spec: Any) -> RunningPod:
        """Start a pod with the container `c` that runs a shell script; label app is its subdomain."""
        made = {"name": "c", "image": "machine", "command": ["/bin/sh", "-c", script], **(container or {})}
        metadata = {
            "name": name,
            "namespace": "default",
            "uid": f"uid-of-{name}",
            "labels": {"app": spec.get("subdomain", name), "role": "test"},
            "annotations": {"example.com/note": 'a "note"'},
        }
        pod = {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": [made], **spec}}
        return self.node.start(pod)

    def run(self, name: str, script: str, *, container: Mapping[str, Any] | None = None, **spec: Any) -> str:
        """Start such a pod, wait for its success, and return what `c` wrote."""
        pod = self.start(name, script, container=container, **spec)
        self.succeeds(pod)
        return self.log(pod)

    def succeeds(self, pod: RunningPod) -> None:
        """Wait for a pod's success."""
        assert pod.wait(PATIENCE), f"{pod} has not ended: {pod.container_statuses}"
        assert pod.phase == "Succeeded", f"{pod}: {pod.reason} {pod.message} {pod.status()} {pod.logs}"

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that must come."""
        assert self.node.wait(condition, PATIENCE), f"not within {PATIENCE:.0f} s: {what}"

    def log(self, pod: RunningPod, container: str = "c") -> str:
        """Return what a container wrote so far."""
        return pod.logs[container].decode()

    def exec(self, pod: RunningPod, *command: str, container: str | None = None) -> tuple[int, str]:
        """Run a command in a container; return exit code and output, both streams together."""
        read, write = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        try:
            code = pod.exec(container, [*command], null, write, write, timeout=PATIENCE)
        finally:
            os.close(write)
            os.close(null)
        with open(read, "rb") as output:  # noqa: PTH123 - a descriptor
            return code, output.read().decode()

    def _log(self, line: str) -> None:
        self.lines.append(line)
        sys.stderr.write(f"{time.monotonic() - _BEGAN:7.3f} {line}\n")


_BEGAN: Final = time.monotonic()


def main(module: str, name: str) -> None:
    """Run a case, look that its node leaves nothing behind, and say how long it took."""
    case = getattr(importlib.import_module(f"nodecases.{module}"), name)
    bench = Bench(**getattr(case, "options", {}))
    try:
        case(bench)
    finally:
        bench.node.close()
    mounts = _mounts()
    added = mounts.keys() - _MOUNTS.keys()  # one of the machine's own may go meanwhile, if its folder is removed
    assert not added, f"mounts are left: {[mounts[number] for number in added]}"
    assert _processes() == _PROCESSES, f"processes are left: {_processes()}"
    left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    assert not left, f"threads are left: {left}"


def _mounts() -> dict[str, str]:
    """Return what the kernel says of each mount by its number."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return {line.split()[0]: line for line in lines}


def _processes() -> set[str]:
    return {entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()}


_MOUNTS: Final = _mounts()
_PROCESSES: Final = _processes()

if __name__ == "__main__":
    main(*sys.argv[1:])
