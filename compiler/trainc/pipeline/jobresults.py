"""Encodes compiled jobs as plain data, to send them to other processes and to store them in the cache.

A document is stored as the name and index in its source, so that the positions of findings follow the current text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec.structs import asdict

from trainc.basics.jsonvalues import Path
from trainc.documents.positions import Moved, within
from trainc.findings import Finding, Related, Severity
from trainc.gitops.pods import Summary
from trainc.inputs.source import BUILTIN, Document
from trainc.pipeline.content import Content, Job
from trainc.pipeline.context import Context
from trainc.pipeline.runtimes import admit_builtin, builtin_names

DocumentId: TypeAlias = tuple[str, int]
"""The name of a document's source, and the index of the document in it."""


class UnknownDocument(Exception):
    """A finding refers to a document that is not part of the run."""


class DocumentPosition(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A document, and with ``string`` the ``offset`` of a character in the string at that path of the document."""

    source: str
    index: int
    string: Path | None = None
    offset: int = 0


class StoredFinding(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A finding, with a reference to its document.

    The server's text may show all of a document, for each of its mistakes. So a finding with the same text as an
    earlier one of the job has the number of that.
    """

    code: str
    severity: Severity
    message: str
    position: DocumentPosition
    path: Path = ()
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    related: tuple[tuple[str, DocumentPosition, Path], ...] = ()
    stage: str | None = None
    upstream: str | int | None = None

    def is_about(self, document: DocumentId) -> bool:
        """Return whether the finding, or a related position, is in a document."""
        positions = (self.position, *(position for _, position, _ in self.related))
        return any((position.source, position.index) == document for position in positions)


class JobResult(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A compiled job without document and objects; ``files`` holds bytes, or digests in the cache."""

    namespace: str
    name: str
    runtime: DocumentId | None
    findings: tuple[StoredFinding, ...] = ()
    objects: tuple[Summary, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()


class Documents:
    """The documents of a run that are not jobs, and those of the base revision, by reference.

    Built-in runtimes are added when they are looked up, and the many files of out/ are not kept.
    """

    def __init__(self, context: Context) -> None:
        """Collect the documents."""
        options = context.options
        beside = (options.config_document, options.lock.document)
        self.base = context.base
        before = (*self.base.inputs.values(), *self.base.settings.values())
        known = (*filter(None, beside), *context.documents.others, *before)
        self.by_id = {document_id(document): document for document in known}

    def find(self, wanted: DocumentId) -> Document:
        """Return the document with a reference. Raises UnknownDocument."""
        if (found := self.by_id.get(wanted)) is not None:
            return found
        if wanted[0].startswith(BUILTIN):
            for name in builtin_names():
                runtime = admit_builtin(name)
                if runtime is not None and document_id(runtime.document) == wanted:
                    return self.by_id.setdefault(wanted, runtime.document)
        if (found := self.base.output(*wanted)) is not None:
            return found
        raise UnknownDocument(wanted[0])


def document_id(document: Document) -> DocumentId:
    """Return the reference to a document."""
    return document.source.name, document.index


def encode(job: Job, documents: Documents, store: Callable[[Content], bytes]) -> JobResult:
    """Return the result of a job; ``store`` encodes the contents of its files.

    Raises UnknownDocument for a finding in a document that ``decode`` could not find.
    """
    own_id = document_id(job.document)

    def position(document: Document) -> DocumentPosition:
        found, marks = document_id(document), document.marks
        if found != own_id:
            documents.find(found)
        if isinstance(marks, Moved):
            return DocumentPosition(*found, marks.path, marks.offset)
        return DocumentPosition(*found)

    numbers: dict[str, int] = {}

    def finding(number: int, one: Finding) -> StoredFinding:
        related = tuple((other.message, position(other.document), other.path) for other in one.related)
        fields = asdict(one) | {"related": related, "position": position(one.document)}
        if one.upstream is not None and (first := numbers.setdefault(one.upstream, number)) != number:
            fields["upstream"] = first
        return StoredFinding(**{name: fields[name] for name in StoredFinding.__struct_fields__})

    if job.runtime is not None:
        position(job.runtime)
    return JobResult(
        namespace=job.namespace,
        name=job.name,
        runtime=None if job.runtime is None else document_id(job.runtime),
        findings=tuple(finding(number, one) for number, one in enumerate(job.findings)),
        objects=job.summaries,
        files=tuple((name, store(content)) for name, content in job.files),
    )


def decode(
    result: JobResult, document: Document, documents: Documents, restore: Callable[[bytes], Content] = bytes
) -> Job:
    """Return the job of a document; ``restore`` is the inverse of ``store`` in ``encode``.

    Raises UnknownDocument for a finding in a document that no longer exists.
    """
    own_id = document_id(document)

    def find(position: DocumentPosition) -> Document:
        wanted = position.source, position.index
        found = document if wanted == own_id else documents.find(wanted)
        return found if position.string is None else within(found, position.string, position.offset)

    def finding(one: StoredFinding) -> Finding:
        related = tuple(Related(message, find(position), path) for message, position, path in one.related)
        text = result.findings[one.upstream].upstream if isinstance(one.upstream, int) else one.upstream
        fields = asdict(one) | {"related": related, "document": find(one.position), "upstream": text}
        return Finding(**{name: fields[name] for name in Finding.__struct_fields__})

    return Job(
        namespace=result.namespace,
        name=result.name,
        document=document,
        runtime=None if result.runtime is None else documents.find(result.runtime),
        findings=tuple(map(finding, result.findings)),
        summaries=result.objects,
        files=tuple((name, restore(content)) for name, content in result.files),
    )
