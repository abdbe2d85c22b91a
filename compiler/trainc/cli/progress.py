"""How far a long run is: a bar on a terminal, a line now and then in the log of continuous integration, else nothing.

    with progress(len(jobs), "compiling", quiet=quiet) as shown:
        for job in jobs:
            ...
            shown.advance()

Everything goes to standard error. A run of less than a second shows nothing, and a bar is gone when the block ends, so
findings never stand behind one. What ``advance`` costs does not count: the clock is read once in many calls. (click's
own bar shows no rate, reads the clock at every step and is there from the start.)
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Protocol, Self

import msgspec

PATIENCE = 1.0
"""Seconds before a bar shows."""
FRAME = 0.1
"""Seconds between two states of a bar."""
LOG_PERIOD = 10.0
"""Seconds between two lines of a log, and before the first."""
LOOK = 0.02
"""Seconds that are to pass between two looks at the clock."""
WINDOW = 5.0
"""Seconds that a rate is taken over: what is near in time tells most of what remains."""
BAR = 30
"""Most columns of a bar between its brackets; with fewer than ``NARROW`` it is left out."""
NARROW = 8
USUAL_COLUMNS = 80
ERASE = "\r\x1b[K"
NO = frozenset(("", "0", "false", "no"))
"""Values of CI that say there is none."""


class Stream(Protocol):
    """What of a text stream is used."""

    def write(self, text: str, /) -> object:
        """Write text."""

    def flush(self) -> object:
        """Hand on what was written."""

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""


class State(msgspec.Struct, frozen=True):
    """How far a run is: ``done`` of ``total`` things, ``rate`` of them a second (0 while it is not known)."""

    label: str
    done: int
    total: int
    rate: float

    @property
    def percent(self) -> int:
        """Whole percents, 100 only at the end."""
        return 100 * min(self.done, self.total) // self.total if self.total else 100

    @property
    def left(self) -> float:
        """Seconds that remain at this rate; infinite while there is none."""
        return max(self.total - self.done, 0) / self.rate if self.rate else float("inf")


def duration(seconds: float) -> str:
    """Write seconds for people: 7 s, 1:05 min, 2:03:09 h."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    if minutes >= 60:
        return f"{minutes // 60}:{minutes % 60:02}:{rest:02} h"
    return f"{minutes}:{rest:02} min" if minutes else f"{whole} s"


def per_second(rate: float) -> str:
    """Write a rate: 2,310/s, 3.4/s."""
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def bar_line(state: State, columns: int) -> str:
    """Return the line of a terminal that is so wide, shorter than it by one at least: a full line would wrap."""
    facts = [f"{state.done:,} of {state.total:,}", f"{state.percent}%"]
    if state.rate:
        facts += [per_second(state.rate), f"{duration(state.left)} left"]
    text = "  ".join(facts)
    room = columns - 1
    width = min(BAR, room - len(state.label) - len(text) - 6)
    if width < NARROW:
        return f"{state.label}  {text}"[: max(room, 0)]
    full = width * min(state.done, state.total) // state.total if state.total else width
    return f"{state.label}  [{'#' * full}{' ' * (width - full)}]  {text}"


def log_line(state: State) -> str:
    """Return the line of a log."""
    line = f"{state.label}: {state.done:,} of {state.total:,} ({state.percent}%)"
    return f"{line}, {per_second(state.rate)}, {duration(state.left)} left" if state.rate else line


class Progress:
    """Says nothing: for runs that nobody watches."""

    __slots__ = ()

    def advance(self, count: int = 1) -> None:
        """Note that so many things more are done."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take away what is shown; may be called again."""


class Watched(Progress):
    """Looks at the clock every so many things, and shows the state when it is time.

    ``first`` and ``period`` are the seconds before the first and between two showings. An OSError of ``_show`` ends the
    showing, never the run.
    """

    __slots__ = ("_clock", "_done", "_due", "_label", "_looked", "_next", "_period", "_samples", "_seen", "_total")

    def __init__(self, total: int, label: str, first: float, period: float, clock: Callable[[], float]) -> None:
        now = clock()
        self._total, self._label, self._period, self._clock = total, label, period, clock
        self._done, self._seen, self._next = 0, 0, 1
        self._due, self._looked = now + first, now
        self._samples: deque[tuple[float, int]] = deque([(now, 0)])

    def _show(self, state: State) -> None:
        raise NotImplementedError

    def advance(self, count: int = 1) -> None:
        """Note that so many things more are done, and show it if it is time."""
        self._done += count
        if self._done >= self._next:
            self._look()

    def _look(self) -> None:
        now = self._clock()
        self._next = self._done + self._stride(now)
        if now < self._due:
            return
        self._due = now + self._period
        try:
            self._show(State(self._label, self._done, self._total, self._rate(now)))
        except OSError:  # nobody reads any more, or the disk of a log is full
            self._due = float("inf")

    def _stride(self, now: float) -> int:
        """Return after how many things to look again: about ``LOOK`` later, and at most twice as many as last time."""
        passed, things = now - self._looked, self._done - self._seen
        self._looked, self._seen = now, self._done
        return max(1, min(2 * things, int(things * LOOK / passed))) if passed > 0 else 2 * things

    def _rate(self, now: float) -> float:
        samples = self._samples
        samples.append((now, self._done))
        while len(samples) > 2 and now - samples[1][0] >= WINDOW:
            samples.popleft()
        since, done = samples[0]
        return (self._done - done) / (now - since) if now > since else 0.0


class Bar(Watched):
    """A bar on a terminal, which is gone at the end. ``columns`` is asked each time: windows change their size."""

    __slots__ = ("_columns", "_shown", "_stream")

    def __init__(
        self,
        total: int,
        label: str,
        stream: Stream,
        *,
        columns: Callable[[], int],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(total, label, PATIENCE, FRAME, clock)
        self._stream, self._columns, self._shown = stream, columns, False

    def _show(self, state: State) -> None:
        self._shown = True
        self._stream.write(ERASE + bar_line(state, self._columns()))
        self._stream.flush()

    def close(self) -> None:
        """Erase the bar, if one is there."""
        if not self._shown:
            return
        self._shown = False
        with suppress(OSError):
            self._stream.write(ERASE)
            self._stream.flush()


class Log(Watched):
    """A line every ten seconds, which stays."""

    __slots__ = ("_stream",)

    def __init__(self, total: int, label: str, stream: Stream, *, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(total, label, LOG_PERIOD, LOG_PERIOD, clock)
        self._stream = stream

    def _show(self, state: State) -> None:
        self._stream.write(log_line(state) + "\n")
        self._stream.flush()


def progress(
    total: int,
    label: str,
    *,
    quiet: bool = False,
    stream: Stream | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Progress:
    """Return what shows the progress of ``total`` things where standard error leads; ``label`` says what is done.

    A bar on a terminal, lines in continuous integration (``CI`` is set; also where its runner plays a terminal), and
    nothing elsewhere or if quiet. A terminal that cannot erase (``TERM=dumb``) gets lines, too.
    """
    stream = sys.stderr if stream is None else stream
    if quiet or total < 2 or stream is None:  # a stream that the caller closed is None
        return Progress()
    if environment.get("CI", "").lower() not in NO:
        return Log(total, label, stream)
    if not stream.isatty():
        return Progress()
    return (
        Log(total, label, stream) if environment.get("TERM") == "dumb" else Bar(total, label, stream, columns=_columns)
    )


def _columns() -> int:
    """Return the width of standard error's terminal; 80 where it does not say."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or USUAL_COLUMNS
    except (OSError, ValueError):
        return USUAL_COLUMNS
