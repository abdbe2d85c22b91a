"""How tens of thousands of files and folders looked, in columns: what is read, compared and written in every run."""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from trainc.cache.stamps import Stamp, stamp_of

Look = tuple[Stamp | None, bytes | None]
"""How a file or folder looks (None: too fresh to tell, or nothing there), and the digest of its bytes, if any."""

_SIZE: Final = 16
"""Bytes of a digest (``contents.digest_of``)."""

_NO_DIGEST: Final = bytes(_SIZE)
_NOTHING: Final = (-3, 0, 0, 0)
UNKNOWN: Final = (-4, 0, 0, 0)
"""In place of a stamp: nothing is there; nothing looks like it. Stamps have no such sizes."""

_WRAP: Final = 1 << 64
_REGULAR: Final = stat.S_IFREG
_SEPARATOR: Final = "\0"


class Looks:
    """Names with their looks, in the order in which they came."""

    __slots__ = ("_places", "digests", "names", "numbers")

    def __init__(
        self, names: list[str], numbers: array[int], digests: bytearray, places: dict[str, int] | None = None
    ) -> None:
        """Take the columns: four numbers and 16 bytes a name; ``places`` are those of the names, if known."""
        self.names = names
        self.numbers = numbers
        self.digests = digests
        self._places = places

    @classmethod
    def of(cls, looks: Mapping[str, Look]) -> Looks:
        """Return these looks."""
        numbers: array[int] = array("q")
        for look in looks.values():
            numbers.extend(_flat(look))
        return cls(list(looks), numbers, bytearray().join(digest or _NO_DIGEST for _, digest in looks.values()))

    @classmethod
    def of_plain(cls, plain: tuple[str, bytes, bytes]) -> Looks:
        """Return what ``plain`` has given."""
        names, numbers, digests = plain
        found: array[int] = array("q")
        found.frombytes(numbers)
        return cls(names.split(_SEPARATOR) if names else [], found, bytearray(digests))

    def plain(self) -> tuple[str, bytes, bytes]:
        """Return plain data, for ``marshal``; no name has a zero byte."""
        return _SEPARATOR.join(self.names), self.numbers.tobytes(), bytes(self.digests)

    def __contains__(self, name: object) -> bool:
        """Tell whether a name is there."""
        return name in self._index()

    def without(self, *others: Iterable[str]) -> set[str]:
        """Return the names that are none of others."""
        return set(self._index()).difference(*others)

    def look(self, name: str) -> Look:
        """Return the look of a name; that of nothing for another one."""
        at = self._index().get(name)
        return (None, None) if at is None else self._at(at)

    def _at(self, at: int) -> Look:
        size, *times, inode = self.numbers[4 * at : 4 * at + 4]
        digest = bytes(self.digests[_SIZE * at : _SIZE * (at + 1)])
        seen = None if size in (_NOTHING[0], UNKNOWN[0]) else (size, *times, inode % _WRAP)
        return seen, None if digest == _NO_DIGEST else digest  # type: ignore[return-value]  # there are two times

    def items(self) -> Iterator[tuple[str, Look]]:
        """Yield each name with its look."""
        return ((name, self._at(at)) for at, name in enumerate(self.names))

    def _index(self) -> dict[str, int]:
        if self._places is None:
            self._places = {name: at for at, name in enumerate(self.names)}
        return self._places

    def changed(self, looks: Mapping[str, Look], gone: Collection[str] = ()) -> Looks:
        """Return the same with other looks, new names behind the others, and without those that are gone."""
        known, names = self._index(), list(self.names)
        numbers, digests = array("q", self.numbers), bytearray(self.digests)
        places = known if looks.keys() <= known.keys() else dict(known)
        for name, look in looks.items():
            if (at := places.get(name, len(names))) == len(names):
                places[name] = at
                names.append(name)
            numbers[4 * at : 4 * at + 4] = array("q", _flat(look))
            digests[_SIZE * at : _SIZE * (at + 1)] = look[1] or _NO_DIGEST
        late = sorted((places[name] for name in gone if name in places), reverse=True)
        for at in late:
            del names[at], numbers[4 * at : 4 * at + 4], digests[_SIZE * at : _SIZE * (at + 1)]
        return Looks(names, numbers, digests, None if late else places)

    def followed(self, others: Looks) -> Looks:
        """Return these looks and then the others, which have other names."""
        return Looks(self.names + others.names, self.numbers + others.numbers, self.digests + others.digests)

    def moved(self, base: str) -> list[str]:
        """Return the names of files that do not look so any more, below ``base``, as ``stamps.state`` says."""
        found, numbers, lstat = [], iter(self.numbers), os.lstat
        for name, size, content, inode, number in zip(self.names, *[numbers] * 4, strict=True):
            try:
                now = lstat(base + name)
            except OSError:
                if size != _NOTHING[0]:
                    found.append(name)
                continue
            same = now.st_mtime_ns == content and now.st_ctime_ns == inode and now.st_ino == number
            if not (same and now.st_size == size and now.st_mode & 0o170000 == _REGULAR) and (
                _state(now) != (size, content, inode, number)
            ):
                found.append(name)
        return found

    def moved_folders(self, base: str, begin: int, end: int) -> list[str]:
        """Return the same of folders, as ``stamps.stamp_of_folder`` says; so many of them."""
        found, numbers, lstat = [], iter(self.numbers[4 * begin : 4 * end]), os.lstat
        for name, size, content, inode, number in zip(self.names[begin:end], *[numbers] * 4, strict=True):
            try:
                now = lstat(base + name)
            except OSError:
                found.append(name)
                continue
            same = now.st_mtime_ns == content and now.st_ctime_ns == inode and _signed(now.st_ino) == number
            if not (same and size == 0 and stat.S_ISDIR(now.st_mode)):
                found.append(name)
        return found


def _flat(look: Look) -> tuple[int, int, int, int]:
    seen, digest = look
    if seen is None:
        return UNKNOWN if digest is not None else _NOTHING
    size, content, inode, number = seen
    return size, content, inode, _signed(number)


def _signed(number: int) -> int:
    """Return a number of 64 bits as one with a sign."""
    return number if number < _WRAP >> 1 else number - _WRAP


def _state(found: os.stat_result) -> tuple[int, int, int, int]:
    if stat.S_ISDIR(found.st_mode):
        return -1, 0, 0, 0
    size, content, inode, number = stamp_of(found) or (-2, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
    return size, content, inode, _signed(number)
