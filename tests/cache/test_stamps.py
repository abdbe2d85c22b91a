"""A stamp is trusted only once a change of the file must give it another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trainc.cache.snapshot import FINE, settled, stamp, stamp_of_folder

SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"four")
    found = os.lstat(path)
    assert stamp(str(path)) == (4, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def test_what_is_no_file_has_no_stamp(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for name in ("nothing", "link", "pipe", "."):
        assert stamp(str(tmp_path / name)) is None, name
    for name in ("nothing", "link", "pipe", "file"):
        assert stamp_of_folder(str(tmp_path / name)) is None, name


def test_a_file_in_the_place_of_another_has_another_stamp(tmp_path: Path) -> None:
    path, new = tmp_path / "file", tmp_path / "new"
    path.write_bytes(b"a")
    new.write_bytes(b"b")
    before = stamp(str(path))
    os.utime(new, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    new.replace(path)
    assert stamp(str(path)) != before


def test_a_folder_changes_with_its_entries(tmp_path: Path) -> None:
    os.utime(tmp_path, ns=(NOW, NOW))
    before = stamp_of_folder(str(tmp_path))
    (tmp_path / "new").write_bytes(b"")
    assert stamp_of_folder(str(tmp_path)) != before


@pytest.mark.parametrize(
    ("content", "inode", "is_settled"),
    [
        (NOW - FINE - 2, NOW - FINE - 2, True),
        (NOW - FINE // 2 - 1, NOW - 9 * FINE - 1, False),  # changed just now
        (NOW - 9 * FINE - 1, NOW - FINE // 2 - 1, False),  # its time set back, or renamed, just now
        (NOW + SECOND + 1, NOW - 9 * FINE - 1, False),  # from the future
        (NOW - SECOND, NOW - SECOND, False),  # a file system that counts in seconds, or in pairs of them
        (NOW - 4 * SECOND, NOW - 4 * SECOND, True),
    ],
)
def test_settled(content: int, inode: int, is_settled: bool) -> None:
    assert (settled((1, content, inode, 1), NOW) is not None) is is_settled
