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
from trainc.gitops.summary import Summary
from trainc.inputs.source import Document
from trainc.pipeline.content import Content, Job
from trainc.pipeline.context import Prepared
from trainc.pipeline.runtimes import BUILTIN, admit_builtin, builtin_names

Place: TypeAlias = tuple[str, int]
"""The name of a document's source, and the index of the document in it."""


class UnknownDocument(Exception):
    """A finding refers to a document that is not part of the run."""


class DocumentPosition(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A document, and with ``string`` the ``offset`` of a character in the string at that path of the document."""

    source: str
    index: int
    string: Path | None = None
    offset: int = 0


class StoredRelated(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A second position of a finding."""

    message: str
    place: DocumentPosition
    path: Path = ()


class StoredFinding(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A finding, with a reference to its document."""

    code: str
    severity: Severity
    message: str
    place: DocumentPosition
    path: Path = ()
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    related: tuple[StoredRelated, ...] = ()
    stage: str | None = None
    upstream: str | None = None

    def is_about(self, place: Place) -> bool:
        """Tell whether the finding, or a related position, is in a document."""
        places = (self.place, *(other.place for other in self.related))
        return any((one.source, one.index) == place for one in places)


class JobResult(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A compiled job without document and objects; ``files`` holds bytes, or digests in the cache."""

    namespace: str
    name: str
    runtime: Place | None
    findings: tuple[StoredFinding, ...] = ()
    objects: tuple[Summary, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()


class Documents:
    """The documents of a run that are not jobs, by reference. Built-in runtimes are added when they are looked up."""

    def __init__(self, prepared: Prepared) -> None:
        """Collect the documents."""
        options = prepared.options
        beside = (options.config_document, options.lock.document)
        self.by_place = {place_of(document): document for document in beside if document is not None}
        self.by_place |= {place_of(document): document for document in prepared.documents.others}

    def find(self, place: Place) -> Document:
        """Return the document with a reference. Raises UnknownDocument."""
        if (found := self.by_place.get(place)) is not None:
            return found
        if place[0].startswith(BUILTIN):
            for name in builtin_names():
                runtime = admit_builtin(name)
                if runtime is not None and place_of(runtime.document) == place:
                    return self.by_place.setdefault(place, runtime.document)
        raise UnknownDocument(place[0])


def place_of(document: Document) -> Place:
    """Return the reference to a document."""
    return document.source.name, document.index


def encode(job: Job, documents: Documents, store: Callable[[Content], bytes]) -> JobResult:
    """Return the result of a job; ``store`` encodes the contents of its files.

    Raises UnknownDocument for a finding in a document that ``decode`` could not find.
    """
    job_place = place_of(job.document)

    def place(document: Document) -> DocumentPosition:
        found = place_of(document)
        if found != job_place:
            documents.find(found)
        marks = document.marks
        return (
            DocumentPosition(*found, marks.path, marks.offset) if isinstance(marks, Moved) else DocumentPosition(*found)
        )

    def finding(one: Finding) -> StoredFinding:
        related = tuple(StoredRelated(other.message, place(other.document), other.path) for other in one.related)
        fields = asdict(one) | {"related": related, "place": place(one.document)}
        return StoredFinding(**{name: fields[name] for name in StoredFinding.__struct_fields__})

    if job.runtime is not None:
        place(job.runtime)
    return JobResult(
        namespace=job.namespace,
        name=job.name,
        runtime=None if job.runtime is None else place_of(job.runtime),
        findings=tuple(map(finding, job.findings)),
        objects=job.made,
        files=tuple((name, store(content)) for name, content in job.files),
    )


def decode(
    result: JobResult, document: Document, documents: Documents, restore: Callable[[bytes], Content] = bytes
) -> Job:
    """Return the job of a document; ``restore`` is the inverse of ``store`` in ``encode``.

    Raises UnknownDocument for a finding in a document that no longer exists.
    """
    job_place = place_of(document)

    def find(place: DocumentPosition) -> Document:
        at = place.source, place.index
        found = document if at == job_place else documents.find(at)
        return found if place.string is None else within(found, place.string, place.offset)

    def finding(one: StoredFinding) -> Finding:
        related = tuple(Related(other.message, find(other.place), other.path) for other in one.related)
        fields = asdict(one) | {"related": related, "document": find(one.place)}
        return Finding(**{name: fields[name] for name in Finding.__struct_fields__})

    return Job(
        namespace=result.namespace,
        name=result.name,
        document=document,
        runtime=None if result.runtime is None else documents.find(result.runtime),
        findings=tuple(map(finding, result.findings)),
        made=result.objects,
        files=tuple((name, restore(content)) for name, content in result.files),
    )
