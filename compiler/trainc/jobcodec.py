"""Compiled jobs as plain data, and back: how results travel between processes, and how a run remembers them.

Documents are told by their source's name and their index there, so a place is found anew in the text of today.
"""

from __future__ import annotations

from trainc.compilejob import Job
from trainc.findings import plain
from trainc.findings.plain import Place, Plain, place_of
from trainc.gitops.summary import Summary
from trainc.lookup import BUILTIN, builtin_names
from trainc.prepared import Prepared
from trainc.records import NamedTuple
from trainc.runtimes import admit_builtin
from trainc.source import Document


class Unplaced(Exception):
    """A finding is about a document that is not among those of the run."""


class Places:
    """The documents of a run that are no jobs, by place; those of Trainer's own runtimes when they are asked for."""

    __slots__ = ("known",)

    def __init__(self, prepared: Prepared) -> None:
        """Collect the documents; of two at one place (never in one run) the one as it was given counts."""
        options = prepared.options
        beside = (options.config_document, options.lock.document)
        self.known = {place_of(document): document for document in beside if document is not None}
        self.known |= {place_of(document): document for document in prepared.documents.others}

    def find(self, place: Place) -> Document:
        """Return the document at a place. Raises Unplaced."""
        if (found := self.known.get(place)) is not None:
            return found
        if place[0].startswith(BUILTIN):
            for name in builtin_names():
                own = admit_builtin(name)
                if own is not None and place_of(own.document) == place:
                    return self.known.setdefault(place, own.document)
        raise Unplaced(place[0])


class Record(NamedTuple):
    """A compiled job as plain data: namespace, name, place of the runtime, findings, summaries of objects, files."""

    namespace: str
    name: str
    runtime: Place | None
    findings: Plain
    made: Plain
    files: Plain


def encode(job: Job, places: Places) -> Record:
    """Return a job without objects as plain data. Raises Unplaced for a finding that ``decode`` could not place."""
    own = place_of(job.document)

    def place(document: Document) -> Place:
        found = place_of(document)
        if found != own:
            places.find(found)
        return found

    findings = [plain.encode(finding, place) for finding in job.findings]
    made = [[list(one.identity), one.namespace, one.plain, list(one.images)] for one in job.made]
    runtime = None if job.runtime is None else place(job.runtime)
    return Record(job.namespace, job.name, runtime, findings, made, [list(file) for file in job.files])


def decode(record: Record, document: Document, places: Places) -> Job:
    """Return the job of a document. Raises Unplaced where a finding is about a document that is gone."""
    own = place_of(document)

    def find(place: Place) -> Document:
        return document if (place[0], place[1]) == own else places.find((place[0], place[1]))

    runtime = None if record.runtime is None else find(record.runtime)
    findings = tuple(plain.decode(finding, find) for finding in record.findings)
    made = tuple(
        Summary((group, kind, place, name), namespace, title, tuple(images))
        for (group, kind, place, name), namespace, title, images in record.made
    )
    files = tuple((path, data) for path, data in record.files)
    return Job(record.namespace, record.name, document, runtime, (), findings, made, files)
