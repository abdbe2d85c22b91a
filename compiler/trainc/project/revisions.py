"""Reads jobs/, runtimes/, policies/ and out/ of a git revision, with git.

Names are relative to the project root, as in read.py, which may be a folder of a larger git repository. Nothing is
checked out.
"""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from trainc.findings import has_errors
from trainc.inputs.options import Revision
from trainc.inputs.source import Packed, Source
from trainc.project.config import parse, read_document
from trainc.project.files import LIMIT, MAX_TOTAL, OWNED, Blob, Kind
from trainc.project.git import KINDS, RevisionError, commit_of, git, prefix_of, reader, without_content
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
    """Return what a revision has at and below some paths, sorted by name. Raises RevisionError."""
    prefix = prefix_of(root)
    places = (posixpath.normpath(prefix + path) for path in paths)
    listing = git(root, "ls-tree", "-r", "-t", "-z", "-l", commit_of(root, revision), "--", *places)
    found = []
    for line in filter(None, listing.split(b"\0")):
        head, _, path = line.partition(b"\t")
        mode, _, content, size = head.decode("ascii").split()
        if (place := os.fsdecode(path)).startswith(prefix):
            found.append(_Entry(place[len(prefix) :], KINDS.get(mode, Kind.OTHER), content, size))
    return sorted(found, key=lambda entry: entry.name)


def _sources(root: Path, entries: Iterable[_Entry], wanted: Callable[[str], bool]) -> list[Source]:
    chosen = _files(entries, wanted)
    contents = _contents(root, chosen)
    return [Source(entry.name, contents[entry.content]) for entry in chosen]


def _files(entries: Iterable[_Entry], wanted: Callable[[str], bool]) -> list[_Entry]:
    """Return the regular files with a wanted name and within the size limit."""
    return [e for e in entries if e.kind is Kind.FILE and wanted(e.name) and _size(e) <= LIMIT]


def _size(entry: _Entry) -> int:
    """Return the size of a file. Raises RevisionError if git does not have its content."""
    if not entry.size.isdecimal():
        raise without_content(entry.name)
    return int(entry.size)


def _contents(root: Path, entries: Sequence[_Entry]) -> dict[str, bytes]:
    """Return the contents of files by their hashes."""
    if not entries:
        return {}
    totals = Counter[str]()  # by folder, as for a checkout: what passed there must not stop later runs as their base
    for entry in entries:
        totals[entry.name.partition("/")[0]] += _size(entry)
    folder, total = totals.most_common(1)[0]
    if total > MAX_TOTAL:
        raise RevisionError(f"the inputs in {folder} of the revision have more than {MAX_TOTAL >> 20} MiB in all")
    with reader(root) as read:
        contents = read([(entry.name, entry.content) for entry in entries])
        return {entry.content: data for entry, data in zip(entries, contents, strict=True)}


class _Entry(NamedTuple):
    """What a revision has at a path: its kind, the hash of the content, and the size of a file."""

    name: str
    kind: Kind
    content: str
    size: str
