"""How a whole repository looked when its output was as it should be: while nothing changes, nothing is to be done.

The files that a run read, those that it made, and every folder in which another could have appeared are known by their
stamps; the files also by digests, for who asks for bytes. The findings of that run are told again. This module loads
nothing of the compiler: what it is for takes a tenth of a second.

A stamp counts only if it was settled (``stamps.py``) before the file was read, or the folder listed, for the last time:
so whatever comes afterwards shows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from trainc.cache.changes import INPUTS, Changes, compare, digest_in
from trainc.cache.finder import Finder, Unfound
from trainc.cache.looks import Look, Looks
from trainc.cache.snapshot import Snapshot
from trainc.cache.stamps import FINE, Stamp, is_settled, stamp_of_folder, state
from trainc.cache.store import load_parts, path_for, save_parts
from trainc.contents import digest_of
from trainc.files import read_regular
from trainc.findings import Diagnostic
from trainc.findings.plain import decode, encode
from trainc.foreign import OWNED
from trainc.putfile import boot
from trainc.read import CONFIG, LOCK
from trainc.records import dataclass, field
from trainc.source import Source
from trainc.write import Plan, is_temporary

_PATIENCE: Final = 20
"""A run that took so many ticks of a file system's clock waits for the next one, to be sure of what it leaves."""

_MANY: Final = 50
"""So many files that are known by their bytes alone are worth writing down how they look, once that can be told."""

Seen = Mapping[str, Look]
"""File to the stamp it had when it was read or made (None: too fresh to tell), and its digest (None: no such file)."""


Files = dict[str, Look]
"""File to how it looks (None: nothing there), and the digest of its bytes if it is a file."""


class _Moving(Exception):
    """Something is not as the run saw it, or could become so unseen."""


@dataclass(slots=True)
class _Listing:
    """Folders with their stamps, taken before each was listed, and the names of what else is in them."""

    folders: dict[str, Stamp | None] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    linked: bool = False

    @classmethod
    def of(cls, base: str, tops: Iterable[str], *, hidden: bool) -> _Listing:
        """List folders that are there, and those below them; the hidden ones too if ``hidden``."""
        found = cls()
        waiting = [name for name in tops if os.path.isdir(base + name)]
        while waiting:
            folder = waiting.pop()
            found.folders[folder] = stamp_of_folder(base + folder)
            try:
                entries = os.scandir(base + folder)
            except OSError:  # who reads it has the words; nothing is remembered of it
                found.folders[folder] = None
                continue
            with entries:
                for entry in entries:
                    if not hidden and entry.name.startswith("."):
                        continue
                    name = f"{folder}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(name)
                    else:
                        found.names.append(name)
                        found.linked = found.linked or entry.is_symlink()
        return found


