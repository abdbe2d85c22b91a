"""What a run over the whole repository leaves of its looks, and what becomes of that when little has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from trainc.cache.changes import Changes, Look
from trainc.cache.stamps import Stamp
from trainc.contents import digest_of
from trainc.records import NamedTuple
from trainc.write import Plan

Files = dict[str, Look]
"""File to how it looks (None: nothing there, or too fresh), and the digest of its bytes if it is a file."""


class Snapshot(NamedTuple):
    """What a run over the whole repository has left: ``folders`` begin with so many of ``inputs``.

    ``told`` are its findings as plain data, ``made`` its files in out/ and in what else of ``tops`` it writes, sorted.
    ``facts`` is what a run has to know of jobs that it does not look at (``facts.py``), empty where it has to look.
    """

    files: Files
    folders: dict[str, Stamp | None]
    inputs: int
    told: list[Any]
    made: list[str]
    tops: list[str]
    facts: bytes

    def renewed(self, changes: Changes) -> Snapshot:
        """Return the same with the looks of today. New folders are those of inputs, and come first."""
        gone = frozenset(changes.gone)
        new = {name: seen for name, seen in changes.folders.items() if name not in self.folders}
        kept = sum(name not in gone for name in islice(self.folders, self.inputs))
        old = {name: changes.folders.get(name, seen) for name, seen in self.folders.items() if name not in gone}
        files = {**self.files, **changes.files}
        for name in gone:
            files.pop(name, None)
        return self._replace(files=files, folders={**new, **old}, inputs=len(new) + kept)

    def after(self, read: Mapping[str, bytes], told: Iterable[Any], todo: Plan, facts: bytes) -> Snapshot:
        """Return what is left once ``todo`` is done, after inputs were ``read``: file to the digest of its bytes.

        What was written has no stamp, for another may have written since.
        """
        files, folders = self.files, self.folders
        for name, digest in read.items():
            seen, before = files.get(name, (None, None))
            files[name] = seen if before in (None, digest) else None, digest
        places = dict.fromkeys(_folders((file.name for file in (*todo.create, *todo.change)), self.tops))
        places |= dict.fromkeys(_folders((*todo.remove, *todo.leftovers), self.tops))
        for name in (*todo.remove, *todo.leftovers):
            files.pop(name, None)
        for file in (*todo.create, *todo.change):
            files[file.name] = None, digest_of(file.data)
        for place in places:
            if not os.path.isdir(f"{todo.root}/{place}"):
                folders.pop(place, None)
            else:
                folders[place] = None
        made = sorted((*todo.unchanged, *(file.name for file in (*todo.create, *todo.change))))
        return self._replace(told=list(told), made=made, facts=facts)


def _folders(names: Iterable[str], tops: Iterable[str]) -> Iterable[str]:
    """Yield the folders of files, and those above them, as far as they are of ``tops`` or below."""
    tops = tuple(tops)
    for name in {name.rpartition("/")[0] for name in names}:
        folder = name
        while any(f"{folder}/".startswith(f"{top}/") for top in tops):
            yield folder
            folder = folder.rpartition("/")[0]
