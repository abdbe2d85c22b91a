"""The progress of a long run: a bar on a terminal, a line every ten seconds in a CI log, nothing elsewhere.

    with progress(len(jobs), "compiling", quiet=quiet) as shown:
        for job in jobs:
            ...
            shown.advance()

Everything goes to standard error. A run of less than a second shows nothing, and the bar is erased when the block ends.
(click's own bar shows no rate, and shows from the start.)
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Final, Self, TextIO

PATIENCE = 1.0
"""Seconds before a bar shows."""
FRAME = 0.1
"""Seconds between two states of a bar."""
LOG_PERIOD = 10.0
"""Seconds between two lines of a log, and before the first."""
WINDOW: Final = 5.0
"""Seconds over which the rate is averaged."""
BAR: Final = 30
"""The most columns of a bar between its brackets; with fewer than ``NARROW`` it is left out."""
NARROW: Final = 8
ERASE: Final = "\r\x1b[K"
NO: Final = frozenset(("", "0", "false", "no"))
"""Values of CI that mean no CI."""
_NEVER: Final = float("inf")


def duration(seconds: float) -> str:
    """Write seconds for people: 7 s, 1:05 min, 2:03:09 h."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    if minutes >= 60:
        return f"{minutes // 60}:{minutes % 60:02}:{rest:02} h"
    return f"{minutes}:{rest:02} min" if minutes else f"{whole} s"


def facts(done: int, total: int, rate: float) -> tuple[str, str, list[str]]:
    """Return the count, whole percents (100 only at the end), and rate and remaining time unless the rate is 0."""
    percent = 100 * min(done, total) // total if total else 100
    speed = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
    left = [speed, f"{duration(max(total - done, 0) / rate)} left"] if rate else []
    return f"{done:,} of {total:,}", f"{percent}%", left


def bar_line(label: str, done: int, total: int, rate: float, columns: int) -> str:
    """Return the line for a terminal of this width, at least one column shorter: a full line would wrap."""
    count, percent, left = facts(done, total, rate)
    text = "  ".join((count, percent, *left))
    room = columns - 1
    width = min(BAR, room - len(label) - len(text) - 6)
    if width < NARROW:
        return f"{label}  {text}"[: max(room, 0)]
    full = width * min(done, total) // total if total else width
    return f"{label}  [{'#' * full}{' ' * (width - full)}]  {text}"


class Progress:
    """Shows the progress of ``total`` items on a stream, as a bar with ``columns``, the width of a terminal.

    An OSError of the stream ends the display, never the run.
    """

    def __init__(
        self,
        total: int,
        label: str,
        stream: TextIO | None = None,
        *,
        columns: Callable[[], int] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Begin now."""
        now = clock()
        self.total, self.label, self.stream, self.columns, self.clock = total, label, stream, columns, clock
        self.done, self.shown = 0, False
        self.due = _NEVER if stream is None else now + (LOG_PERIOD if columns is None else PATIENCE)
        self.samples = deque([(now, 0)])

    def advance(self) -> None:
        """Count a finished item, and update the display if it is due."""
        self.done += 1
        if self.stream is None or (now := self.clock()) < self.due:
            return
        state = self.done, self.total, self._rate(now)
        self.due = now + (LOG_PERIOD if self.columns is None else FRAME)
        self.shown = self.columns is not None
        try:
            if self.columns is not None:
                self.stream.write(ERASE + bar_line(self.label, *state, self.columns()))
            else:
                counted, percent, left = facts(*state)
                self.stream.write(f"{self.label}: {', '.join((f'{counted} ({percent})', *left))}\n")
            self.stream.flush()
        except OSError:  # the reader is gone, or the disk is full
            self.due = _NEVER

    def _rate(self, now: float) -> float:
        samples = self.samples
        samples.append((now, self.done))
        while len(samples) > 2 and now - samples[1][0] >= WINDOW:
            samples.popleft()
        since, done = samples[0]
        return (self.done - done) / (now - since) if now > since else 0.0

    def close(self) -> None:
        """Erase the bar, if there is one. May be called again."""
        if self.stream is not None and self.shown:
            self.shown = False
            with suppress(OSError):
                self.stream.write(ERASE)
                self.stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def progress(
    total: int,
    label: str,
    *,
    quiet: bool = False,
    stream: TextIO | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Progress:
    """Return the display of ``total`` items on standard error, with a ``label``.

    A bar on a terminal, lines in CI (if ``CI`` is set) and on a terminal that cannot erase (``TERM=dumb``), and nothing
    elsewhere or if quiet.
    """
    stream = sys.stderr if stream is None else stream
    is_log = environment.get("CI", "").lower() not in NO
    if quiet or total < 2 or stream is None or not (is_log or stream.isatty()):  # None: the caller closed it
        return Progress(total, label)
    is_log = is_log or environment.get("TERM") == "dumb"
    return Progress(total, label, stream, columns=None if is_log else _columns)


def _columns() -> int:
    """Return the width of standard error's terminal; 80 if unknown."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
