"""Files that many change in place: everything that a rename keeps is kept, or a rename it is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainc import putfile
from trainc.putfile import alone, overwrite_file
from trainc.write import MANY, OWNED, apply, plan


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"old bytes")
    return path


def inode(path: Path) -> int:
    return path.stat().st_ino


@settings(max_examples=80, deadline=None)
@given(st.binary(min_size=1, max_size=9000), st.binary(max_size=9000))
def test_in_place_a_file_has_the_new_bytes_or_is_left(
    tmp_path_factory: pytest.TempPathFactory, old: bytes, new: bytes
) -> None:
    path = tmp_path_factory.mktemp("file") / "x.yaml"
    path.write_bytes(old)
    before = inode(path)
    room = path.stat().st_blocks * 512
    assert overwrite_file(str(path), new) is (len(new) <= room)
    assert path.read_bytes() == (new if len(new) <= room else old)
    assert inode(path) == before


def test_bytes_that_need_room_are_renamed(path: Path) -> None:
    size = path.stat().st_blocks * 512 + 1
    assert overwrite_file(str(path), b"x" * size) is False
    assert path.read_bytes() == b"old bytes"


def test_a_file_with_two_names(path: Path) -> None:
    os.link(path, path.with_name("other.yaml"))
    assert overwrite_file(str(path), b"new") is False
    assert path.read_bytes() == b"old bytes"


def test_what_is_no_file(tmp_path: Path, path: Path) -> None:
    link, pipe, folder, gone = (tmp_path / name for name in ("link", "pipe", "folder", "gone"))
    link.symlink_to(path)
    os.mkfifo(pipe)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for each in (link, pipe, folder, gone, tmp_path / "socket"):
            assert overwrite_file(str(each), b"new") is False, each.name
    assert path.read_bytes() == b"old bytes"
    assert not gone.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written(path: Path) -> None:
    path.chmod(0o444)
    assert overwrite_file(str(path), b"new") is False


@pytest.mark.parametrize("step", ["pwrite", "ftruncate"])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_file_that_an_interrupt_meets_is_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, done: bool
) -> None:
    real = getattr(os, step)
    met: list[object] = []

    def interrupted(*arguments: object) -> object:
        result = real(*arguments) if met or done else None
        if not met:
            met.append(arguments)
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(os, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        overwrite_file(str(path), b"new")
    assert met
    assert path.read_bytes() == b"new"


def test_a_write_may_take_several_steps(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, offset: real(file, bytes(data)[:2], offset))
    assert overwrite_file(str(path), b"newer")
    assert path.read_bytes() == b"newer"


def test_only_one_run_is_alone(tmp_path: Path) -> None:
    with alone(str(tmp_path)) as first:
        with alone(str(tmp_path)) as second:
            assert (first, second) == (True, False)
        code = f"from trainc.putfile import alone\nwith alone({str(tmp_path)!r}) as it: print(it)"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert said == "False\n"
    with alone(str(tmp_path)) as third:
        assert third
    assert list(tmp_path.iterdir()) == []


def test_nobody_is_alone_without_locks_or_a_way_to_tell_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with alone(str(tmp_path / "gone")) as it:
        assert not it
    with monkeypatch.context() as patch:
        patch.setattr(putfile, "boot", lambda: "")
        with alone(str(tmp_path)) as it:
            assert not it
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with alone(str(tmp_path)) as it:
        assert not it


@pytest.fixture
def fleet(tmp_path: Path) -> dict[str, bytes]:
    """Write files of many jobs, and return others for their places; the last of them needs more room."""
    files = {f"out/prod/a/{number:03}/x.yaml": OWNED + b"old and long\n" for number in range(MANY)}
    apply(plan(tmp_path, files))
    wanted = dict.fromkeys(files, OWNED + b"new\n")
    wanted[max(wanted)] += b"x" * 10_000
    return wanted


def inodes(root: Path, names: dict[str, bytes]) -> list[int]:
    return [inode(root / name) for name in names]


def test_many_files_change_in_place(tmp_path: Path, fleet: dict[str, bytes]) -> None:
    other = tmp_path / "other.yaml"
    os.link(tmp_path / min(fleet), other)
    before = inodes(tmp_path, fleet)
    apply(plan(tmp_path, fleet))
    after = inodes(tmp_path, fleet)
    assert after[1:-1] == before[1:-1], "in place"
    assert (after[0] != before[0], after[-1] != before[-1]) == (True, True), "two names; needs room"
    assert {name: (tmp_path / name).read_bytes() for name in fleet} == fleet
    assert other.read_bytes() == OWNED + b"old and long\n"
    assert plan(tmp_path, fleet).unchanged == tuple(sorted(fleet))


@pytest.mark.parametrize("what", ["few", "another run"])
def test_else_files_are_renamed(tmp_path: Path, fleet: dict[str, bytes], what: str) -> None:
    if what == "few":
        fleet.pop(min(fleet))
    before = inodes(tmp_path, fleet)
    todo = plan(tmp_path, fleet, ["out/prod/a"] if what != "few" else [name.rpartition("/")[0] for name in fleet])
    assert len(todo.change) == len(fleet)
    with alone(str(tmp_path) if what == "another run" else str(tmp_path / "out")):
        apply(todo)
    assert all(new != old for new, old in zip(inodes(tmp_path, fleet), before, strict=True))
    assert {name: (tmp_path / name).read_bytes() for name in fleet} == fleet


def test_the_rest_of_a_run_killed_in_the_middle_is_made_whole(
    tmp_path: Path, fleet: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by SIGKILL between the bytes and the new end of a file."""

    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(putfile.os, "ftruncate", kill)
        with pytest.raises(Killed):
            apply(plan(tmp_path, fleet))
    torn = (tmp_path / min(fleet)).read_bytes()
    assert torn.startswith(OWNED)
    assert torn not in (OWNED + b"old and long\n", OWNED + b"new\n")
    todo = plan(tmp_path, fleet)
    assert not todo.blocked
    apply(todo)
    assert {name: (tmp_path / name).read_bytes() for name in fleet} == fleet


