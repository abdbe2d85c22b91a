"""What has changed in a repository since it was looked at: files and folders, by their stamps and then by their bytes.

It says either exactly which inputs are others, while out/ is as it was left, or nothing at all. This module loads
nothing of the compiler.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from trainc.cache.looks import Look, Looks
from trainc.cache.stamps import Stamp, is_settled, stamp_of_folder, state
from trainc.contents import digest_of
from trainc.files import read_regular
from trainc.read import POLICY_TESTS, SUFFIXES, is_input
from trainc.records import dataclass, field

INPUTS: Final = ("jobs", "runtimes", "policies")
"""The folders that a run over the whole repository reads, beside trainc.yaml and images.lock.yaml."""

_MOST: Final = 4
"""Where more than one in so many folders of inputs looks another, all is read: a fresh checkout, as a rule."""

_FEW: Final = 8
"""What lies in so few folders is found sooner by how names begin than by taking all of them apart."""


class _Beyond(Exception):
    """More has changed than inputs, or something that takes reading all of them."""


@dataclass(slots=True)
class Changes:
    """What is to be known of files and folders instead of what was: ``edited`` inputs are others, or new.

    ``files`` and ``folders`` have looks for what is as it was after all, and for what is edited (its digest is not
    known before it is read); ``gone`` names files and folders that are no more.
    """

    files: dict[str, Look] = field(default_factory=dict)
    folders: dict[str, Stamp | None] = field(default_factory=dict)
    edited: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Tell whether an input is another one."""
        return bool(self.edited or self.gone)


def compare(base: str, files: Looks, folders: Looks, inputs: int) -> Changes | None:
    """Return what has changed below ``base`` (which ends in a slash); None where only a whole run can tell.

    ``files`` and ``folders`` are as they were; so many folders, the first ones, are those of inputs.
    """
    start = time.time_ns()
    late = folders.moved_folders(base, 0, inputs)
    if len(late) * _MOST > max(inputs, 16):
        return None
    moved = files.moved(base)
    late += folders.moved_folders(base, inputs, len(folders.names))
    found = Changes()
    try:
        _compare_files(base, moved, files, found, start)
        if late:
            _compare_folders(base, late, _names_in(late, files, folders), found, start)
    except (_Beyond, OSError):
        return None
    return found


def _compare_files(base: str, moved: Iterable[str], files: Looks, found: Changes, start: int) -> None:
    for name in moved:
        now = state(base + name)
        digest = files.look(name)[1]
        if now is not None and now[0] >= 0 and digest is not None and digest_in(base + name) == digest:
            found.files[name] = _trusted(now, start), digest
        elif not is_input(name):  # out/, trainc.yaml, images.lock.yaml; or one of the folders has come or gone
            raise _Beyond
        elif now is None:
            found.gone.append(name)
        else:
            _edit(name, now, found, start)


def _compare_folders(base: str, late: Iterable[str], known: Mapping[str, set[str]], found: Changes, start: int) -> None:
    waiting = list(late)
    while waiting:
        folder = waiting.pop()
        is_of_inputs = folder.partition("/")[0] in INPUTS
        seen = stamp_of_folder(base + folder)
        if seen is None:
            if not is_of_inputs or "/" not in folder:
                raise _Beyond
            found.gone.append(folder)
            continue
        names = set(_listed(base, folder) if is_of_inputs else os.listdir(base + folder))
        before = known.get(folder, set())
        if not is_of_inputs and names != before:
            raise _Beyond
        for name in sorted(f"{folder}/{each}" for each in names - before):
            now = state(base + name)
            if now is not None and now[0] == -1 and name.startswith("jobs/") and name.count("/") == 1:
                waiting.append(name)
            elif now is not None:
                _edit(name, now, found, start)
        found.folders[folder] = _trusted(seen, start)


def _edit(name: str, now: Stamp, found: Changes, start: int) -> None:
    if now[0] < 0 or not is_input(name):
        raise _Beyond
    found.edited.append(name)
    found.files[name] = _trusted(now, start), None


def _listed(base: str, folder: str) -> Iterator[str]:
    """Yield the names in a folder of inputs that a run cares for. Raises _Beyond for a link."""
    if f"{folder}/".startswith(f"{POLICY_TESTS}/"):
        raise _Beyond
    with os.scandir(base + folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                raise _Beyond
            if entry.name.lower().endswith(SUFFIXES) or entry.is_dir(follow_symlinks=False):
                yield entry.name


def _names_in(late: Iterable[str], files: Looks, folders: Looks) -> dict[str, set[str]]:
    """Return what was in folders, by name there."""
    names: dict[str, set[str]] = {folder: set() for folder in late}
    inside: Iterable[str] = chain(files.names, folders.names)
    if len(names) <= _FEW:
        starts = tuple(f"{folder}/" for folder in names)
        inside = [name for name in inside if name.startswith(starts)]
    for name in inside:  # what is named and was not there lies in no folder
        folder, _, last = name.rpartition("/")
        if folder in names:
            names[folder].add(last)
    return names


def _trusted(seen: Stamp, start: int) -> Stamp | None:
    """Return a stamp that was settled before anything was looked at, or None."""
    return seen if is_settled(seen, start) else None


def digest_in(path: str) -> bytes | None:
    """Return the digest of a file's bytes; None where it cannot be read."""
    data = read_regular(path)
    return None if data is None else digest_of(data)
