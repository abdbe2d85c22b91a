"""What one run leaves is taken only if it is ours, whole, of this trainc, and nobody else could have written it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gitrepo import commit, git, needs_git
from trainc.cache.checkpoint import Checkpoint
from trainc.cache.store import VARIABLE, Store, cache_folder, open_store

TOOL = "0" * 32
OTHER = "1" * 32


class Value(msgspec.Struct):
    """What is stored."""

    names: dict[str, bytes | None] = {}


STORED = Value({"jobs/a/x.yaml": b"d", "other": None})


needs_owners = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


def open_in(folder: Path, tool: str = TOOL) -> Store:
    return Store(folder / tool, "f" * 32)


def load(store: Store) -> Value | None:
    return store.load("jobs", Value)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store in which something is stored."""
    found = open_in(tmp_path / "cache")
    found.save("jobs", STORED)
    assert load(found) == STORED
    return found


@pytest.fixture
def path(store: Store) -> Path:
    """The file of what is stored."""
    return store.path("jobs")


def test_each_repository_and_tool_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINC_CACHE_DIR", str(tmp_path))
    stores = []
    for tool in (TOOL, OTHER):
        monkeypatch.setattr("trainc.cache.store.fingerprint", lambda tool=tool: tool)
        stores += [open_store(Path("/repository")), open_store(Path("/repository/other"))]
    assert len({store.path(name) for store in stores if store is not None for name in ("jobs", "files")}) == 8


def test_nobody_else_can_read_or_write_it(path: Path, tmp_path: Path) -> None:
    assert [each.stat().st_mode & 0o777 for each in (tmp_path / "cache", path.parent, path)] == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_what_others_may_write_to_is_not_read(store: Store, path: Path, part: int, mode: int) -> None:
    (path, path.parent, path.parent.parent)[part].chmod(mode)
    assert load(store) is None


@needs_owners
@pytest.mark.parametrize("part", [0, 1, 2])
def test_what_others_own_is_not_read(store: Store, path: Path, part: int) -> None:
    os.chown((path, path.parent, path.parent.parent)[part], 12345, -1)
    assert load(store) is None


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_nothing_is_left_where_others_may_write(tmp_path: Path, mode: int) -> None:
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(mode)
    open_in(place).save("jobs", STORED)
    assert list(place.rglob("*.jobs")) == []


@needs_git
def test_what_git_has_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where CI keeps the cache in its checkout, and a pull request adds a file to it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    commit(tmp_path)
    for folder in (tmp_path / "a/cache", tmp_path / "link/cache"):
        monkeypatch.setenv(VARIABLE, str(folder))
        found = open_store(tmp_path)
        assert found is not None
        found.save("jobs", STORED)
        assert open_store(tmp_path) == found, "git does not have it"
        commit(tmp_path)
        assert open_store(tmp_path) is None
        git(tmp_path, "rm", "-r", "-q", "--cached", "a/cache")
        monkeypatch.setenv("PATH", "")
        assert open_store(tmp_path) is None, "git cannot tell"
        monkeypatch.undo()


@pytest.mark.parametrize("in_repository", [False, True])
def test_a_folder_that_cannot_be_looked_into_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_repository: bool
) -> None:
    """As where HOME is that of another user. Root may look into any folder, but not use a name that is too long."""
    if in_repository:
        (tmp_path / ".git").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path / ("x" * 300)))
    found = open_store(tmp_path)
    assert found is not None
    found.save("jobs", STORED)
    assert load(found) is None


def test_a_link_is_no_private_folder(store: Store, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    assert load(open_in(tmp_path / "link")) is None
    assert load(open_in(tmp_path / "cache", OTHER)) is None
    assert load(store) == STORED


def test_what_is_cut_off_or_damaged_is_nothing(store: Store, path: Path) -> None:
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert load(store) is None, size
    for index in range(len(whole)):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        assert load(store) is None, index
    path.write_bytes(whole)
    assert load(store) == STORED


def test_what_is_stored_in_another_form_is_nothing(store: Store) -> None:
    store.save("jobs", [1, 2])
    assert load(store) is None
    assert store.load("jobs", list[int]) == [1, 2]


def test_where_nothing_can_be_written_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"in the way")
    store = open_in(tmp_path / "file")
    store.save("jobs", STORED)
    assert load(store) is None


def test_a_time_that_does_not_fit_into_64_bits_is_not_stored(store: Store) -> None:
    year_1 = -62_135_596_800 * 10**9  # the time of files in some file systems in user space
    store.save("jobs", [year_1])
    assert load(store) == STORED


def test_a_full_disk_leaves_what_was_there(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    store.save("jobs", Value())
    assert load(store) == STORED
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_runs_beside_each_other_leave_one_or_the_other(store: Store, path: Path) -> None:
    choices = [Value({str(number): bytes(1000)}) for number in range(4)]
    seen: list[Value | None] = []

    def run(value: Value) -> None:
        for _ in range(25):
            store.save("jobs", value)
            seen.append(load(store))

    threads = [threading.Thread(target=run, args=(value,)) for value in choices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 100
    assert all(each in choices for each in seen)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("use", [lambda store: store.save("jobs", STORED), Checkpoint.open], ids=["save", "open"])
def test_old_tools_are_forgotten_and_nothing_else(tmp_path: Path, use: Callable[[Store], object]) -> None:
    tools = [f"{number:032x}" for number in range(6)]
    others = ["mine", "f" * 31, "g" * 32]
    theirs = {"mine", "x.tmp", "x.all", ".y.tmp", f"{'a' * 32}.jobs.bak", f"{'a' * 31}.jobs"}
    for time, name in enumerate([*others, *tools]):
        (tmp_path / name).mkdir()
        for file in (f"{'a' * 32}.jobs", f"{'b' * 32}.files", f".{'c' * 16}.tmp"):
            (tmp_path / name / file).write_bytes(b"")
        if name == tools[1]:
            for file in theirs:
                (tmp_path / name / file).write_bytes(b"")
        os.utime(tmp_path / name, (time, time))
    use(open_in(tmp_path, OTHER))
    assert {each.name for each in tmp_path.iterdir()} == {*others, tools[1], *tools[3:], OTHER}
    assert {each.name for each in (tmp_path / tools[1]).iterdir()} == theirs
    assert all(len(list((tmp_path / name).iterdir())) == 3 for name in (*others, *tools[3:]))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"TRAINC_CACHE_DIR": "/x"}, Path("/x")),
        ({"TRAINC_CACHE_DIR": ""}, None),
        ({"TRAINC_CACHE_DIR": "x"}, None),
        ({"XDG_CACHE_HOME": "/c"}, Path("/c/trainc")),
        ({"XDG_CACHE_HOME": "c", "HOME": "/h"}, Path("/h/.cache/trainc")),
        ({"HOME": "/h"}, Path("/h/.cache/trainc")),
    ],
)
def test_the_folder(variables: dict[str, str], expected: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRAINC_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == expected
