"""Processes that are copies of this one and do numbered pieces of its work.

They end with this one, however it ends: each watches a pipe that only this process holds open. Each has a pipe of its
own for results, so one that is killed in the middle of a result leaves nobody waiting for the rest.
"""

from __future__ import annotations

import os
import selectors
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Final, NoReturn, Self

_NUMBER: Final = 4
_LENGTH: Final = 8
_FAILED: Final = (1 << 8 * _LENGTH) - 1
"""In the place of a length: the piece could not be done."""

_BLOCK: Final = 1 << 20
_AHEAD: Final = 2
"""Pieces per process that are handed out: one to do, one to begin with at once."""


class LostError(Exception):
    """A process ended before its work was done."""


class Crew:
    """Some processes, from ``with`` to the end of its block. ``do`` gives the result of a piece, in one of them."""

    def __init__(self, count: int, do: Callable[[int], bytes]) -> None:
        """Take what is to be done by so many processes."""
        self.count = count
        self.do = do
        self.processes: dict[int, int] = {}
        self.tasks = -1
        self.open: list[int] = []

    def __enter__(self) -> Self:
        """Start the processes."""
        tasks, self.tasks = os.pipe()
        life, alive = os.pipe()
        self.open += (tasks, self.tasks, life, alive)
        try:
            for _ in range(self.count):
                self._start(tasks, life, (self.tasks, alive))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes."""
        self._end()

    def results(self, pieces: int) -> Iterator[tuple[int, bytes | None]]:
        """Yield each piece's number and result as they come; None for a piece that could not be done there.

        Raises LostError.
        """
        left = iter(range(pieces))
        for _ in range(_AHEAD * self.count):
            self._hand_out(left)
        with selectors.DefaultSelector() as selector:
            for results in self.processes:
                selector.register(results, selectors.EVENT_READ, bytearray())
            missing = pieces
            while missing:
                for key, _ in selector.select():
                    data = os.read(key.fd, _BLOCK)
                    if not data:
                        raise LostError
                    key.data.extend(data)
                    for result in _frames(key.data):
                        missing -= 1
                        self._hand_out(left)
                        yield result

    def _hand_out(self, left: Iterator[int]) -> None:
        number = next(left, None)
        if number is not None:
            os.write(self.tasks, number.to_bytes(_NUMBER, "big"))

    def _start(self, tasks: int, life: int, own: tuple[int, ...]) -> None:
        """Start a process; ``own`` are the ends of pipes that this one alone keeps."""
        results, end = os.pipe()
        pid = os.fork()
        if pid == 0:
            _serve(self.do, tasks, life, end, (*own, results, *self.processes))
        os.close(end)
        self.processes[results] = pid

    def _end(self) -> None:
        for results, pid in self.processes.items():
            os.close(results)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in self.processes.values():
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        for end in self.open:
            os.close(end)
        self.processes, self.open = {}, []


def _serve(do: Callable[[int], bytes], tasks: int, life: int, results: int, others: tuple[int, ...]) -> NoReturn:
    """Do pieces until there are none, in a process that has just been made."""
    try:
        for end in others:
            os.close(end)
        # What ends the run ends this process, too; a signal for both would look as if it had died of itself.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        threading.Thread(target=_watch, args=(life,), daemon=True).start()
        while piece := os.read(tasks, _NUMBER):
            _send(results, piece, _result(do, int.from_bytes(piece, "big")))
    finally:
        os._exit(1)


def _watch(life: int) -> NoReturn:
    os.read(life, 1)  # nothing is ever written: this returns once the other end is closed
    os._exit(1)


def _result(do: Callable[[int], bytes], number: int) -> bytes | None:
    try:
        return do(number)
    except Exception:  # noqa: BLE001 - it is tried again where it can be told
        return None


def _send(results: int, piece: bytes, data: bytes | None) -> None:
    length = _FAILED if data is None else len(data)
    rest = memoryview(piece + length.to_bytes(_LENGTH, "big") + (data or b""))
    while rest:
        rest = rest[os.write(results, rest) :]


def _frames(data: bytearray) -> Iterator[tuple[int, bytes | None]]:
    """Take the results that are whole from the beginning of what was read, and yield them."""
    head = _NUMBER + _LENGTH
    while len(data) >= head:
        number, length = int.from_bytes(data[:_NUMBER], "big"), int.from_bytes(data[_NUMBER:head], "big")
        end = head if length == _FAILED else head + length
        if len(data) < end:
            return
        result = None if length == _FAILED else bytes(data[head:end])
        del data[:end]
        yield number, result
