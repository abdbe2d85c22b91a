"""The base revision: its documents, the objects emitted from them, and both as a cluster stores them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache, cached_property, lru_cache
from typing import TypeAlias

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from trainc.admission.jobset import default
from trainc.admission.update import rewritten
from trainc.basics.differences import same
from trainc.basics.jsonvalues import JsonObject, Path, as_object, existing, get, put
from trainc.documents.classify import RUNTIMES, TRAINJOB, classify, group_and_kind, is_cluster_scoped
from trainc.documents.load import load
from trainc.findings import Finding, Severity, report
from trainc.inputs.options import Revision
from trainc.inputs.settings import Settings, read_settings
from trainc.inputs.source import Document, Packed, Source
from trainc.kube.gotypes import JOB_SET, GoDecodeError, decode
from trainc.plugins.mpi.implementations import EXTENSIONS, IMPLEMENTATION_PATH
from trainc.schema import Admitted, Resource, Violation, admit
from trainc.schema.kinds import BUILT_IN, Registry, split_version

BROKEN = "TC018"

Identity: TypeAlias = tuple[str, str, str, str]
"""Group (empty for the core group), kind, namespace (empty without one) and name; the version does not matter."""

_Notes: TypeAlias = tuple[Finding, ...]
_Index: TypeAlias = tuple[Mapping[Identity, Packed], _Notes]
"""The file of each object."""


class Base(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The base revision as one environment sees it. Documents are as committed, without defaults.

    Their sources are named ``<revision>:<path>``, as in git; findings on them are notes. ``settings`` are trainc.yaml
    and images.lock.yaml by name. ``unrendered``: it has TrainJobs, but no out/ that shows what is emitted for them.
    """

    revision: str = ""
    inputs: Mapping[Identity, Document] = msgspec.field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    of_kind: Callable[..., tuple[_Index, ...]] = lambda kind, others=(): ()
    settings: Mapping[str, Document] = msgspec.field(default_factory=dict)
    file: Callable[[str], Packed | None] = lambda name: None
    unrendered: bool = False
    current: Settings = msgspec.field(default_factory=Settings)

    @classmethod
    def of(cls, revision: Revision | None, environments: Iterable[str], current: Settings | None = None) -> Base:
        """Read the inputs of a revision; the objects emitted for environments are read on demand, by kind.

        If several environments have an object, that of the first counts. ``current`` are the settings of this run.
        """
        if revision is None:
            return cls()
        documents, findings = documents_of(revision)
        inputs = {identify(document.data): document for document in documents}
        names = tuple(environments)
        settings = {document.source.name: _renamed(document, revision.name) for document in revision.settings}
        of_kind = cache(lambda kind, others=(): tuple(_emitted(revision, name, kind) for name in (*names, *others)))
        has_jobs = any(kind == TRAINJOB for _, kind, *_ in inputs)
        unrendered = has_jobs and names != () and lacks_output(revision, names[0])

        def file(name: str) -> Packed | None:  # few runs need all names
            return _by_name(revision).get(name)

        return cls(revision.name, inputs, findings, of_kind, settings, file, unrendered, current or Settings())

    @property
    def is_given(self) -> bool:
        """Whether there is a base revision."""
        return bool(self.revision)

    def input(self, group: str, kind: str, namespace: str, name: str) -> Document | None:
        """Return the object in the inputs of the base revision, or None.

        A TrainJob may have moved from another folder of jobs/ with its namespace in the cluster. An object beside a
        runtime may have its namespace only in out/.
        """
        found = self.inputs.get((group, kind, namespace, name))
        for home in sorted(self.current.sharing(namespace)) if found is None and kind == TRAINJOB else ():
            if (group, kind, home, name) in self.inputs and self.current.takes(home, name):
                found = self.inputs[group, kind, home, name]
        return found or self.emitted(group, kind, namespace, name)

    def emitted(
        self, group: str, kind: str, namespace: str, name: str, others: tuple[str, ...] = ()
    ) -> Document | None:
        """Return the emitted object of the base revision, or None. ``others`` are further environments."""
        identity = group, kind, namespace, name
        file = next((index[identity] for index, _ in self.of_kind(kind, others) if identity in index), None)
        documents = _documents(file) if file is not None else ()
        return next((_renamed(each, self.revision) for each in documents if identify(each.data) == identity), None)

    def output(self, name: str, index: int) -> Document | None:
        """Return the document with this index in a file of out/, by the name of its source, or None."""
        path = name.removeprefix(f"{self.revision}:")
        file = self.file(path) if path != name else None
        documents = _documents(file) if file is not None else ()
        return next((_renamed(each, self.revision) for each in documents if each.index == index), None)

    def has_job(self, namespace: str, name: str) -> bool:
        """Return whether a job was in one of the environments; True if the base does not show what is emitted."""
        return self.unrendered or (namespace, name) in self._jobs

    @cached_property
    def _jobs(self) -> frozenset[tuple[str, str]]:
        """The namespaces and names of the jobs with a JobSet, which are the folders of its file."""
        files = (file.name.split("/") for index, _ in self.of_kind(_WITH_WEBHOOK) for file in index.values())
        return frozenset((namespace, name) for *_, namespace, name, _ in files)

    def notes(self, *kinds: str) -> tuple[Finding, ...]:
        """Return notes on unreadable inputs of the base revision, and on unreadable emitted objects of these kinds."""
        return (*self.findings, *(note for kind in kinds for _, notes in self.of_kind(kind) for note in notes))


