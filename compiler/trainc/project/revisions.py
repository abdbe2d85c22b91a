"""Reads jobs/, runtimes/, policies/ and out/ of a git revision, with git.

Names are relative to the project root, as in read.py, which may be a folder of a larger git repository. Nothing is
checked out. Symbolic links are followed as in a working tree, except below out/: a policy behind a link has to count in
a revision, too, and git itself only lists links (and resolves none with a ``.``).
"""

from __future__ import annotations

import os
import posixpath
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trainc.findings import has_errors
from trainc.inputs.options import Revision
from trainc.inputs.source import Packed, Source
from trainc.project.config import parse, read_document
from trainc.project.files import LIMIT, MAX_FILES, MAX_TOTAL, OWNED, Blob, Kind
from trainc.project.git import KINDS, RevisionError, commit_of, git, prefix_of, reader, top_for, without_content
from trainc.project.links import RealPaths
from trainc.project.listing import MOST_LINKED
from trainc.project.names import (
    CONFIG,
    INPUTS,
    OUT,
    SETTINGS,
    SUFFIXES,
    is_given,
    is_hidden,
    is_placed,
    is_read,
    is_shown,
)


def _environment(name: str) -> str:
    """Return the environment of a file of out/."""
    return name.split("/")[1]


def read_revision(root: Path, revision: str, given: Sequence[str] = ()) -> Revision:
    """Return the files of a revision (a branch, a tag, a commit, ``HEAD~1``), sorted by name.

    Of out/, those to which trainc could write, with or without its header, since a cluster applies both; but none of an
    environment without a file of trainc's, which does not have its output here.
    ``given`` are further files and folders, relative to root. An invalid trainc.yaml is ignored. Raises RevisionError
    if git, the repository, the revision or the content of a file is missing.
    """
    entries = _entries(root, revision, *INPUTS, OUT, *SETTINGS, *given)
    found = _sources(root, entries, lambda name: is_read(name) or is_given(name, given))
    config, wrong = parse(next((source for source in found if source.name == CONFIG), None))
    settings = tuple(read_document(source)[1] for source in found if source.name in SETTINGS)
    inputs = tuple(source for source in found if source.name not in SETTINGS)
    files = _files(entries, is_placed)
    output: list[Packed] = []
    rendered: set[str] = set()
    with reader(root) as read:
        for entry, data in zip(files, read([(entry.name, entry.content) for entry in files]), strict=True):
            output.append(Packed.of(entry.name, data))
            if data.startswith(OWNED):
                rendered.add(_environment(entry.name))
    output = [file for file in output if _environment(file.name) in rendered]
    return Revision(revision, inputs, config.data, settings, tuple(output), not has_errors(wrong))


def read_inputs(root: Path, revision: str) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
    """Return the inputs of a revision, with trainc.yaml and images.lock.yaml, and the other files below policies/.

    Raises RevisionError.
    """
    entries = _entries(root, revision, *INPUTS, *SETTINGS)
    sources = _sources(root, entries, lambda name: is_read(name) or name.startswith("policies/"))
    return tuple(s for s in sources if is_read(s.name)), tuple(s for s in sources if not is_read(s.name))


def read_output(root: Path, revision: str, read: Callable[[Blob], bytes]) -> tuple[dict[str, Blob], dict[str, Kind]]:
    """Return all YAML and JSON files below out/ at a revision, and the kind of every entry. Raises RevisionError."""
    entries = _entries(root, revision, OUT)
    shown = _files(entries, lambda name: name.lower().endswith(SUFFIXES) and not is_hidden(name))
    files = {entry.name: Blob(entry.name, entry.content, read) for entry in shown}
    return files, {entry.name: entry.kind for entry in entries}


def _entries(root: Path, revision: str, *paths: str) -> list[_Entry]:
    """Return what a revision has at and below some paths, sorted by name; links that lead to something are followed.

    As in a working tree, hidden links are not, and the limit of links holds for each path.
    """
    commit, prefix = commit_of(root, revision), prefix_of(root)
    places = [posixpath.normpath(prefix + path) for path in paths]
    listed = _listing(root, commit, *places)
    out = f"{prefix}{OUT}/"
    links = {entry.name: entry for entry in listed if entry.kind is Kind.LINK and not f"{entry.name}/".startswith(out)}
    if links:
        whole = _listing(root, commit)
        texts = _contents(root, [entry for entry in whole if entry.kind is Kind.LINK])
        tree = _Tree(whole, texts, prefix, str(top_for(root)))
        listed = [entry for entry in listed if entry.name not in links]
        for place in places:
            found = sorted(name for name in links if is_shown(name, place))
            listed += tree.behind([links.pop(name) for name in found])
    below = [entry._replace(name=entry.name[len(prefix) :]) for entry in listed if entry.name.startswith(prefix)]
    return sorted(below, key=lambda entry: entry.name)


