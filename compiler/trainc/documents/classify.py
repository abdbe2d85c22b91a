"""Sorts documents by kind: TrainJobs, runtimes, and objects in the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, Path, get
from trainc.findings import Finding, Related, Severity, report
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError, decode
from trainc.schema.inputs import ADMISSION, COMPANION, DEFINITION, INPUTS, POLICY, REPLACED, RUNTIME, kinds_of
from trainc.upstream import TRAINER_API

TRAINJOB = "TrainJob"
RUNTIMES = kinds_of(RUNTIME)
POLICIES = kinds_of(POLICY)
_CLUSTER_SCOPED = frozenset((row.group, row.kind) for row in INPUTS if not row.namespaced and row.role != DEFINITION)
_VERSIONS = {**dict.fromkeys((TRAINJOB, *RUNTIMES), TRAINER_API), **dict.fromkeys(POLICIES, f"{ADMISSION}/v1")}
"""The only apiVersion of kinds that no other group has."""
_COMPANIONS = frozenset((row.group, row.kind) for row in INPUTS if row.role == COMPANION)
SUPERSEDED = {(row.group, row.kind): row for row in INPUTS if row.role == REPLACED}
"""Jobs that TrainJob replaces, by group and kind in any version."""
JOBS = "jobs/"
_OF_PLATFORM = ("runtimes/", "policies/")
"""Folders that have no namespace, and other code owners than jobs/<namespace>/."""
CLAIM = ("v1", "PersistentVolumeClaim")
CLAIM_SPEC = "v1.PersistentVolumeClaimSpec"
_NAME: Path = ("metadata", "name")
_ONE_FILE = "remove one of the two; if two runtimes need the object, put it and both runtimes into one file"
_BESIDE = "if jobs need it, put it into the file of their runtime in runtimes/"

Key = tuple[str, str, str]
"""apiVersion/kind, namespace (empty where there is none) and name."""


class Documents(msgspec.Struct, frozen=True):
    """The documents of a run by kind; each list in order of source and position."""

    jobs: tuple[Document, ...] = ()
    runtimes: tuple[Document, ...] = ()
    cluster: dict[Key, Document] = msgspec.field(default_factory=dict)

    @property
    def others(self) -> Iterator[Document]:
        """All documents except TrainJobs."""
        return (document for document in self.cluster.values() if document.data["kind"] != TRAINJOB)


def classify(documents: Iterable[Document], *, faithful: bool = False) -> tuple[Documents, tuple[Finding, ...]]:
    """Return the documents by kind, and findings: wrong versions, kinds in other folders than theirs, duplicates.

    ``faithful``: TrainJobs may be in any folder.
    """
    placed: list[Document] = []
    findings: list[Finding] = []
    for document in documents:
        if (wrong := _undecodable(document)) is None:
            named, found = with_namespace(document)
            placed.append(named)
            findings += found
        else:
            findings.append(wrong)
    kept: dict[Key, Document] = {}
    unused: set[Key] = set()
    jobs, runtimes = [], []
    for document in sorted(placed, key=lambda d: (d.source.name, d.index)):
        key = identity(document)
        if (first := kept.get(key)) is not None:
            _, namespace, name = key
            message = f"duplicate {document.data['kind']} {f'{namespace}/{name}' if namespace else name}"
            related = (Related("the first one", first, _NAME),)
            shared = is_companion(document) and document.source != first.source
            hint = _ONE_FILE if shared else None
            findings.append(report("TC009", document, _NAME, message, related=related, hint=hint))
            continue
        kept[key] = document
        kind = document.data["kind"]
        if kind == TRAINJOB and not faithful and document.source.name.startswith(_OF_PLATFORM):
            message = f"{kind} outside of jobs/ is not compiled"
            wanted = "a file in jobs/<namespace>/"
            findings.append(report("TC007", document, ("kind",), message, severity=Severity.ERROR, expected=wanted))
            unused.add(key)
        elif kind == TRAINJOB:
            jobs.append(document)
        elif kind in RUNTIMES and document.data["apiVersion"] == TRAINER_API:
            runtimes.append(document)
        elif (
            document.source.name.startswith(JOBS)
            and document.data["apiVersion"] != TRAINER_API
            and group_and_kind(document.data) not in SUPERSEDED
        ):
            message = f"{kind} below jobs/ is not compiled"
            hint = _BESIDE if is_companion(document) else None
            findings.append(
                report("TC007", document, ("kind",), message, found=str(kind), expected=TRAINJOB, hint=hint)
            )
            unused.add(key)
    cluster = {key: document for key, document in kept.items() if key not in unused}
    return Documents(tuple(jobs), tuple(runtimes), cluster), tuple(findings)


def superseded(documents: Iterable[Document], *, faithful: bool) -> Iterator[Finding]:
    """Yield a finding for each job of Training Operator v1 or Volcano: nothing is compiled from it."""
    for document in documents:
        group, kind = key = group_and_kind(document.data)
        if (row := SUPERSEDED.get(key)) is not None:
            severity = Severity.WARNING if faithful else None
            message = f"{kind} of {group} is not compiled"
            hint = f"replace it with {row.instead}"
            if row.imports:
                file = "-" if document.source.name == "<stdin>" else document.source.name
                hint = f"run 'trainc import {file}', or {hint}"
            path = ("kind",)
            yield report("TC019", document, path, message, severity=severity, found=kind, expected=TRAINJOB, hint=hint)


def is_companion(document: Document) -> bool:
    """Return whether the file of a runtime may contain an object because its jobs need it."""
    return group_and_kind(document.data) in _COMPANIONS


def is_cluster_scoped(data: JsonObject) -> bool:
    """Return whether trainc knows that objects of a kind have no namespace; a kind of another group may have one."""
    return group_and_kind(data) in _CLUSTER_SCOPED


def group_and_kind(data: JsonObject) -> tuple[str, str]:
    """Return the group of an object, empty for the core group, and its kind."""
    return str(data["apiVersion"]).rpartition("/")[0], str(data["kind"])


def with_namespace(document: Document) -> tuple[Document, tuple[Finding, ...]]:
    """Return the document with its namespace: its own, else the folder's below jobs/, else default."""
    if is_cluster_scoped(document.data):
        return document, ()
    metadata = document.data["metadata"]
    if not isinstance(metadata, dict):
        return document, ()
    steps = document.source.name.split("/")
    folder = steps[1] if len(steps) == 3 and document.source.name.startswith(JOBS) else None
    own = metadata.get("namespace")
    if own and isinstance(own, str):
        if folder is None or own == folder:
            return document, ()
        path = ("metadata", "namespace")
        message = f"namespace {own!r} differs from folder {folder!r}"
        return document, (report("TC010", document, path, message, found=own, expected=folder),)
    if own is not None and own != "":
        return document, ()  # of a wrong type, which admission says
    data: JsonObject = {**document.data, "metadata": {**metadata, "namespace": folder or "default"}}
    return replace(document, data=data), ()


def identity(document: Document) -> Key:
    """Return the key that identifies the object of a document in a cluster."""
    metadata = document.data["metadata"]
    version = f"{document.data['apiVersion']}/{document.data['kind']}"
    namespace = "" if is_cluster_scoped(document.data) else str(get(metadata, "namespace") or "default")
    return version, namespace, str(get(metadata, "name"))


def _undecodable(document: Document) -> Finding | None:
    """Report an unsupported version, or a claim that a cluster would reject: JobSet's webhook compares claims."""
    kind, version = str(document.data["kind"]), document.data["apiVersion"]
    if (wanted := _VERSIONS.get(kind, version)) != version:
        message = f"unsupported apiVersion {version} of {kind}"
        text = f'no matches for kind "{kind}" in version "{version}"'
        path: Path = ("apiVersion",)
        found = str(version)
        return report(
            "TC008", document, path, message, found=found, expected=str(wanted), stage="decode", upstream=text
        )
    if (version, kind) == CLAIM:
        try:
            decode(document.data.get("spec"), CLAIM_SPEC)
        except GoDecodeError as error:
            path = ("spec", *error.path)
            found = str(get(document.data, *path))
            return report("TC109", document, path, f"cannot be decoded: {error.message}", found=found, stage="decode")
    return None