def identify(data: JsonObject) -> Identity:
    """Return the parts of an object that identify it."""
    group, kind = group_and_kind(data)
    namespace = "" if is_cluster_scoped(data) else str(get(data, "metadata", "namespace") or "default")
    return group, kind, namespace, str(get(data, "metadata", "name"))


@lru_cache(maxsize=4)
def documents_of(revision: Revision) -> tuple[tuple[Document, ...], _Notes]:
    """Return the inputs, and notes; of two documents with the same identity, the one that a build would use.

    One object in two versions is two documents.
    """
    loaded, notes = _load(revision.name, revision.sources)
    sorted_out, findings = classify(loaded)  # by path, so before sources are renamed
    found = tuple(sorted_out.cluster.values())
    used = frozenset(found)
    notes += tuple(_broken(revision.name, (finding for finding in findings if finding.document not in used)))
    return tuple(_renamed(document, revision.name) for document in found), notes


@lru_cache(maxsize=4)
def _by_environment(revision: Revision) -> Mapping[str, list[Packed]]:
    """Return the files of out/ by their environment."""
    found = defaultdict[str, list[Packed]](list)
    for file in revision.output:
        found[file.name.removeprefix("out/").partition("/")[0]].append(file)
    return dict(found)


@lru_cache(maxsize=4)
def _by_name(revision: Revision) -> Mapping[str, Packed]:
    return {file.name: file for file in revision.output}


def lacks_output(revision: Revision, environment: str) -> bool:
    """Return whether no objects are committed, or a hydrator writes those of the environment to a branch."""
    committed = _by_environment(revision)
    if not committed or environment in committed:
        return not committed
    known = environment in as_object(revision.config.get("environments"))
    return known and read_settings(revision.config, environment).tool.hydrator is not UNSET


@lru_cache(maxsize=2048)  # each environment once, though the bases of others have it, too
def _emitted(revision: Revision, environment: str, kind: str) -> _Index:
    """Return where each object of a kind is, and notes.

    Of two with the same identity, that in the first folder counts, and in one folder the last, as for Argo CD.
    """
    starts = f"{kind.lower()}-", f"{kind.lower()}."
    index: dict[Identity, Packed] = {}
    notes: list[Finding] = []
    for file in _by_environment(revision).get(environment, ()):
        if file.name.rpartition("/")[2].startswith(starts):
            loaded, found = _load(revision.name, (file.source(),))
            notes += found
            for document in loaded:
                known = index.setdefault(identity := identify(document.data), file)
                if known.name.rpartition("/")[0] == file.name.rpartition("/")[0]:
                    index[identity] = file
    return index, tuple(notes)


def no_longer_emitted(
    revision: Revision, environment: str, kinds: Iterable[str], emitted: Iterable[Identity], made: Set[Identity]
) -> Iterator[Document]:
    """Yield the objects of some kinds that were emitted for an environment, and that nobody makes any more.

    ``emitted`` are those of the environment now, ``made`` those of all environments of its cluster.
    """
    names = {f"/{namespace}/{kind.lower()}-{name}.yaml" for _, kind, namespace, name in emitted}
    starts = tuple(f"{kind.lower()}{end}" for kind in kinds for end in "-.")
    for file in _by_environment(revision).get(environment, ()):
        *_, namespace, _, name = file.name.split("/")
        if name.startswith(starts) and f"/{namespace}/{name}" not in names:  # few files have to be read
            for document in _documents(file):
                if identify(document.data) not in made:
                    yield _renamed(document, revision.name)


