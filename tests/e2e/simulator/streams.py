"""`kubectl exec` on the server's side: a WebSocket on one end, a process in a container on the other."""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from . import websocket

Run = Callable[[int, int, int], int]
"""Runs the command with these three descriptors and returns its exit code."""

_DRAIN: Final = 5.0
"""Seconds for which output of what the command left behind is still waited for."""


def serve(connection: websocket.Connection, run: Run) -> None:
    """Run a command for a client: pass input and output on, then say how it ended."""
    _Exec(connection, run).serve()


class _Exec:
    def __init__(self, connection: websocket.Connection, run: Run) -> None:
        self._connection = connection
        inside, self._stdin = os.pipe()
        self._stdout, outside = os.pipe()
        self._stderr, errors = os.pipe()
        self._done, self._tell = os.pipe()
        self._channels = {self._stdout: websocket.STDOUT, self._stderr: websocket.STDERR}
        os.set_blocking(self._stdin, False)
        self._input = bytearray()
        self._no_more = False
        self._code: int | BaseException = 255
        self._thread = threading.Thread(target=self._run, args=(run, (inside, outside, errors)), daemon=True)

    def _run(self, run: Run, descriptors: tuple[int, int, int]) -> None:
        try:
            self._code = run(*descriptors)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told
            self._code = error
        finally:
            for descriptor in (*descriptors, self._tell):
                os.close(descriptor)

    def serve(self) -> None:
        self._thread.start()
        end: float | None = None
        try:
            while end is None or (self._channels and time.monotonic() < end):
                if self._step() and end is None:
                    end = time.monotonic() + _DRAIN
            self._connection.send(websocket.ERROR, json.dumps(_status(self._code)).encode())
            self._connection.close()
        finally:
            self._close_stdin()
            for descriptor in (self._stdout, self._stderr, self._done):
                os.close(descriptor)

    def _step(self) -> bool:
        """Pass on what there is. Return whether the command has ended."""
        ended = not self._thread.is_alive()
        reading: list[Any] = [*self._channels, *([] if ended else [self._done])]
        if self._connection.open:
            reading.append(self._connection)
        writing = [self._stdin] if self._input and self._stdin >= 0 else []
        waiting = self._connection.open and self._connection.waiting()
        readable, writable, _ = select.select(reading, writing, [], 0 if waiting else 1.0)
        for descriptor in [*self._channels]:
            if descriptor in readable:
                self._output(descriptor)
        if self._connection.open and (waiting or self._connection in readable):
            self._receive()
        if writable or (self._no_more and not self._input):
            self._write()
        if self._done in readable:
            self._thread.join()
        return not self._thread.is_alive()

    def _output(self, descriptor: int) -> None:
        if data := os.read(descriptor, 65536):
            self._connection.send(self._channels[descriptor], data)
        else:
            del self._channels[descriptor]

    def _receive(self) -> None:
        for message in self._connection.messages():
            channel, data = message[0], message[1:]
            if channel == websocket.STDIN:
                self._input += data
            elif channel == websocket.CLOSE and data == bytes((websocket.STDIN,)):
                self._no_more = True
        if self._input and self._stdin >= 0:
            self._write()
        if not self._connection.open:  # a kubelet lets the process run on, without input
            self._no_more = True

    def _write(self) -> None:
        if self._stdin < 0:
            self._input.clear()
            return
        try:
            while self._input:
                del self._input[: os.write(self._stdin, self._input)]
        except BlockingIOError:
            return
        except OSError:
            self._input.clear()
            self._no_more = True
        if self._no_more:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            with contextlib.suppress(OSError):
                os.close(self._stdin)
            self._stdin = -1


def _status(code: int | BaseException) -> dict[str, Any]:
    """Return the last message of an exec (apiserver/pkg/util/wsstream, kubelet/pkg/cri/streaming/remotecommand)."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    if isinstance(code, BaseException):
        return {"metadata": {}, "status": "Failure", "reason": "InternalError", "message": str(code), "code": 500}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