def _listing(root: Path, commit: str, *paths: str) -> list[_Entry]:
    listing = git(root, "ls-tree", "-r", "-t", "-z", "-l", commit, "--", *paths)
    found = []
    for line in filter(None, listing.split(b"\0")):
        head, _, name = line.partition(b"\t")
        mode, _, content, size = head.decode("ascii").split()
        found.append(_Entry(os.fsdecode(name), KINDS.get(mode, Kind.OTHER), content, size))
    return found


def _sources(root: Path, entries: Iterable[_Entry], wanted: Callable[[str], bool]) -> list[Source]:
    chosen = _files(entries, wanted)
    contents = _contents(root, chosen)
    return [Source(entry.name, contents[entry.content]) for entry in chosen]


def _files(entries: Iterable[_Entry], wanted: Callable[[str], bool]) -> list[_Entry]:
    """Return the regular files with a wanted name and within the size limit."""
    return [e for e in entries if e.kind is Kind.FILE and wanted(e.name) and _size(e) <= LIMIT]


def _size(entry: _Entry) -> int:
    """Return the size of a file or link. Raises RevisionError if git does not have its content."""
    if not entry.size.isdecimal():
        raise without_content(entry.name)
    return int(entry.size)


def _contents(root: Path, entries: Sequence[_Entry]) -> dict[str, bytes]:
    """Return the contents of files and links by their hashes."""
    if not entries:
        return {}
    if sum(map(_size, entries)) > MAX_TOTAL:
        raise RevisionError(f"the inputs of the revision have more than {MAX_TOTAL >> 20} MiB in all")
    with reader(root) as read:
        contents = read([(entry.name, entry.content) for entry in entries])
        return {entry.content: data for entry, data in zip(entries, contents, strict=True)}


class _Entry(NamedTuple):
    """What a revision has at a path: its kind, the hash of the content, and the size of a file."""

    name: str
    kind: Kind
    content: str
    size: str


class _Way(NamedTuple):
    """A link at a path, the name by which it is reached, and the folders with the links that led to it."""

    name: str
    path: str
    folders: tuple[str, ...] = ()


class _Tree:
    """All entries of a revision, by their paths, and the texts of its links by their hashes.

    Links are followed only within ``home``, the path of the project with a final slash. They may lead there through
    folders above the repository, which is at ``top``.
    """

    def __init__(self, entries: Iterable[_Entry], texts: Mapping[str, bytes], home: str, top: str) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self.names = sorted(self.entries)
        self.texts = texts
        self.home = home
        self.top = "".join(f"/{step}" for step in top.split("/") if step)
        self.paths = RealPaths(self._text)

    def behind(self, links: Iterable[_Entry]) -> list[_Entry]:
        """Return what links lead to, and the files in the folders that may be inputs, by the names of the links.

        Links that are broken, form a loop or lead out of the project are left out. Raises RevisionError
        for more folders or files behind links than trainc follows: links to folders multiply both.
        """
        found: list[_Entry] = []
        inside: dict[str, list[_Entry]] = {}  # many links may lead to one folder
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
            if entry.kind is not Kind.FOLDER:
                continue
            linked += 1
            if linked > MOST_LINKED:
                message = f"more than {MOST_LINKED} folders behind symbolic links, one of them {way.name}"
                raise RevisionError(message)
            if target not in inside:
                inside[target] = self._inside(target)
            for each in inside[target]:
                name = way.name + each.name[len(target) :]
                if each.kind is Kind.LINK:
                    waiting.append(_Way(name, each.name, folders))
                else:
                    found.append(each._replace(name=name))
            if len(found) > MAX_FILES:
                raise RevisionError(f"more than {MAX_FILES:,} files behind symbolic links, one of them {way.name}")
        return found

    def _inside(self, folder: str) -> list[_Entry]:
        """Return the files and links in a folder that may lead to inputs: they are not hidden there, and not broken."""
        first, end = (bisect_left(self.names, f"{folder}{after}") for after in "/0")  # 0 comes after / in ASCII
        names = (name for name in self.names[first:end] if "/." not in name[len(folder) :])
        return [each for each in (self.entries[name] for name in names) if self._may_lead_to_inputs(each)]

    def _may_lead_to_inputs(self, entry: _Entry) -> bool:
        if entry.kind is not Kind.LINK:
            return entry.name.lower().endswith(SUFFIXES)
        end = self.entries.get(self._resolve(entry.name) or "")
        return end is not None and (end.kind is Kind.FOLDER or entry.name.lower().endswith(SUFFIXES))

    def _resolve(self, path: str) -> str | None:
        """Return a path without links; None if it leads out of the project, or is in a loop."""
        found = self._below_top(self.paths.of(f"{self.top}/{path}"))
        entry = self.entries.get(found)
        is_end = entry is not None and entry.kind is not Kind.LINK
        return found if is_end and f"{found}/".startswith(self.home) else None

    def _text(self, place: str) -> str | None:
        entry = self.entries.get(self._below_top(place))
        return os.fsdecode(self.texts[entry.content]) if entry is not None and entry.kind is Kind.LINK else None

    def _below_top(self, place: str) -> str:
        """Return the path in the repository of an absolute one; empty if it is not below the top."""
        return place[len(self.top) + 1 :] if place.startswith(f"{self.top}/") else ""
