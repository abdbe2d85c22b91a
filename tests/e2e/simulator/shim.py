"""The parent of every container, in a process of its own: one thread, so that it may fork; reaps, signals, reports.

Its other end is runtime.py. Messages are JSON, one a packet; descriptors travel beside them. Requests name an `id`:

    sandbox   hostname                     a pause process that holds a pod's net, uts and ipc namespaces
    container pod, plan, [log]             a container of a pod; plan: a file with a Root and a Process
    exec      container, plan, [0, 1, 2]   a command in a running container; plan: a file with a Process
    signal    number                       to the process of an id, if it still runs

Reports: `started` (with pid; for containers and commands once the program runs), `failed` (with message) and `exited`
(with code, negative for a signal; also after failed). When the other end closes, everything is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from . import kernel
from .process import Process, StartError
from .process import run as run_process
from .rootfs import Mount, Root
from .rootfs import enter as enter_root

PACKET: Final = 65536
_FAILED: Final = 128
_NAMESPACES: Final = {"net": kernel.NEW_NET, "uts": kernel.NEW_UTS, "ipc": kernel.NEW_IPC}


@dataclass(slots=True)
class Child:
    """A process that the shim made: ``ready`` is the pipe that closes when its program runs, -1 after that."""

    name: str
    pid: int
    handle: int
    ready: int


class Shim:
    """Serves one node. Not thread-safe, and needs no more: the process has one thread."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._selector = selectors.DefaultSelector()
        self._children: dict[str, Child] = {}
        self._own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY)

    def serve(self) -> None:
        """Work until the other end closes, then kill and reap everything."""
        self._selector.register(self._channel, selectors.EVENT_READ, self._receive)
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                for key, _ in self._selector.select():
                    key.data()
        for child in self._children.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(child.handle, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:  # in the order in which they end: process 1 of a namespace waits for the commands in it
                os.wait()

    def _receive(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._channel, PACKET, 4)
        if not data:
            raise EOFError
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        request = json.loads(data)
        try:
            self._do(request, descriptors)
        except (OSError, StartError) as error:
            self._report(request["id"], "failed", message=str(error))
            self._report(request["id"], "exited", code=_FAILED)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _do(self, request: dict[str, Any], descriptors: list[int]) -> None:
        name = request["id"]
        kind = request["do"]
        if kind == "signal":
            child = self._children.get(name)
            if child is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(child.handle, request["number"])
        elif kind == "sandbox":
            self._fork(name, lambda ready: _pause(request, ready))
        elif kind == "container":
            pod = self._alive(request["pod"])
            plan = _read_plan(request["plan"])
            self._fork(name, lambda _: _become_container(pod.pid, plan, descriptors), new=kernel.NEW_PID)
        elif kind == "exec":
            container = self._alive(request["container"])
            plan = _read_plan(request["plan"])
            self._fork(name, lambda _: _become_command(container.pid, plan, descriptors), inside=container.pid)
        else:
            raise ValueError(f"no such request: {kind}")

    def _alive(self, name: str) -> Child:
        child = self._children.get(name)
        if child is None:
            raise StartError("container not running")
        return child

    def _fork(self, name: str, main: Callable[[int], None], *, new: int = 0, inside: int | None = None) -> None:
        """Fork a child into a new process namespace, or into that of the process ``inside``; this one stays out."""
        ready, told = os.pipe()
        try:
            if new:
                kernel.unshare(new)
            elif inside is not None:
                with _namespace(inside, "pid") as descriptor:
                    kernel.enter(descriptor, kernel.NEW_PID)
            try:
                pid = os.fork()
                if pid == 0:
                    _run_child(main, told)
            finally:
                kernel.enter(self._own_processes, kernel.NEW_PID)
        except OSError:
            os.close(ready)
            raise
        finally:
            os.close(told)
        child = Child(name, pid, os.pidfd_open(pid), ready)
        self._children[name] = child
        self._selector.register(ready, selectors.EVENT_READ, lambda: self._is_ready(child))
        self._selector.register(child.handle, selectors.EVENT_READ, lambda: self._has_ended(child))

    def _is_ready(self, child: Child) -> None:
        if child.ready < 0:
            return
        message = os.read(child.ready, PACKET // 2).decode(errors="replace")
        self._selector.unregister(child.ready)
        os.close(child.ready)
        child.ready = -1
        if message:
            self._report(child.name, "failed", message=message)
        else:
            self._report(child.name, "started", pid=child.pid)

    def _has_ended(self, child: Child) -> None:
        if child.name not in self._children:
            return
        self._is_ready(child)
        del self._children[child.name]
        self._selector.unregister(child.handle)
        os.close(child.handle)
        _, status = os.waitpid(child.pid, 0)
        self._report(child.name, "exited", code=os.waitstatus_to_exitcode(status))

    def _report(self, name: str, what: str, **more: Any) -> None:
        self._channel.send(json.dumps({"id": name, "is": what, **more}).encode())


def serve(descriptor: int) -> None:
    """Be the shim of the node at the other end of a socket; the entry point of the process."""
    with socket.socket(fileno=descriptor) as channel:
        channel.set_inheritable(False)
        Shim(channel).serve()


def _run_child(main: Callable[[int], None], told: int) -> NoReturn:
    """Run the child's part; whatever goes wrong in it is told through the pipe, and the child ends."""
    try:
        main(told)
    except BaseException as error:  # noqa: BLE001 - there is nobody else to tell
        message = str(error) if isinstance(error, (OSError, StartError)) else f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):
            os.write(told, (message or type(error).__name__)[: PACKET // 4].encode())
    os._exit(_FAILED)


def _pause(request: dict[str, Any], told: int) -> None:
    """Hold a pod's namespaces until killed."""
    kernel.unshare(kernel.NEW_NET | kernel.NEW_UTS | kernel.NEW_IPC)
    kernel.set_hostname(request["hostname"])
    os.chdir("/")
    for descriptor in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if descriptor != told:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(descriptor)
    os.close(told)
    while True:
        signal.pause()


def _become_container(pod: int, plan: dict[str, Any], descriptors: list[int]) -> None:
    _enter_namespaces(pod, _NAMESPACES)
    kernel.unshare(kernel.NEW_MOUNT)
    _set_streams(os.open(os.devnull, os.O_RDONLY), descriptors[0], descriptors[0])
    described = plan["root"]
    mounts = tuple(Mount(**mount) for mount in described.pop("mounts"))
    enter_root(Root(mounts=mounts, **described))
    run_process(_process(plan["process"]))


def _become_command(container: int, plan: dict[str, Any], descriptors: list[int]) -> None:
    _enter_namespaces(container, {**_NAMESPACES, "mnt": kernel.NEW_MOUNT})
    _set_streams(*descriptors)
    run_process(_process(plan["process"]))


def _process(described: dict[str, Any]) -> Process:
    tuples = {name: tuple(described[name]) for name in ("argv", "groups")}
    return Process(**{**described, **tuples, "capabilities": frozenset(described["capabilities"])})


def _read_plan(path: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(Path(path).read_bytes())
    Path(path).unlink()
    return plan


def _enter_namespaces(pid: int, kinds: dict[str, int]) -> None:
    with contextlib.ExitStack() as stack:
        opened = [(stack.enter_context(_namespace(pid, name)), kind) for name, kind in kinds.items()]
        for descriptor, kind in opened:
            kernel.enter(descriptor, kind)


@contextlib.contextmanager
def _namespace(pid: int, name: str) -> Any:
    descriptor = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _set_streams(*descriptors: int) -> None:
    """Make these standard input, output and error; they may not be 0, 1 or 2 already."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
