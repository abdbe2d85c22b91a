"""Readiness probes: commands in a container and TCP connections to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Target(Protocol):
    """The run of a container that is probed."""

    address: str

    def command(self, argv: list[str], timeout: float | None) -> int | None:
        """Run a command in it; None if it did not end in time."""

    def age(self) -> float:
        """Return for how many seconds it runs."""

    def over(self) -> bool:
        """Say whether the run has ended or is being ended."""

    def sleep(self, seconds: float) -> None:
        """Wait so long, at most until it is over."""


def watch(probe: Mapping[str, Any], target: Target, tell: Callable[[bool], None]) -> threading.Thread:
    """Probe a run until it ends, in a thread, as pkg/kubelet/prober's worker does.

    ``tell`` gets success after successThreshold, and failure after failureThreshold, in a row.
    """
    thread = threading.Thread(target=_work, args=(probe, target, tell), name="readiness probe", daemon=True)
    thread.start()
    return thread


def _work(probe: Mapping[str, Any], target: Target, tell: Callable[[bool], None]) -> None:
    target.sleep(float(probe.get("initialDelaySeconds") or 0) - target.age())
    needed = {True: probe.get("successThreshold") or 1, False: probe.get("failureThreshold") or 3}
    last, run = None, 0
    while not target.over():
        success = _succeeds(probe, target, float(probe.get("timeoutSeconds") or 1))
        if target.over():
            return
        run = run + 1 if success is last else 1
        last = success
        if run >= needed[success]:
            tell(success)
        target.sleep(float(probe.get("periodSeconds") or 10))


def _succeeds(probe: Mapping[str, Any], target: Target, timeout: float) -> bool:
    if probe.get("exec"):
        return target.command([*probe["exec"]["command"]], timeout) == 0
    try:
        with socket.create_connection((target.address, int(probe["tcpSocket"]["port"])), timeout):
            return True
    except OSError:
        return False
