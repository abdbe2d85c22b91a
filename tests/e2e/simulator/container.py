"""One container of a pod over all its runs: start, exit, restart after a pause, readiness, stop."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from .environment import ConfigError
from .probes import watch
from .process import Process, StartError
from .rootfs import Root
from .run import Run, now
from .runtime import Handle, Output, Runtime

_DRAIN: Final = 5.0
"""Seconds in which the last output of a container that has ended must have been read."""
_RETRY: Final = 0.1
"""Seconds between two tries to make what a container needs."""
_MOST_DOUBLINGS: Final = 5


class Owner(Protocol):
    """What a container asks its pod."""

    name: str
    uid: str
    runtime: Runtime
    output: Output
    sandbox: Handle
    ip: str
    back_off: float

    def prepare(self, spec: Mapping[str, Any], folder: Path) -> tuple[Root, Process, str]:
        """Return root, process and stop signal of a new run, which may write below a folder of its own."""

    def changed(self) -> None:
        """Take note that something about the container changed."""

    def say(self, text: str) -> None:
        """Log a line about the pod."""


@dataclass(slots=True)
class State:
    """What a ContainerStatus says of now and of the run before."""

    now: dict[str, Any] = field(default_factory=lambda: {"waiting": {"reason": "ContainerCreating"}})
    before: dict[str, Any] = field(default_factory=dict)
    restarts: int = 0


class Container:
    """Only its pod's thread changes it, but for what probes tell. ``policy`` is Always, OnFailure or Never."""

    def __init__(self, owner: Owner, spec: Mapping[str, Any], folder: Path, policy: str) -> None:
        self.spec = spec
        self.name: str = spec["name"]
        self.policy = policy
        self.state = State()
        self.log = bytearray()
        self.run: Run | None = None
        self.exit_code: int | None = None
        """That of the last run, None before the first has ended."""
        self.threads: list[threading.Thread] = []
        """Threads of probes; each ends with the run that it is for."""
        self._owner = owner
        self._folder = folder
        self._runs = 0
        self._due = 0.0

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.run is not None

    @property
    def has_run(self) -> bool:
        """Whether it runs or has run."""
        return self.run is not None or self.exit_code is not None

    @property
    def ready(self) -> bool:
        """Whether it runs and its readiness probe, if there is one, has succeeded."""
        return self.run is not None and self.run.ready

    @property
    def finished(self) -> bool:
        """Whether it has ended and is not to run again."""
        return self.run is None and self.exit_code is not None and not self._restarts(self.exit_code)

    def step(self) -> float | None:
        """Do what is due; return in how many seconds something will be, None if only an event can make it so."""
        if self.run is not None:
            return self._look_after(self.run)
        if self.finished:
            return None
        left = self._due - time.monotonic()
        if left > 0:
            return left
        self._start()
        return 0.0 if self.has_run else _RETRY

    def stop(self, grace: float) -> None:
        """Begin to end it: the stop signal, and SIGKILL when the grace period (seconds) is over."""
        run = self.run
        if run is None or (run.stopping and run.kill_at is not None and run.kill_at <= time.monotonic() + grace):
            return
        run.kill_at = time.monotonic() + grace
        if run.stopping:
            return
        run.stopping = True
        if grace > 0:
            self._owner.runtime.signal(run.handle, run.stop_signal)

    def retire(self) -> None:
        """Never start it again."""
        self.policy = "Never"
        if self.run is None and self.exit_code is not None and self.state.before:
            self.state.now = self.state.before

    def kill(self, number: int) -> None:
        """Send a signal to its process 1."""
        if self.run is not None:
            self._owner.runtime.signal(self.run.handle, number)

    def status(self) -> dict[str, Any]:
        """Return it as a v1 ContainerStatus."""
        found = {
            "name": self.name,
            "image": self.spec["image"],
            "imageID": self.spec["image"],
            "ready": self.ready,
            "started": self.running,
            "restartCount": self.state.restarts,
            "state": self.state.now,
            "lastState": self.state.before,
        }
        if self._runs:
            found["containerID"] = f"containerd://{self._owner.uid}-{self.name}-{self._runs}"
        return found

    def _start(self) -> None:
        folder = self._folder / str(self._runs)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            root, process, stop_signal = self._owner.prepare(self.spec, folder)
        except ConfigError as error:
            self._wait("CreateContainerConfigError", str(error), _RETRY)
            return
        if self._runs:
            self.state.restarts += 1
        self._runs += 1
        output, written = os.pipe()
        try:
            handle = self._owner.runtime.container(self._owner.sandbox, root, process, written)
        finally:
            os.close(written)
        drained = self._owner.output.follow(output, f"{self._owner.name}/{self.name}", self.log)
        run = Run(
            *(self._owner.runtime, handle, process, signal.Signals[stop_signal], folder, drained),
            *(now(), self._owner.ip),
        )
        try:
            handle.started()
        except StartError as error:
            handle.wait(_DRAIN)
            self._end(run, 128, "StartError", f"failed to create containerd task: {error}: unknown")
            return
        self._begin(run)

    def _begin(self, run: Run) -> None:
        self.run = run
        self.state.now = {"running": {"startedAt": run.began}}
        probe = self.spec.get("readinessProbe")
        run.ready = probe is None
        if probe is not None:
            self.threads.append(watch(probe, run, lambda success: self._probed(run, success)))
        self._owner.changed()

    def _probed(self, run: Run, success: bool) -> None:
        """Take what a probe has come to; called by the probe's thread."""
        run.ready = success
        self._owner.changed()

    def _look_after(self, run: Run) -> float | None:
        if run.handle.code is not None:
            self._end(run, run.handle.code, "Completed" if run.handle.code == 0 else "Error", "")
            return 0.0
        if run.kill_at is None:
            return None
        left = run.kill_at - time.monotonic()
        if left <= 0:
            self._owner.runtime.signal(run.handle, signal.SIGKILL)
            return _RETRY
        return left

    def _end(self, run: Run, code: int, reason: str, message: str) -> None:
        if not run.drained.wait(_DRAIN):
            self._owner.say(f"{self.name}: something still holds its output")
        ended: dict[str, Any] = {"exitCode": code, "reason": reason, "startedAt": run.began, "finishedAt": now()}
        if message:
            ended["message"] = message
        self.exit_code = code
        self.run = None
        if self._restarts(code):
            pause = self._owner.back_off * 2 ** min(self.state.restarts, _MOST_DOUBLINGS)
            self.state.before = {"terminated": ended}
            self._wait("CrashLoopBackOff", f"back-off {pause:g}s restarting failed container", pause)
            self._owner.say(f"{self.name}: exit code {code}, again in {pause:g} s (a kubelet: 10 s and more)")
        else:
            self.state.now = {"terminated": ended}
        shutil.rmtree(run.folder, ignore_errors=True)
        self._owner.changed()

    def _wait(self, reason: str, message: str, seconds: float) -> None:
        waiting = {"waiting": {"reason": reason, "message": message}}
        self._due = time.monotonic() + seconds
        if self.state.now != waiting:
            self.state.now = waiting
            if reason == "CreateContainerConfigError":
                self._owner.say(f"{self.name}: {message}")
            self._owner.changed()

    def _restarts(self, code: int) -> bool:
        return self.policy == "Always" or (self.policy == "OnFailure" and code != 0)
