"""Files are written by rename: whoever looks sees the old bytes or the new ones, after any end of a run."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from trainc.project import write as putfile
from trainc.project.write import MANY, OWNED, apply, plan


@pytest.mark.parametrize("count", [1, MANY])
@pytest.mark.parametrize("torn", [b"", OWNED[:9], OWNED + b"half", bytes(100)])
def test_what_a_power_cut_left_is_written_again(tmp_path: Path, torn: bytes, count: int) -> None:
    files = {f"out/prod/a/{number}/x.yaml": OWNED + b"new\n" for number in range(count)}
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(torn)
    todo = plan(tmp_path, files)
    assert not todo.blocked
    apply(todo)
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == count


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
    assert steps == (["disk"] * (count if count < MANY else 1) + ["name"] * count), "many wait once"
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


def test_a_file_system_that_is_read_only_is_reported_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, removing a file that does not exist fails as well."""

    def fail(path: str | Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(path))

    monkeypatch.setattr("builtins.open", fail)
    monkeypatch.setattr(os, "unlink", fail)
    with pytest.raises(OSError, match="Read-only file system") as error:
        putfile.replace_file(str(tmp_path / "x.yaml"), b"new")
    assert error.value.filename == str(tmp_path / "x.yaml")


def test_a_temporary_file_of_another_run_stays(tmp_path: Path) -> None:
    other = tmp_path / f".trainc-{os.getpid()}-0.tmp"
    other.write_bytes(b"half")
    putfile.replace_file(str(tmp_path / "x.yaml"), b"new")
    assert other.read_bytes() == b"half"
    assert (tmp_path / "x.yaml").read_bytes() == b"new"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_is_created_where_files_have_one_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """As on FAT, and on many file systems of networks."""

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", fail)
    assert putfile.create(tmp_path, "x.yaml", "new")
    assert not putfile.create(tmp_path, "x.yaml", "newer")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x.yaml", "new")]


@pytest.mark.parametrize("late", [b"edited", b"old and more", None])
def test_a_source_that_changes_while_it_is_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bytes | None
) -> None:
    """Waiting for the disk takes so long that an editor, or another run, may save in between."""
    path, wait = tmp_path / "x.yaml", os.fsync
    path.write_bytes(b"old")

    def slow(handle: int) -> None:
        wait(handle)
        path.write_bytes(late) if late is not None else path.unlink()

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(OSError, match=r"changed since it was read|No such file"):
        putfile.replace_sources(str(tmp_path), [(str(path), b"old", b"new")])
    assert [each.read_bytes() for each in tmp_path.iterdir()] == ([] if late is None else [late])


def test_a_source_that_may_only_be_read_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the right to write its folder is needed, as for a rename."""
    path, open_file = tmp_path / "x.yaml", os.open
    path.write_bytes(b"old")

    def refuse(name: str | Path, flags: int, *rest: int) -> int:
        if str(name) == str(path) and flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(name))
        return open_file(name, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    putfile.replace_sources(str(tmp_path), [(str(path), b"old", b"new")])
    assert path.read_bytes() == b"new"


def test_a_source_that_another_program_has_locked_stays(tmp_path: Path) -> None:
    """As below flock(1). It has not changed, so the message does not say that."""
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "x.yaml"
    path.write_bytes(b"old")
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="locked by another program"):
            putfile.replace_sources(str(tmp_path), [(str(path), b"old", b"new")])
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"old"]


def test_a_new_source_that_exists_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    putfile.replace_sources(str(tmp_path), [(str(path), None, b"new")])
    with pytest.raises(OSError, match="changed since it was read"):
        putfile.replace_sources(str(tmp_path), [(str(path), None, b"newer")])
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("x.yaml", b"new")]


def test_two_runs_do_not_replace_one_source(tmp_path: Path) -> None:
    """Each sees the bytes that the first one replaces, or a lock, or another file behind the name."""
    path = tmp_path / "x.yaml"
    for _ in range(10):
        path.write_bytes(b"old")
        children = []
        for number in range(4):
            if (child := os.fork()) == 0:
                try:
                    putfile.replace_sources(str(tmp_path), [(str(path), b"old", b"new %d" % number)])
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
        done = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert done.count(0) == 1
        assert path.read_bytes() == b"new %d" % done.index(0)
