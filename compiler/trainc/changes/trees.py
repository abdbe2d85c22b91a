"""Groups the files of a tree of out/ by directory, reads their objects, and selects directories by paths."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from trainc.admission.base_revision import Identity, identify
from trainc.changes.model import Directory
from trainc.documents.emit import visible
from trainc.documents.load import load
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document, Source
from trainc.project.files import OWNED, Blob, is_own
from trainc.project.names import is_placed

UNREADABLE: Final = "TC904"

_BETWEEN: Final = re.compile(" and (?=(?:built-in |)(?:jobs|runtimes)/)")

Files = Mapping[str, bytes]
Tree = Mapping[str, bytes | Blob]
"""The files of out/ by their names from the project root."""


def directory_of(name: str) -> Directory:
    """Return the directory of a file that trainc wrote."""
    return Directory(*name.split("/")[1:4])


def directories(tree: Tree) -> dict[Directory, dict[str, bytes | Blob]]:
    """Return the files of each directory that trainc may have written, by file name."""
    found: dict[Directory, dict[str, bytes | Blob]] = {}
    for name in sorted(filter(is_placed, tree)):
        found.setdefault(directory_of(name), {})[name.rpartition("/")[2]] = tree[name]
    return found


def bytes_of(content: bytes | Blob) -> bytes:
    """Return the bytes of a file, which are read again each time."""
    return content.read(content) if isinstance(content, Blob) else content


def owned(files: Tree) -> dict[str, bytes]:
    """Return the bytes of the files of a directory that are trainc's."""
    found = ((name, bytes_of(content)) for name, content in files.items())
    return {name: data for name, data in found if is_own(data)}


def both_sides(before: Tree, after: Tree) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the bytes of a directory's files on both sides, of those that are trainc's on at least one.

    A cluster applies a file without trainc's header, too.
    """
    old, new = ({name: bytes_of(content) for name, content in side.items()} for side in (before, after))
    ours = {name for side in (old, new) for name, data in side.items() if is_own(data)}
    return {name: old[name] for name in old if name in ours}, {name: new[name] for name in new if name in ours}


def by_object(before: dict[str, bytes], after: dict[str, bytes]) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the files of a directory with one file per object, whose name is that of the new one.

    A cluster knows an object by its kind and name, not by its file. Of several files of one object, Argo CD applies the
    last (DeduplicateTargetObjects in controller/state.go).
    """
    if not before or not after or before.keys() == after.keys():
        return before, after
    old, new = map(_names, (before, after))
    return {new.get(key, name): before[name] for key, name in old.items()}, {name: after[name] for name in new.values()}


def _names(files: Files) -> dict[Identity | str, str]:
    """Return the last file of each object, by what identifies it, or by its name if it cannot be read."""
    found = ((name, read(name, data, old=True)[0]) for name, data in sorted(files.items()))
    return {name if document is None else identify(document.data): name for name, document in found}


def kind_of(file: str) -> str:
    """Return the kind of the object in a file of out/, in lower case, by the name of the file."""
    return re.split("[-.]", file, maxsplit=1)[0]


def is_jobset(file: str) -> bool:
    """Return whether a file has the name of a JobSet's file."""
    return kind_of(file) == "jobset"


def read(name: str, data: bytes, *, old: bool) -> tuple[Document | None, tuple[Finding, ...]]:
    """Return the object of a file, or None and findings: errors, or notes if the file is ``old`` or not trainc's."""
    documents, findings = load(Source(name, data))
    errors = tuple(finding for finding in findings if finding.severity is Severity.ERROR)
    if not errors and len(documents) == 1:
        return documents[0], ()
    is_noted = old or not is_own(data)
    if errors and not is_noted:
        return None, errors
    document = errors[0].document if errors else Document(Source(name, b""), {})
    message = errors[0].message if errors else f"{len(documents)} objects found, and trainc writes one per file"
    return None, (unreadable(document, message, old=old, is_noted=is_noted),)


def unreadable(document: Document, message: str, *, old: bool, is_noted: bool = False) -> Finding:
    """Return the finding of a file that is not compared; a note if it is the old one, which cannot be fixed."""
    side = " before the change" if old else ""
    severity = Severity.NOTE if old or is_noted else None
    return report(UNREADABLE, document, (), f"not compared{side}: {message}", severity=severity)


def sources(data: bytes) -> tuple[str, ...]:
    """Return the sources in a file's header, as it spells them: the TrainJob's file, and its runtime's.

    A name may have " and " in it, too: a source is below jobs/ or runtimes/, built in or not.
    """
    first = data.partition(b"\n")[0]
    if not first.startswith(OWNED):
        return ()
    return tuple(_BETWEEN.split(first[len(OWNED) :].decode("utf-8", "replace").strip()))


def select(before: Tree, after: Tree, names: Collection[str]) -> tuple[Tree, Tree]:
    """Return the parts of both trees that ``names``, paths from the root, select; all without names."""
    if not names:
        return before, after
    spelt = [visible(name) for name in names]
    wanted = {
        f"out/{directory}"
        for tree in (before, after)
        for directory, files in directories(tree).items()
        if any(is_below(source, spelt) for data in owned(files).values() for source in sources(data))
    }

    def selected(tree: Tree) -> Tree:
        return {name: data for name, data in tree.items() if name.rpartition("/")[0] in wanted or is_below(name, names)}

    return selected(before), selected(after)


def is_below(name: str, paths: Collection[str]) -> bool:
    """Return whether a path is one of ``paths``, or below one."""
    return any(path in (".", name) or name.startswith(f"{path}/") for path in paths)
