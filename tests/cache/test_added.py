"""What is added to what is stored is taken piece by piece: only ours, only whole pieces, until all is written anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainc.cache.store import Stored, append, is_long, load, path_for, save

TOOL = "0" * 32
FIRST = Stored(
    {"jobs/a/x.yaml": [None, b"d", None]}, {"prod": ("p", {}, {"x": (b"d", {0: [1]})})}, {"out/x": [None, b"e"]}
)
SECOND = Stored({"jobs/a/y.yaml": [None, b"f", None]}, {"prod": ("p", {}, {"y": (b"f", {})})}, {"out/x": [None, b"g"]})
BOTH = Stored(
    {**FIRST.inputs, **SECOND.inputs},
    {"prod": ("p", {}, {"x": (b"d", {0: [1]}), "y": (b"f", {})})},
    {"out/x": [None, b"g"]},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file in which something is stored."""
    found = path_for(tmp_path / "cache", TOOL, Path("/repository"), "jobs")
    save(found, TOOL, FIRST)
    return found


def test_pieces_are_added_in_order(path: Path) -> None:
    append(path, TOOL, SECOND)
    assert load(path, TOOL) == BOTH
    assert [each.stat().st_mode & 0o777 for each in path.parent.iterdir()] == [0o600, 0o600]
    append(path, TOOL, Stored(outputs={"out/x": [None, b"h"]}))
    found = load(path, TOOL)
    assert found is not None
    assert (found.outputs, found.inputs, found.scattered) == ({"out/x": [None, b"h"]}, BOTH.inputs, True)


def test_jobs_made_with_something_else_are_not_added(path: Path) -> None:
    append(path, TOOL, Stored(jobs={"prod": ("q", {}, {"y": (b"f", {})}), "dev": ("r", {}, {})}))
    found = load(path, TOOL)
    assert found is not None
    assert found.jobs == {**FIRST.jobs, "dev": ("r", {}, {})}


def test_a_new_whole_ends_it(path: Path) -> None:
    append(path, TOOL, SECOND)
    save(path, TOOL, FIRST)
    assert load(path, TOOL) == FIRST
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("place", [0, 8, 40, -1])
def test_a_damaged_piece_and_all_after_it_are_nothing(path: Path, place: int) -> None:
    append(path, TOOL, SECOND)
    more = path.with_suffix(".more")
    size = more.stat().st_size
    append(path, TOOL, Stored(outputs={"out/x": [None, b"h"]}))
    data = bytearray(more.read_bytes())
    data[size + place if place >= 0 else -1] ^= 1
    more.write_bytes(data)
    assert load(path, TOOL) == BOTH
    data[place if place >= 0 else size - 1] ^= 1
    more.write_bytes(data)
    assert load(path, TOOL) == FIRST
    more.write_bytes(bytes(data[: size // 2]))
    assert load(path, TOOL) == FIRST


def test_of_others_nothing_is_taken(path: Path) -> None:
    append(path, "1" * 32, SECOND)
    assert load(path, TOOL) == FIRST
    more = path.with_suffix(".more")
    more.unlink()
    append(path, TOOL, SECOND)
    more.chmod(0o620)
    assert load(path, TOOL) == FIRST
    size = more.stat().st_size
    append(path, TOOL, SECOND)
    assert more.stat().st_size == size, "nor is anything written to what others may write to"


def test_nothing_is_written_through_a_link(path: Path, tmp_path: Path) -> None:
    path.with_suffix(".more").symlink_to(tmp_path / "elsewhere")
    append(path, TOOL, SECOND)
    assert not (tmp_path / "elsewhere").exists()


def test_where_nothing_can_be_stored_nothing_is_added(tmp_path: Path, path: Path) -> None:
    elsewhere = path_for(tmp_path / "none", TOOL, Path("/repository"), "jobs")
    append(elsewhere, TOOL, SECOND)
    assert not elsewhere.parent.exists()
    append(path, TOOL, Stored(outputs={"x": object()}))
    assert load(path, TOOL) == FIRST


def test_what_was_added_gets_long(path: Path) -> None:
    assert not is_long(path)
    append(path, TOOL, Stored())
    assert not is_long(path)
    append(path, TOOL, FIRST)
    assert is_long(path)
    save(path, TOOL, FIRST)
    assert not is_long(path)
