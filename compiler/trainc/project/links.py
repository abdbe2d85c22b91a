"""Follows the symbolic links in the tree of a git revision, as read.py does in a working tree.

A policy behind a link has to count in a revision, too; git itself only lists links (and resolves none with a ``.``).
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from trainc.project.read import MOST_LINKED

LINK: Final = "120000"
_FOLDER: Final = "040000"
_MOST_STEPS: Final = 40
"""The most links on the way to one file, as in Linux."""


class TooManyLinksError(Exception):
    """More folders are behind links than trainc follows: links to folders of links multiply."""


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
        self.top = [step for step in top.split("/") if step]

    def behind(self, links: Iterable[Entry]) -> list[Entry]:
        """Return the files that links lead to, and all that is in the folders, by the names of the links.

        Links that are broken, form a loop or lead out of the project are left out, and so are hidden ones in folders.
        Raises TooManyLinksError.
        """
        found: list[Entry] = []
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
                raise TooManyLinksError(message)
            first, end = (bisect_left(self.names, f"{target}{after}") for after in "/0")  # 0 comes after / in ASCII
            for each in (self.entries[below] for below in self.names[first:end]):
                inside = each.name[len(target) :]
                if each.mode != LINK:
                    found.append(each._replace(name=way.name + inside))
                elif "/." not in inside:
                    waiting.append(_Way(way.name + inside, each.name, folders))
        return found

    def _resolve(self, path: str) -> str | None:
        """Return a path without links; None if it leads out of the project, or too many links are on the way."""
        waiting, reached, followed = [*self.top, *path.split("/")][::-1], list[str](), 0
        while waiting:
            step = waiting.pop()
            if step == "..":
                reached = reached[:-1]
            elif step not in ("", "."):
                reached.append(step)
                entry = self.entries.get(self._below_top(reached))
                if entry is None or entry.mode != LINK:
                    continue
                text, followed = os.fsdecode(self.texts[entry.content]), followed + 1
                if followed > _MOST_STEPS:
                    return None
                reached = [] if text.startswith("/") else reached[:-1]
                waiting += text.split("/")[::-1]
        found = self._below_top(reached)
        return found if found and f"{found}/".startswith(self.home) else None

    def _below_top(self, steps: Sequence[str]) -> str:
        """Return the path in the repository of an absolute one; empty if it is not below the top."""
        count = len(self.top)
        return "/".join(steps[count:]) if steps[:count] == self.top else ""
