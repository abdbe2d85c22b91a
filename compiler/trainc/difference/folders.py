"""The files of a tree by directory, and the one object that each holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from trainc.contents import HEADER
from trainc.diagnostics import Diagnostic, Severity, report
from trainc.difference.model import Place
from trainc.load import load
from trainc.source import Document, Source

OWNED: Final = f"# {HEADER}".encode()
FOREIGN: Final = "TC903"
UNREADABLE: Final = "TC904"
_STEPS: Final = 5
"""out, environment, namespace, job, file."""

Files = Mapping[str, bytes]


def folders(tree: Files) -> dict[Place, dict[str, bytes]]:
    """Return the files of each directory by file name; what is not trainc's, or lies elsewhere, is left out."""
    found: dict[Place, dict[str, bytes]] = {}
    for name, data in sorted(tree.items()):
        if is_ours(name, data):
            _, environment, namespace, job, file = name.split("/")
            found.setdefault(Place(environment, namespace, job), {})[file] = data
    return found


def is_ours(name: str, data: bytes) -> bool:
    """Tell whether a file is one that trainc wrote, by its header and its place."""
    return data.startswith(OWNED) and _is_placed(name)


def _is_placed(name: str) -> bool:
    steps = name.split("/")
    return len(steps) == _STEPS and all(steps) and steps[0] == "out" and name.endswith(".yaml")


def is_jobset(file: str) -> bool:
    """Tell whether a file's name is one of a JobSet's."""
    return file.startswith(("jobset-", "jobset."))


def foreign(tree: Files) -> Iterator[Diagnostic]:
    """Yield a finding for each file that trainc has not written there: nothing of it is compared."""
    for name, data in sorted(tree.items()):
        if not is_ours(name, data):
            why = "it lacks trainc's header" if _is_placed(name) else "trainc writes nothing to this place"
            yield report(FOREIGN, _empty(name), (), f"not compared: {why}")


def read(name: str, data: bytes, *, old: bool) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """Return the object of a file, or None with what is wrong: errors, and only notes where it is ``old``."""
    documents, findings = load(Source(name, data))
    wrong = [finding for finding in findings if finding.severity is Severity.ERROR]
    if not wrong and len(documents) == 1:
        return documents[0], ()
    if wrong and not old:
        return None, tuple(wrong)
    message = wrong[0].message if wrong else f"there are {len(documents)} objects in it, and trainc writes one a file"
    return None, (unreadable(_empty(name) if not wrong else wrong[0].document, message, old=old),)


def unreadable(document: Document, message: str, *, old: bool) -> Diagnostic:
    """Return the finding of a file that is not compared; a note if it is the old one, which nobody can mend."""
    side = " before the change" if old else ""
    severity = Severity.NOTE if old else None
    return report(UNREADABLE, document, (), f"not compared{side}: {message}", severity=severity)


def sources(data: bytes) -> tuple[str, ...]:
    """Return what a file's header says that it is generated from: the TrainJob's file, and its runtime's."""
    first = data[: data.find(b"\n")] if b"\n" in data else data
    if not first.startswith(OWNED):
        return ()
    return tuple(first[len(OWNED) :].decode("utf-8", "replace").strip().split(" and "))


def _empty(name: str) -> Document:
    return Document(Source(name, b""), {})
