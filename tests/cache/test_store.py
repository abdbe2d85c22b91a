"""What one run leaves is taken only if it is ours, whole, of this trainc, and nobody else could have written it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from trainc.cache import store
from trainc.cache.store import Stored, folder, load, path_for, save

TOOL = "0" * 32
OTHER = "1" * 32
ROOT = Path("/repository")
STORED = Stored({"jobs/a/x.yaml": [(1, 2, 3, 4), b"d", None]}, {"prod": ("digest", {})}, {"out/x": [None, b"e"]})

needs_owners = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file in which something is stored."""
    found = path_for(tmp_path / "cache", TOOL, ROOT, "jobs")
    save(found, TOOL, STORED)
    assert load(found, TOOL) == STORED
    return found


def test_each_repository_and_tool_has_its_own(tmp_path: Path) -> None:
    files = {
        path_for(tmp_path, tool, root, what)
        for tool in (TOOL, OTHER)
        for root in (ROOT, ROOT / "other")
        for what in ("jobs", "all")
    }
    assert len(files) == 8


def test_nobody_else_can_read_or_write_it(path: Path, tmp_path: Path) -> None:
    assert [each.stat().st_mode & 0o777 for each in (tmp_path / "cache", path.parent, path)] == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_what_others_may_write_to_is_not_read(path: Path, part: int, mode: int) -> None:
    (path, path.parent, path.parent.parent)[part].chmod(mode)
    assert load(path, TOOL) is None


@needs_owners
@pytest.mark.parametrize("part", [0, 1, 2])
def test_what_others_own_is_not_read(path: Path, part: int) -> None:
    os.chown((path, path.parent, path.parent.parent)[part], 12345, -1)
    assert load(path, TOOL) is None


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_nothing_is_left_where_others_may_write(tmp_path: Path, mode: int) -> None:
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(mode)
    save(path_for(place, TOOL, ROOT, "jobs"), TOOL, STORED)
    assert list(place.rglob("*.jobs")) == []


def test_a_link_is_no_private_folder(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    assert load(path_for(tmp_path / "link", TOOL, ROOT, "jobs"), TOOL) is None


def test_another_tool_knows_nothing_of_it(path: Path) -> None:
    assert load(path, OTHER) is None


def test_what_is_cut_off_or_damaged_is_nothing(path: Path) -> None:
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert load(path, TOOL) is None, size
    for index in range(len(whole)):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        assert load(path, TOOL) is None, index
    path.write_bytes(whole)
    assert load(path, TOOL) == STORED


def test_what_is_stored_in_another_form_is_nothing(path: Path) -> None:
    store.save_parts(path, TOOL, (1, 2))
    assert load(path, TOOL) is None
    assert store.load_parts(path, TOOL, 2) == (1, 2)


def test_what_is_not_plain_is_not_stored(path: Path) -> None:
    save(path, TOOL, Stored({"x": object()}))
    assert load(path, TOOL) == STORED


def test_where_nothing_can_be_written_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"in the way")
    path = path_for(tmp_path / "file", TOOL, ROOT, "jobs")
    save(path, TOOL, STORED)
    assert load(path, TOOL) is None


def test_a_full_disk_leaves_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    save(path, TOOL, Stored())
    assert load(path, TOOL) == STORED
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_runs_beside_each_other_leave_one_or_the_other(path: Path) -> None:
    choices = [Stored({str(number): [None, bytes(1000), None]}) for number in range(4)]
    seen: list[Stored | None] = []

    def run(stored: Stored) -> None:
        for _ in range(25):
            save(path, TOOL, stored)
            seen.append(load(path, TOOL))

    threads = [threading.Thread(target=run, args=(stored,)) for stored in choices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 100
    assert all(each in choices for each in seen)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_old_tools_are_forgotten_and_nothing_else(tmp_path: Path) -> None:
    tools = [f"{number:032x}" for number in range(6)]
    others = ["mine", "f" * 31, "g" * 32]
    theirs = {"mine", "x.tmp", "x.all", ".y.tmp", f"{'a' * 32}.jobs.bak", f"{'a' * 31}.jobs"}
    for time, name in enumerate([*others, *tools]):
        (tmp_path / name).mkdir()
        for file in (f"{'a' * 32}.jobs", f"{'b' * 32}.all", f".{'c' * 16}.tmp"):
            (tmp_path / name / file).write_bytes(b"")
        if name == tools[1]:
            for file in theirs:
                (tmp_path / name / file).write_bytes(b"")
        os.utime(tmp_path / name, (time, time))
    save(path_for(tmp_path, OTHER, ROOT, "jobs"), OTHER, STORED)
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
    assert folder() == expected
