"""Probes and hooks: commands in a container, TCP connections and HTTP requests to it."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

_HTTP: Final = 80


class Target(Protocol):
    """The run of a container that is probed."""

    ports: Mapping[str, int]
    address: str

    def command(self, argv: list[str], timeout: float | None) -> int | None:
        """Run a command in it; None if it did not end in time."""

    def age(self) -> float:
        """Return for how many seconds it runs."""

    def over(self) -> bool:
        """Say whether the run has ended or is being ended."""

    def sleep(self, seconds: float) -> None:
        """Wait so long, at most until it is over."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a probe has come to: success after successThreshold, failure after failureThreshold in a row."""

    kind: str
    success: bool


def act(action: Mapping[str, Any], target: Target, timeout: float | None) -> bool:
    """Do what a probe or a hook says (exec, httpGet, tcpSocket, sleep) and return whether it succeeded.

    ``timeout`` is in seconds; None, for hooks, is until the container ends.
    """
    if action.get("exec"):
        return target.command([*action["exec"]["command"]], timeout) == 0
    if action.get("sleep"):
        return target.command(["sleep", str(action["sleep"]["seconds"])], timeout) == 0
    limit = timeout if timeout is not None else 30.0
    if action.get("tcpSocket"):
        wanted = action["tcpSocket"]
        try:
            with socket.create_connection((wanted.get("host") or target.address, _port(wanted, target)), limit):
                return True
        except OSError:
            return False
    return _get(action["httpGet"], target, limit)


def watch(kind: str, probe: Mapping[str, Any], target: Target, tell: Callable[[Result], None]) -> threading.Thread:
    """Probe a run until it ends, in a thread, as pkg/kubelet/prober's worker does, and tell what it comes to.

    A startup probe ends with its first success.
    """
    thread = threading.Thread(target=_work, args=(kind, probe, target, tell), name=f"{kind} probe", daemon=True)
    thread.start()
    return thread


def _work(kind: str, probe: Mapping[str, Any], target: Target, tell: Callable[[Result], None]) -> None:
    target.sleep(float(probe.get("initialDelaySeconds") or 0) - target.age())
    needed = {True: probe.get("successThreshold") or 1, False: probe.get("failureThreshold") or 3}
    last, run = None, 0
    while not target.over():
        success = act(probe, target, float(probe.get("timeoutSeconds") or 1))
        if target.over():
            return
        run = run + 1 if success is last else 1
        last = success
        if run >= needed[success]:
            tell(Result(kind, success))
            if kind == "startup" and success:
                return
        target.sleep(float(probe.get("periodSeconds") or 10))


def _get(wanted: Mapping[str, Any], target: Target, timeout: float) -> bool:
    headers = {header["name"]: header["value"] for header in wanted.get("httpHeaders") or ()}
    connection = http.client.HTTPConnection(
        wanted.get("host") or target.address, _port(wanted, target), timeout=timeout
    )
    try:
        connection.request("GET", wanted.get("path") or "/", headers=headers)
        return 200 <= connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _port(wanted: Mapping[str, Any], target: Target) -> int:
    port = wanted.get("port", _HTTP)
    return target.ports[port] if port in target.ports else int(port)
