"""The files that one run leaves for the next, and the private folder that they are in.

Nothing is read from a folder or file that others could write to, nor what another trainc, another Python or a crash
left: then nothing is known, which costs time and changes nothing. A file is replaced as a whole, so concurrent runs see
an old one or a new one.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from trainc.basics.regex import lazy
from trainc.project.files import nested, open_regular, read_open
from trainc.project.links import top_of

VARIABLE: Final = "TRAINC_CACHE_DIR"
"""The environment variable with the folder of the cache; empty disables the cache."""

_MAGIC: Final = b"trainc cache 2\n"
_CHECKSUM: Final = 32
_LARGEST: Final = 1 << 30
"""The most bytes of a file that are read; a fleet needs about 2 KB per job."""
_VERSIONS: Final = 4
"""The number of trainc versions whose files are kept."""

_VERSION: Final = lazy("[0-9a-f]{32}")
_TEMPORARY: Final = lazy(r"\.[0-9a-f]{16}\.tmp")
_OWN_FILE: Final = lazy(r"[0-9a-f]{32}\.(files|finished|jobs|results)|\.[0-9a-f]{16}\.tmp")
_HOUR: Final = 3600

T = TypeVar("T")


class Store(msgspec.Struct, frozen=True):
    """The values that this trainc stores for one repository, by name, in a ``folder`` private to the user."""

    folder: Path
    repository: str

    def path(self, name: str) -> Path:
        """Return the file of a value."""
        return self.folder / f"{self.repository}.{name}"

    def load(self, name: str, kind: type[T]) -> T | None:
        """Return a value; None if it is missing, damaged, or another user may write to it."""
        if not (_is_private(self.folder.parent) and _is_private(self.folder)):
            return None
        try:
            file = open_regular(self.path(name))
            data = read_open(file, _LARGEST if is_ours(os.fstat(file)) else 0)
            start = len(_MAGIC) + _CHECKSUM
            if data[:start] != _MAGIC + _checksum(memoryview(data)[start:]):
                return None
            return msgspec.msgpack.decode(memoryview(data)[start:], type=kind)
        except (OSError, msgspec.DecodeError):
            return None

    def save(self, name: str, value: object) -> None:
        """Replace a value. A failure is not reported: the next run has no cache."""
        # msgpack cannot encode the name of a file that is not UTF-8, or a time before 1677.
        with contextlib.suppress(OSError, UnicodeEncodeError, OverflowError):
            data = msgspec.msgpack.encode(value)
            if not self.make_folder():
                return
            _remove_leftovers(self.folder)
            temporary = self.folder / f".{os.urandom(8).hex()}.tmp"
            try:
                with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                    file.write(_MAGIC + _checksum(data))
                    file.write(data)
                os.replace(temporary, self.path(name))
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise

    def make_folder(self) -> bool:
        """Create the folder, in place of those of the oldest versions; return whether it is private. Raises OSError."""
        is_new = not self.folder.is_dir()
        for folder in (self.folder.parent, self.folder):
            with nested(folder):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(folder):
                return False
        if is_new:
            _remove_old_versions(self.folder.parent)
        return True


def open_store(root: Path) -> Store | None:
    """Return the store of a repository; None without a ``cache_folder``, or if git has files in the store's folder."""
    folder = cache_folder()
    if folder is None:
        return None
    store = Store(folder / fingerprint(), blake2b(os.fsencode(root), digest_size=16).hexdigest())
    if top_of(store.folder) is not None:  # CI may keep it in its checkout, to which a pull request adds files
        from trainc.project.git import index_below

        return store if index_below(store.folder) == {} else None
    return store


def cache_folder() -> Path | None:
    """Return the folder of all caches; None if the environment disables the cache, or there is no home folder."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen) if os.path.isabs(chosen) else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return Path(base) / "trainc" if os.path.isabs(base) else None


def _checksum(data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=_CHECKSUM).digest()


def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of runs that were killed: those that nothing has been written to for an hour."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name) and time.time() - entry.stat(follow_symlinks=False).st_mtime > _HOUR:
                os.unlink(entry.path)


def _remove_old_versions(folder: Path) -> None:
    """Remove the files of the oldest versions, and nothing else: the folder may hold other files of the user."""
    with os.scandir(folder) as entries:
        ours = [entry for entry in entries if _VERSION.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
        versions = sorted((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in ours)
    for _, old in versions[:-_VERSIONS]:
        with contextlib.suppress(OSError):
            for name in os.listdir(old):
                if _OWN_FILE.fullmatch(name):
                    os.unlink(f"{old}/{name}")
            os.rmdir(old)


def _is_private(folder: Path) -> bool:
    """Return whether a folder belongs to the user, and no one else may write to it."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and is_ours(found)


def is_ours(found: os.stat_result) -> bool:
    """Return whether a file or folder belongs to the user, and no one else may write to it."""
    user = getattr(os, "geteuid", lambda: found.st_uid)()
    return found.st_uid == user and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


_SIZE: Final = 16


@cache
def fingerprint() -> str:
    """Return 32 hexadecimal digits that differ wherever the same input could give another output.

    Other packages count by name and version. In another locale, the names of files may be others, or none.
    """
    home = Path(__file__).resolve().parents[1]
    whole = blake2b(f"{sys.version}\n{sys.platform}\n{sys.getfilesystemencoding()}\n".encode(), digest_size=_SIZE)
    for line in (*own_files(home), *sorted(_installed())):
        whole.update(line.encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def own_files(home: Path) -> list[str]:
    """Return lines that identify the files of a package, sorted.

    For an installed package they are those of RECORD, which has the digest of each file, and the times of files newer
    than RECORD, which were edited. Another package, as in a checkout, is identified by its path, sizes and times.
    """
    records = sorted(home.parent.glob(f"{home.name}-*.dist-info/RECORD"))
    try:
        installed = records[0].read_text(encoding="utf-8") if len(records) == 1 else ""
        since = records[0].stat().st_mtime_ns if f"{home.name}/__init__.py," in installed else -1
    except (OSError, UnicodeError):
        installed, since = "", -1
    found = [f"{home}\n"] if since < 0 else [installed]
    start = len(os.fspath(home))
    for folder, folders, files in os.walk(home):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for path in (f"{folder}/{name}" for name in files):
            file = os.stat(path) if os.path.exists(path) else os.lstat(path)  # a broken link, as editors leave
            found.append(f"{path[start:]}\t{file.st_size}\t{file.st_mtime_ns if file.st_mtime_ns > since else 0}\n")
    return sorted(found)


def _installed() -> Iterator[str]:
    """Yield the names of the metadata of installed packages, which hold their versions."""
    for place in sys.path:
        with contextlib.suppress(OSError):
            yield from (f"{name}\n" for name in os.listdir(place) if name.endswith((".dist-info", ".egg-info")))
