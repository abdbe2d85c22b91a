"""The import of documents: each with its converter, then the runtimes that jobs share, then the texts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import msgspec
from ruamel.yaml.comments import CommentedMap

from trainc.documents.load import load
from trainc.findings import Finding, report, sort_key
from trainc.inputs.source import Document, Source
from trainc.migrate.documents import Converted, Old
from trainc.migrate.inplace import edited as edited_text
from trainc.migrate.inplace import text_of
from trainc.migrate.kinds import KINDS
from trainc.migrate.runtimes import Runtimes
from trainc.migrate.trees import mapping, write_tree


class NewFile(msgspec.Struct, frozen=True):
    """A file to write: a path from the root of the project, and its text."""

    path: str
    text: str


class Imported(msgspec.Struct, frozen=True):
    """The new files by path, findings, and the number of jobs imported and of documents that need no import.

    ``edited`` are sources of the project with fields of earlier releases of Trainer replaced.
    """

    files: tuple[NewFile, ...]
    edited: tuple[NewFile, ...]
    findings: tuple[Finding, ...]
    jobs: int
    current: int


def import_documents(sources: Iterable[Source], runtimes: Iterable[Source] = (), own: Container[str] = ()) -> Imported:
    """Import the documents of sources; ``runtimes`` are sources whose runtimes new jobs can use. Pure.

    TrainJobs and runtimes are edited in place in sources whose names are in ``own``; from others they are copied.
    """
    findings: list[Finding] = []
    documents: list[Document] = []
    for source in sources:
        loaded, found = load(source)
        documents += loaded
        findings += found
    given = [document for source in runtimes for document in load(source)[0]]
    known = Runtimes(given)
    files: dict[str, str] = {}
    texts: dict[str, str] = {}
    jobs = current = 0
    for document in documents:
        group, _, version = str(document.data["apiVersion"]).rpartition("/")
        converter = KINDS.get((group, version, str(document.data["kind"])))
        if converter is None:
            current += 1
            continue
        old = Old(document, (*documents, *given))
        converted = converter(old)
        if converted is None:
            current += 1
            continue
        if converted.job is not None:
            old.report_rest()
        findings += old.findings
        jobs += 1
        for path, text in _copy(old, converted, texts, own) if converted.job is None else _files(old, converted, known):
            if path in files:
                message = f"two documents become {path}"
                findings.append(report("TC009", document, ("metadata", "name"), message))
            files[path] = text
    new = tuple(NewFile(path, text) for path, text in sorted(files.items()))
    edited = tuple(NewFile(name, text) for name, text in sorted(texts.items()) if name in own)
    return Imported(new, edited, tuple(sorted(findings, key=sort_key)), jobs, current)


def _copy(old: Old, converted: Converted, texts: dict[str, str], own: Container[str]) -> Iterator[tuple[str, str]]:
    """Edit a document in the text of its source; yield the file of its copy if the source is not one of the project."""
    document = old.document
    name = document.source.name
    text = edited_text(texts.get(name, document.source.decoded()), document.index, old.data, converted.edits)
    texts[name] = text
    if name not in own:
        folder = f"jobs/{old.namespace}" if old.kind == "TrainJob" else "runtimes"
        yield f"{folder}/{old.name}.yaml", text_of(text, document.index)


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
