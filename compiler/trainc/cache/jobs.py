"""Results of compiled jobs, and the keys that decide whether the next run may use them.

The result of a job is a function of its document, its runtime and the findings on it, the policies of its namespace,
the digests of its images, all other documents that are not jobs, the runtimes in its namespace that bring some, and the
options. Jobs with errors are not stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from trainc.admission.policy.expressions import Bound
from trainc.basics.jsonvalues import Json, JsonObject, as_object, get
from trainc.documents.classify import POLICIES, RUNTIMES, TRAINJOB, Key
from trainc.findings import Finding, has_errors
from trainc.findings.suppression import WORD
from trainc.gitops.namespaces import has_names
from trainc.inputs.imagelock import key_of
from trainc.inputs.source import Document, Source
from trainc.pipeline.content import Job, digest_of
from trainc.pipeline.context import Context
from trainc.pipeline.jobresults import Documents, JobResult, UnknownDocument, document_id, encode
from trainc.upstream import TRAINER_API

NAME: Final = "jobs"
"""The name of the jobs in the store."""

_NOT_READ: Final = b""
"""The text of a source that was not read. A file with a document is never empty."""


class StoredJob(msgspec.Struct, frozen=True, gc=False):
    """The result of a job, with digests in place of its files.

    ``key`` is the digest of what it depends on besides its document and the lock; ``pins`` are the digests of its
    images in images.lock.yaml, empty for an image without one.
    """

    key: bytes
    pins: dict[str, str]
    result: JobResult


class StoredDocument(msgspec.Struct, gc=False):
    """The parts of a TrainJob that other jobs and checks of the whole run depend on, and its results by environment."""

    metadata: dict[str, Any]
    runtime: Any
    results: dict[str, StoredJob] = {}


class JobFile(msgspec.Struct, gc=False):
    """A file below jobs/: the digest of its bytes, and its TrainJobs by index.

    ``must_be_read``: every run needs its text, as it holds other documents, comments for trainc, mistakes, or names of
    namespaces, which trainc.yaml may rename.
    """

    digest: bytes
    must_be_read: bool
    jobs: dict[int, StoredDocument]

    @classmethod
    def of(cls, source: Source, digest: bytes, documents: Iterable[Document], has_findings: bool) -> JobFile:
        """Return the record of a file that was read."""
        documents = tuple(documents)
        jobs = [d for d in documents if (d.data.get("apiVersion"), d.data.get("kind")) == (TRAINER_API, TRAINJOB)]
        must_be_read = has_findings or not documents or len(jobs) < len(documents) or WORD in source.decoded()
        must_be_read = must_be_read or any(has_names(d.data) for d in jobs)
        stored = {
            d.index: StoredDocument(as_object(d.data["metadata"]), get(d.data, "spec", "runtimeRef")) for d in jobs
        }
        return cls(digest, must_be_read, stored)

    def is_like(self, old: JobFile) -> bool:
        """Return whether the files differ only in their bytes and those of output files, and have no findings."""

        def rest(document: StoredDocument) -> object:
            results = {
                environment: (one.key, one.pins, replace(one.result, files=()), [name for name, _ in one.result.files])
                for environment, one in document.results.items()
            }
            return document.metadata, document.runtime, results

        if self.must_be_read or old.must_be_read or self.jobs.keys() != old.jobs.keys():
            return False
        if any(one.result.findings for document in self.jobs.values() for one in document.results.values()):
            return False
        return all(rest(document) == rest(old.jobs[index]) for index, document in self.jobs.items())

    def stubs(self, name: str, read: Callable[[str, int], Document]) -> Iterator[Document]:
        """Yield a stub for each document of a file that was not read; ``read`` reads it when its marks are needed."""
        for index, stored in self.jobs.items():
            spec: Json = {} if stored.runtime is None else {"runtimeRef": stored.runtime}
            data: JsonObject = {"apiVersion": TRAINER_API, "kind": TRAINJOB, "metadata": stored.metadata, "spec": spec}
            yield Document(Source(name, _NOT_READ), data, index, lambda index=index: read(name, index).marks())  # type: ignore[misc]


def is_stub(document: Document) -> bool:
    """Return whether a document is a stub. (A document without data stands for a file.)"""
    return document.source.text is _NOT_READ and bool(document.data)


class Keys:
    """The keys of the jobs of one environment."""

    def __init__(self, context: Context) -> None:
        """Compute the common part of all keys."""
        self.context = context
        self.platform = _platform(context)
        self.runtimes = {document_id(document): document.data for document in context.documents.runtimes}
        self.known: dict[tuple[str, str], bytes | None] = {}  # by namespace and reference to a runtime
        self.namespaces = context.options.settings.namespaces
        self.beside: dict[str, list[Key]] = {}  # the documents beside runtimes, by their namespace in the cluster
        for key in sorted(context.placed):
            self.beside.setdefault(self.namespaces.get(key[1], key[1]), []).append(key)
        self.digests: dict[Document | tuple[Bound, ...], str] = {}  # of runtimes, and of policies that apply together

    def of(self, document: Document) -> bytes | None:
        """Return the key of a TrainJob; None for one without a runtime."""
        home = str(get(document.data, "metadata", "namespace"))
        pair = home, repr(get(document.data, "spec", "runtimeRef"))
        if pair not in self.known:
            self.known[pair] = self._key(document, home)
        return self.known[pair]

    def _key(self, document: Document, home: str) -> bytes | None:
        found = self.context.runtimes.find(document)
        if isinstance(found, Finding):
            return None
        if (runtime := self.digests.get(found.document)) is None:
            # The user's document, as findings may name fields that admission drops.
            wanted = document_id(found.document)
            # A policy for one namespace may match a ClusterTrainingRuntime, which jobs of all namespaces use.
            findings = list(map(_plain, found.findings))
            runtime = _digest([wanted, self.runtimes.get(wanted, found.document.data), findings]).hex()
            self.digests[found.document] = runtime
        beside = self.beside.get(self.namespaces.get(home, home))
        return _digest([self.platform, runtime, self._policies(home), beside])

    def _policies(self, home: str) -> str:
        """Return the digest of the policies that may match a TrainJob of a namespace, or its objects.

        Their params may be of any kind, also runtimes or jobs in policies/.
        """
        policies = self.context.policies
        if policies is None:
            return ""
        namespaces = dict.fromkeys((home, self.namespaces.get(home, home)))
        applying = tuple(
            dict.fromkeys(bound for namespace in namespaces for bound in policies.policies.seeing(namespace))
        )
        if (found := self.digests.get(applying)) is None:
            rows: list[tuple[Document, bool | None]]
            rows = [(one.document, None) for bound in applying for one in (bound.policy, *bound.bindings)]
            rows += policies.policies.params(applying)
            found = _digest([[*document_id(document), document.data, placed] for document, placed in rows]).hex()
            self.digests[applying] = found
        return found


def stored_job(job: Job, keys: Keys, documents: Documents) -> StoredJob | None:
    """Return the record of a compiled job; None for one that has to be compiled each time."""
    if has_errors(job.findings) or not job.summaries or job.runtime is None:
        return None
    home = get(job.document.data, "metadata", "namespace")
    if any(one.namespace not in (home, job.namespace) for one in job.summaries):
        return None  # other policies may apply there
    key, lock = keys.of(job.document), keys.context.options.lock.digests
    images = {key_of(image.partition("@")[0]) for one in job.summaries for image in one.images}
    pins = {image: lock.get(image, "") for image in images if image is not None}
    try:
        result = encode(job, documents, digest_of)
    except UnknownDocument:
        return None
    return None if key is None else StoredJob(key, pins, result)


def is_current(stored: StoredJob, document: Document, keys: Keys) -> bool:
    """Return whether compiling the document now would give the stored result."""
    lock = keys.context.options.lock.digests
    return stored.key == keys.of(document) and all(lock.get(image, "") == pin for image, pin in stored.pins.items())


def _plain(finding: Finding) -> list[Any]:
    """Return a finding as plain data, with references to its documents."""
    related = [[one.message, *document_id(one.document), one.path] for one in finding.related]
    fields = {**asdict(finding), "document": document_id(finding.document), "related": related}
    return list(fields.values())


def _platform(context: Context) -> str:
    """Return the digest of everything that a job may depend on besides its runtime, policies, images and document."""
    options, others = context.options, sorted(context.documents.others, key=document_id)
    # Where an environment rewrites images, the images of the objects are not those looked up in the lock.
    lock = sorted(options.lock.digests.items()) if options.settings.patches or options.settings.registries else []
    crds = [[source.name, source.decoded()] for source in options.crds]
    rest = [[*document_id(d), d.data] for d in others if d.data["kind"] not in (*RUNTIMES, *POLICIES)]
    # Comments in the files of runtimes and policies decide which findings stop a job.
    sources = sorted({d.source.name: d.source.decoded() for d in others}.items())
    comments = [[name, text] for name, text in sources if WORD in text]
    given = [options.faithful, options.environment, options.config, list(options.fixes), lock, crds]
    return _digest([given, rest, sorted(context.unplaced), comments]).hex()


def _digest(data: Any) -> bytes:
    """Return the digest of plain data; order counts."""
    return blake2b(json.dumps(data, default=str).encode(), digest_size=16).digest()