@dataclass(slots=True)
class Whole:
    """What is known of one repository as a whole; ``inputs`` is what there was before a run read any.

    ``snapshot`` is what the last run has left, ``changes`` how inputs are others since, where that is all there is.
    """

    root: Path
    path: Path
    tool: str
    by_bytes: bool
    began: int = 0
    inputs: _Listing = field(default_factory=_Listing)
    snapshot: Snapshot | None = None
    changes: Changes | None = None

    @classmethod
    def of(cls, root: Path, place: Path, tool: str, *, by_bytes: bool) -> Whole:
        """Begin a run; ``place`` is the folder of all caches."""
        return cls(root, path_for(place, tool, root, "all"), tool, by_bytes)

    def last(self) -> tuple[tuple[Diagnostic, ...], Plan] | None:
        """Return the findings of the last run and a plan that does nothing, if nothing has changed since."""
        plain = load_parts(self.path, self._mark, len(Snapshot._fields))
        if plain is None:
            return None
        last = Snapshot.of_plain(plain)
        changes = compare(f"{self.root}/", last.files, last.folders, last.inputs)
        if changes is None or (self.by_bytes and (changes or not self._has_bytes(last))):
            return None
        if changes:
            self.snapshot, self.changes = last, changes
            return None
        finder = Finder(self.root)
        try:
            told = tuple(decode(finding, finder.document) for finding in last.told)
        except Unfound:
            return None
        if len(changes.files) + len(changes.folders) > _MANY:
            self._save(last.renewed(changes))
        return told, Plan(self.root, unchanged=tuple(last.made), tops=tuple(last.tops))

    def _has_bytes(self, last: Snapshot) -> bool:
        looks = last.files.items()
        return all(digest is None or digest_in(f"{self.root}/{name}") == digest for name, (_, digest) in looks)

    def look(self) -> None:
        """Note what inputs there are, before a run lists them."""
        self.began = time.time_ns()
        self.inputs = _Listing.of(f"{self.root}/", INPUTS, hidden=False)

    def keep(
        self,
        seen: Seen,
        platform: Iterable[Source],
        findings: Iterable[Diagnostic],
        todo: Plan,
        facts: Callable[[], bytes],
    ) -> Files:
        """Note that out/ is as it should be, after a run over the whole repository that ended with findings.

        ``seen`` are the files of jobs and of out/, ``platform`` is what was read beside jobs/, ``facts`` gives those of
        the jobs. Returns the files whose looks are known now; none where something is not as the run saw it.
        """
        read = {source.name: digest_of(source.text) for source in platform if isinstance(source.text, bytes)}
        wanted = {**seen, **{name: (None, read.get(name)) for name in (CONFIG, LOCK, *read)}}
        made = sorted((*todo.unchanged, *(file.name for file in (*todo.create, *todo.change))))
        if not wanted.keys() >= set(made) or not self._wait(todo):
            return {}
        try:
            folders, files = self._looks(wanted, made, todo.tops)
        except _Moving:
            return {}
        try:
            finder = Finder(self.root)
            told = [encode(finding, finder.place) for finding in findings]
        except Unfound:
            return files
        looks = Looks.of(files), Looks.of({name: (seen, None) for name, seen in folders.items()})
        self._save(Snapshot(*looks, len(self.inputs.folders), told, made, list(todo.tops), facts()))
        return files

    def renew(
        self,
        read: Mapping[str, bytes],
        written: Mapping[str, bytes],
        findings: Iterable[Diagnostic],
        todo: Plan,
        facts: bytes,
    ) -> None:
        """Note the same as ``keep``, after a run that looked only at what has changed. Arguments as in ``after``."""
        assert self.snapshot is not None and self.changes is not None, "nothing was known"
        finder = Finder(self.root)
        try:
            told = [encode(finding, finder.place) for finding in findings]
        except Unfound:
            return
        self._save(self.snapshot.renewed(self.changes).after(read, written, told, todo, facts))

    @property
    def _mark(self) -> str:
        """Who must have left a snapshot: this trainc, since the system's last start (``store.py`` says why)."""
        return f"{self.tool} {boot()}"

    def _save(self, snapshot: Snapshot) -> None:
        save_parts(self.path, self._mark, snapshot.plain())

    def _wait(self, todo: Plan) -> bool:
        """Tell whether all that the run wrote can be settled; after a long run, wait until it is."""
        if not (todo.stale or todo.leftovers):
            return True
        if time.time_ns() - self.began < _PATIENCE * FINE:
            return False
        time.sleep(1.1 * FINE / 1e9)
        return True

    def _looks(self, wanted: Seen, made: list[str], tops: Iterable[str]) -> tuple[dict[str, Stamp | None], Files]:
        """Return the stamps of folders, and the files, as they are now. Raises _Moving."""
        base, start = f"{self.root}/", time.time_ns()
        folders = self._folders_of_inputs(base)
        out = _Listing.of(base, tops, hidden=True)
        folders |= out.folders | {name: stamp_of_folder(base + name) for name in _above(tops)}
        files = {name: _confirmed(base + name, *entry, start) for name, entry in wanted.items()}
        files |= {name: _stranger(base + name, start) for name in set(out.names).difference(made)}
        missing = [name for name in (*INPUTS, *tops) if name not in folders]
        files |= {name: _confirmed(base + name, None, None, start) for name in missing}
        for seen in folders.values():
            if seen is None or not is_settled(seen, start):
                raise _Moving
        return folders, files

    def _folders_of_inputs(self, base: str) -> dict[str, Stamp | None]:
        """Return the folders of inputs; they hold what they held before the run listed them."""
        before = self.inputs
        if before.linked:  # where a link leads may change, and show nowhere
            raise _Moving
        if all(seen is not None and is_settled(seen, self.began) for seen in before.folders.values()):
            now = {name: stamp_of_folder(base + name) for name in before.folders}
        else:
            after = _Listing.of(base, INPUTS, hidden=False)
            now = after.folders
            if sorted(after.names) != sorted(before.names):
                raise _Moving
        if now != before.folders:
            raise _Moving
        return now


def _above(tops: Iterable[str]) -> set[str]:
    """Return the folders above others, the root left out: one that became a link would be in the way."""
    steps = [name.split("/") for name in tops]
    return {"/".join(parts[:end]) for parts in steps for end in range(1, len(parts))}


def _confirmed(path: str, seen: Stamp | None, digest: bytes | None, start: int) -> tuple[Stamp | None, bytes | None]:
    """Return how a file looks that a run saw, or that it did not find. Raises _Moving."""
    now = state(path)
    if digest is None or now is None or now[0] < 0:
        if now is not None or digest is not None:
            raise _Moving
    elif seen is not None:
        if now != seen:
            raise _Moving
    elif not is_settled(now, start) or digest_in(path) != digest:  # too fresh then; so it is read again
        raise _Moving
    return now, digest


def _stranger(path: str, start: int) -> tuple[Stamp | None, bytes | None]:
    """Return how a file looks that lies in out/ and is not trainc's. Raises _Moving for one that is."""
    now = state(path)
    if now is None or not is_settled(now, start) or is_temporary(path):
        raise _Moving
    if now[0] < 0:
        return now, None
    data = read_regular(path)
    if data is None:
        raise _Moving
    if data.startswith(OWNED):
        raise _Moving
    return now, digest_of(data)
