"""When a file may be taken as unchanged without reading it: by its stamp, as git does for its index.

A file that was looked at less than a tick of its file system's clock after its last change could change again within
that tick and look the same. Such a stamp has not settled: the file is read again next time (git calls these racy).
"""

from __future__ import annotations

import os
import stat
from typing import Final, TypeAlias

Stamp: TypeAlias = tuple[int, int, int, int]
"""Size in bytes (0 for a folder), nanoseconds of the last change of content and inode, inode number."""

_SECOND: Final = 1_000_000_000
FINE: Final = _SECOND // 10
"""Nanoseconds after which a file system with fractions of seconds has another time; ext4 ticks every 4 to 10 ms."""
_COARSE: Final = 3 * _SECOND
"""The same for one that counts seconds, or pairs of them, as FAT does."""


def stamp(path: str) -> Stamp | None:
    """Return the stamp of a regular file; None for anything else, links included, or nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def stamp_of_folder(path: str) -> Stamp | None:
    """Return the stamp of a folder, which changes when an entry is added, removed or renamed; None for no folder."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    return 0, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def is_settled(seen: Stamp, now: int) -> bool:
    """Return whether a change after ``now`` (in nanoseconds) must give the file another stamp."""
    last = max(seen[1], seen[2])
    return now - last > (FINE if last % _SECOND else _COARSE)


def settled(seen: Stamp | None, now: int) -> Stamp | None:
    """Return a stamp that can be trusted in the next run, or None."""
    return seen if seen is not None and is_settled(seen, now) else None
