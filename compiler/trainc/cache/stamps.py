"""When a file may be taken as unchanged without reading it: by its stamp, as git does for its index.

A stamp is size, times of content and of inode, and inode number. A file that was looked at less than a tick of its
file system's clock after its last change could be changed again within that tick, and look the same: it has no stamp
then, and is read again next time (git calls such entries racy).
"""

from __future__ import annotations

import os
import stat
import time
from typing import Final

Stamp = tuple[int, int, int, int]
"""Size in bytes, nanoseconds of the content's and the inode's last change, inode number."""

_SECOND: Final = 1_000_000_000
FINE: Final = _SECOND // 10
"""Nanoseconds after which a file system that tells fractions of a second has another time; ext4 ticks in 4 to 10 ms."""
_COARSE: Final = 3 * _SECOND
"""The same of one that counts in seconds, or in pairs of them, as FAT does."""


def stamp(path: str) -> Stamp | None:
    """Return the stamp of a regular file, not followed if it is a link; None for anything else, or nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return stamp_of(found)


def state(path: str) -> Stamp | None:
    """Return the stamp of a file; of anything else one that none of a file is equal to; None for nothing.

    That of a link or a special file has a negative size; of a folder it says only that it is one.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISDIR(found.st_mode):
        return -1, 0, 0, 0
    return stamp_of(found) or (-2, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def stamp_of_folder(path: str) -> Stamp | None:
    """Return the stamp of a folder, another one once an entry came, went or was renamed; None for no folder."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    return 0, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def stamp_of(found: os.stat_result) -> Stamp | None:
    """Return the stamp of a regular file by what the system says of it."""
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def is_settled(seen: Stamp, now: int | None = None) -> bool:
    """Tell whether a change after ``now`` (nanoseconds, by default this moment) must give the file another stamp."""
    last = max(seen[1], seen[2])
    patience = FINE if last % _SECOND else _COARSE
    return (time.time_ns() if now is None else now) - last > patience