@pytest.mark.parametrize("count", [1, MANY - 1, MANY, MANY + 1])
def test_bytes_are_on_the_disk_before_a_file_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    steps: list[str] = []
    fsync, replace, sync = os.fsync, os.replace, putfile._sync
    monkeypatch.setattr(os, "fsync", lambda file: (steps.append("disk"), fsync(file)))
    monkeypatch.setattr(os, "replace", lambda *names: (steps.append("name"), replace(*names)))
    monkeypatch.setattr(putfile, "_sync", lambda folder: (steps.append("disk"), sync(folder)))
    files = {f"out/prod/a/{number}/x.yaml": OWNED + b"x\n" for number in range(count)}
    apply(plan(tmp_path, files))
    assert steps == (["disk", "name"] * count if count < MANY else ["disk", *["name"] * count]), "many wait once"
    assert plan(tmp_path, files).unchanged == tuple(sorted(files))


@pytest.mark.parametrize("fault", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_many_files_that_do_not_reach_the_disk_are_not_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    def fail(_: str) -> None:
        raise fault

    monkeypatch.setattr(putfile, "_sync", fail)
    with pytest.raises(type(fault)):
        apply(plan(tmp_path, {f"out/prod/a/{number}/x.yaml": OWNED for number in range(MANY)}))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_temporary_file_of_another_run_stays(tmp_path: Path) -> None:
    other = tmp_path / f".trainc-{os.getpid()}-0.tmp"
    other.write_bytes(b"half")
    putfile.replace_file(str(tmp_path / "x.yaml"), b"new")
    assert other.read_bytes() == b"half"
    assert (tmp_path / "x.yaml").read_bytes() == b"new"
    assert len(list(tmp_path.iterdir())) == 2
