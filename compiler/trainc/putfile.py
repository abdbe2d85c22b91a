"""Puts bytes into one file: beside its place and then by rename, or in its place.

By rename, whoever looks sees the old bytes or the new ones, at any moment and after any end of the run, a power cut
included: the bytes are on the disk before the name is. That costs milliseconds per file, so where there are many,
``replace_files`` waits for all of them at once. In place costs 0.01 ms, so ``write.py`` overwrites where very many
files change.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_BLOCK = 512
"""Bytes of what ``st_blocks`` counts, on every system."""


def replace_file(path: str, data: bytes, number: int = 0) -> None:
    """Write a file by rename, and the folders above it that are not there; ``number`` tells files of one run apart.

    Raises OSError, and leaves what was there.
    """
    try:
        _replace(path, data, number)
    except FileNotFoundError:
        # A run beside this one took the temporary file for a leftover, or the folder for one that it emptied.
        make_folder(path.rpartition("/")[0])
        _replace(path, data, number)


def overwrite_file(path: str, data: bytes) -> bool:
    """Write a file in its place; False, and nothing done, where that could end badly: then it has to be renamed.

    That is for whatever is no file with one name, for a file that may not be written, and for bytes that need more room
    than the file has: a full disk would leave half of them.
    """
    try:
        file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or len(data) > found.st_blocks * _BLOCK:
            return False
        try:
            _write(file, data)
            os.ftruncate(file, len(data))
        except (
            KeyboardInterrupt,
            SystemExit,
        ):  # a signal, wherever it came: the file becomes whole before the run ends
            _write(file, data)
            os.ftruncate(file, len(data))
            raise
    finally:
        os.close(file)
    return True


@contextmanager
def alone(folder: str) -> Iterator[bool]:
    """Yield whether no other run overwrites files below a folder until the block ends.

    Two that did would mix their bytes. Where a folder cannot be locked, nobody overwrites; nor where the system does
    not tell its starts apart, for a power cut may undo what was overwritten, and leave the file's size and times.
    """
    handle = _lock(folder) if boot() else None
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _lock(folder: str) -> int | None:
    """Return a handle that locks a folder until it is closed; None where that cannot be, or another run has it."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@cache
def boot() -> str:
    """Return what tells this start of the system from all others (Linux); empty where nothing does."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def make_folder(folder: str) -> None:
    """Make a folder, and those above it that are not there."""
    try:
        os.mkdir(folder)  # noqa: PTH102 - thousands of times
    except OSError:  # it is there, or the one above it is not
        Path(folder).mkdir(parents=True, exist_ok=True)


def replace_files(folder: str, files: Sequence[tuple[str, bytes]]) -> None:
    """Do as ``replace_file`` does with many files below a folder, and wait for the disk only once.

    Raises OSError, and leaves whole files, old or new.
    """
    waiting: list[tuple[str, str]] = []
    try:
        for number, (path, data) in enumerate(files):
            waiting.append((_beside(path, data, number, sync=False), path))
        _sync(folder)
        for number, (path, data) in enumerate(files):
            temporary, _ = waiting[number]
            try:
                os.replace(temporary, path)  # noqa: PTH105 - thousands of times
            except FileNotFoundError:  # as in replace_file
                make_folder(path.rpartition("/")[0])
                _replace(path, data, number)
    except BaseException:
        for temporary, _ in waiting:
            Path(temporary).unlink(missing_ok=True)
        raise


def _replace(path: str, data: bytes, number: int) -> None:
    """Write a file beside its place, and rename it once its bytes are on the disk."""
    temporary = _beside(path, data, number)
    try:
        os.replace(temporary, path)  # noqa: PTH105 - thousands of times
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _beside(path: str, data: bytes, number: int, *, sync: bool = True) -> str:
    """Write bytes to a new file beside a place, and return its name. Only what was made here is ever removed."""
    folder = path.rpartition("/")[0]
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    temporary = f"{folder}/.trainc-{os.getpid()}-{number}.tmp"
    try:
        file = os.open(temporary, flags, 0o666)
    except FileExistsError:  # of a killed run, or of one in another container with the same process id
        temporary = f"{folder}/.trainc-{os.getpid()}-{int.from_bytes(os.urandom(8), 'big')}.tmp"
        file = os.open(temporary, flags, 0o666)
    try:
        try:
            _write(file, data)
            if sync:
                os.fsync(file)
        finally:
            os.close(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return temporary


def _sync(folder: str) -> None:
    """Wait until all that was written to the file system of a folder is on the disk (Linux), or to all of them."""
    import ctypes

    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None).syncfs(handle):
            raise OSError(errno.EIO, os.strerror(errno.EIO), folder)
    except AttributeError:  # no such function here
        os.sync()
    finally:
        os.close(handle)


def _write(file: int, data: bytes) -> None:
    """Write from the beginning of a file."""
    written = os.pwrite(file, data, 0)
    while written < len(data):
        written += os.pwrite(file, memoryview(data)[written:], written)
