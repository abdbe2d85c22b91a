"""The trainer program of the images: on any number of ranks the weights that one process comes to."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from imagecase import REPOSITORY

from effort import thorough

np = pytest.importorskip("numpy", reason="the extra mpi is not installed")

PROGRAM = REPOSITORY / "images" / "mpi4py" / "train.py"
MPIEXEC = Path(sys.executable).with_name("mpiexec")
SMALL = ("--steps", "12", "--shards", "6", "--rows", "32", "--features", "5")


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["train"] = module
    spec.loader.exec_module(module)
    return module


train = load()
PROBLEM = train.Problem(shards=6, rows=32, features=5)


class Meeting:
    """A rank among threads: what all give is added up in the order of ranks, or backwards."""

    def __init__(self, rank: int, given: list[Any], barrier: threading.Barrier, backwards: bool) -> None:
        self.rank, self.size = rank, len(given)
        self._given, self._barrier, self._backwards = given, barrier, backwards

    def total(self, local: Any) -> Any:
        everything = self.to_root(local)
        ordered = reversed(everything) if self._backwards else everything
        result = np.zeros_like(local)
        for each in ordered:
            result += each
        return result

    def from_root(self, value: Any) -> Any:
        return self.to_root(value)[0]

    def to_root(self, value: Any) -> list[Any]:
        self._given[self.rank] = value
        self._barrier.wait(60)
        everything = list(self._given)
        self._barrier.wait(60)
        return everything


def together(size: int, backwards: bool) -> list[Any]:
    """Train on ranks that are threads, and return the weights of each."""
    given: list[Any] = [None] * size
    barrier = threading.Barrier(size)
    with ThreadPoolExecutor(size) as pool:
        ranks = [Meeting(rank, given, barrier, backwards) for rank in range(size)]
        done = [pool.submit(train.train, rank, PROBLEM, options()) for rank in ranks]
        return [each.result(60)[0].weights for each in done]


def options(*arguments: str) -> Any:
    return train.parser().parse_args([*SMALL, *arguments])


def run(*arguments: str) -> Any:
    state, _, began = train.train(train.Alone(), PROBLEM, options(*arguments))
    return state, began


def line(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    train.main([*SMALL, "--alone", *arguments])
    (found,) = capsys.readouterr().out.splitlines()
    result: dict[str, Any] = json.loads(found)
    return result


@pytest.mark.parametrize("size", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("backwards", [False, True])
def test_weights_do_not_depend_on_the_number_of_ranks(size: int, backwards: bool) -> None:
    alone = run()[0].weights
    assert [np.array_equal(weights, alone) for weights in together(size, backwards)] == [True] * size


def test_training_learns(capsys: pytest.CaptureFixture[str]) -> None:
    few, many = line(capsys, "--steps", "1"), line(capsys, "--steps", "150")
    assert few["loss"] == pytest.approx(0.693147, abs=1e-5), "all weights are zero: log 2"
    assert many["loss"] < few["loss"] - 0.1, "and much less"
    assert many["accuracy"] > few["accuracy"]
    assert (many["ranks"], len(many["hosts"]), many["steps"], many["resumedFrom"]) == (1, 1, 150, 0)


def test_a_run_goes_on_from_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = line(capsys)
    store = ("--checkpoints", str(tmp_path / "c"), "--checkpoint-every", "4")
    with pytest.raises(train.TrainingError, match="rank 0 fails at step 9"):
        line(capsys, *store, "--fail-step", "9")
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["step-00000004.npz", "step-00000008.npz"]
    again = line(capsys, *store, "--fail-step", "9")
    assert (again["resumedFrom"], again["weights"]) == (8, whole["weights"])
    done = line(capsys, *store)
    assert (done["resumedFrom"], done["steps"], done["weights"]) == (12, 12, whole["weights"])


def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path) -> None:
    store = ("--checkpoints", str(tmp_path), "--checkpoint-every", "4")
    whole, _ = run(*store)
    newest = tmp_path / "step-00000012.npz"
    newest.write_bytes(newest.read_bytes()[:100])
    state, began = run(*store)
    assert began == 8
    assert np.array_equal(state.weights, whole.weights)


def test_a_checkpoint_of_another_problem_is_refused(tmp_path: Path) -> None:
    run("--checkpoints", str(tmp_path))
    other = train.Problem(shards=6, rows=32, features=5, seed=8)
    with pytest.raises(train.TrainingError, match="of another problem"):
        train.train(train.Alone(), other, options("--checkpoints", str(tmp_path)))


def test_a_checkpoint_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = train.Checkpoints(tmp_path, PROBLEM)
    store.save(train.State(1, np.ones(5)))

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        store.save(train.State(2, np.zeros(5)))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001.npz"]
    assert store.load().step == 1


def mpi(*arguments: str, ranks: int) -> subprocess.CompletedProcess[str]:
    surroundings = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, "-m", "mpi4py", str(PROGRAM), *SMALL, *arguments]
    return subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False, timeout=120)


needs_mpi = pytest.mark.skipif(
    not MPIEXEC.exists() or importlib.util.find_spec("mpi4py") is None, reason="the extra mpi is not installed"
)


@needs_mpi
def test_real_ranks_come_to_the_weights_of_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    done = mpi("--check", "--log-all-ranks", ranks=3)
    assert done.returncode == 0, done.stderr
    (text,) = done.stdout.splitlines()
    found = json.loads(text)
    assert (found["ranks"], len(found["hosts"])) == (3, 3)
    assert found["weights"] == line(capsys)["weights"]
    assert "Open MPI" in found["mpi"]
    assert {f"[{rank}/3" in done.stderr for rank in range(3)} == {True}, "every rank says who it is"
    assert "the same weights" in done.stderr


@thorough
@needs_mpi
def test_another_number_of_ranks_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ("--checkpoints", str(tmp_path), "--checkpoint-every", "4")
    failed = mpi(*store, "--fail-rank", "1", "--fail-step", "6", ranks=2)
    assert failed.returncode != 0, "an exception on one rank ends the job"
    assert "rank 1 fails at step 6" in failed.stderr
    assert failed.stdout.strip() == ""
    done = mpi(*store, "--check", ranks=3)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["resumedFrom"], found["ranks"], found["weights"]) == (4, 3, line(capsys)["weights"])
