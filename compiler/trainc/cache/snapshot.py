"""Digests and stamps of a repository's files after a run, so that the next run need not read unchanged files.

After a full run that left out/ up to date, the snapshot is complete: it has every file and folder that matters, and the
report. While all of these are unchanged, a run has nothing to do and does not load the compiler. For 10,000 unchanged
jobs that takes 0.3 seconds, a sixth of a run with the results of jobs alone.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from trainc.cache.store import Store
from trainc.pipeline.content import digest_of
from trainc.project.files import read_regular
from trainc.project.links import top_of, up_to_top
from trainc.project.missing import is_submodule, submodules
from trainc.project.names import INPUTS, SETTINGS, all_parents, is_input, may_have_inputs
from trainc.project.read import not_read
from trainc.project.write import is_ours, is_temporary

FEW: Final = 64
"""The most changed files below jobs/ that are rendered alone; with more, all of jobs/ is."""

NAME: Final = "files"
"""The name of the snapshot in the store."""


class Look(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A regular file: the digest of its bytes, and its stamp if it is reliable."""

    digest: bytes
    stamp: Stamp | None = None


class Snapshot(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The files that a run read or wrote. All other fields are empty in an incomplete snapshot.

    ``folders`` are those of inputs and of ``tops``, the folders written to; ``ignored`` are files in them that no run
    reads, ``empty`` folders of inputs without entries. ``missing`` are names that do not exist, ``parents`` the folders
    above ``tops``. ``generated`` counts the files that trainc wrote. ``texts`` are the reports by reporting options
    (empty unless out/ was up to date), ``reported`` the files that findings name, ``around`` the ``surroundings``
    before the run. ``changed``, which is never stored, are the files below jobs/ whose bytes changed since.
    """

    files: dict[str, Look] = {}
    folders: dict[str, Stamp | None] = {}
    ignored: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    tops: tuple[str, ...] = ()
    generated: int = 0
    texts: dict[str, tuple[str, ...]] = {}
    reported: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def is_of_same_files(self, other: Snapshot) -> bool:
        """Return whether two complete snapshots have the same names and surroundings, and files of the same bytes."""
        if self.files.keys() != other.files.keys() or self.folders.keys() != other.folders.keys():
            return False
        if self.around != other.around or self._others() != other._others():
            return False
        return all(look.digest == other.files[name].digest for name, look in self.files.items())

    def _others(self) -> tuple[frozenset[str], ...]:
        """Return the names besides those of files and folders; a folder may list its entries in another order."""
        return tuple(map(frozenset, (self.ignored, self.empty, self.missing, self.parents, self.tops)))


def surroundings(root: Path) -> tuple[str, ...]:
    """Return what reports depend on besides files and folders.

    These are files that are not read, the place in git, and its attributes: in the folders from the project up to the
    top of the repository, since files in out/ count by themselves.
    """
    home = root.resolve()
    top = top_of(home)
    place = "" if top is None else ascii(os.fspath(home.relative_to(top)))
    found = (f"{folder}/.gitattributes" for folder in up_to_top(home, top))
    attributes = (f"{path}: {stamp(path) and _digest_in(path)!r}" for path in found if os.path.lexists(path))
    return (place, *not_read(root), *attributes)


def load_last(root: Path, store: Store, manner: str | None = None, *, by_bytes: bool = False) -> Snapshot | None:
    """Return the snapshot of the last run as ``renewed`` does, if it has a text for ``manner``; else None."""
    old = store.load(NAME, Snapshot)
    if old is None or (manner is not None and manner not in old.texts):
        return None
    new = renewed(root, old, by_bytes=by_bytes)
    if new is not None and new is not old and not new.changed:
        store.save(NAME, new)
    return new


def renewed(root: Path, old: Snapshot, *, by_bytes: bool) -> Snapshot | None:
    """Return a complete snapshot with current stamps if nothing changed but a few files below jobs/, else None.

    With ``by_bytes``, all files are read and compared by their digests, and all folders are listed.
    """
    base, start = f"{root}/", time.time_ns()
    if not old.texts or any(os.path.lexists(base + name) for name in old.missing) or _has_submodule(root, old.empty):
        return None
    if not all(map(stamp_of_folder, (base + name for name in old.parents))) or surroundings(root) != old.around:
        return None
    # Folders come first, each before those in it: a link in place of one may lead to what does not answer.
    late = _moved(((name, seen, stamp_of_folder(base + name)) for name, seen in old.folders.items()))
    if late is None:
        return None
    moved = _moved(((name, look.stamp, stamp(base + name)) for name, look in old.files.items()))
    listed = old.folders if by_bytes else late
    if moved is None or (listed and not _same_names(base, old, listed)):
        return None
    compared = old.files if by_bytes else moved
    differing = (name for name in compared if _digest_in(base + name) != old.files[name].digest)
    changed = list(islice(differing, FEW + 1))
    if len(changed) > FEW or not all(name.startswith("jobs/") for name in changed):
        return None
    if not moved and not late and not changed:
        return old
    files = {name: Look(old.files[name].digest, settled(now, start)) for name, now in moved.items()}
    files |= {name: Look(old.files[name].digest) for name in changed}
    folders = {name: settled(now, start) for name, now in late.items()}
    new = replace(old, files={**old.files, **files}, folders={**old.folders, **folders})
    return replace(new, changed=tuple(changed))


def _moved(stamps: Iterable[tuple[str, Stamp | None, Stamp | None]]) -> dict[str, Stamp] | None:
    """Return the current stamps that differ from earlier ones, by name; None if something is missing."""
    moved: dict[str, Stamp] = {}
    for name, before, now in stamps:
        if now is None:
            return None
        if now != before:
            moved[name] = now
    return moved


def _same_names(base: str, old: Snapshot, folders: Collection[str]) -> bool:
    """Return whether folders have the same entries, by name, and no ignored file became a folder or a link."""
    names: dict[str, set[str]] = {folder: set() for folder in folders}
    for name in chain(old.files, old.folders, old.ignored):
        folder, _, last = name.rpartition("/")
        if folder in names:
            names[folder].add(last)
    ignored = (name.rpartition("/") for name in old.ignored)
    seen = (f"{base}{folder}/{last}" for folder, _, last in ignored if folder in names and not last.startswith("."))
    if not all(map(stamp, seen)):
        return False
    try:
        return all(set(os.listdir(base + folder)) == known for folder, known in names.items())
    except OSError:
        return False


class _Unseen(Exception):
    """A file differs from what the run saw, or could change unnoticed."""


def complete(root: Path, snapshot: Snapshot, foreign: Collection[str]) -> Snapshot | None:
    """Complete the snapshot of a full run that left out/ up to date.

    It has the files that the run read or wrote; ``foreign`` are other files that it saw below out/. Returns None if a
    file differs from what the run saw, or could change unnoticed, such as the target of a symbolic link.
    """
    base, files, folders = f"{root}/", dict(snapshot.files), dict[str, Stamp | None]()
    missing = [name for name in SETTINGS if name not in files]
    seen = {name for name in SETTINGS if name in files and stamp(base + name) is not None}
    ignored: list[str] = []
    empty: list[str] = []
    try:
        for top in (*INPUTS, *snapshot.tops):
            if not os.path.lexists(base + top):
                missing.append(top)
                continue
            for name in _files_in(base, top, folders, empty):
                if name in snapshot.files:
                    seen.add(name)
                elif top in INPUTS and not is_input(name):
                    ignored.append(name)
                elif name in foreign and not is_temporary(name) and not is_ours(str(root), name):
                    start, found = time.time_ns(), stamp(base + name)
                    if (digest := _digest_in(base + name)) is None:
                        return None
                    files[name] = Look(digest, settled(found, start))
                else:
                    return None
    except (_Unseen, OSError):
        return None
    if len(seen) < len(snapshot.files) or any(os.path.lexists(base + name) for name in missing):
        return None
    if surroundings(root) != snapshot.around or _has_submodule(root, empty):
        return None
    above = all_parents(snapshot.tops)
    new = replace(snapshot, files=files, folders=folders, ignored=tuple(ignored), empty=tuple(empty))
    return replace(new, missing=tuple(missing), parents=tuple(above))


def _has_submodule(root: Path, empty: Iterable[str]) -> bool:
    """Return whether one of the empty folders of inputs is a submodule that is not checked out."""
    home, named = os.path.realpath(root), cache(submodules)
    return any(is_submodule(f"{home}/{name}", named) for name in empty)


def _files_in(base: str, top: str, folders: dict[str, Stamp | None], empty: list[str]) -> Iterator[str]:
    """Yield the files below a folder, and record the folders; hidden folders of inputs are skipped.

    ``empty`` are the folders of inputs without entries.

    Raises _Unseen and OSError.
    """
    start = time.time_ns()
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        found = stamp_of_folder(base + folder)
        if found is None:
            raise _Unseen
        folders[folder] = settled(found, start)
        with os.scandir(base + folder) as entries:
            listed = list(entries)
        if not listed and top not in INPUTS:
            raise _Unseen  # it may be a submodule that is not checked out
        if not listed and may_have_inputs(folder):
            empty.append(folder)
        for entry in listed:
            name = f"{folder}/{entry.name}"
            is_hidden = top in INPUTS and entry.name.startswith(".")
            if entry.is_dir(follow_symlinks=False) and not is_hidden:
                waiting.append(name)
            elif is_hidden or entry.is_file(follow_symlinks=False):
                yield name
            else:
                raise _Unseen


def _digest_in(path: str) -> bytes | None:
    data = read_regular(path)
    return None if data is None else digest_of(data)


Stamp: TypeAlias = tuple[int, int, int, int]
"""Size in bytes, nanoseconds of the last change of content and inode, inode number."""

_SECOND: Final = 1_000_000_000
FINE: Final = _SECOND // 10
"""Nanoseconds after which a file system with fractions of seconds has another time; ext4 ticks every 4 to 10 ms."""
_COARSE: Final = 3 * _SECOND
"""The same for one that counts seconds, or pairs of them, as FAT does."""


def stamp(path: str, is_kind: Callable[[int], bool] = stat.S_ISREG) -> Stamp | None:
    """Return the stamp of a regular file; None for anything else, links included."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino) if is_kind(found.st_mode) else None


def stamp_of_folder(path: str) -> Stamp | None:
    """Return the stamp of a folder, which changes with its entries; None if it is not a folder."""
    return stamp(path, stat.S_ISDIR)


def settled(seen: Stamp | None, now: int) -> Stamp | None:
    """Return the stamp if the next run may rely on it: any change after ``now`` (in nanoseconds) would change it."""
    if seen is None:
        return None
    last = max(seen[1], seen[2])
    return seen if now - last > (FINE if last % _SECOND else _COARSE) else None
