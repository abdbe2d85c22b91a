"""The node's end of the shim: makes requests, keeps what became of each process, reads the containers' output."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from .process import Process, StartError
from .rootfs import Root
from .shim import PACKET

_PATIENCE: Final = 30.0
"""Seconds in which the shim must have answered; it takes milliseconds."""


class Handle:
    """One process of the shim: a pod's pause process, a container's first, a command in a container."""

    def __init__(self, name: str, told: Callable[[], None]) -> None:
        self.name = name
        self.pid: int | None = None
        self.failure: str | None = None
        self.code: int | None = None
        """Exit code; 128 and the number for a signal; None while it runs."""
        self.signal: int | None = None
        self._told = told
        self._answered = threading.Event()
        self._ended = threading.Event()

    def tell(self, report: Mapping[str, Any]) -> None:
        """Take a report of the shim."""
        if report["is"] == "started":
            self.pid = report["pid"]
        elif report["is"] == "failed":
            self.failure = report["message"]
        else:
            code = report["code"]
            self.signal = -code if code < 0 else None
            self.code = code if code >= 0 else 128 - code
            self._ended.set()
        self._answered.set()
        self._told()

    def started(self) -> int:
        """Wait until the program runs and return its pid.

        Raises:
            StartError: It could not be started.
        """
        if not self._answered.wait(_PATIENCE):
            raise StartError(f"{self.name}: no answer within {_PATIENCE:.0f} s")
        if self.failure is not None:
            raise StartError(self.failure)
        if self.pid is None:
            raise StartError(f"{self.name}: the shim is gone")
        return self.pid

    def wait(self, seconds: float | None) -> int | None:
        """Return the exit code, None if it still runs after so long."""
        self._ended.wait(seconds)
        return self.code


class Runtime:
    """Starts the shim and speaks with it. ``told`` is called, from a thread of its own, after every report."""

    def __init__(self, work: Path, told: Callable[[], None]) -> None:
        self._work = work
        self._told = told
        self._handles: dict[str, Handle] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        package = Path(__file__).parent
        start = (
            f"import sys; sys.path.insert(0, {str(package.parent)!r})\n"
            f"from {package.name}.shim import serve; serve({other.fileno()})"
        )
        with other:
            self._shim = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", start],
                stdin=subprocess.DEVNULL,
                pass_fds=(other.fileno(),),
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, name="reports of the shim", daemon=True)
        self._reader.start()

    def sandbox(self, hostname: str) -> Handle:
        """Start a pod's pause process."""
        return self._ask(do="sandbox", hostname=hostname)

    def container(self, pod: Handle, root: Root, process: Process, log: int) -> Handle:
        """Start a container; ``log`` is the descriptor that its output goes to (the caller still closes its own)."""
        plan = self._plan(process, root)
        return self._ask([log], do="container", pod=pod.name, plan=plan)

    def command(self, container: Handle, process: Process, streams: Sequence[int]) -> Handle:
        """Start a command in a container, with three descriptors (the caller still closes its own)."""
        return self._ask(list(streams), do="exec", container=container.name, plan=self._plan(process))

    def signal(self, handle: Handle, number: int) -> None:
        """Send a signal; to a process that has ended, nothing."""
        self._send({"id": handle.name, "do": "signal", "number": int(number)})

    def close(self) -> None:
        """End the shim, and with it everything that it started."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        try:
            self._shim.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._shim.kill()
            self._shim.wait()
        self._reader.join(_PATIENCE)
        self._channel.close()

    def _plan(self, process: Process, root: Root | None = None) -> str:
        plan: dict[str, Any] = {"process": {**asdict(process), "capabilities": sorted(process.capabilities)}}
        if root is not None:
            plan["root"] = asdict(root)
        path = self._work / f"plan-{next(self._numbers)}.json"
        path.write_text(json.dumps(plan), encoding="utf-8")
        return str(path)

    def _ask(self, descriptors: Sequence[int] = (), **request: Any) -> Handle:
        handle = Handle(f"{request['do']}-{next(self._numbers)}", self._told)
        self._handles[handle.name] = handle
        self._send({"id": handle.name, **request}, descriptors)
        return handle

    def _send(self, request: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        try:
            with self._lock:
                socket.send_fds(self._channel, [json.dumps(request).encode()], list(descriptors))
        except OSError:
            self._lost(str(request["id"]))

    def _read(self) -> None:
        while True:
            try:
                data = self._channel.recv(PACKET)
            except OSError:
                data = b""
            if not data:
                break
            report = json.loads(data)
            handle = self._handles.get(report["id"])
            if handle is not None:
                if report["is"] == "exited":
                    del self._handles[handle.name]
                handle.tell(report)
        for name in list(self._handles):
            self._lost(name)

    def _lost(self, name: str) -> None:
        handle = self._handles.pop(name, None)
        if handle is not None:
            handle.tell({"is": "exited", "code": -9})


class Output:
    """Reads what containers write: keeps the bytes, and gives whole lines on as they come."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = os.pipe()
        self._new: list[tuple[int, str, bytearray, threading.Event]] = []
        self._closing = False
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._read, name="output of containers", daemon=True)
        self._thread.start()

    def follow(self, descriptor: int, title: str, kept: bytearray) -> threading.Event:
        """Read a descriptor to its end, then close it; the event is set after that."""
        done = threading.Event()
        os.set_blocking(descriptor, False)
        self._new.append((descriptor, title, kept, done))
        os.write(self._waker, b".")
        return done

    def close(self) -> None:
        """Stop reading."""
        self._closing = True
        os.write(self._waker, b".")
        self._thread.join(_PATIENCE)
        os.close(self._wake)
        os.close(self._waker)
        self._selector.close()

    def _read(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select():
                if key.data is None:
                    os.read(self._wake, 4096)
                    while self._new:
                        descriptor, *state = self._new.pop(0)
                        self._selector.register(descriptor, selectors.EVENT_READ, (*state, bytearray()))
                else:
                    self._take(key.fd, *key.data)

    def _take(self, descriptor: int, title: str, kept: bytearray, done: threading.Event, rest: bytearray) -> None:
        data = os.read(descriptor, 65536)
        kept += data
        rest += data
        *lines, last = bytes(rest).split(b"\n")
        rest[:] = last
        for line in lines if data else [last] if last else []:
            self._log(f"<{title}> {line.decode(errors='replace')}")
        if not data:
            self._selector.unregister(descriptor)
            os.close(descriptor)
            done.set()
