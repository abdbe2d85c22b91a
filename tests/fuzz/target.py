"""What a target of the fuzzer is: how bytes become a case, what trainc makes of it, and what is right.

A case is JSON, so that it can be stored, made smaller and replayed without the fuzzer that found it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from oracle import gotools

ORACLE_SECONDS = 120  # for a batch; Go needs hours for some numbers

Case = Any
"""JSON."""


class Choices(random.Random):
    """Random choices that bytes determine, so that a fuzzer which mutates the bytes mutates the choices.

    Every generator that takes a ``random.Random`` takes this. After the last byte each choice is the first one: list
    first what ends a case.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self.data = data
        self.at = 0

    def _randbelow(self, n: int) -> int:
        if n > 256:
            return self._number((n.bit_length() + 7) // 8) % n
        self.at += 1
        return self.data[self.at - 1] % n if self.at <= len(self.data) else 0

    def choice(self, seq: Sequence[Any]) -> Any:
        """Return an item; like the next two methods without the checks that take most of the time."""
        return seq[self._randbelow(len(seq))]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """Return a number of a range."""
        low, high = (0, start) if stop is None else (start, stop)
        return low + step * self._randbelow((high - low + step - 1) // step)

    def random(self) -> float:
        """Return a number in [0, 1), one of 256. After the last byte it is large: what is unlikely does not happen."""
        self.at += 1
        return (self.data[self.at - 1] if self.at <= len(self.data) else 255) / 256

    def getrandbits(self, k: int) -> int:
        """Return k bits."""
        return self._number((k + 7) // 8) >> (-k % 8)

    def rest(self) -> bytes:
        """Return all bytes that are left, and use them up."""
        rest, self.at = self.data[self.at :], len(self.data)
        return rest

    @property
    def is_done(self) -> bool:
        """Whether all bytes are used up."""
        return self.at >= len(self.data)

    def _number(self, size: int) -> int:
        taken = self.data[self.at : self.at + size]
        self.at += size
        return int.from_bytes(taken, "little")


class Target(NamedTuple):
    """A part of trainc under test.

    ``compare`` returns None if ``ours(case)`` is right, given the oracle's answer (None without an oracle); else what
    is wrong: the first line names the kind of the mistake, of which one case is kept, the others have details.
    ``oracle`` builds a program and returns its command: it answers each line of JSON with one, at once.
    """

    make: Callable[[Choices], Case]
    ours: Callable[[Case], Any]
    compare: Callable[[Case, Any, Any], str | None]
    oracle: Callable[[], Sequence[str | Path]] | None = None
    question: Callable[[Case, Any], Any] = lambda case, _: case
    """What the oracle is asked, of a case and trainc's answer."""
    escaped: bool = True
    """Whether questions are pure ASCII, so that lone surrogates can be sent."""
    seeds: Callable[[], Iterable[bytes]] = lambda: ()
    """Bytes to start from, besides random ones."""
    weight: Callable[[Case], int] = lambda _: 1
    """How many executions a case is."""
    features: Callable[[Case, Any], Iterable[str]] | None = None
    """What is special about an answer of trainc's. With it, answers with new features guide the fuzzer, not branches:
    atheris' instrumentation costs more than an execution of a quick target."""


class Oracle:
    """A long-lived process that answers a batch of questions per round trip, and starts again if it ends."""

    def __init__(self, command: Sequence[str | Path], *, escaped: bool) -> None:
        self.command, self.escaped = command, escaped
        self.process = self._started()

    def ask(self, questions: Sequence[Any]) -> list[Any]:
        """Return the answer to each question. Raises OracleError if the process ends, or takes too long."""
        text = "".join(json.dumps(question, ensure_ascii=self.escaped) + "\n" for question in questions)
        writer = threading.Thread(target=self._write, args=(text,))  # else both could wait with full pipes
        timer = threading.Timer(ORACLE_SECONDS, self.process.kill)
        writer.start()
        timer.start()
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in questions]
        writer.join()
        timer.cancel()
        if not all(lines):
            self.close()
            self.process = self._started()
            raise gotools.OracleError(f"no answer to {json.dumps(questions[lines.index('')])[:2000]}")
        return [json.loads(line) for line in lines]

    def _started(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        few_collections = {**os.environ, "GOGC": "800"}
        return subprocess.Popen(
            self.command, cwd=gotools.ORACLE, env=few_collections, stdin=pipe, stdout=pipe, encoding="utf-8"
        )

    def _write(self, text: str) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # ask() sees that answers are missing
            self.process.stdin.write(text)
            self.process.stdin.flush()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        with suppress(BrokenPipeError):
            self.process.communicate()


def shortened(value: Any) -> Iterable[Any]:
    """Yield values like value with one part less, or shorter, large cuts first."""
    if isinstance(value, dict):
        for key in value:
            yield {other: value[other] for other in value if other != key}
        for key, child in value.items():
            yield from ({**value, key: less} for less in shortened(child))
    elif isinstance(value, list | str):
        size = len(value) // 2
        while size:
            for at in range(0, len(value), size):
                yield value[:at] + value[at + size :]
            size //= 2
        if len(value) == 1 and isinstance(value, list):
            yield []
        if isinstance(value, list):
            for index, child in enumerate(value):
                yield from ([*value[:index], less, *value[index + 1 :]] for less in shortened(child))
    elif isinstance(value, int | float) and value not in (0, 1) and not isinstance(value, bool):
        yield from (0, 1, int(value) // 2 if abs(value) < 1e300 else 1)
