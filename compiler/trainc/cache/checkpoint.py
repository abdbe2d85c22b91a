"""The results of jobs as they finish, and the bytes of their files: where the run after an interrupted one goes on.

Records are appended to one file until a run leaves out/ up to date and removes it. Each has a checksum, so that after a
crash the file ends with its last whole record. A run also reads the bytes that it writes to out/ from there.
"""

from __future__ import annotations

import errno
import operator
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from struct import Struct
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from trainc.cache.jobs import StoredJob
from trainc.cache.store import Store, is_ours
from trainc.pipeline.content import Digest, Job, bytes_of, digest_of

NAME: Final = "finished"
"""The name of the file in the store."""

LARGEST: Final = 1 << 34
"""The size in bytes from which a file is not continued: a fleet needs about 10 KB per job."""

SPARE: Final = 1 << 26
"""The bytes of superseded records that a file may hold, or as many as of others if that is more."""

_HEAD: Final = Struct(">II16s")
"""The size of a record, that of the contents after it, and the digest of both."""


Key: TypeAlias = tuple[str, str, int]
"""A job: its environment, the name of its file, and its index in it."""


class _Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The result of a job in a file with the digest ``source``; ``sizes`` are those of the contents."""

    environment: str
    name: str
    index: int
    source: bytes
    stored: msgspec.Raw
    sizes: tuple[int, ...]


_RECORD: Final = msgspec.msgpack.Decoder(_Record)
_STORED: Final = msgspec.msgpack.Decoder(StoredJob)
_NOT_OURS: Final = msgspec.DecodeError, ValueError
"""What a record raises that has a correct checksum and that trainc did not write."""


class Checkpoint:
    """The file of a repository, which one run at a time can use."""

    def __init__(self, path: str, handle: int) -> None:
        """Take over an open file."""
        self.path, self.handle, self.end = path, handle, 0
        self.offsets: dict[Key, int] = {}  # of the records of earlier runs

    @classmethod
    def open(cls, store: Store) -> Checkpoint | None:
        """Open the file and find the records in it; None if it cannot be used, or another run uses it."""
        with suppress(ImportError, OSError):
            import fcntl  # not on Windows

            if store.make_folder():
                path = os.fspath(store.path(NAME))
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
                found = cls(path, os.open(path, flags, 0o600))
                fcntl.lockf(found.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # worker processes do not inherit it
                if found._scan():
                    return found
        return None

    def _scan(self) -> bool:
        """Find the records, and cut off what follows the last whole one. Return whether the file is ours."""
        status = os.fstat(self.handle)
        if not stat.S_ISREG(status.st_mode) or not is_ours(status):
            return False
        sizes: dict[Key, int] = {}
        with suppress(*_NOT_OURS):
            while status.st_size < LARGEST and (data := self._at(self.end, status.st_size)) is not None:
                record = _RECORD.decode(data[0])
                key = record.environment, record.name, record.index
                self.offsets[key], sizes[key] = self.end, _HEAD.size + len(data[0]) + len(data[1])
                self.end += sizes[key]
        current = sum(sizes.values())
        if self.end - current > max(current, SPARE):
            self._remove_superseded(sizes)
        os.ftruncate(self.handle, self.end)
        return True

    def _remove_superseded(self, sizes: dict[Key, int]) -> None:
        """Move the last record of each job forward, over older ones. Raises OSError."""
        self.end = 0
        for offset, key in sorted((offset, key) for key, offset in self.offsets.items()):
            self._append(self.read(offset, sizes[key]))
            self.offsets[key] = self.end
            self.end += sizes[key]

    def _at(self, offset: int, limit: int) -> tuple[memoryview, memoryview] | None:
        """Return a record and the contents after it; None if they are damaged or end beyond ``limit``."""
        if offset + _HEAD.size > limit:
            return None
        size, rest, checksum = _HEAD.unpack(self.read(offset, _HEAD.size))
        if offset + _HEAD.size + size + rest > limit:
            return None
        data = self.read(offset + _HEAD.size, size + rest)
        view = memoryview(data)
        return (view[:size], view[size:]) if digest_of(data) == checksum else None

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes of the file. Raises OSError."""
        data = os.pread(self.handle, size, offset)
        if len(data) < size:
            raise OSError(errno.EIO, "is shorter than this run wrote it", self.path)
        return data

    def find(self, key: Key, source: bytes) -> tuple[StoredJob, dict[bytes, Digest]] | None:
        """Return the result of an earlier run for a job in a file with that digest, and the contents by digest."""
        offset = self.offsets.get(key)
        data = None if offset is None else self._at(offset, self.end)
        if offset is None or data is None or (record := _RECORD.decode(data[0])).source != source:
            return None
        start = offset + _HEAD.size + len(data[0])
        with suppress(*_NOT_OURS):
            stored = _STORED.decode(record.stored)
            contents = {content.value: content for content in self._contents(stored, record.sizes, start)}
            found = (bytes(data[1][one.offset - start :][: one.size]) for one in contents.values())
            if sum(record.sizes) == len(data[1]) and all(map(operator.eq, map(digest_of, found), contents)):
                return stored, contents
        return None

    def add(self, key: Key, source: bytes, stored: StoredJob, job: Job) -> Job:
        """Append the result of a job in a file with that digest. Return the job without the bytes. Raises OSError."""
        contents = [bytes_of(content) for _, content in job.files]
        sizes = tuple(map(len, contents))
        record = msgspec.msgpack.encode(_Record(*key, source, msgspec.Raw(msgspec.msgpack.encode(stored)), sizes))
        data = b"".join((record, *contents))
        data = _HEAD.pack(len(record), len(data) - len(record), digest_of(data)) + data
        self._append(data)
        start, self.end = self.end + _HEAD.size + len(record), self.end + len(data)
        names = (name for name, _ in job.files)
        return replace(job, files=tuple(zip(names, self._contents(stored, sizes, start), strict=True)))

    def _append(self, data: bytes) -> None:
        if os.pwrite(self.handle, data, self.end) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def _contents(self, stored: StoredJob, sizes: Iterable[int], offset: int) -> Iterator[Digest]:
        for (_, digest), size in zip(stored.result.files, sizes, strict=True):
            yield Digest(digest, self.read, offset, size)
            offset += size

    def remove(self) -> None:
        """Remove and close the file; otherwise the end of the process closes it, which unlocks it."""
        with suppress(OSError):
            os.unlink(self.path)
            os.close(self.handle)
