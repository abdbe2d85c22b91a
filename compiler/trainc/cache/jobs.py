"""Jobs whose result is known from the last run: what they depend on, and an executor that compiles the others.

The result of a job is a function of its document, its runtime, the policies that see its namespace, everything else
that is no job and no runtime, and the options; each is told by a digest. Jobs with errors are not remembered, and
neither are those of files that hold more than TrainJobs, or comments for trainc: their findings are made anew in every
run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from trainc.compilejob import Job
from trainc.contents import Content, Promise, bytes_of, digest_of
from trainc.digests import blake2b
from trainc.documents.classify import API_VERSION, POLICIES, RUNTIMES, TRAINJOB, with_namespace
from trainc.findings import Diagnostic, has_errors
from trainc.findings.plain import Place, place_of, places
from trainc.findings.suppression import WORD
from trainc.imagelock import key_of
from trainc.jobcodec import Places, Record, Unplaced, decode, encode
from trainc.options import Options
from trainc.prepared import Executor, Keep, Prepared
from trainc.records import replace
from trainc.source import Document, Json, Source, as_object, get

STUB: Final = b""
"""The text of a source that was not read; no file with a document is empty."""


_MADE: Final = Record._fields.index("made")


def is_stub(document: Document) -> bool:
    """Tell whether a document stands for one whose file was not read; one without data names a file, and is none."""
    return document.source.text is STUB and bool(document.data)


def stubs_of(source: Source, documents: Iterable[Document], findings: Iterable[Diagnostic]) -> list[Any] | None:
    """Return what a run has to know of a file's documents before it compiles them; None if it needs the file itself."""
    documents = tuple(documents)
    if not documents or tuple(findings) or WORD in source.decoded():
        return None
    if any((d.data.get("apiVersion"), d.data.get("kind")) != (API_VERSION, TRAINJOB) for d in documents):
        return None
    return [[d.index, as_object(d.data["metadata"]), get(d.data, "spec", "runtimeRef")] for d in documents]


def stub(name: str, plain: list[Any], marks: Callable[[int], Mapping[Any, Any]]) -> Document:
    """Return the document that stands for one of a file that was not read; ``marks`` reads it after all."""
    index, metadata, reference = plain
    spec: Json = {} if reference is None else {"runtimeRef": reference}
    data = {"apiVersion": API_VERSION, "kind": TRAINJOB, "metadata": metadata, "spec": spec}
    return Document(Source(name, STUB), data, index, lambda: marks(index))


class Recall:
    """An executor for one environment. ``found`` is what is then known of its jobs, for the next run."""

    def __init__(
        self,
        known: tuple[str, Mapping[str, str], Mapping[str, Any]],
        digest_of_file: Callable[[str], bytes | None],
        reload: Callable[[Document], Document],
        inner: Executor,
        is_there: Callable[[str, Content], bool] | None = None,
    ) -> None:
        """Take what is known.

        ``known`` are the digest of what is no job, the digests of images.lock.yaml, and file to the digest of its
        bytes and index to record. ``digest_of_file`` tells the digest that a file has now, None for one that is not
        of jobs/; ``reload`` reads the document of a stub. ``is_there`` tells whether a file has its content: a job
        of which one has not is compiled with the others, and not when its file is written.
        """
        self.platform, self.lock, self.records = known
        self.digest_of_file = digest_of_file
        self.reload = reload
        self.inner = inner
        self.is_there = is_there
        self.found: tuple[str, Mapping[str, str], dict[str, Any]] = ("", {}, {})

    def __call__(self, prepared: Prepared, documents: Iterable[Document]) -> Iterator[Job]:
        """Yield the job of every document, in any order."""
        digest, lock = platform_digest(prepared), dict(prepared.options.lock.digests)
        self.found = digest, lock, {}
        known = Places(prepared)
        runtimes = RuntimeDigests(prepared)
        records = self.records if _without_policies(digest) == _without_policies(self.platform) else {}
        policies = PolicyDigests(prepared)
        moved = frozenset(key for key in {**lock, **self.lock} if lock.get(key) != self.lock.get(key))
        todo = []
        for document in documents:
            record = self._record(records, document)
            if record is None or (moved and _names_any(record, moved)):
                todo.append(document)
                continue
            same = record[-1] == policies.of_job(document)
            job = self._recalled(record, document, prepared, known, runtimes) if same else None
            if job is None or not self._is_written(job):
                todo.append(document)
            else:
                self._note(document, record)
                yield job
        for job in self.inner(prepared, [self.whole(document) for document in todo]):
            self._remember(job, known, runtimes, policies)
            yield job

    def _is_written(self, job: Job) -> bool:
        return self.is_there is None or all(self.is_there(path, content) for path, content in job.files)

    def _record(self, records: Mapping[str, Any], document: Document) -> Any:
        """Return what is known of a document in a file that is as it was then, or None."""
        digest, known = records.get(document.source.name, (None, {}))
        return known.get(document.index) if digest == self.digest_of_file(document.source.name) else None

    def _note(self, document: Document, record: Any) -> None:
        name = document.source.name
        digest = self.digest_of_file(name)
        if digest is not None:
            self.found[2].setdefault(name, (digest, {}))[1][document.index] = record

    def whole(self, document: Document) -> Document:
        """Return a document with all its data, namespace included."""
        return with_namespace(self.reload(document))[0] if is_stub(document) else document

    def _recalled(
        self, record: Any, document: Document, prepared: Prepared, places: Places, runtimes: RuntimeDigests
    ) -> Job | None:
        *plain, files, runtime, _ = record
        if runtimes.of_job(document) != runtime:
            return None
        known = Record._make([*plain, self._promised(files, document, prepared)])
        if is_stub(document) and known.findings and _speaks_of(known.findings, place_of(document)):
            document = self.whole(document)
        try:
            return decode(known, document, places)
        except Unplaced:
            return None

    def _promised(self, files: list[Any], document: Document, prepared: Prepared) -> list[Any]:
        return [(path, Promise(digest, partial(self._made, path, document, prepared))) for path, digest in files]

    def _made(self, path: str, document: Document, prepared: Prepared) -> bytes:
        return bytes_of(dict(prepared.compile(self.whole(document)).files)[path])

    def _remember(self, job: Job, places: Places, runtimes: RuntimeDigests, policies: PolicyDigests) -> None:
        if has_errors(job.findings) or not job.made or job.runtime is None:
            return
        home = get(job.document.data, "metadata", "namespace")
        if any(one.namespace not in (home, job.namespace) for one in job.made):
            return  # other policies may see that
        short = tuple((path, digest_of(data)) for path, data in job.files)
        try:
            record = encode(replace(job, files=short), places)
        except Unplaced:
            return
        self._note(job.document, [*record, runtimes.of_document(job.runtime), policies.of_job(job.document)])


