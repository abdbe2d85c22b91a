"""One run of a container, from its start to its exit: what probes and `kubectl exec` act upon."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from .process import Process, StartError
from .runtime import Handle, Runtime

NOT_STARTED: Final = 126
"""The exit code of a command that cannot be started in a container."""
_KILLED: Final = 5.0
_LOOK: Final = 0.1


@dataclass(slots=True)
class Run:
    """Its process, and what probes have found. ``kill_at``: when it gets SIGKILL, by time.monotonic."""

    runtime: Runtime
    handle: Handle
    process: Process
    stop_signal: int
    folder: Path
    drained: threading.Event
    began: str
    address: str
    ready: bool = False
    kill_at: float | None = None
    stopping: bool = False
    began_at: float = field(default_factory=time.monotonic)

    def age(self) -> float:
        """Return for how many seconds it runs."""
        return time.monotonic() - self.began_at

    def over(self) -> bool:
        """Say whether it has ended or is being ended."""
        return self.stopping or self.handle.code is not None

    def sleep(self, seconds: float) -> None:
        """Wait so long, at most until it is over."""
        end = time.monotonic() + seconds
        while not self.over() and (left := end - time.monotonic()) > 0:
            self.handle.wait(min(left, _LOOK))

    def command(self, argv: list[str], timeout: float | None) -> int | None:
        """Run a command in it, with no input and no output; None if it did not end in time and was killed."""
        null = os.open(os.devnull, os.O_RDWR)
        try:
            return self.execute(argv, (null, null, null), timeout)
        finally:
            os.close(null)

    def execute(self, argv: list[str], streams: tuple[int, int, int], timeout: float | None) -> int | None:
        """Run a command in it and return its exit code; None if it did not end in time and was killed.

        A command that cannot be started ends with NOT_STARTED, and its standard error says why, as with containerd.
        """
        handle = self.runtime.command(self.handle, replace(self.process, argv=tuple(argv)), streams)
        try:
            handle.started()
        except StartError as error:
            with suppress(OSError):
                os.write(streams[2], f"OCI runtime exec failed: exec failed: {error}: unknown\n".encode())
            return NOT_STARTED
        code = handle.wait(timeout)
        if code is None:
            self.runtime.signal(handle, signal.SIGKILL)
            handle.wait(_KILLED)
        return code


def now() -> str:
    """Return the time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