@lru_cache(maxsize=64)
def _documents(file: Packed) -> tuple[Document, ...]:
    """Return the documents of a file. Only those of the last jobs stay in memory."""
    return tuple(load(file.source())[0])


def _load(revision: str, sources: Iterable[Source]) -> tuple[list[Document], _Notes]:
    documents: list[Document] = []
    notes: list[Finding] = []
    for source in sources:
        loaded, findings = load(source)
        documents += loaded
        notes += _broken(revision, findings)
    return documents, tuple(notes)


def _broken(revision: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield a note for each error in the base revision."""
    for finding in findings:
        if finding.severity is Severity.ERROR:
            document = _renamed(finding.document, revision)
            yield report(BROKEN, document, finding.path, f"not compared: {finding.message}")


def _renamed(document: Document, revision: str) -> Document:
    return replace(document, source=replace(document.source, name=f"{revision}:{document.source.name}"))


_WITH_WEBHOOK = "JobSet"
"""The kind whose emitted objects have already passed a mutating webhook."""


class Previous(msgspec.Struct, frozen=True, eq=False):
    """The objects of a base revision as a cluster stores them; empty without a base."""

    base: Base = msgspec.field(default_factory=Base)
    registry: Registry = BUILT_IN

    def input(self, data: JsonObject) -> JsonObject | Finding | None:
        """Return the object in the inputs; None if it is new; a note if a cluster would have rejected it."""
        return self._stored(self.registry, data, self.base.input(*identify(data)), created=False)

    def emitted(self, data: JsonObject, others: tuple[str, ...] = ()) -> JsonObject | Finding | None:
        """Return the emitted object; None if it is new; a note if a cluster would have rejected it.

        ``others`` are further environments. CRDs in the inputs do not count, as for the new object: the author of a
        runtime could write any.
        """
        if not self.base.is_given:
            return None
        old = self.base.emitted(*identify(data), others)
        return self._stored(BUILT_IN, data, old, created=data["kind"] == _WITH_WEBHOOK)

    def companion(self, data: JsonObject) -> JsonObject | Finding | None:
        """Return the emitted companion, or the one in the inputs if the base does not show what is emitted."""
        return self.input(data) if self.base.unrendered else self.emitted(data)

    @staticmethod
    def _stored(
        registry: Registry, data: JsonObject, old: Document | None, *, created: bool
    ) -> JsonObject | Finding | None:
        if old is None:
            return None
        if same(old.data, data):
            return data  # as a cluster stores it, so nothing is left to admit
        resource = registry.find(*split_version(str(data["apiVersion"])), str(data["kind"]))
        # Of a kind without a schema it is as committed.
        return as_stored(resource, old, created=created) if resource is not None else old.data


def as_stored(resource: Resource, old: Document, *, created: bool = False) -> JsonObject | Finding:
    """Return an old object as a cluster stores it, or a note (TC018) if no cluster could.

    ``created``: it has passed JobSet's mutating webhook. A TrainJob has passed Trainer's.
    """
    given = standard(old.data)
    result = admit(resource, given)
    try:
        # JobSet's webhook comes before what only a value refuses, such as a label.
        if created and _refusal(result) is None:
            result = admit(resource, default(result.data))
        elif old.data["kind"] == TRAINJOB and not result.violations:
            return rewritten(result.data)
        wrong = _refusal(result)
        if created and wrong is None:
            decode(result.data, JOB_SET)
    except GoDecodeError as error:
        return broken(old, error.path, error.message)
    if wrong is not None:
        return broken(old, wrong.path, wrong.message)
    # With the MPI implementation that ``standard`` replaced.
    extended = given is not old.data
    return put(result.data, IMPLEMENTATION_PATH, get(old.data, *IMPLEMENTATION_PATH)) if extended else result.data


def _refusal(result: Admitted) -> Violation | None:
    """Return the first violation after which a server looks no further."""
    return next((each for each in result.violations if each.decode or each.blocking), None)


def broken(old: Document, path: Path, message: str) -> Finding:
    """Return the note (TC018) on an old object that no cluster could store."""
    return report(BROKEN, old, existing(old.data, path), f"not compared: {message}")


def standard(data: JsonObject) -> JsonObject:
    """Return a runtime with OpenMPI instead of an MPI implementation that the CRD does not support."""
    extended = data["kind"] in RUNTIMES and get(data, *IMPLEMENTATION_PATH) in EXTENSIONS
    return put(data, IMPLEMENTATION_PATH, "OpenMPI") if extended else data
