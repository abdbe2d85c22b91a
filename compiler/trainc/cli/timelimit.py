"""The time limit of commands that read files of other people, such as in pull requests: processor time.

Other programs do not use it up. The kernel counts it for each process: worker processes and git inherit the limit.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from math import ceil, inf
from types import FrameType
from typing import Any, Final, NoReturn

import click

from trainc.cli import Stopped
from trainc.cli.command import ENVIRONMENT, Command, echo_line

VARIABLE: Final = "TRAINC_CPU_SECONDS"
"""The environment variable with another limit, in seconds; 0 means none."""

SECONDS: Final = 60
"""The limit without the variable, and without what items add."""

PER_ITEM: Final = 0.05
"""What each file that is read, and each job that is compiled, adds to the limit: ten times what one takes."""

PER_POLICY: Final = 0.2
"""The items that each bound policy counts as for each job, whose objects it is tried on: a rich one takes 1 ms."""


class TimeLimit:
    """The limit of this process, in seconds of processor time; none before ``start``, and none on Windows."""

    def __init__(self) -> None:
        self.seconds = inf

    def start(self) -> None:
        """Stop this process at the limit, unless somebody has set one. Raises UsageError for a wrong variable."""
        text = os.environ.get(VARIABLE, str(SECONDS))
        if not (text.isascii() and text.isdigit()):
            raise click.UsageError(f"{VARIABLE} is a number of seconds, such as {SECONDS}, or 0 for no limit: {text!r}")
        if int(text) == 0 or not hasattr(signal, "SIGXCPU"):
            return
        import resource

        if resource.getrlimit(resource.RLIMIT_CPU)[0] == resource.RLIM_INFINITY:
            signal.signal(signal.SIGXCPU, self._stop)
            self.seconds = 0
            self.add(int(text))

    def add(self, seconds: float) -> None:
        """Allow more time."""
        if self.seconds < inf:
            import resource

            self.seconds += seconds
            most = resource.RLIM_INFINITY if self.seconds == inf else ceil(self.seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))

    def _stop(self, number: int, frame: FrameType | None) -> NoReturn:
        end = Stopped(ENVIRONMENT)
        try:
            signal.signal(number, signal.SIG_IGN)  # the kernel sends it each second from now on
            where = next((f" at {name}" for name in _names(frame)), "")
            echo_line(f"trainc: error: stopped after {ceil(self.seconds)} seconds of processor time{where}", err=True)
            echo_line(f"Hint: make the file smaller or simpler; {VARIABLE} sets another limit.", err=True)
        except RecursionError:  # somebody may expect that of a deep value, and go on
            pass
        raise end


def _names(frame: FrameType | None) -> Iterator[str]:
    """Yield the names of the files at which functions work, the innermost one first."""
    from trainc.inputs.source import Document, Source

    while frame is not None:
        for value in frame.f_locals.values():
            if isinstance(value, Source | Document):
                yield value.name if isinstance(value, Source) else value.source.name
        frame = frame.f_back


def _of_run() -> TimeLimit | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_object(TimeLimit)


def allow(items: float) -> None:
    """Allow the command that runs more time, for files to read or jobs to compile."""
    if (limit := _of_run()) is not None:
        limit.add(items * PER_ITEM)


class LimitedCommand(Command):
    """A command with the time limit that ``main`` brings, so that no test or program that invokes it is stopped."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and return its exit status."""
        if (limit := _of_run()) is not None:
            limit.start()
        return super().invoke(ctx)
