"""What a command takes, from process start: clock, processors, memory; and what many runs of it say together."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SPAWN = Path(__file__).with_name("spawn.py")
KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
"""Variables of the environment that measured commands see, too; nothing else of a user's settings counts."""


class BenchError(Exception):
    """A command that is measured, or needed for measuring, failed; the message says how."""


class Sample(NamedTuple):
    """One run: seconds by the clock, of processors in user and in system mode; peak memory in MiB."""

    wall: float
    user: float
    system: float
    peak: float

    @property
    def cpu(self) -> float:
        """Seconds of processors."""
        return self.user + self.system


@dataclass(frozen=True, slots=True)
class Figures:
    """Runs of one command. Minima say what it costs, medians what a machine that is busy with others shows."""

    samples: tuple[Sample, ...]

    def __post_init__(self) -> None:
        if not self.samples:
            raise ValueError("no run")

    @property
    def wall(self) -> float:
        """Least seconds by the clock."""
        return min(each.wall for each in self.samples)

    @property
    def median(self) -> float:
        """Median of the seconds by the clock."""
        return statistics.median(each.wall for each in self.samples)

    @property
    def cpu(self) -> float:
        """Least seconds of processors."""
        return min(each.cpu for each in self.samples)

    @property
    def user(self) -> float:
        """Least seconds of processors in user mode."""
        return min(each.user for each in self.samples)

    @property
    def peak(self) -> float:
        """Most memory, in MiB."""
        return max(each.peak for each in self.samples)

    def joined(self, other: Figures) -> Figures:
        """Return the figures of the runs of both."""
        return Figures((*self.samples, *other.samples))


@dataclass(frozen=True, slots=True)
class Command:
    """A command to measure: words, folder, variables to add, exit statuses that are right, and where its streams lead.

    ``source`` is a file for standard input, ``output`` one for standard output.
    """

    words: Sequence[str | Path]
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    expected: frozenset[int] = frozenset((0,))
    source: Path | None = None
    output: Path | None = None


def run(command: Command, scratch: Path) -> Sample:
    """Run once. BenchError, with the end of what it said, for another exit status than those expected."""
    errors = scratch / "errors.txt"
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    environment |= {"HOME": str(scratch), **command.variables}
    if command.source is not None:
        environment["SPAWN_INPUT"] = str(command.source)
    output = command.output or scratch / "output.txt"
    words = [sys.executable, "-I", "-S", SPAWN, output, errors, *command.words]
    done = subprocess.run(words, cwd=command.folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{_spelt(command)}: {done.stderr.strip()[-500:]}")
    status, wall, user, system, peak = done.stdout.split()
    if int(status) not in command.expected:
        said = "\n".join(path.read_text(errors="replace")[-1500:] for path in (output, errors))
        raise BenchError(f"{_spelt(command)}: exit status {status}\n{said}")
    return Sample(float(wall), float(user), float(system), int(peak) / (1024 if sys.platform != "darwin" else 1024**2))


def _spelt(command: Command) -> str:
    return " ".join(Path(word).name if isinstance(word, Path) else word for word in command.words)


@dataclass(frozen=True, slots=True)
class Effort:
    """How often to run: ``runs`` times, but no more once ``seconds`` have gone, and at least ``least`` times.

    What is quick is run on until ``steady`` seconds have gone: three runs of a tenth of a second say little on a
    machine that is busy with others.
    """

    runs: int
    seconds: float = float("inf")
    least: int = 1
    steady: float = 0.0

    def goes_on(self, done: int, passed: float) -> bool:
        """Tell whether to run once more after so many runs and seconds."""
        return done < self.least or passed < self.steady or (done < self.runs and passed < self.seconds)


Once = Callable[[int], Sample]
"""Runs something, told how often it ran before."""


def in_turns(calls: Sequence[Once], effort: Effort, clock: Callable[[], float] = time.monotonic) -> list[Figures]:
    """Call each with 0, 1, 2, ... as long as the effort lasts, one after the other, so that what else the machine does
    slows down all. Seconds of the effort are those of one call in the mean, with what it prepares.
    """
    turns: list[list[Sample]] = []
    start = clock()
    while effort.goes_on(len(turns), (clock() - start) / len(calls)):
        turns.append([once(len(turns)) for once in calls])
    return [Figures(tuple(samples)) for samples in zip(*turns, strict=True)]


def measure(once: Once, effort: Effort, clock: Callable[[], float] = time.monotonic) -> Figures:
    """Call with 0, 1, 2, ... as long as the effort lasts."""
    [figures] = in_turns((once,), effort, clock)
    return figures


class Pair(NamedTuple):
    """Two commands measured in turns."""

    ours: Figures
    theirs: Figures

    def joined(self, other: Pair) -> Pair:
        """Return the runs of both."""
        return Pair(self.ours.joined(other.ours), self.theirs.joined(other.theirs))

    @property
    def wall_ratio(self) -> float:
        """Our least seconds by the clock over theirs: below 1 we are faster."""
        return self.ours.wall / self.theirs.wall

    @property
    def cpu_ratio(self) -> float:
        """Our least seconds of processors over theirs."""
        return self.ours.cpu / self.theirs.cpu


def alternate(ours: Once, theirs: Once, effort: Effort) -> Pair:
    """Measure in turns, ours first."""
    return Pair(*in_turns((ours, theirs), effort))


def load() -> float:
    """Return the load average of the last minute; 0 where the system knows none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
