"""Data-parallel training with MPI: a logistic regression on data that every rank generates for itself.

    mpirun python3 -m mpi4py train.py --steps 200 --checkpoints /mnt/checkpoints

`python3 -m mpi4py` matters: an exception on one rank then aborts the job, where it would otherwise leave the others
waiting for ever.

The data is divided into shards, each generated from the seed and its own number, and a rank has every so many-th of
them. Gradients are summed over shards as 64-bit integers (fixed point), whose sum does not depend on the order: the
weights are the same to the bit on one rank and on a hundred, and a run can go on with another number of ranks than it
began with. Rank 0 writes checkpoints by rename, so that a reader sees a whole one or none.

Rank 0 prints one line of JSON on standard output, the result; log lines go to standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import logging
import os
import platform
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

LOG = logging.getLogger("train")

SCALE = 2.0**32
"""The steps of fixed point in one: sums of a million rows below a thousand each still fit 64 bits."""

KEPT = 2
"""How many checkpoints stay, so that one is left where the newest cannot be read."""

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class TrainingError(Exception):
    """The run cannot go on; the text says why."""


@dataclass(frozen=True)
class Problem:
    """What is trained, by which runs that may share checkpoints are told apart."""

    seed: int = 7
    shards: int = 64
    rows: int = 128
    features: int = 16
    rate: float = 1.0
    decay: float = 1e-4

    def fingerprint(self) -> str:
        """Return a digest of all that makes the weights."""
        text = json.dumps(self.__dict__, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class Communicator(Protocol):
    """What training needs of MPI."""

    rank: int
    size: int

    def total(self, local: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum over all ranks, on each of them."""
        ...

    def from_root(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        ...

    def to_root(self, value: Any) -> list[Any]:
        """Return on rank 0 what every rank gave, by rank; elsewhere an empty list."""
        ...


class Alone:
    """One process, without MPI."""

    rank = 0
    size = 1

    def total(self, local: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum over the only rank."""
        return local.copy()

    def from_root(self, value: Any) -> Any:
        """Return the value."""
        return value

    def to_root(self, value: Any) -> list[Any]:
        """Return the value as the only one."""
        return [value]


class World:
    """All ranks of an MPI job."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self.rank = self._world.Get_rank()
        self.size = self._world.Get_size()
        self.library = MPI.Get_library_version().split("\n", 1)[0].rstrip("\0 ,")

    def total(self, local: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum over all ranks, by Allreduce on the arrays' memory."""
        result = np.empty_like(local)
        self._world.Allreduce(local, result, op=self._mpi.SUM)
        return result

    def from_root(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        return self._world.bcast(value, root=0)

    def to_root(self, value: Any) -> list[Any]:
        """Return on rank 0 what every rank gave."""
        return self._world.gather(value, root=0) or []


def shard(problem: Problem, number: int) -> tuple[Matrix, Vector]:
    """Return rows and labels (0 or 1) of one shard; they depend on the problem and the number only."""
    truth = np.random.default_rng([problem.seed, 0]).standard_normal(problem.features)
    chance = np.random.default_rng([problem.seed, 1, number])
    rows = chance.standard_normal((problem.rows, problem.features))
    noise = chance.logistic(size=problem.rows)
    return rows, (rows @ truth + noise > 0).astype(np.float64)


def partial_sums(rows: Matrix, labels: Vector, weights: Vector) -> NDArray[np.int64]:
    """Return a shard's gradient, loss and number of right answers, summed over its rows, in fixed point."""
    margins = rows @ weights
    losses = np.logaddexp(0.0, margins) - labels * margins
    chances = 0.5 * (1.0 + np.tanh(0.5 * margins))
    right = np.count_nonzero((margins > 0) == (labels > 0.5))
    sums = np.concatenate((rows.T @ (chances - labels), [losses.sum(), float(right)]))
    return np.rint(sums * SCALE).astype(np.int64)


@dataclass(frozen=True)
class State:
    """Where training stands: the steps done, and the weights after them."""

    step: int
    weights: Vector

    def digest(self) -> str:
        """Return the SHA-256 of the weights' bytes."""
        return hashlib.sha256(self.weights.astype("<f8").tobytes()).hexdigest()


@dataclass(frozen=True)
class Score:
    """How good the weights are on all shards: the mean loss without decay, and the share of right answers."""

    loss: float
    accuracy: float


def steps(world: Communicator, problem: Problem, start: State) -> Iterator[tuple[State, Score]]:
    """Yield, without end, the state after each further step, and the score before it."""
    own = [shard(problem, number) for number in range(world.rank, problem.shards, world.size)]
    state = start
    count = problem.shards * problem.rows
    while True:
        local = np.zeros(problem.features + 2, dtype=np.int64)
        for rows, labels in own:
            local += partial_sums(rows, labels, state.weights)
        sums = world.total(local) / SCALE / count
        gradient = sums[:-2] + problem.decay * state.weights
        state = State(state.step + 1, state.weights - problem.rate * gradient)
        yield state, Score(float(sums[-2]), float(sums[-1]))


class Checkpoints:
    """A folder of checkpoints, which only one process may write."""

    def __init__(self, folder: Path, problem: Problem) -> None:
        self._folder = folder
        self._fingerprint = problem.fingerprint()

    def save(self, state: State) -> None:
        """Write a state: first beside its place, then by rename. OSError where the folder cannot be written."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"step-{state.step:08d}.npz"
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with temporary.open("wb") as file:
                np.savez(file, weights=state.weights, step=state.step, problem=self._fingerprint)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        self._sync()
        for old in self._files()[KEPT:]:
            old.unlink(missing_ok=True)

    def load(self) -> State | None:
        """Return the newest state that can be read. TrainingError if it is one of another problem."""
        for path in self._files():
            try:
                with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
                    fingerprint, step = str(found["problem"]), int(found["step"])
                    weights = np.array(found["weights"], dtype=np.float64)
            except Exception as error:  # noqa: BLE001 - a damaged file fails in many ways
                LOG.warning("%s cannot be read, the one before it is tried: %s", path.name, error)
                continue
            if fingerprint != self._fingerprint:
                raise TrainingError(f"{path} is of another problem: choose another folder, or the same arguments")
            return State(step, weights)
        return None

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("step-*.npz"), reverse=True)

    def _sync(self) -> None:
        """Make the rename last through a power cut, where the file system can."""
        with contextlib.suppress(OSError):
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def train(world: Communicator, problem: Problem, options: argparse.Namespace) -> tuple[State, Score, int]:
    """Train to the end; return the state, the score before the last step, and the step that the run began with."""
    store = Checkpoints(options.checkpoints, problem) if options.checkpoints and world.rank == 0 else None
    state: State = world.from_root(_begin(store, problem))
    began, score = state.step, Score(float("nan"), float("nan"))
    if began:
        LOG.info("going on from step %d", began)
    run = steps(world, problem, state)
    while state.step < options.steps:
        _fail(world, options, began, state.step)
        state, score = next(run)
        if world.rank == 0 and state.step % options.log_every == 0:
            LOG.info("step %d: loss %.6f, accuracy %.4f", state.step, score.loss, score.accuracy)
        if store and (state.step % options.checkpoint_every == 0 or state.step == options.steps):
            store.save(state)
        if options.pause:
            time.sleep(options.pause)
    return state, score, began


def _begin(store: Checkpoints | None, problem: Problem) -> State:
    return (store.load() if store else None) or State(0, np.zeros(problem.features))


def _fail(world: Communicator, options: argparse.Namespace, began: int, step: int) -> None:
    """Raise where --fail-step says so: in a run from the beginning only, so that a restart can succeed."""
    if step == options.fail_step and world.rank == options.fail_rank and began == 0:
        raise TrainingError(f"rank {world.rank} fails at step {step}, as --fail-step says")


def result(world: Communicator, state: State, score: Score, began: int) -> dict[str, Any]:
    """Return on rank 0 what the run has come to; elsewhere nothing. ``hosts`` are host names by rank."""
    hosts = world.to_root(socket.gethostname())
    if world.rank != 0:
        return {}
    return {
        "ranks": world.size,
        "hosts": hosts,
        "steps": state.step,
        "resumedFrom": began,
        "loss": round(score.loss, 9),
        "accuracy": round(score.accuracy, 6),
        "weights": f"sha256:{state.digest()}",
        "mpi": getattr(world, "library", None),
        "python": platform.python_version(),
    }


def checked(problem: Problem, options: argparse.Namespace, state: State) -> None:
    """Train again in this process alone, from the beginning. TrainingError if the weights are other ones."""
    run = steps(Alone(), problem, State(0, np.zeros(problem.features)))
    expected = State(0, np.zeros(problem.features))
    while expected.step < options.steps:
        expected, _ = next(run)
    if not np.array_equal(expected.weights, state.weights):
        apart = float(np.abs(expected.weights - state.weights).max())
        raise TrainingError(f"one process alone comes to other weights, up to {apart:.3g} apart")
    LOG.info("one process alone comes to the same weights")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(description="Train a logistic regression on all ranks of an MPI job.")
    found.add_argument("--steps", type=_count, default=200, help="steps in all, those of earlier runs included")
    for name, kind, text in (
        ("seed", int, "of the data"),
        ("shards", _count, "parts of the data, shared out among ranks"),
        ("rows", _count, "of data in a shard"),
        ("features", _count, "of a row"),
        ("rate", float, "of learning"),
        ("decay", float, "of weights"),
    ):
        found.add_argument(f"--{name}", type=kind, default=getattr(Problem, name), help=f"{text} (default %(default)s)")
    found.add_argument("--checkpoints", type=Path, help="a folder; a run goes on from the newest one there")
    found.add_argument("--checkpoint-every", type=_count, default=50, metavar="STEPS")
    found.add_argument("--log-every", type=_count, default=50, metavar="STEPS")
    found.add_argument("--log-all-ranks", action="store_true", help="show remarks of every rank, not of rank 0 only")
    found.add_argument("--check", action="store_true", help="at the end compare with what one process alone comes to")
    found.add_argument("--alone", action="store_true", help="do without MPI")
    found.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="wait so long after every step")
    found.add_argument("--fail-step", type=int, help="raise an exception at this step, unless the run was resumed")
    found.add_argument("--fail-rank", type=int, default=0, help="the rank that does (default 0)")
    return found


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def configure_log(world: Communicator, everybody: bool) -> None:
    """Send log lines to standard error, each with its rank and host: remarks of rank 0, warnings of all."""
    place = f"[{world.rank}/{world.size} {socket.gethostname()}]"
    logging.basicConfig(
        format=f"%(asctime)s {place} %(levelname)s %(message)s",
        level=logging.INFO if everybody or world.rank == 0 else logging.WARNING,
        stream=sys.stderr,
        force=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run. Any exception is left to `python3 -m mpi4py`, which aborts the job."""
    options = parser().parse_args(arguments)
    world: Communicator = Alone() if options.alone else World()
    configure_log(world, options.log_all_ranks)
    names = Problem.__dataclass_fields__
    problem = Problem(**{name: getattr(options, name) for name in names})
    LOG.info("%d shards of %d rows on %d ranks", problem.shards, problem.rows, world.size)
    state, score, began = train(world, problem, options)
    if options.check and world.rank == 0:
        checked(problem, options, state)
    found = result(world, state, score, began)
    if found:
        sys.stdout.write(json.dumps(found, sort_keys=True) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
