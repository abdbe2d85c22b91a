"""The import of documents: each with its converter, then the runtimes that jobs share, then the texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from ruamel.yaml.comments import CommentedMap

from trainc.documents.load import load
from trainc.findings import Finding, report, sort_key
from trainc.inputs.source import Document, Source
from trainc.migrate.documents import Converted, Old
from trainc.migrate.kinds import KINDS
from trainc.migrate.runtimes import Runtimes
from trainc.migrate.trees import mapping, write_tree


class NewFile(msgspec.Struct, frozen=True):
    """A file to write: a path from the root of the project, and its text."""

    path: str
    text: str


class Imported(msgspec.Struct, frozen=True):
    """The new files by path, findings, and the number of jobs imported and of documents that need no import."""

    files: tuple[NewFile, ...]
    findings: tuple[Finding, ...]
    jobs: int
    current: int


def import_documents(sources: Iterable[Source], runtimes: Iterable[Source] = ()) -> Imported:
    """Import the documents of sources; ``runtimes`` are sources whose runtimes new jobs can use. Pure."""
    findings: list[Finding] = []
    documents: list[Document] = []
    for source in sources:
        loaded, found = load(source)
        documents += loaded
        findings += found
    given = [document for source in runtimes for document in load(source)[0]]
    known = Runtimes(given)
    files: dict[str, str] = {}
    jobs = current = 0
    for document in documents:
        group, _, version = str(document.data["apiVersion"]).rpartition("/")
        converter = KINDS.get((group, version, str(document.data["kind"])))
        if converter is None:
            current += 1
            continue
        old = Old(document)
        converted = converter(old)
        if converted is None:
            current += 1
            continue
        old.report_rest()
        findings += old.findings
        jobs += 1
        for path, text in _files(old, converted, known):
            if path in files:
                message = f"two documents become {path}"
                findings.append(report("TC009", document, ("metadata", "name"), message))
            files[path] = text
    new = tuple(NewFile(path, text) for path, text in sorted(files.items()))
    return Imported(new, tuple(sorted(findings, key=sort_key)), jobs, current)


def _files(old: Old, converted: Converted, known: Runtimes) -> Iterator[tuple[str, str]]:
    """Yield the files of one old document; of its runtime only if no other has the same."""
    job, runtime = converted.job, converted.runtime
    trees: list[tuple[str, CommentedMap]] = []
    if job is not None:
        trees.append((f"jobs/{old.namespace}/{old.name}.yaml", job))
        if runtime is not None:
            name, is_new = known.reference(runtime, old.name)
            job["spec"].insert(0, "runtimeRef", mapping(name=name))
            if is_new:
                trees.append((f"runtimes/{name}.yaml", runtime))
    trees += [(f"runtimes/{tree['metadata']['name']}.yaml", tree) for tree in converted.others]
    table, head = old.comments([tree for _, tree in trees])
    for path, tree in trees:
        yield path, write_tree(tree, table, head)
        head = []
