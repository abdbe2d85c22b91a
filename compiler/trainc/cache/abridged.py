"""A run over what has changed, and few of the other jobs: those that stand in for all that are like them.

What a run says and does beyond a job depends on all jobs together, but never on how many are alike (``facts.py``). So
the same compiler runs on an abridged repository: inputs that are no jobs, the jobs that have changed or whose runtime
has, and stubs of others: of all in which something is found, and as few as show all namespaces, runtimes, kinds and
images there are. Only names can meet that
are not among them, which is looked at here. What is out of the ordinary raises Unusual: a run
over everything is due.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from trainc.cache.changes import Changes
from trainc.cache.facts import Entry, Facts, Shape, dump, extend, load
from trainc.cache.jobs import Recall, RuntimeDigests, digest_of_json, is_stub, platform_digest, stub, stubs_of
from trainc.cache.snapshot import Snapshot
from trainc.cache.store import Stored
from trainc.compilejob import Job
from trainc.contents import digest_of
from trainc.documents.classify import COMPANIONS, RUNTIMES, with_namespace
from trainc.documents.load import load as load_source
from trainc.findings import Diagnostic, plain
from trainc.findings.plain import Place, place_of
from trainc.gitops.base import JOBSET
from trainc.gitops.summary import Summary
from trainc.jobcodec import Places, Unplaced
from trainc.lookup import BUILTIN
from trainc.pipeline import Loaded, load_all
from trainc.prepared import Executor, Prepared
from trainc.read import Inputs, merge, read_file
from trainc.records import replace
from trainc.source import Document, Source, get
from trainc.write import OUT

_JOBS: Final = "jobs/"
_PLATFORM: Final = ("runtimes/", "policies/")


class Unusual(Exception):
    """What has changed is not for this way."""


class Abridged:
    """One run over what has changed since a snapshot. ``touched`` are files below jobs/ that it reads, or misses;
    ``others`` are files of the snapshot that neither have facts nor were made."""

    def __init__(self, root: Path, snapshot: Snapshot, changes: Changes) -> None:
        """Take what is known. Raises Unusual where the snapshot has no facts."""
        if not snapshot.facts:
            raise Unusual("no facts")
        self.root = root
        self.old = load(snapshot.facts)
        self.snapshot = snapshot
        self.changes = changes
        self.files = snapshot.files
        known = next(iter(self.old.values())).jobs
        self.others = self.files.without(known, snapshot.made)
        named = (*changes.edited, *changes.gone, *self.others)
        self.touched = {name for name in named if name.startswith(_JOBS)}
        self.present = self.touched.difference(changes.gone)
        self.with_facts = frozenset(known)
        self.digests: dict[str, bytes] = {}
        self.stubs: dict[str, list[Any] | None] = {}
        self.recalls: dict[str, Recall] = {}
        self.rest: dict[str, Facts] = {}
        self.stand_ins: dict[Place, str] = {}
        self.moved = False
        self.reread: tuple[str, dict[int, Document]] = "", {}  # the file that was read again last

    def read(self, names: Iterable[str]) -> Inputs:
        """Read files below jobs/. Raises Unusual for one that cannot be."""
        inputs = merge(read_file(f"{self.root}/{name}", name) for name in sorted(names))
        if inputs.findings:
            raise Unusual("a file that cannot be read")
        return inputs

    def load(self, sources: Iterable[Source]) -> Loaded:
        """Load what is no job and what is touched, then jobs whose runtime is another now, and stubs of others."""
        loaded = load_all(sources, self._note)
        platform = {name for name in self.digests if not name.startswith(_JOBS)}
        before = {name for name in self.others if name.startswith(_PLATFORM)}
        self.moved = platform != before or any(self.files.look(name)[1] != self.digests[name] for name in platform)
        # Nothing forbids a runtime below jobs/, in a file without facts.
        below = (d for d in loaded.documents if d.source.name.startswith(_JOBS))
        self.moved = self.moved or not self.with_facts >= self.touched or any(d.data["kind"] in RUNTIMES for d in below)
        if self.moved and (more := self._with_other_runtimes(loaded.documents)):
            self.touched |= more
            self.present |= more
            late = load_all(self.read(more).sources, self._note)
            documents, findings = (*loaded.documents, *late.documents), (*loaded.findings, *late.findings)
            loaded = Loaded((*loaded.sources, *late.sources), documents, findings)
        stubs = self._abridge({d.source.name for d in loaded.documents if d.data["kind"] in COMPANIONS})
        return replace(loaded, documents=(*loaded.documents, *stubs))

    def _note(self, source: Source, documents: tuple[Document, ...], findings: tuple[Diagnostic, ...]) -> None:
        assert isinstance(source.text, bytes), "files are read as bytes"
        self.digests[source.name] = digest_of(source.text)
        if source.name.startswith(_JOBS):
            self.stubs[source.name] = stubs_of(source, documents, findings)

    def _with_other_runtimes(self, documents: Iterable[Document]) -> set[str]:
        """Return the files of jobs, not touched yet, whose runtime is gone or reads otherwise."""
        given = (d for d in documents if d.data["kind"] in RUNTIMES)
        now = {place_of(d): digest_of_json(with_namespace(d)[0].data) for d in given}
        found = set()
        for facts in self.old.values():
            other = {n for n, shape in enumerate(facts.shapes) if _is_other(shape.runtime, now)}
            if other:
                found |= {file for file, jobs in facts.jobs.items() for entry in jobs if entry[3] in other}
        return found - self.touched

    def _abridge(self, shared: set[str]) -> Iterator[Document]:
        """Yield stubs that stand in for all jobs that are not touched; ``shared`` are files with companions."""
        for environment, old in self.old.items():
            jobs = {file: entries for file, entries in old.jobs.items() if file not in self.touched}
            told = {file: findings for file, findings in old.told.items() if file not in self.touched}
            self.rest[environment] = rest = Facts(old.platform, old.shapes, old.images, jobs, told)
            self.stand_ins |= {(file, index): environment for file, found in told.items() for index in found}
            shown: set[tuple[str, ...]] = set()
            for number, (file, entry) in rest.used()[0].items():
                parts = _parts(rest.shapes[number], shared)
                if not parts <= shown:
                    shown |= parts
                    self.stand_ins[file, entry[0]] = environment
        for (file, index), environment in self.stand_ins.items():
            entry = self._entry(self.rest[environment], (file, index))
            shape = self.rest[environment].shapes[entry[3]]
            metadata = {"name": entry[1], "namespace": shape.home}
            yield stub(file, [index, metadata, json.loads(shape.reference)], _unseen)

    @staticmethod
    def _entry(rest: Facts, place: Place) -> Entry:
        return next(entry for entry in rest.jobs[place[0]] if entry[0] == place[1])

    def executor(self, environment: str, inner: Executor) -> Executor:
        """Return an executor that gives the jobs of stand-ins from facts, and lets ``inner`` compile the others."""
        rest = self.rest[environment]
        recall = Recall(("", {}, {}), self.digests.get, _itself, inner)
        self.recalls[environment] = recall

        def execute(prepared: Prepared, documents: Iterable[Document]) -> Iterator[Job]:
            if platform_digest(prepared) != rest.platform:
                raise Unusual("something that all jobs depend on")
            shapes, images = rest.used()
            if self.moved:
                self._look_up(rest, shapes, RuntimeDigests(prepared))
            places, shown = Places(prepared), tuple({image for number in images for image in rest.images[number]})
            others = []
            for document in documents:
                if not is_stub(document):
                    others.append(document)
                    continue
                yield self._stand_in(document, rest, shown, places)
                shown = ()
            yield from recall(prepared, others)

        return execute

    def _stand_in(self, document: Document, rest: Facts, images: tuple[str, ...], places: Places) -> Job:
        """Return the job of a stub, which is only told from others by its name and that of its JobSet.

        ``images`` are those of its objects. Raises Unusual where a finding is about a document that is gone.
        """
        entry = self._entry(rest, own := place_of(document))
        shape = rest.shapes[entry[3]]
        told = rest.told.get(own[0], {}).get(own[1], [])
        if any(own in plain.places(finding) for finding in told):
            document = self._whole(document)

        def find(place: Place) -> Document:
            return document if (place[0], place[1]) == own else places.find((place[0], place[1]))

        try:
            runtime = places.find((shape.runtime[0], shape.runtime[1]))
            findings = tuple(plain.decode(finding, find) for finding in told)
        except Unplaced:
            raise Unusual("a document that is gone") from None
        made = tuple(
            Summary((group, kind, place, entry[2] if kind == JOBSET else ""), space, "", images)
            for group, kind, place, space in shape.objects
        )
        return Job(shape.namespace, entry[1], document, runtime, findings=findings, made=made)

    def _whole(self, document: Document) -> Document:
        """Return a document of a file that was not read. Raises Unusual where that is another one now."""
        name = document.source.name
        if self.reread[0] != name:
            source = self.read([name]).sources[0]
            if not isinstance(source.text, bytes) or digest_of(source.text) != self.files.look(name)[1]:
                raise Unusual("a file that has just changed")
            self.reread = name, {each.index: each for each in load_source(source)[0]}
        return with_namespace(self.reread[1][document.index])[0]

    def _look_up(self, rest: Facts, shapes: Mapping[int, tuple[str, Entry]], runtimes: RuntimeDigests) -> None:
        """Raise Unusual where jobs that are not touched would find another runtime than they did."""
        asked: dict[tuple[str, str], list[Any] | None] = {}
        references = {text: json.loads(text) for text in {rest.shapes[number].reference for number in shapes}}
        for number, (file, entry) in shapes.items():
            shape = rest.shapes[number]
            key = shape.home, shape.reference
            if key not in asked:
                metadata = {"name": entry[1], "namespace": shape.home}
                asked[key] = runtimes.of_job(stub(file, [0, metadata, references[shape.reference]], _unseen))
            if asked[key] != list(shape.runtime):
                raise Unusual("another runtime")

    def check(self, jobs: Mapping[str, Iterable[Job]], made: Mapping[str, Iterable[Summary]]) -> None:
        """Raise Unusual where a touched job, or a companion, takes a name that a job not touched may have.

        ``jobs`` and ``made`` are those of an Outcome.
        """
        for environment, rest in self.rest.items():
            old = self.old[environment]
            names = {
                name for job in jobs[environment] if job.document.source.name in self.touched for name in _names(job)
            }
            names.difference_update(_known_names(old, self.touched.intersection(old.jobs)))
            if names and not names.isdisjoint(_known_names(rest, rest.jobs)):
                raise Unusual("a name that is taken")
            own = {one.identity for one in made[environment] if one.kind in COMPANIONS}
            taken = (each for entries in rest.jobs.values() for entry in entries for each in entry[5])
            if own and not own.isdisjoint(taken):
                raise Unusual("an object that is there")

    def kept(self) -> set[str]:
        """Return the folders of out/ that are those of jobs not touched."""
        found = set()
        for environment, rest in self.rest.items():
            places = [f"{OUT}/{environment}/{shape.namespace}/" for shape in rest.shapes]
            found |= {places[entry[3]] + entry[1] for entries in rest.jobs.values() for entry in entries}
        return found

    def facts(self) -> bytes:
        """Return the facts of the repository as it is now, after a run without errors."""
        found = {environment: rest.compacted() for environment, rest in self.rest.items()}
        known = {environment: recall.found[2] for environment, recall in self.recalls.items()}
        files = {file for facts in found.values() for file in facts.jobs} | self.present
        for file in sorted(self.present):
            extend(found, file, self.stubs.get(file), known)
        return dump(found, files)

    def learnt(self, written: Mapping[str, bytes]) -> Stored:
        """Return what a run over everything would like to know of this one; ``written`` has the digests of files."""
        other = (file for file in sorted(self.present) if self.files.look(file)[1] != self.digests[file])
        looks = {file: self.changes.files.get(file, (None, None))[0] for file in other}
        inputs = {file: [seen, self.digests[file], self.stubs.get(file)] for file, seen in looks.items()}
        outputs = {name: [None, digest] for name, digest in written.items()}
        return Stored(inputs, {name: recall.found for name, recall in self.recalls.items()}, outputs)


def _is_other(runtime: tuple[str, int, str], now: Mapping[Place, str]) -> bool:
    name, index, digest = runtime
    found = now.get((name, index))
    return found != digest if found is not None else not name.startswith(BUILTIN)


def _parts(shape: Shape, shared: set[str]) -> set[tuple[str, ...]]:
    """Return what the jobs of a shape show of all that the rest of a run asks for."""
    found = {("home", shape.home), ("space", shape.namespace), ("runtime", *map(str, shape.runtime), shape.reference)}
    if shape.runtime[0] in shared:  # companions go where the jobs of their runtime are
        found.add(("use", shape.runtime[0], shape.namespace))
    for group, kind, _, space in shape.objects:
        found |= {("kind", group, kind), ("object", space)}
    return found


def _names(job: Job) -> Iterator[tuple[str, str, str]]:
    jobset = next((one.name for one in job.made if one.kind == JOBSET), "")
    yield "home", str(get(job.document.data, "metadata", "namespace")), job.name
    yield "job", job.namespace, job.name
    yield "jobset", job.namespace, jobset


def _known_names(facts: Facts, files: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the same names of the jobs of files."""
    for file in files:
        for _, name, jobset, number, _, _ in facts.jobs[file]:
            shape = facts.shapes[number]
            yield "home", shape.home, name
            yield "job", shape.namespace, name
            yield "jobset", shape.namespace, jobset


def _itself(document: Document) -> Document:
    return document


def _unseen(index: int) -> Mapping[Any, Any]:
    raise Unusual(f"a place in a file that was not read, document {index}")
