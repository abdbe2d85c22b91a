"""The cache during a run: it skips unchanged files and compiled jobs, and stores results for the next run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from trainc.cache import jobs, snapshot
from trainc.cache.checkpoint import Checkpoint
from trainc.cache.jobs import JobFile, Keys, StoredJob, is_current, is_stub, stored_job
from trainc.cache.snapshot import Look, Snapshot, complete, settled, stamp
from trainc.cache.store import Store
from trainc.documents.classify import with_namespace
from trainc.documents.load import load
from trainc.findings import Finding, has_errors
from trainc.findings.reporting import rewritten
from trainc.inputs.source import Document, Source
from trainc.pipeline.compile import Loaded
from trainc.pipeline.content import Changed, Content, Digest, Job, digest_of
from trainc.pipeline.context import Context
from trainc.pipeline.job import Executor
from trainc.pipeline.jobresults import Documents, UnknownDocument, decode, document_id
from trainc.project.config import Config
from trainc.project.environments import Uncached, compile_for
from trainc.project.files import read_regular
from trainc.project.names import OUT
from trainc.project.read import Inputs, merge, read_file, read_platform, read_tree
from trainc.project.write import Plan, plan

_NOTHING: Final = Inputs()
_DECODER: Final = msgspec.msgpack.Decoder(JobFile)

T = TypeVar("T")


class RunCache(Uncached):
    """The results that the last run stored about a repository, and those of this run.

    With ``by_bytes``, files are compared by their bytes, not by their stamps. ``compares``: out/ will be compared.
    Without ``needs_bytes``, compiled jobs have only the digests of their files.
    """

    def __init__(
        self,
        root: Path,
        store: Store,
        last: Snapshot | None = None,
        *,
        by_bytes: bool = False,
        compares: bool = False,
        needs_bytes: bool = True,
    ) -> None:
        """Load what the last run stored; ``last`` is its snapshot, if already loaded."""
        super().__init__(root)
        self.store, self.by_bytes, self.compares, self.needs_bytes = store, by_bytes, compares, needs_bytes
        self.old = last or store.load(snapshot.NAME, Snapshot) or Snapshot()
        self.old_files = self.old.files
        self.old_jobs = store.load(jobs.NAME, dict[str, msgspec.Raw]) or {}  # each decoded when needed
        self.looks: dict[str, Look] = {}  # of the files that this run read or wrote
        self.jobs: dict[str, JobFile] = {}
        self.results: dict[str, dict[tuple[str, int], StoredJob]] = {}  # by environment
        self.read_again: list[str] = []  # the files in ``jobs`` that changed
        self.stubs: list[Document] = []
        self.checkpoint: Checkpoint | None = None
        self.checked: dict[str, tuple[bytes, bool]] = {}  # file of out/ to a digest, and whether it has that digest
        self.linked: dict[str, bool] = {}  # folder of out/ to whether it is a link, or behind one
        self.reread: tuple[str, dict[int, Document]] = "", {}  # the last file that was read again, with its documents

    # Files below jobs/.

    def read(self, path: str, name: str) -> Inputs:
        """Read a file below jobs/ if the run needs its text; otherwise add its documents to ``stubs``."""
        known, start, seen = self._old_job_file(name), time.time_ns(), stamp(path)
        look = self.old_files.get(name)
        if known is not None and known.must_be_read:
            known = None
        is_unchanged = look is not None and look.stamp is not None and look.stamp == seen and not self.by_bytes
        if known is not None and look is not None and is_unchanged and look.digest == known.digest:
            return self._known(name, known, look)
        inputs = read_file(path, name)
        if not inputs.sources:
            return inputs
        look = self.looks[name] = Look(_digest(inputs.sources[0]), settled(seen, start))
        if known is not None and known.digest == look.digest:
            return self._known(name, known, look)
        return inputs

    def _old_job_file(self, name: str) -> JobFile | None:
        data = self.old_jobs.get(name)
        return None if data is None else _DECODER.decode(data)

    def _known(self, name: str, known: JobFile, look: Look) -> Inputs:
        self.looks[name], self.jobs[name] = look, known
        self.stubs += known.stubs(name, self._document)
        return _NOTHING

    def with_stubs(self, loaded: Loaded) -> Loaded:
        """Return what was loaded, with stubs for the documents of files that were not read."""
        wrong = {finding.file for finding in loaded.findings}
        documents: dict[str, list[Document]] = {}
        for document in loaded.documents:
            documents.setdefault(document.source.name, []).append(document)
        for source in loaded.sources:
            name = source.name
            if (look := self.looks.get(name)) is not None:
                known = self._old_job_file(name)
                if known is None or known.digest != look.digest:
                    self.read_again.append(name)
                    known = JobFile.of(source, look.digest, documents.get(name, ()), name in wrong)
                self.jobs[name] = known
        return replace(loaded, documents=(*loaded.documents, *self.stubs))

    def _document(self, name: str, index: int) -> Document:
        """Read a document of a file that was not read before. Raises Changed."""
        if self.reread[0] != name:
            sources = read_file(self.root / name, name).sources
            if not sources or _digest(sources[0]) != self.looks[name].digest:
                raise Changed(name)
            self.reread = name, {document.index: document for document in load(sources[0])[0]}
        return self.reread[1][index]

    def whole(self, document: Document) -> Document:
        """Return the document itself in place of a stub. Raises Changed."""
        if not is_stub(document):
            return document
        return with_namespace(self._document(*document_id(document)))[0]

    def with_documents(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings with documents in place of stubs. Raises Changed."""
        found = []
        for finding in findings:
            if is_stub(finding.document) or any(is_stub(other.document) for other in finding.related):
                found.append(rewritten(finding, self.whole))
            else:
                found.append(finding)
        return tuple(found)

    # Jobs.

    def executor(self, environment: str, inner: Executor) -> Executor:
        """Return an executor that takes jobs from the cache, and compiles others with ``inner``. Raises Changed."""

        def execute(context: Context, documents: Iterable[Document]) -> Iterator[Job]:
            keys, others = Keys(context), Documents(context)
            if self.compares and not self.results:  # once: closing a second handle would unlock the file
                self.checkpoint = Checkpoint.open(self.store)
            results = self.results[environment] = {}
            waiting = []
            for document in documents:
                if (restored := self._restored(environment, document, keys, others)) is None:
                    waiting.append(document)
                else:
                    results[document_id(document)], job = restored
                    yield job
            for compiled in inner(context, map(self.whole, waiting)):
                if (new := stored_job(compiled, keys, others)) is not None:
                    results[document_id(compiled.document)] = new
                yield compiled if new is None else self._without_bytes(environment, compiled, new)

        return execute

    def _restored(
        self, environment: str, document: Document, keys: Keys, others: Documents
    ) -> tuple[StoredJob, Job] | None:
        """Return what an earlier run stored about a job, and the job; None if that is not current or lacks bytes.

        The bytes are in the files of out/, if these will be compared, or in the checkpoint of an interrupted run.
        """
        file, (name, index) = self.jobs.get(document.source.name), document_id(document)
        if file is None or index not in file.jobs:
            return None
        content: Callable[[bytes], Content] = Digest
        stored = file.jobs[index].results.get(environment)
        if stored is None or not is_current(stored, document, keys) or not self._is_written(stored):
            key = environment, name, index
            found = None if self.checkpoint is None else self.checkpoint.find(key, file.digest)
            if found is None or not is_current(found[0], document, keys):
                return None
            stored, content = found[0], found[1].__getitem__
        if any(finding.is_about(document_id(document)) for finding in stored.result.findings):
            document = self.whole(document)
        try:
            return stored, decode(stored.result, document, others, content)
        except UnknownDocument:
            return None

    def _is_written(self, stored: StoredJob) -> bool:
        """Return whether the files of a job are in out/, if that will be compared."""
        return not self.compares or all(self.is_same(name, Digest(digest)) for name, digest in stored.result.files)

    def _without_bytes(self, environment: str, job: Job, stored: StoredJob) -> Job:
        """Return a compiled job whose bytes are in the checkpoint, or not needed."""
        file, (name, index) = self.jobs.get(job.document.source.name), document_id(job.document)
        if not self.needs_bytes:
            return replace(job, files=tuple((name, Digest(digest)) for name, digest in stored.result.files))
        if self.checkpoint is not None and file is not None:
            try:
                return self.checkpoint.add((environment, name, index), file.digest, stored, job)
            except OSError:  # such as a full disk: the bytes stay in memory
                self.checkpoint = None
        return job

    # Files below out/.

    def is_same(self, name: str, content: Content) -> bool:
        """Return whether a file has a content. The first answer is kept for the rest of the run."""
        wanted = digest_of(content)
        if (known := self.checked.get(name)) is None or known[0] != wanted:
            known = self.checked[name] = wanted, self._is_same(name, wanted)
        return known[1]

    def _is_same(self, name: str, wanted: bytes) -> bool:
        if self._is_linked(name.rpartition("/")[0]):
            return False
        path, start = f"{self.root}/{name}", time.time_ns()
        look, seen = self.old_files.get(name), stamp(path)
        if seen is None:
            return False
        if look is None or look.stamp is None or look.stamp != seen or self.by_bytes:
            data = read_regular(path)
            look = None if data is None else Look(digest_of(data), settled(seen, start))
        if look is None or look.digest != wanted:
            return False
        self.looks[name] = look
        return True

    def _is_linked(self, folder: str) -> bool:
        """Return whether a folder, given by its name, is a link or behind one: where that leads may not answer."""
        if folder and folder not in self.linked:
            above = folder.rpartition("/")[0]
            self.linked[folder] = self._is_linked(above) or os.path.islink(f"{self.root}/{folder}")
        return self.linked.get(folder, False)

    # Results for the next run.

    def remove_checkpoint(self) -> None:
        """Remove the results of interrupted runs, which are no longer needed once out/ is up to date."""
        if self.checkpoint is not None:
            self.checkpoint.remove()

    def save_jobs(self, *, others: bool = False) -> None:
        """Store the jobs if they differ from those of the last run; ``others``: keep jobs of other files."""
        old = self.old_jobs
        stored = dict(old) if others else {name: old.get(name, msgspec.Raw()) for name in self.jobs}
        is_new = stored.keys() != old.keys()
        for name, file in self.jobs.items():
            if self._set_results(name, file) or name in self.read_again:
                stored[name], is_new = msgspec.Raw(msgspec.msgpack.encode(file)), True
        if is_new:
            self.store.save(jobs.NAME, stored)

    def _set_results(self, name: str, file: JobFile) -> bool:
        """Set the results of the jobs of a file to those of this run, and return whether they changed."""
        changed = False
        for index, document in file.jobs.items():
            found = {env: known[name, index] for env, known in self.results.items() if (name, index) in known}
            changed = changed or found != document.results
            document.results = found
        return changed

    def plan_changed(self, config: Config, execute: Executor) -> Plan | None:
        """Return the plan after a change of a few files below jobs/; None if more than the bytes of output changes.

        They may have thousands of jobs. Raises Changed.
        """
        platform = read_platform(self.root)
        inputs = merge([*(read_tree(self.root, name, self.read) for name in self.old.changed), platform])
        outcome = compile_for(
            inputs, config, config.environments, (), partly=platform.sources, cache=self, execute=execute
        )
        if has_errors(outcome.findings) or not self._is_contained(outcome.jobs):
            return None
        scopes = [f"{OUT}/{name}/{job.namespace}/{job.name}" for name, jobs in outcome.jobs.items() for job in jobs]
        todo = plan(self.root, outcome.files, scopes, is_same=self.is_same)
        return None if todo.create or todo.remove or todo.blocked or todo.leftovers else todo

    def _is_contained(self, environments: Mapping[str, Iterable[Job]]) -> bool:
        """Return whether nothing but the bytes of output files changes: no name, image, runtime, object or finding.

        Then a full run would report the same. ``environments`` are the compiled jobs.
        """
        if any(
            document_id(job.document) not in self.results[env] for env, made in environments.items() for job in made
        ):
            return False
        for name, file in self.jobs.items():
            self._set_results(name, file)
            old = self._old_job_file(name)
            # A later `validate` may have stored the jobs without writing out/.
            if old is None or old.digest != self.old_files[name].digest or not file.is_like(old):
                return False
        return True

    def save_files(
        self,
        platform: Iterable[Source],
        todo: Plan | None,
        foreign: Collection[str],
        texts: dict[str, tuple[str, ...]],
        reported: Iterable[str],
        *,
        around: tuple[str, ...],
    ) -> None:
        """Store the digests and stamps of files after a full run.

        ``platform`` are the inputs besides jobs/, ``todo`` is the plan carried out, if any, and ``foreign`` the files
        below out/ that are not trainc's. ``texts`` are the reports by reporting options, empty if out/ is not up to
        date; ``reported`` are the files that findings name, and ``around`` the surroundings before the run.
        """
        looks = {**self.looks, **{source.name: Look(_digest(source)) for source in platform}}
        new = None
        if todo is not None and texts:
            looks |= {file.name: Look(digest_of(file.data)) for file in (*todo.create, *todo.change)}
            generated = len(todo.create) + len(todo.change) + len(todo.unchanged)
            new = Snapshot(looks, tops=todo.tops, generated=generated, texts=texts, reported=tuple(reported))
            new = complete(self.root, replace(new, around=around), foreign)
        if new is not None and new.is_of_same_files(self.old):  # only the options are new
            new = msgspec.structs.replace(new, texts={**self.old.texts, **texts})
        self.store.save(snapshot.NAME, new or Snapshot({**self.old_files, **looks}))

    def save_changes(self, todo: Plan) -> None:
        """Store jobs and files after a plan of ``plan_changed`` was carried out."""
        self.save_jobs(others=True)
        written = {file.name: Look(digest_of(file.data)) for file in todo.change}
        folders = {name.rpartition("/")[0]: None for name in written}
        files = {**self.old_files, **self.looks, **written}
        new = msgspec.structs.replace(self.old, files=files, folders={**self.old.folders, **folders}, changed=())
        self.store.save(snapshot.NAME, new)


def _digest(source: Source) -> bytes:
    assert isinstance(source.text, bytes), "files are read as bytes"
    return digest_of(source.text)


def with_cache(attempt: Callable[[RunCache | None], T], cache: RunCache | None) -> tuple[T, RunCache | None]:
    """Return the result of an attempt, and the cache it used: none if a file changed meanwhile."""
    try:
        return attempt(cache), cache
    except Changed:
        return attempt(None), None
