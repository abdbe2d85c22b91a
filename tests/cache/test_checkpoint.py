"""An interrupted run goes on where it stopped: what finished is not compiled again, and out/ is the same."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from smallrepository import JOB, RUNTIME, Compiled, pause, run
from walking import tree

from folders import put
from trainc.cache import checkpoint
from trainc.cache.checkpoint import NAME, Checkpoint
from trainc.cache.store import Store, open_store
from trainc.cli.root import trainc
from trainc.pipeline import job
from trainc.project import write

BROKEN = JOB.format(name="two", runtime="nothing")


def path(root: Path) -> Path:
    store = open_store(root)
    assert store is not None
    return store.path(NAME)


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that renders and interrupts the run after so many jobs."""

    def interrupted(after: int, *args: str) -> None:
        count, real = 0, job.compile_job

        def stopping(*words: object) -> object:
            nonlocal count
            count += 1
            if count > after:
                raise KeyboardInterrupt
            return real(*words)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(job, "compile_job", stopping)
            assert CliRunner().invoke(trainc, ("render", *args)).exit_code not in (0, 1, 2, 3)

    return interrupted


@pytest.fixture
def expected(repository: Path) -> dict[str, bytes | None]:
    """The repository and out/, as a run without a cache renders it."""
    run("render", "--no-cache")
    files = tree(repository)
    shutil.rmtree(repository / "out")
    return files


def test_finished_jobs_are_not_compiled_again(
    repository: Path, compiled: Compiled, interrupt: Callable[..., None], expected: dict[str, bytes | None]
) -> None:
    compiled()
    interrupt(2)
    done = compiled()
    assert len(done) == 2
    interrupt(1)  # the second run adds to the first
    done += compiled()
    run("render")
    assert sorted(done + compiled()) == ["four", "one", "three", "two"]
    assert tree(repository) == expected
    assert not path(repository).exists()
    run("render", "--check")
    assert compiled() == []


@pytest.mark.parametrize(
    ("edit", "again"),
    [
        (("jobs/a/four.yaml", JOB.format(name="four", runtime="other") + "# changed\n"), ["four"]),
        (("runtimes/other.yaml", RUNTIME.format(name="other", image="example.com/img:2")), ["four", "three"]),
        (("trainc.yaml", "environments:\n  other: {}\n"), ["four", "one", "three", "two"]),
    ],
)
def test_a_changed_input_is_compiled_again(
    repository: Path, compiled: Compiled, interrupt: Callable[..., None], edit: tuple[str, str], again: list[str]
) -> None:
    run("render", "--no-cache")
    shutil.rmtree(repository / "out")
    put(repository, "jobs/b/last.yaml", JOB.format(name="last", runtime="plain"))
    interrupt(4)  # jobs/b is last
    compiled()
    put(repository, *edit)
    pause()
    run("render")
    assert compiled() == sorted([*again, "last"])
    files = tree(repository)
    run("render", "--no-cache")
    assert tree(repository) == files


def test_after_an_error_only_its_job_is_compiled_again(repository: Path, compiled: Compiled) -> None:
    whole = (repository / "jobs/a/two.yaml").read_text()
    put(repository, "jobs/a/two.yaml", BROKEN)
    run("render", status=1)
    assert not (repository / "out").exists()
    put(repository, "jobs/a/two.yaml", whole)
    pause()
    run("validate")
    compiled()
    run("render")
    assert compiled() == ["two"]
    files = tree(repository)
    run("render", "--no-cache")
    assert tree(repository) == files


def test_a_damaged_file_does_no_harm(
    repository: Path, interrupt: Callable[..., None], expected: dict[str, bytes | None]
) -> None:
    interrupt(3)
    data = path(repository).read_bytes()
    size = len(data)
    cut = [data[:end] for end in (0, 1, 23, 24, 25, size // 2, size - 1)]
    flipped = [data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :] for at in (0, 4, 8, 30, size // 2, size - 1)]
    for damaged in (*cut, *flipped, b"\xff" * 100, data + data, data + b"\0" * 30):
        path(repository).write_bytes(damaged)
        run("render")
        assert tree(repository) == expected
        shutil.rmtree(repository / "out")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, b"\xc1"),  # not MessagePack
        (b"prod", b"\xff\xff\xff\xff"),
        (b"img:1", b"img:9"),  # not the bytes of the digest
        (b"plain", b"plai\xff"),
    ],
)
def test_a_record_of_others_is_compiled_again(
    repository: Path, interrupt: Callable[..., None], expected: dict[str, bytes | None], old: bytes | None, new: bytes
) -> None:
    interrupt(1)
    data = path(repository).read_bytes()
    size, rest, _ = checkpoint._HEAD.unpack(data[:24])
    forged = new * (size + rest) if old is None else data[24:].replace(old, new)
    head = checkpoint._HEAD.pack(size, rest, checkpoint.digest_of(forged))
    path(repository).write_bytes(head + forged)
    run("render")
    assert tree(repository) == expected


def _raise(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_without_the_file_bytes_stay_in_memory(
    repository: Path, expected: dict[str, bytes | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may be full, also in the middle of a record; another run may use the file, or another user own it."""

    def check() -> None:
        run("render")
        assert tree(repository) == expected
        shutil.rmtree(repository / "out")

    for function, replacement in (
        ("os.pwrite", _raise),
        ("os.pwrite", lambda handle, data, offset: os.write(handle, data[:100])),
        ("fcntl.lockf", _raise),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(function, replacement)
            check()
    path(repository).write_bytes(b"of another")
    path(repository).chmod(0o666)
    check()
    assert path(repository).read_bytes() == b"of another"
    path(repository).unlink()
    path(repository).symlink_to(repository / "trainc.yaml")
    check()


def test_results_of_many_interrupted_runs_do_not_pile_up(
    repository: Path, compiled: Compiled, interrupt: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run of a loop of edits and errors compiles the same jobs again, and none of them removes the file."""
    monkeypatch.setattr(checkpoint, "SPARE", 0)
    sizes = []
    for number in range(9):
        for name in ("plain", "other"):
            put(repository, f"runtimes/{name}.yaml", RUNTIME.format(name=name, image=f"example.com/img:{number}"))
        interrupt(3)
        sizes.append(path(repository).stat().st_size)
    assert max(sizes) < 3.5 * sizes[0]
    compiled()
    run("render")
    assert compiled() == ["two"], "what finished last is kept"
    files = tree(repository)
    run("render", "--no-cache")
    assert tree(repository) == files


def test_bytes_that_another_run_replaced_are_not_written(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks may do nothing between the machines that share a network file system."""
    real = write.apply

    def disturbed(*arguments: object) -> None:
        file = path(repository)
        file.write_bytes(file.read_bytes().replace(b"img:1", b"img:9"))
        real(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(write, "apply", disturbed)
        told = run("render", status=2).output
    assert told.endswith("out/prod/a/four/jobset-four.yaml: the cache was changed during the run\n"), told
    assert not list((repository / "out").rglob("*.yaml"))
    run("render")
    assert run("render", "--check", "--no-cache").output == ""


def test_a_file_that_failed_is_not_opened_again(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing a file that is open twice would unlock it."""
    opened, real = [], Checkpoint.open

    def spy(store: Store) -> Checkpoint | None:
        opened.append(real(store))
        return opened[-1]

    monkeypatch.setattr(Checkpoint, "open", spy)
    monkeypatch.setattr("os.pwrite", _raise)
    put(repository, "trainc.yaml", "environments:\n  prod: {}\n  dev: {}\n")
    run("render")
    assert len(opened) == 1
