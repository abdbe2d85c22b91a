"""How a whole repository looked when its output was as it should be: while nothing changes, nothing is to be done.

The files that a run read, those that it made, and every folder in which another could have appeared are known by their
stamps; the files also by digests, for who asks for bytes. The findings of that run are told again. This module loads
nothing of the compiler: what it is for takes a tenth of a second.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from trainc.cache.finder import Finder, Unfound
from trainc.cache.stamps import FINE, Stamp, is_settled, stamp, stamp_of_folder
from trainc.cache.store import load_parts, path_for, save_parts
from trainc.contents import digest_of
from trainc.diagnostics import Diagnostic
from trainc.findings.plain import decode, encode
from trainc.read import CONFIG, LOCK
from trainc.source import Source
from trainc.write import OWNED, Plan

INPUTS: Final = ("jobs", "runtimes", "policies")
"""The folders that a run over the whole repository reads, beside trainc.yaml and images.lock.yaml."""

_PATIENCE: Final = 20
"""A run that took so many ticks of a file system's clock waits for the next one, to be sure of what it leaves."""

Seen = Mapping[str, tuple[Stamp | None, bytes | None]]
"""File to the stamp it had when it was read or made (None: too fresh to tell), and its digest (None: absent)."""


@dataclass(slots=True)
class Whole:
    """What is known of one repository as a whole; ``folders`` are those of inputs, as they were before a run read."""

    root: Path
    path: Path
    tool: str
    by_bytes: bool
    began: int = 0
    folders: dict[str, Stamp | None] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Path, place: Path, tool: str, *, by_bytes: bool) -> Whole:
        """Begin a run; ``place`` is the folder of all caches."""
        return cls(root, path_for(place, tool, root, "all"), tool, by_bytes, time.time_ns())

    def last(self) -> tuple[tuple[Diagnostic, ...], Plan] | None:
        """Return the findings of the last run and a plan that does nothing, if nothing has changed since."""
        parts = load_parts(self.path, self.tool, 5)
        if parts is None:
            return None
        files, folders, findings, made, tops = parts
        if not self._is_same(files, folders):
            return None
        finder = Finder(self.root)
        try:
            told = tuple(decode(finding, finder.document) for finding in findings)
        except Unfound:
            return None
        return told, Plan(self.root, unchanged=tuple(made), tops=tuple(tops))

    def _is_same(self, files: Mapping[str, Any], folders: Mapping[str, Any]) -> bool:
        base = f"{self.root}/"
        if any(stamp_of_folder(base + name) != seen for name, seen in folders.items()):
            return False
        if any(stamp(base + name) != seen for name, (seen, _) in files.items()):
            return False
        return not self.by_bytes or all(_digest(base + name) == digest for name, (_, digest) in files.items())

    def look(self) -> None:
        """Note the folders of inputs, before a run lists them."""
        self.folders = {name: stamp_of_folder(f"{self.root}/{name}") for name in _folders(f"{self.root}/", INPUTS)}
        if any(not os.path.isdir(f"{self.root}/{name}") for name in INPUTS):
            self.folders["."] = stamp_of_folder(f"{self.root}/.")  # where the missing one would appear

    def keep(self, seen: Seen, platform: Iterable[Source], findings: Iterable[Diagnostic], todo: Plan) -> None:
        """Note that out/ is as it should be, after a run over the whole repository that ended with findings.

        ``seen`` are the files of jobs and of out/, ``platform`` is what was read beside jobs/.
        """
        read = {source.name: digest_of(source.text) for source in platform if isinstance(source.text, bytes)}
        files = {**seen, **{name: (None, read.get(name)) for name in (CONFIG, LOCK, *read)}}
        made = sorted((*todo.unchanged, *(file.name for file in (*todo.create, *todo.change))))
        try:
            told = [encode(finding, Finder(self.root).place) for finding in findings]
        except Unfound:
            return
        places = self._places(frozenset(made), todo.tops)
        stamps = None if places is None else self._stamps(files, places)
        if stamps is not None:
            save_parts(self.path, self.tool, (stamps, places, told, made, list(todo.tops)))

    def _places(self, made: frozenset[str], tops: Iterable[str]) -> dict[str, Stamp | None] | None:
        """Return the folders as they are now; None where inputs came or went, or another has written to out/."""
        base = f"{self.root}/"
        places = {name: stamp_of_folder(base + name) for name in self.folders}
        if places != self.folders:
            return None
        strangers: list[str] = []
        for name in _folders(base, tops, strangers):
            places[name] = stamp_of_folder(base + name)
        if any(_is_owned(base + name) for name in strangers if name not in made):
            return None
        return None if None in places.values() else places

    def _stamps(
        self, files: Seen, places: Mapping[str, Stamp | None]
    ) -> dict[str, tuple[Stamp | None, bytes | None]] | None:
        """Return the files as they are now; None where one is another one than it was, or could become so unseen."""
        base = f"{self.root}/"
        now = {name: stamp(base + name) for name in files}
        known = [each for each in (*now.values(), *places.values()) if each is not None]
        if not _wait(known, self.began):
            return None
        for name, (seen, digest) in files.items():
            if seen is None and digest is not None:  # as fresh then as to be read again now
                now[name] = stamp(base + name)
                if _digest(base + name) != digest:
                    return None
            elif now[name] != seen:
                return None
        return {name: (now[name], digest) for name, (_, digest) in files.items()}


def _folders(base: str, tops: Iterable[str], strangers: list[str] | None = None) -> Iterator[str]:
    """Yield folders and those below them, hidden ones left out; ``strangers`` gets the names of all files there."""
    waiting = [name for name in tops if os.path.isdir(base + name)]
    while waiting:
        folder = waiting.pop()
        yield folder
        with os.scandir(base + folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if strangers is not None or not entry.name.startswith("."):
                        waiting.append(f"{folder}/{entry.name}")
                elif strangers is not None:
                    strangers.append(f"{folder}/{entry.name}")


def _is_owned(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(OWNED)) == OWNED
    except OSError:
        return False


def _digest(path: str) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    with open(handle, "rb", buffering=0) as file:
        return digest_of(file.read())


def _wait(stamps: Iterable[Stamp], began: int) -> bool:
    """Tell whether a change from now on gives other stamps; after a long run, wait until it does."""
    latest = max(stamps, key=lambda each: max(each[1], each[2]), default=None)
    if latest is None or is_settled(latest):
        return True
    if time.time_ns() - began < _PATIENCE * FINE:
        return False
    time.sleep(FINE / 1e9)
    return is_settled(latest)
