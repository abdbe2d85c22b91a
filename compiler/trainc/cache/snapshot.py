"""What a run over the whole repository leaves of its looks, and what becomes of that when little has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from trainc.cache.changes import Changes
from trainc.cache.looks import UNKNOWN, Look, Looks
from trainc.cache.stamps import Stamp
from trainc.records import NamedTuple
from trainc.write import Plan

_SEPARATOR: Final = "\0"


class Snapshot(NamedTuple):
    """What a run over the whole repository has left: ``folders`` begin with so many of ``inputs``.

    ``told`` are its findings as plain data, ``made`` its files in out/ and in what else of ``tops`` it writes, sorted.
    ``facts`` is what a run has to know of jobs that it does not look at (``facts.py``), empty where it has to look.
    """

    files: Looks
    folders: Looks
    inputs: int
    told: list[Any]
    made: list[str]
    tops: list[str]
    facts: bytes

    @classmethod
    def of_plain(cls, plain: Sequence[Any]) -> Snapshot:
        """Return what ``plain`` has given."""
        files, folders, inputs, told, made, tops, facts = plain
        names = made.split(_SEPARATOR) if made else []
        return cls(Looks.of_plain(files), Looks.of_plain(folders), inputs, told, names, tops, facts)

    def plain(self) -> tuple[Any, ...]:
        """Return plain data, for ``marshal``."""
        looks = self.files.plain(), self.folders.plain()
        return (*looks, self.inputs, self.told, _SEPARATOR.join(self.made), self.tops, self.facts)

    def renewed(self, changes: Changes) -> Snapshot:
        """Return the same with the looks of today. New folders are those of inputs, and come first."""
        gone = [name for name in changes.gone if name in self.folders]
        looks = {name: _look_of_folder(seen) for name, seen in changes.folders.items()}
        new = {name: look for name, look in looks.items() if name not in self.folders}
        old = self.folders.changed({name: look for name, look in looks.items() if name not in new}, gone)
        folders = Looks.of(new).followed(old)
        files = self.files.changed(changes.files, changes.gone)
        return self._replace(files=files, folders=folders, inputs=len(new) + self.inputs - len(gone))

    def after(
        self, read: Mapping[str, bytes], written: Mapping[str, bytes], told: Iterable[Any], todo: Plan, facts: bytes
    ) -> Snapshot:
        """Return what is left once ``todo`` is done.

        ``read`` are inputs and ``written`` files of out/, by name with digests. What was written has no stamp, for
        another may have written since. A folder that was there keeps the one that
        it had before: it has another one now if any of its names has come or gone.
        """
        known = {name: self.files.look(name) for name in read}
        files = {name: (known[name][0] if known[name][1] in (None, own) else None, own) for name, own in read.items()}
        files |= {name: (None, digest) for name, digest in written.items()}
        removed = (*todo.remove, *todo.leftovers)
        places = _folders(written, self.tops)
        new = {place: _look_of_folder(None) for place in places if place not in self.folders}
        gone = [place for place in _folders(removed, self.tops) if not os.path.isdir(f"{todo.root}/{place}")]
        made = sorted((*todo.unchanged, *written))
        left = self._replace(told=list(told), made=made, facts=facts)
        return left._replace(files=self.files.changed(files, removed), folders=self.folders.changed(new, gone))


def _look_of_folder(seen: Stamp | None) -> Look:
    return seen or UNKNOWN, None


def _folders(names: Iterable[str], tops: Iterable[str]) -> set[str]:
    """Return the folders of files, and those above them, as far as they are of ``tops`` or below."""
    found: set[str] = set()
    starts = tuple(f"{top}/" for top in tops)
    for name in {name.rpartition("/")[0] for name in names}:
        folder = name
        while folder not in found and f"{folder}/".startswith(starts):
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found
