"""The import of documents: each with its converter, then the runtimes that jobs share, then the texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache

import msgspec
from msgspec.structs import replace
from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import dotted
from trainc.documents.classify import RUNTIMES, SUPERSEDED
from trainc.documents.edit import Edit, apply
from trainc.documents.load import ELSEWHERE, load
from trainc.documents.positions import BOM
from trainc.documents.rewrite import text_of
from trainc.findings import Finding, Severity, report, sort_key
from trainc.findings.display import escaped
from trainc.findings.reporting import PRIVATE_KEY, secrets_in_plain_text
from trainc.findings.secrets import private_keys
from trainc.inputs.source import Document, Source
from trainc.migrate.documents import Converted, Old
from trainc.migrate.kinds import KINDS
from trainc.migrate.runtimes import Runtimes
from trainc.migrate.trees import mapping, ordered, write_tree
from trainc.schema.inputs import TRAINING_OPERATOR
from trainc.upstream import TRAINER_GROUP

_TRAINER = ("numNodes", "numProcPerNode", "image", "command", "args", "env", "resourcesPerNode")
_SPEC = ("runtimeRef", "suspend", "managedBy", "activeDeadlineSeconds", "initializer", "trainer", "runtimePatches")
_FILE_NAME = re.compile(r"[A-Za-z0-9][-.A-Za-z0-9]*")


class NewFile(msgspec.Struct, frozen=True):
    """A file to write: a path from the root of the project, and its text.

    ``complete`` says whether nothing of the old document is lost; if not, comments at the top say what.
    ``replaces`` says whether it is a file of the project that is edited in place.
    """

    path: str
    text: str
    complete: bool = True
    replaces: bool = False


class Imported(msgspec.Struct, frozen=True):
    """The new files by path, findings, and the number of documents that need an import."""

    files: tuple[NewFile, ...]
    findings: tuple[Finding, ...]
    jobs: int


def import_documents(
    sources: Iterable[Source],
    runtimes: Iterable[Source] = (),
    namespace: str = "default",
    own: Container[str] = (),
    taken: Iterable[str] = (),
) -> Imported:
    """Import the documents of sources. Pure.

    ``runtimes`` are sources whose runtimes new jobs can use, and ``namespace`` is for jobs without one. TrainJobs and
    runtimes are edited in place in sources whose names are in ``own``; from others they are copied. ``taken`` are the
    names of further runtimes, which only some jobs can use, and which may replace built-in ones for them.
    """
    findings: list[Finding] = []
    documents: list[Document] = []
    texts: dict[str, str] = {}
    for source in sources:
        texts[source.name] = text = source.decoded()
        loaded, found = load(Source(source.name, text.removeprefix(BOM)) if text.startswith(BOM) else source)
        documents += loaded
        findings += (_of_other_program(each) if each.hint == ELSEWHERE else each for each in found)
    given = [document for source in runtimes for document in load(source)[0]]
    known = Runtimes(given, taken)
    all_runtimes = [document for document in (*documents, *given) if document.data["kind"] in RUNTIMES]
    pairs: list[tuple[Old, Converted]] = []
    for document in documents:
        if (converter := KINDS.get(key_of(document))) is None:
            findings += _not_imported(document)
            continue
        if keys := [found for found in secrets_in_plain_text(document) if found.code == PRIVATE_KEY]:
            findings += keys
            continue
        old = Old(document, namespace, all_runtimes)
        if (converted := converter(old)) is None:
            findings += old.findings
        else:
            pairs.append((old, converted))
    new = {name: _after(Source(name, texts[name]), edits) for name, edits in _edits(pairs).items()}
    files: dict[str, NewFile] = {}
    # In a comment, or in another document of the file, which may be the same for many documents.
    has_private_key = cache(lambda text: next(private_keys(text), None) is not None)
    for old, converted in pairs:
        document = old.document
        if converted.job is not None:
            old.report_rest()
        for file in _edited(old, new, own) if converted.job is None else _files(old, converted, known):
            if has_private_key(file.text):
                message = f"{file.path} would contain a private key in plain text"
                findings.append(report(PRIVATE_KEY, document, (), message))
                continue
            if file.replaces:
                files[file.path] = file
            elif file.path in files:
                message = f"another document becomes {file.path} as well"
                findings.append(report("TC009", document, ("metadata", "name"), message))
            files.setdefault(file.path, file)
        findings += old.findings
    in_order = tuple(file for _, file in sorted(files.items()))
    return Imported(in_order, tuple(sorted(findings, key=sort_key)), len(pairs))


def _of_other_program(finding: Finding) -> Finding:
    """Return a note in place of the error for a file such as kustomization.yaml, which a folder to import may have."""
    return replace(finding, severity=Severity.NOTE, hint="only Kubernetes objects are imported")


def _edits(pairs: Iterable[tuple[Old, Converted]]) -> Mapping[str, list[Edit]]:
    """Return the edits of documents, by the names of their sources."""
    edits = defaultdict[str, list[Edit]](list)
    for old, converted in pairs:
        if converted.job is None:
            edits[old.document.source.name] += (Edit(old.document.index, edit) for edit in converted.edits)
    return edits


def _after(source: Source, edits: Sequence[Edit]) -> tuple[Source, dict[int, Document]]:
    """Return a source after edits, and its documents by number, without those that could not be edited."""
    new, done = apply(source, edits, together=True)
    impossible = {edit.index for edit in edits} - {edit.index for edit in done}
    text = new.decoded().removeprefix(BOM)
    documents = load(Source(source.name, text))[0]
    return new, {document.index: document for document in documents if document.index not in impossible}


def _edited(
    old: Old, sources: Mapping[str, tuple[Source, Mapping[int, Document]]], own: Container[str]
) -> Iterator[NewFile]:
    """Yield the source of a document after all edits, or a copy of the document.

    ``sources`` have their documents, without those that could not be edited.
    """
    source, documents = sources[old.document.source.name]
    document = documents.get(old.document.index)
    if document is not None and source.name in own:
        yield NewFile(source.name, source.decoded(), not old.errors, replaces=True)
    elif document is None or (copy := text_of(document)) is None:
        hint = "write it in block style with spaces, without anchors, and import again"
        old.refuse((), "the document has fields of an earlier release, but its layout cannot be edited", hint)
    elif _can_be_files(old):
        folder = f"jobs/{old.namespace}" if old.kind == "TrainJob" else "runtimes"
        yield NewFile(f"{folder}/{old.name}.yaml", copy, not old.errors)


def _can_be_files(old: Old) -> bool:
    """Return whether name and namespace can be names of files; report those that cannot."""
    names = {"name": old.name, "namespace": old.namespace}
    invalid = {key: name for key, name in names.items() if not _FILE_NAME.fullmatch(name)}
    for key, name in invalid.items():
        message = f"the {key} {name!r} cannot be the name of a file"
        old.refuse(("metadata", key), message, "use lower case letters, digits and dashes")
    return not invalid


def key_of(document: Document) -> tuple[str, str, str]:
    """Return group, version and kind of a document."""
    group, _, version = str(document.data["apiVersion"]).rpartition("/")
    return group, version, str(document.data["kind"])


def _not_imported(document: Document) -> Iterator[Finding]:
    """Report a job of another operator, or of Trainer before v2.0, without a converter."""
    group, version, kind = key_of(document)
    of_trainer = group in (TRAINER_GROUP, TRAINING_OPERATOR) and kind in ("TrainJob", *RUNTIMES)
    if of_trainer or (group, kind) in SUPERSEDED:
        new_group = TRAINER_GROUP if of_trainer else group
        versions = [row[1] for row in KINDS if (row[0], row[2]) == (new_group, kind)]
        expected = " or ".join(f"{new_group}/{one}" for one in versions) or None
        message = f"{kind} of {group}/{version} cannot be imported"
        path = ("apiVersion",) if versions else ("kind",)
        yield report("TC032", document, path, message, found=str(document.data[path[0]]), expected=expected)


def _files(old: Old, converted: Converted, known: Runtimes) -> Iterator[NewFile]:
    """Yield the files of one old document; of its runtime only if no other has the same."""
    job, runtime = converted.job, converted.runtime
    trees: list[tuple[str, CommentedMap]] = []
    if job is not None:
        trees.append((f"jobs/{old.namespace}/{old.name}.yaml", job))
        if runtime is not None:
            name, is_new = known.reference(runtime, job)
            job["spec"]["runtimeRef"] = mapping(name=name)
            if is_new:
                trees.append((f"runtimes/{name}.yaml", runtime))
            if (message := known.too_long(name, old.name)) is not None:
                old.report("TC802", ("metadata", "name"), message, severity=Severity.ERROR)
        ordered(job["spec"], *_SPEC)
        ordered(job["spec"].get("trainer", mapping()), *_TRAINER)
    if not _can_be_files(old):
        return
    table, head = old.comments([tree for _, tree in trees]) if trees else ({}, [])
    head = [escaped(f"# trainc import: {dotted(one.path)}: {one.message}") for one in old.errors] + head
    for path, tree in trees:
        if tree is runtime:
            head = [f"# Imported from {old.kind} {old.namespace}/{old.name}."]
        yield NewFile(path, write_tree(tree, table, head), not old.errors)
        head = []
