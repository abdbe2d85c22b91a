"""Follows the symbolic links in the tree of a git revision, as listing.py does in a working tree.

A policy behind a link has to count in a revision, too; git itself only lists links (and resolves none with a ``.``).
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from trainc.project.files import MAX_FILES
from trainc.project.git import LINK, RevisionError
from trainc.project.links import RealPaths
from trainc.project.listing import MOST_LINKED
from trainc.project.names import SUFFIXES

_FOLDER: Final = "040000"


class Entry(NamedTuple):
    """What a revision has at a path: git's mode, the hash of the content, and the size of a file."""

    name: str
    mode: str
    content: str
    size: str


class _Way(NamedTuple):
    """A link at a path, the name by which it is reached, and the folders with the links that led to it."""

    name: str
    path: str
    folders: tuple[str, ...] = ()


class Tree:
    """All entries of a revision, by their paths, and the texts of its links by their hashes.

    Links are followed only within ``home``, the path of the project with a final slash. They may lead there through
    folders above the repository, which is at ``top``.
    """

    def __init__(self, entries: Iterable[Entry], texts: Mapping[str, bytes], home: str, top: str) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self.names = sorted(self.entries)
        self.texts = texts
        self.home = home
        self.top = "".join(f"/{step}" for step in top.split("/") if step)
        self.paths = RealPaths(self._text)

    def behind(self, links: Iterable[Entry]) -> list[Entry]:
        """Return what links lead to, and the files in the folders that may be inputs, by the names of the links.

        Links that are broken, form a loop or lead out of the project are left out. Raises RevisionError
        for more folders or files behind links than trainc follows: links to folders multiply both.
        """
        found: list[Entry] = []
        inside: dict[str, list[Entry]] = {}  # many links may lead to one folder
        linked = 0
        waiting = [_Way(link.name, link.name) for link in links]
        while waiting:
            way = waiting.pop()
            target = self._resolve(way.path)
            entry = None if target is None else self.entries.get(target)
            folders = (*way.folders, way.path.rpartition("/")[0])
            if target is None or entry is None or any(f"{each}/".startswith(f"{target}/") for each in folders):
                continue
            found.append(entry._replace(name=way.name))
            if entry.mode != _FOLDER:
                continue
            linked += 1
            if linked > MOST_LINKED:
                message = f"more than {MOST_LINKED} folders behind symbolic links, one of them {way.name}"
                raise RevisionError(message)
            if target not in inside:
                inside[target] = self._inside(target)
            for each in inside[target]:
                name = way.name + each.name[len(target) :]
                if each.mode == LINK:
                    waiting.append(_Way(name, each.name, folders))
                else:
                    found.append(each._replace(name=name))
            if len(found) > MAX_FILES:
                raise RevisionError(f"more than {MAX_FILES:,} files behind symbolic links, one of them {way.name}")
        return found

    def _inside(self, folder: str) -> list[Entry]:
        """Return the files and links in a folder that may lead to inputs: they are not hidden there, and not broken."""
        first, end = (bisect_left(self.names, f"{folder}{after}") for after in "/0")  # 0 comes after / in ASCII
        names = (name for name in self.names[first:end] if "/." not in name[len(folder) :])
        return [each for each in (self.entries[name] for name in names) if self._may_lead_to_inputs(each)]

    def _may_lead_to_inputs(self, entry: Entry) -> bool:
        end = self.entries.get(self._resolve(entry.name) or "") if entry.mode == LINK else entry
        is_folder = entry.mode == LINK and end is not None and end.mode == _FOLDER
        return is_folder or (end is not None and entry.name.lower().endswith(SUFFIXES))

    def _resolve(self, path: str) -> str | None:
        """Return a path without links; None if it leads out of the project, or is in a loop."""
        found = self._below_top(self.paths.of(f"{self.top}/{path}"))
        entry = self.entries.get(found)
        return found if entry is not None and entry.mode != LINK and f"{found}/".startswith(self.home) else None

    def _text(self, place: str) -> str | None:
        entry = self.entries.get(self._below_top(place))
        return os.fsdecode(self.texts[entry.content]) if entry is not None and entry.mode == LINK else None

    def _below_top(self, place: str) -> str:
        """Return the path in the repository of an absolute one; empty if it is not below the top."""
        return place[len(self.top) + 1 :] if place.startswith(f"{self.top}/") else ""
