"""The file that one run leaves for the next, and the private folder that it lies in.

Nothing is taken from a folder or a file that others could write to, or that another trainc, another Python or a crash
has left: then there is nothing known, which costs time and changes nothing. A file is replaced whole, so runs beside
each other see an old one or a new one.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import stat
from pathlib import Path
from typing import Any, Final

from trainc.digests import blake2b
from trainc.files import IrregularFileError, open_regular
from trainc.putfile import boot
from trainc.records import dataclass, field
from trainc.regex import lazy

VARIABLE: Final = "TRAINC_CACHE_DIR"
"""The environment variable that names another folder; empty: no cache."""

_MAGIC: Final = b"trainc cache\n"
_SIZE: Final = 32
_LENGTH: Final = 8
"""Bytes that say how long a piece is."""

_TOOL: Final = lazy("[0-9a-f]{32}")
_OWN: Final = lazy(r"[0-9a-f]{32}\.(jobs|more|all|results)|\.[0-9a-f]{16}\.tmp")
"""The names of the files that lie in the folder of a trainc."""

_LARGEST: Final = 1 << 30
"""The most bytes of a file that are read; one has 2 to 3 KB per job."""
_PARTS: Final = 4
_TOOLS: Final = 4
"""So many traincs keep what they know."""


@dataclass(slots=True)
class Stored:
    """What is known of one repository.

    ``inputs``: file below jobs/ to its stamp or None, the digest of its bytes, and its documents as stubs or None.
    ``jobs``: environment to the digest of what is no job, the digests of images.lock.yaml, and file to the digest of
    its bytes and its records by index. ``outputs``: file below out/ to its stamp or None, and the digest of its bytes.
    """

    inputs: dict[str, Any] = field(default_factory=dict)
    jobs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    scattered: bool = field(default=False, compare=False)
    """Whether it was put together from several files."""

    def add(self, other: Stored) -> None:
        """Take what another run knows, in place. Each entry stands for itself; jobs only where all else is the same."""
        self.inputs |= other.inputs
        self.outputs |= other.outputs
        for environment, (platform, lock, records) in other.jobs.items():
            known = self.jobs.setdefault(environment, (platform, lock, {}))
            if known[:2] == (platform, lock):
                known[2].update(records)


def folder() -> Path | None:
    """Return the folder of all caches, by the environment; None where there is to be none, or no home."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen and os.path.isabs(chosen) else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return Path(base) / "trainc" if os.path.isabs(base) else None


def path_for(place: Path, tool: str, root: Path, what: str) -> Path:
    """Return the file for what is known of a repository, below the folder of all caches."""
    return place / tool / f"{blake2b(os.fsencode(root), digest_size=16).hexdigest()}.{what}"


def load(path: Path, tool: str) -> Stored | None:
    """Return what is stored, or None: nothing there, not ours alone, of another trainc, or damaged."""
    data = _read(path)
    parts = None if data is None else _parts_in(data, tool, _PARTS)
    if parts is None:
        return None
    stored = _stored(*parts)
    rest = _read(_journal(path))
    while rest:
        size = int.from_bytes(rest[:_LENGTH], "big")
        more = None if size > len(rest) else _parts_in(rest[_LENGTH : _LENGTH + size], tool, _PARTS)
        if more is None:
            break
        stored.add(_stored(*more))
        stored.scattered = True
        rest = rest[_LENGTH + size :]
    return stored


def save(path: Path, tool: str, stored: Stored) -> None:
    """Replace what is stored. Where that is not possible there is no cache next time; nothing is said of it."""
    save_parts(path, tool, _plain(stored))
    with contextlib.suppress(OSError):
        os.unlink(_journal(path))


def append(path: Path, tool: str, stored: Stored) -> None:
    """Add to what is stored, without reading it. Where that is not possible nothing is said, as in ``save``.

    What is added lies in a file beside it, one piece after the other, each with a checksum of its own: ``load`` takes
    them up to the first that is damaged.
    """
    data = _payload(tool, _plain(stored))
    if data is None or not (_is_private(path.parent.parent) and _is_private(path.parent)):
        return
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(_journal(path), flags, 0o600)
        try:
            found = os.fstat(handle)
            if _is_own(found) and stat.S_ISREG(found.st_mode):
                os.write(handle, len(data).to_bytes(_LENGTH, "big") + data)
        finally:
            os.close(handle)


