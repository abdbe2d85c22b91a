"""What a command takes from its start: wall clock, CPU, memory; and the figures of many runs of it."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SPAWN = Path(__file__).with_name("spawn.py")
KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
"""Variables of the environment that measured commands see, too; no other setting of the user counts."""
LEAST = 2
"""Fewest runs, however long one takes."""


class BenchError(Exception):
    """A command that is measured, or needed for measuring, failed; the message says how."""


class Sample(NamedTuple):
    """One run: seconds of wall clock, of CPU in user and in system mode; peak memory in MiB; bytes printed."""

    wall: float
    user: float
    system: float
    peak: float
    printed: int = 0


@dataclass(frozen=True)
class Figures:
    """Runs of one command. Minima say what it costs, medians what a machine that is busy with others shows."""

    samples: tuple[Sample, ...]

    @property
    def wall(self) -> float:
        return min(each.wall for each in self.samples)

    @property
    def median(self) -> float:
        return statistics.median(each.wall for each in self.samples)

    @property
    def cpu(self) -> float:
        return min(each.user + each.system for each in self.samples)

    @property
    def user(self) -> float:
        return min(each.user for each in self.samples)

    @property
    def peak(self) -> float:
        return max(each.peak for each in self.samples)

    @property
    def printed(self) -> int:
        return max(each.printed for each in self.samples)


@dataclass(frozen=True)
class Command:
    """A command to measure: words, folder, variables to add, the exit status that is right, standard input, output."""

    words: Sequence[str | Path]
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    expected: int = 0
    source: Path | None = None
    output: Path | None = None


def run(command: Command, scratch: Path) -> Sample:
    """Run once. BenchError, with the end of its output, for another exit status."""
    errors, environment = scratch / "errors.txt", _environment(command, scratch)
    if command.source is not None:
        environment["SPAWN_INPUT"] = str(command.source)
    output = command.output or scratch / "output.txt"
    words = [sys.executable, "-I", "-S", SPAWN, output, errors, *command.words]
    done = subprocess.run(words, cwd=command.folder, env=environment, capture_output=True, text=True, check=False)
    title = " ".join(Path(word).name if isinstance(word, Path) else word for word in command.words)
    if done.returncode:
        raise BenchError(f"{title}: {done.stderr.strip()[-500:]}")
    status, wall, user, system, peak = done.stdout.split()
    if int(status) != command.expected:
        printed = "\n".join(path.read_text(errors="replace")[-1500:] for path in (output, errors))
        raise BenchError(f"{title}: exit status {status}\n{printed}")
    mib = int(peak) / (1024 if sys.platform != "darwin" else 1024**2)
    return Sample(float(wall), float(user), float(system), mib, output.stat().st_size)


def kill_after(command: Command, scratch: Path, seconds: float) -> None:
    """Run a command, and kill it (SIGKILL) if it still runs after so many seconds."""
    environment = _environment(command, scratch)
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command.words, cwd=command.folder, env=environment, capture_output=True, timeout=seconds, check=False
        )


def _environment(command: Command, scratch: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "HOME": str(scratch), **command.variables}


class Effort(NamedTuple):
    """How often to run: ``runs`` times, but no more once ``seconds`` have passed."""

    runs: int
    seconds: float = float("inf")


Once = Callable[[int], Sample]
"""Runs something; the argument is how often it has run before."""


def in_turns(calls: Sequence[Once], effort: Effort, clock: Callable[[], float] = time.monotonic) -> list[Figures]:
    """Run each in turn, so that whatever else the machine does slows down all of them. ``effort.seconds`` are those
    of one call on average, including what it prepares.
    """
    turns: list[list[Sample]] = []
    start = clock()
    while len(turns) < effort.runs and (len(turns) < LEAST or (clock() - start) / len(calls) < effort.seconds):
        turns.append([once(len(turns)) for once in calls])
    return [Figures(tuple(samples)) for samples in zip(*turns, strict=True)]


def load() -> float:
    """Return the load average of the last minute; 0 where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
