"""The limits of commands that read files of other people, such as in pull requests: processor time, and memory.

The kernel counts both for each process, so other programs do not use them up. Worker processes and git inherit them.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from math import ceil, inf
from time import process_time
from types import FrameType
from typing import Any, Final, NoReturn

import click

from trainc.cli import Stopped
from trainc.cli.command import ENVIRONMENT, Command, echo_line

VARIABLE: Final = "TRAINC_CPU_SECONDS"
"""The environment variable with another limit of time, in seconds; 0 means no limits."""

SECONDS: Final = 60
"""The limit of time without the variable, and without what items add."""

SECONDS_TO_END: Final = 10
"""The time that a stopped command has to clean up, and a call of C code to return, before the kernel ends it."""

MEMORY: Final = 8 << 30
"""The most bytes of memory without what items add. Positions in deep documents take 500 times the size of the text."""

SECONDS_PER_ITEM: Final = 0.05
"""What each file that is read, and each job that is compiled, adds to the limit of time: ten times what one takes."""

MEMORY_PER_ITEM: Final = 1 << 18
"""What each of them adds to that of memory: a job is both, and takes 150 KB."""

PER_POLICY: Final = 0.2
"""The items that each bound policy counts as for each job, whose JobSet it is tried on: a rich one takes 1 ms."""


class Limits:
    """The limits of this process; none before ``start``, and none on Windows."""

    def __init__(self) -> None:
        self.seconds = inf
        self.memory: float = MEMORY
        self._initial = 0

    def start(self) -> None:
        """Stop this process at the limits, unless somebody has set one of time.

        Raises UsageError for a wrong variable.
        """
        text = os.environ.get(VARIABLE, str(SECONDS))
        if not re.fullmatch("[0-9]{1,9}", text):
            raise click.UsageError(f"{VARIABLE} is a number of seconds, such as {SECONDS}, or 0 for no limit: {text!r}")
        if int(text) == 0 or not hasattr(signal, "SIGXCPU"):
            return
        import resource

        if resource.getrlimit(resource.RLIMIT_CPU)[0] == resource.RLIM_INFINITY:
            signal.signal(signal.SIGXCPU, self._stop)
            self.seconds = self._initial = int(text)
            self.add(0)
            os.register_at_fork(after_in_child=self._set_timer)

    def add(self, items: float, tried: float = 0, revisions: int = 0) -> None:
        """Allow more for items that are read or compiled, and more time for policies that are tried on a job each.

        Each revision adds the initial limits again: what passed when it was merged must not stop later runs.
        """
        if self.seconds < inf:
            self.seconds += (items + PER_POLICY * tried) * SECONDS_PER_ITEM + revisions * self._initial
            self.memory += items * MEMORY_PER_ITEM + revisions * MEMORY
            _limit("RLIMIT_CPU", self.seconds)
            _limit("RLIMIT_DATA", self.memory)
            self._set_timer()

    def _set_timer(self) -> None:
        """Let SIGPROF end this process some time after the limit, if it goes on.

        Python handles no signal within a call of C code, and ignores an exception in a finalizer. The other limits are
        inherited by a process that is forked, the timer is not.
        """
        left = self.seconds + SECONDS_TO_END - process_time()
        signal.setitimer(signal.ITIMER_PROF, 0 if left == inf else max(left, 1))

    def _stop(self, number: int, frame: FrameType | None) -> NoReturn:
        end = Stopped(ENVIRONMENT)
        try:
            signal.signal(number, signal.SIG_IGN)  # it comes each second
            where = next((f" at {name}" for name in _names(frame)), "")
            echo_line(f"trainc: error: stopped after {ceil(self.seconds)} seconds of processor time{where}", err=True)
            echo_line(f"Hint: make the file smaller or simpler; {VARIABLE} sets another limit.", err=True)
        except (OSError, RuntimeError):  # no place for a message, or a full stack: who expects one would go on
            pass
        raise end


def _limit(name: str, most: float) -> None:
    """Set the soft limit of a resource, unless somebody has set a hard one."""
    import resource

    _, hard = resource.getrlimit(getattr(resource, name))
    if hard == resource.RLIM_INFINITY:
        resource.setrlimit(getattr(resource, name), (hard if most == inf else ceil(most), hard))


def _names(frame: FrameType | None) -> Iterator[str]:
    """Yield the names of the files at which functions work, the innermost one first."""
    from trainc.inputs.source import Document, Source

    while frame is not None:
        for value in frame.f_locals.values():
            if isinstance(value, Source | Document):
                yield value.name if isinstance(value, Source) else value.source.name
        frame = frame.f_back


def _of_run() -> Limits | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_object(Limits)


def allow(items: float, tried: float = 0, revisions: int = 0) -> None:
    """Allow the command that runs more time and memory, for files to read or jobs to compile.

    ``tried`` is how often a policy is tried on a job, which takes time only, and ``revisions`` are those that are read.
    """
    if (limits := _of_run()) is not None:
        limits.add(items, tried, revisions)


class LimitedCommand(Command):
    """A command with the limits that ``main`` brings, so that no test or program that invokes it is stopped."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and return its exit status."""
        if (limits := _of_run()) is not None:
            limits.start()
        return super().invoke(ctx)
