"""Groups the files of a tree of out/ by directory, reads their objects, and selects directories by paths."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from trainc.changes.model import Place
from trainc.documents.load import load
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document, Source
from trainc.project.files import OWNED, Kind, foreign, is_own, is_placed

UNREADABLE: Final = "TC904"

Files = Mapping[str, bytes]


def folders(tree: Files) -> dict[Place, dict[str, bytes]]:
    """Return the files of each directory by file name, without files that are not trainc's."""
    found: dict[Place, dict[str, bytes]] = {}
    for name, data in sorted(tree.items()):
        if is_ours(name, data):
            _, environment, namespace, job, file = name.split("/")
            found.setdefault(Place(environment, namespace, job), {})[file] = data
    return found


def is_ours(name: str, data: bytes) -> bool:
    """Return whether trainc wrote a file, by its header and path."""
    return is_own(data) and is_placed(name)


def is_jobset(file: str) -> bool:
    """Return whether a file has the name of a JobSet's file."""
    return file.startswith(("jobset-", "jobset."))


def others(tree: Files, there: Mapping[str, Kind] | None, exceptions: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each entry that trainc did not write; these are not compared.

    ``there`` has the kind of every entry of the tree, by default of its files.
    """
    own = {name for name, data in tree.items() if is_ours(name, data)}
    yield from foreign(dict.fromkeys(tree, Kind.FILE) if there is None else there, own, exceptions)


def read(name: str, data: bytes, *, old: bool) -> tuple[Document | None, tuple[Finding, ...]]:
    """Return the object of a file, or None and findings: errors, or notes if the file is ``old``."""
    documents, findings = load(Source(name, data))
    wrong = [finding for finding in findings if finding.severity is Severity.ERROR]
    if not wrong and len(documents) == 1:
        return documents[0], ()
    if wrong and not old:
        return None, tuple(wrong)
    message = wrong[0].message if wrong else f"the file has {len(documents)} objects, and trainc writes one per file"
    return None, (unreadable(_empty(name) if not wrong else wrong[0].document, message, old=old),)


def unreadable(document: Document, message: str, *, old: bool) -> Finding:
    """Return the finding of a file that is not compared; a note if it is the old one, which cannot be fixed."""
    side = " before the change" if old else ""
    severity = Severity.NOTE if old else None
    return report(UNREADABLE, document, (), f"not compared{side}: {message}", severity=severity)


def sources(data: bytes) -> tuple[str, ...]:
    """Return the sources in a file's header: the TrainJob's file, and its runtime's."""
    first = data[: data.find(b"\n")] if b"\n" in data else data
    if not first.startswith(OWNED):
        return ()
    return tuple(first[len(OWNED) :].decode("utf-8", "replace").strip().split(" and "))


def _empty(name: str) -> Document:
    return Document(Source(name, b""), {})


def select(before: Files, after: Files, names: Collection[str]) -> tuple[Files, Files]:
    """Return the parts of both trees that ``names``, paths from the root, select; all without names."""
    if not names:
        return before, after
    wanted = {
        f"out/{place}/"
        for tree in (before, after)
        for place, files in folders(tree).items()
        if any(is_below(source, names) for data in files.values() for source in sources(data))
    }
    return _only(before, names, wanted), _only(after, names, wanted)


def _only(tree: Files, names: Collection[str], wanted: Collection[str]) -> Files:
    return {name: data for name, data in tree.items() if name[: name.rfind("/") + 1] in wanted or is_below(name, names)}


def is_below(name: str, places: Collection[str]) -> bool:
    """Return whether a path is one of ``places``, or below one."""
    return any(place in (".", name) or name.startswith(f"{place}/") for place in places)
