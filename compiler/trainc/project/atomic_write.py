"""Writes files by rename: readers see the old bytes or the new ones, at any moment and after any end of the run.

The bytes are on the disk before the name is, so that also holds after a power cut. Waiting for the disk costs
milliseconds per file, so ``replace_files`` waits once for many.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path


def replace_file(path: str, data: bytes, number: int = 0) -> None:
    """Write a file by rename, and create missing folders above it; ``number`` tells the files of one run apart.

    Raises OSError, and then leaves the old file.
    """
    try:
        _replace(path, data, number)
    except FileNotFoundError:
        # A concurrent run removed the temporary file as a leftover, or the folder as empty.
        make_folder(path.rpartition("/")[0])
        _replace(path, data, number)


def make_folder(folder: str) -> None:
    """Create a folder, and missing ones above it."""
    try:
        os.mkdir(folder)  # noqa: PTH102 - thousands of times
    except OSError:  # it exists, or its parent does not
        Path(folder).mkdir(parents=True, exist_ok=True)


def replace_files(folder: str, files: Sequence[tuple[str, bytes]]) -> None:
    """Write many files below a folder as ``replace_file`` does, and wait for the disk only once.

    Raises OSError, and then leaves whole files, old or new.
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
    """Write a temporary file, and rename it once its bytes are on the disk."""
    temporary = _beside(path, data, number)
    try:
        os.replace(temporary, path)  # noqa: PTH105 - thousands of times
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _beside(path: str, data: bytes, number: int, *, sync: bool = True) -> str:
    """Write bytes to a new file in the folder of another, and return its name. Only files created here are removed."""
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
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, memoryview(data)[written:])