def _names_any(record: Any, keys: frozenset[str]) -> bool:
    """Tell whether any of the images that a job's objects name is one of those that the lock knows by ``keys``."""
    images = (image for _, _, _, images in record[_MADE] for image in images)
    return any(key_of(image.partition("@")[0]) in keys for image in images)


def _speaks_of(findings: list[Any], own: Place) -> bool:
    """Tell whether any finding, or what it refers to, is about a place."""
    return any(own in places(finding) for finding in findings)


class PolicyDigests:
    """The policies of a run by digest, for each namespace those that may say anything of what is there."""

    __slots__ = ("digests", "prepared")

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.digests: dict[str, str] = {}

    def of_job(self, document: Document) -> str:
        """Return what tells the policies that see a TrainJob, or what is made of it."""
        home = str(get(document.data, "metadata", "namespace"))
        if (known := self.digests.get(home)) is None:
            known = self.digests[home] = self._of(home)
        return known

    def _of(self, home: str) -> str:
        policies = self.prepared.judges.policing.policies
        if policies is None:
            return ""
        places = dict.fromkeys((home, self.prepared.options.settings.namespaces.get(home, home)))
        seeing = dict.fromkeys(bound for place in places for bound in policies.seeing(place))
        documents = (one.document for bound in seeing for one in (bound.policy, *bound.bindings))
        return digest_of_json([[*place_of(document), document.data] for document in documents])


class RuntimeDigests:
    """The runtimes of a run by digest."""

    __slots__ = ("digests", "given", "prepared")

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.given = {place_of(document): document.data for document in prepared.documents.runtimes}
        self.digests: dict[Place, list[Any]] = {}

    def of_job(self, document: Document) -> list[Any] | None:
        """Return what tells the runtime of a TrainJob; None where there is none."""
        found = self.prepared.runtimes.find(document)
        return None if isinstance(found, Diagnostic) else self.of_document(found.document)

    def of_document(self, runtime: Document) -> list[Any]:
        """Return the place of a runtime and its digest: as given, for what is dropped may be found fault with."""
        place = place_of(runtime)
        if (known := self.digests.get(place)) is None:
            known = self.digests[place] = [*place, digest_of_json(self.given.get(place, runtime.data))]
        return known


def platform_digest(prepared: Prepared) -> str:
    """Return the digest of all that a job may depend on beside itself, its runtime and the lock of its images.

    That of policies and bindings comes last, behind a point: not all of them see all jobs.
    """
    options = prepared.options
    others: list[list[Any]] = []
    policies: list[list[Any]] = []
    for document in sorted(prepared.documents.others, key=place_of):
        kind = document.data["kind"]
        if kind not in RUNTIMES:
            (policies if kind in POLICIES else others).append([*place_of(document), document.data])
    talking = [[name, text] for name, text in _comments(prepared)]
    rest = digest_of_json([_options(options), prepared.keep is Keep.FILES, others, talking])
    return f"{rest}.{digest_of_json(policies)}"


def _without_policies(digest: str) -> str:
    return digest.partition(".")[0]


def _options(options: Options) -> list[Any]:
    # Where an environment changes images, those of its objects do not tell which were looked up in the lock.
    settings = options.settings
    lock = sorted(options.lock.digests.items()) if settings.patches or settings.registries else []
    crds = [[source.name, source.decoded()] for source in options.crds]
    return [options.faithful, options.environment, options.config, list(options.fixes), lock, crds]


def _comments(prepared: Prepared) -> Iterator[tuple[str, str]]:
    """Yield the files that comments of decide what is said, and so what ends a job: those of runtimes and policies."""
    sources = {document.source.name: document.source for document in prepared.documents.others}
    for name, source in sorted(sources.items()):
        if WORD in (text := source.decoded()):
            yield name, text


def digest_of_json(data: Any) -> str:
    """Return the digest of plain data, in the order in which it stands: 32 hexadecimal digits."""
    return blake2b(json.dumps(data, default=str).encode(), digest_size=16).hexdigest()