def _plain(stored: Stored) -> tuple[Any, ...]:
    return stored.inputs, stored.jobs, stored.outputs, boot()


def _stored(inputs: dict[str, Any], jobs: dict[str, Any], outputs: dict[str, Any], start: str) -> Stored:
    """Return what ``_plain`` gave. What was there before the system's last start has lost the stamps of files in out/:
    where it went down all of a sudden, one that was overwritten may have its old bytes again (``putfile.py``).
    """
    if start != boot():
        outputs = {name: [None, digest] for name, (_, digest) in outputs.items()}
    return Stored(inputs, jobs, outputs)


def is_long(path: Path) -> bool:
    """Tell whether so much was added to what is stored that it should be written anew."""
    try:
        return os.path.getsize(_journal(path)) > os.path.getsize(path)
    except OSError:
        return False


def _journal(path: Path) -> Path:
    return path.with_suffix(".more")


def load_parts(path: Path, tool: str, count: int) -> tuple[Any, ...] | None:
    """Return so many plain values as a file holds; None as ``load`` does."""
    data = _read(path)
    return None if data is None else _parts_in(data, tool, count)


def _read(path: Path) -> bytes | None:
    """Return the bytes of a file that is ours alone, or None."""
    if not (_is_private(path.parent.parent) and _is_private(path.parent)):
        return None
    try:
        with os.fdopen(open_regular(path), "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            return file.read() if _is_own(found) and found.st_size <= _LARGEST else None
    except (IrregularFileError, OSError):
        return None


def _parts_in(data: bytes, tool: str, count: int) -> tuple[Any, ...] | None:
    head = _MAGIC + tool.encode()
    start = len(head) + _SIZE
    if not data.startswith(head) or data[len(head) : start] != blake2b(data[start:], digest_size=_SIZE).digest():
        return None
    parts = marshal.loads(memoryview(data)[start:])  # ours, and whole: checked above
    return parts if isinstance(parts, tuple) and len(parts) == count else None


def _payload(tool: str, parts: tuple[Any, ...]) -> bytes | None:
    """Return what a file holds; None for a value that is not plain after all."""
    try:
        data = marshal.dumps(parts)
    except ValueError:
        return None
    return _MAGIC + tool.encode() + blake2b(data, digest_size=_SIZE).digest() + data


def save_parts(path: Path, tool: str, parts: tuple[Any, ...]) -> None:
    """Replace a file by plain values, as ``save`` does."""
    if (data := _payload(tool, parts)) is None:
        return
    with contextlib.suppress(OSError):
        fresh = not path.parent.is_dir()
        for place in (path.parent.parent, path.parent):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(place):
                return
        # tempfile does no more, and takes longer to load than a small cache to write
        name = path.parent / f".{os.urandom(8).hex()}.tmp"
        try:
            with open(name, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(data)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        if fresh:
            _forget(path.parent.parent)


def _forget(place: Path) -> None:
    """Remove what the oldest traincs have left, and nothing else: the folder may be one that holds more."""
    with os.scandir(place) as entries:
        own = [entry for entry in entries if _TOOL.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
        tools = sorted((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in own)
    for _, old in tools[:-_TOOLS]:
        with contextlib.suppress(OSError):
            for name in os.listdir(old):
                if _OWN.fullmatch(name):
                    os.unlink(f"{old}/{name}")
            os.rmdir(old)


def _is_private(place: Path) -> bool:
    """Tell whether a folder is ours, and nobody else may write to it."""
    try:
        found = os.lstat(place)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _is_own(found)


def _is_own(found: os.stat_result) -> bool:
    own = getattr(os, "geteuid", lambda: found.st_uid)()
    return found.st_uid == own and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
