"""One container of a pod over all its runs: start, exit, restart after a pause, probes, hooks, stop."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from .environment import ConfigError
from .probes import Result, act, watch
from .process import Process, StartError
from .rootfs import Root
from .run import Run, now
from .runtime import Handle, Output, Runtime

_DRAIN: Final = 5.0
"""Seconds in which the last output of a container that has ended must have been read."""
_RETRY: Final = 0.1
"""Seconds between two tries to make what a container needs."""
_MESSAGE: Final = 4096
_MOST_DOUBLINGS: Final = 5


class Owner(Protocol):
    """What a container asks its pod."""

    name: str
    uid: str
    runtime: Runtime
    output: Output
    sandbox: Handle
    ip: str
    share_processes: bool
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
    """Only its pod's thread changes it, but for what probes and hooks tell.

    ``policy`` is Always, OnFailure or Never; ``grace`` the pod's grace period in seconds.
    """

    def __init__(self, owner: Owner, spec: Mapping[str, Any], folder: Path, policy: str, grace: float) -> None:
        self.spec = spec
        self.name: str = spec["name"]
        self.policy = policy
        self.state = State()
        self.log = bytearray()
        self.run: Run | None = None
        self.exit_code: int | None = None
        """That of the last run, None before the first has ended."""
        self.threads: list[threading.Thread] = []
        """Threads of probes and hooks; each ends with the run that it is for."""
        self._owner = owner
        self._folder = folder
        self._grace = grace
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
    def started(self) -> bool:
        """Whether it runs and its startup probe, if any, has succeeded."""
        return self.run is not None and self.run.started

    @property
    def ready(self) -> bool:
        """Whether it is ready: started, and so its readiness probe says if there is one."""
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
        """Begin to end it: the preStop hook, the stop signal, and SIGKILL when the grace period (seconds) is over."""
        run = self.run
        if run is None or (run.stopping and run.kill_at is not None and run.kill_at <= time.monotonic() + grace):
            return
        run.kill_at = time.monotonic() + grace
        if run.stopping:
            return
        run.stopping = True
        hook = (self.spec.get("lifecycle") or {}).get("preStop")
        if hook and grace > 0:
            self._begin_thread("preStop hook", self._stop_after, run, hook, grace)
        elif grace > 0:
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
            "started": self.started,
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
            (folder / "message").touch(mode=0o666)
            (folder / "message").chmod(0o666)
            root, process, stop_signal = self._owner.prepare(self.spec, folder)
        except ConfigError as error:
            self._wait("CreateContainerConfigError", str(error), _RETRY)
            return
        if self._runs:
            self.state.restarts += 1
        self._runs += 1
        output, written = os.pipe()
        try:
            handle = self._owner.runtime.container(
                self._owner.sandbox, root, process, written, own_processes=not self._owner.share_processes
            )
        finally:
            os.close(written)
        drained = self._owner.output.follow(output, f"{self._owner.name}/{self.name}", self.log)
        run = Run(
            *(self._owner.runtime, handle, process, signal.Signals[stop_signal], folder, drained),
            *(now(), self._owner.ip),
            {port["name"]: port["containerPort"] for port in self.spec.get("ports") or () if port.get("name")},
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
        hook = (self.spec.get("lifecycle") or {}).get("postStart")
        if hook:
            self._begin_thread("postStart hook", self._go_after, run, hook)
        else:
            self._go(run)
        self._owner.changed()

    def _go_after(self, run: Run, hook: Mapping[str, Any]) -> None:
        if act(hook, run, None):
            self._go(run)
        elif not run.over():
            run.unhealthy = "PostStartHook failed"
        self._owner.changed()

    def _go(self, run: Run) -> None:
        """Begin to probe it; it is started, and ready, where no probe has to say so."""
        if self.spec.get("startupProbe") is not None:
            self._watch("startup", run)
        else:
            self._probed(run, Result("startup", success=True))

    def _watch(self, kind: str, run: Run) -> None:
        if self.spec.get(f"{kind}Probe") is not None:
            thread = watch(kind, self.spec[f"{kind}Probe"], run, lambda result: self._probed(run, result))
            self.threads.append(thread)

    def _begin_thread(self, name: str, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, name=name, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _probed(self, run: Run, result: Result) -> None:
        """Take what a probe has come to; called by the probe's thread."""
        if result.kind == "readiness":
            run.ready = result.success
        elif not result.success:
            run.unhealthy = f"{result.kind} probe failed"
        elif result.kind == "startup":
            run.started = True
            run.ready = self.spec.get("readinessProbe") is None
            for kind in ("liveness", "readiness"):
                self._watch(kind, run)
        self._owner.changed()

    def _look_after(self, run: Run) -> float | None:
        if run.handle.code is not None:
            self._end(run, run.handle.code, "Completed" if run.handle.code == 0 else "Error", "")
            return 0.0
        if run.unhealthy and not run.stopping:
            self._owner.say(f"{self.name}: {run.unhealthy}, container will be restarted")
            self.stop(self._grace_after_probe(run))
        if run.kill_at is None:
            return None
        left = run.kill_at - time.monotonic()
        if left <= 0:
            self._owner.runtime.signal(run.handle, signal.SIGKILL)
            return _RETRY
        return left

    def _grace_after_probe(self, run: Run) -> float:
        probe = self.spec.get(f"{run.unhealthy.partition(' ')[0]}Probe") or {}
        own = probe.get("terminationGracePeriodSeconds")
        return float(own if own is not None else self._grace)

    def _stop_after(self, run: Run, hook: Mapping[str, Any], grace: float) -> None:
        act(hook, run, grace)
        self._owner.runtime.signal(run.handle, run.stop_signal)

    def _end(self, run: Run, code: int, reason: str, message: str) -> None:
        if not run.drained.wait(_DRAIN):
            self._owner.say(f"{self.name}: something still holds its output")
        if not message:
            message = self._message(run, code)
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

    def _message(self, run: Run, code: int) -> str:
        with suppress(OSError):
            found = (run.folder / "message").read_bytes()[:_MESSAGE]
            if not found and code and self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError":
                found = b"\n".join(bytes(self.log[-_MESSAGE // 2 :]).split(b"\n")[-81:])
            return found.decode(errors="replace")
        return ""

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
