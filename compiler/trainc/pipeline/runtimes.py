"""The runtimes of a run: those given and the built-in ones, each admitted once, and how a TrainJob finds its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trainc.admission.base_revision import Base
from trainc.admission.crd import Admitted, admit_document
from trainc.admission.trainer import validate_runtime
from trainc.basics.jsonvalues import JsonObject, Path, as_object, get, put
from trainc.checks.devices import check_listed
from trainc.data import load_json
from trainc.documents.classify import RUNTIMES, Key, identity
from trainc.documents.emit import emit
from trainc.documents.load import load
from trainc.findings import Finding, Related, Severity, report, suggest_by_words
from trainc.inputs.options import Options
from trainc.inputs.source import Document, Source
from trainc.kube.fielderror import invalid, quote
from trainc.kube.gotypes import typed
from trainc.plugins.base import refused
from trainc.plugins.mpi.implementations import EXTENSIONS, IMPLEMENTATION_PATH
from trainc.upstream import TRAINER_API, TRAINER_GROUP

_NAMED = 5
"""So many runtimes are named in a message."""

CLUSTER_WIDE = "ClusterTrainingRuntime"
BUILTIN = "trainc:"
"""How the names of built-in sources begin."""


class Runtimes(Struct, frozen=True):
    """The runtimes given, by identity, the built-in ones behind them, and those that were there before."""

    given: Mapping[Key, Admitted]
    options: Options
    base: Base = Base()

    @classmethod
    def admit(cls, documents: tuple[Document, ...], options: Options, base: Base | None = None) -> Runtimes:
        """Admit every runtime given."""
        return cls({identity(d): admit_runtime(d, options) for d in documents}, options, base or Base())

    @property
    def findings(self) -> list[Finding]:
        """What was found in the runtimes given."""
        return [finding for admitted in self.given.values() for finding in admitted.findings]

    def judged(self, judge: Callable[[Document], tuple[Finding, ...]]) -> Runtimes:
        """Return the runtimes with what ``judge`` finds in those that a cluster would store."""
        judged = {
            key: admitted
            if _refused(admitted)
            else replace(admitted, findings=(*admitted.findings, *judge(admitted.document)))
            for key, admitted in self.given.items()
        }
        return Runtimes(judged, self.options, self.base)

    def find(self, job: Document) -> Admitted | Finding:
        """Return the admitted runtime that a TrainJob names, or the finding that it is not there.

        An environment may have another in its place.
        """
        key = reference(job, self.options.settings.runtimes)
        if (found := self.given.get(key)) is not None:
            return found
        if not self.options.faithful and key[0].endswith("/ClusterTrainingRuntime"):
            own = admit_builtin(key[2])
            if own is not None:
                return own
        return self._removed(key, not_found(job, key, self.given, self.options.faithful))

    def _removed(self, key: Key, finding: Finding) -> Finding:
        """Return the finding of a missing runtime; of one that was there before it says so.

        A cluster does not let a runtime go as long as a TrainJob uses it (upstream's finalizer).
        """
        version, namespace, name = key
        kind = version.rpartition("/")[2]
        old = self.base.input(TRAINER_GROUP, kind, namespace, name)
        if old is None:
            return finding
        message = f"{kind} {name!r} was removed, and this job uses it"
        hint = "bring it back, or let the job use another one first"
        related = Related(f"it was there at {self.base.revision}", old, ("metadata", "name"))
        return replace(finding, message=message, hint=hint, related=(related,))

    def unused(self, jobs: Iterable[Document]) -> tuple[Document, ...]:
        """Return the runtimes given that no TrainJob names, those equal to built-in ones left out."""
        named = {reference(job, self.options.settings.runtimes) for job in jobs}
        return tuple(
            admitted.document
            for key, admitted in self.given.items()
            if key not in named and not _is_builtin(key, admitted.document)
        )


def _is_builtin(key: Key, document: Document) -> bool:
    own = admit_builtin(key[2]) if key[0].endswith("/ClusterTrainingRuntime") else None
    return own is not None and own.document.data == document.data


def without_jobs(unused: Sequence[Iterable[Document]]) -> tuple[Finding, ...]:
    """Return one note for the runtimes that no job uses in any environment, from what each leaves unused."""
    found = [{(one.source.name, one.index): one for one in documents} for documents in unused]
    everywhere = sorted(set.intersection(*(set(each) for each in found))) if found else []
    if not everywhere:
        return ()
    documents = [found[0][place] for place in everywhere]
    names = [f"{d.data['kind']} {get(d.data, 'metadata', 'name')}" for d in documents]
    named = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return (report("TC314", documents[0], ("metadata", "name"), f"no job uses {named}"),)


@cache
def admit_builtin(name: str) -> Admitted | None:
    """Return a runtime of Trainer's own as a cluster stores it, or None."""
    own = builtin(name)
    return None if own is None else admit_runtime(own, Options())


def admit_runtime(document: Document, options: Options) -> Admitted:
    """Return a runtime as the cluster stores it: its CRD first, then its webhook."""
    admitted = _admit_extended(document) if not options.faithful else _admit(document, faithful=True)
    if _refused(admitted):
        return admitted
    found = (*validate_runtime(admitted.document), *check_listed(admitted.document))
    return Admitted(admitted.document, (*admitted.findings, *found))


def _refused(admitted: Admitted) -> bool:
    """Tell whether the document cannot be worked on: an unknown field is an error, but leaves a whole document."""
    return any(finding.severity is Severity.ERROR and finding.code != "TC101" for finding in admitted.findings)


def _admit(document: Document, *, faithful: bool) -> Admitted:
    return admit_document(document, "runtime-crd", "runtime-webhook", faithful=faithful)


def _admit_extended(document: Document) -> Admitted:
    """Admit a runtime whose MPI implementation may be one that trainc knows and the CRD does not."""
    own = get(document.data, *IMPLEMENTATION_PATH)
    if own not in EXTENSIONS:
        return _admit(document, faithful=False)
    stand_in = replace(document, data=put(document.data, IMPLEMENTATION_PATH, "OpenMPI"))
    admitted = _admit(stand_in, faithful=False)
    return Admitted(
        replace(admitted.document, data=put(admitted.document.data, IMPLEMENTATION_PATH, own)), admitted.findings
    )


# What a TrainJob names.


def reference(job: Document, instead: Mapping[str, str]) -> Key:
    """Return the identity of the runtime that a TrainJob names; ``instead`` has other names for some."""
    wanted = as_object(get(job.data, "spec", "runtimeRef"))
    kind = str(wanted.get("kind") or CLUSTER_WIDE)  # the CRD's default
    name = str(wanted.get("name"))
    namespace = str(get(job.data, "metadata", "namespace")) if kind == "TrainingRuntime" else ""
    return f"{TRAINER_API}/{kind}", namespace, instead.get(name, name)


def check_kind(job: Document) -> tuple[Finding, ...]:
    """Refuse a reference to something that is no runtime (L3)."""
    group, kind = (get(job.data, "spec", "runtimeRef", key) for key in ("apiGroup", "kind"))
    if group == TRAINER_GROUP and kind in RUNTIMES:
        return ()
    if get(job.data, "spec", "runtimeRef") is None:
        return (_no_reference(job),)
    shown = f"{kind or ''}.{group}" if group else str(kind or "")
    path = ("spec", "runtimeRef", "kind" if group == TRAINER_GROUP else "apiGroup")
    text = f"unsupported runtime: {shown}"
    expected = " or ".join(f"{kind}.{TRAINER_GROUP}" for kind in RUNTIMES)
    return (refused("TC302", job, path, text, text, found=shown, expected=expected),)


def _no_reference(job: Document) -> Finding:
    """Return the finding of a TrainJob without a spec, which the CRD lets pass."""
    expected = "spec.runtimeRef, such as {name: torch-distributed}"
    path: Path = ("spec",)
    if path not in job.marks():  # admission drops a spec that is null, but its place is there
        path = ()
    return refused("TC302", job, path, "unsupported runtime: ", "no runtime is named", expected=expected)


def not_found(job: Document, wanted: Key, known: Iterable[Key], faithful: bool) -> Finding:
    """Return the finding of a runtime that was not found, with the nearest name (L3: one field is spelt RuntimeRef)."""
    version, namespace, name = wanted
    own = str(get(job.data, "spec", "runtimeRef", "name"))
    instead = "" if own == name else f", which this environment has instead of {own!r},"
    kind = version.rpartition("/")[2]
    field = "spec.runtimeRef" if kind == "TrainingRuntime" else "spec.RuntimeRef"
    what = kind[0].lower() + kind[1:]
    detail = f"{kind}.{TRAINER_GROUP} {quote(name)} not found"
    detail = f"{detail}: specified {what} must be created before the TrainJob is created"
    text = invalid(field, typed(get(job.data, "spec", "runtimeRef"), "v1alpha1.RuntimeRef"), detail)
    there = {*known, *((f"{TRAINER_API}/{CLUSTER_WIDE}", "", own) for own in (() if faithful else builtin_names()))}
    return refused(
        "TC301",
        job,
        ("spec", "runtimeRef", "name"),
        text,
        f"{kind} {name!r}{instead} is not there",
        found=name,
        hint=_elsewhere(job, wanted, there)
        or suggest_by_words(name, (key[2] for key in there if key[:2] == (version, namespace))),
    )


def _elsewhere(job: Document, wanted: Key, known: Set[Key]) -> str | None:
    """Return what to do where a runtime of the name is there, but not of the kind or in the namespace asked for."""
    version, _, name = wanted
    own = str(get(job.data, "metadata", "namespace"))
    for kind, namespace in ((CLUSTER_WIDE, ""), ("TrainingRuntime", own)):
        if (f"{TRAINER_API}/{kind}", namespace, name) in known:
            return f"there is a {kind} of this name: write kind: {kind}"
    if places := sorted(key[1] for key in known if (key[0], key[2]) == (version, name)):
        return f"there is one in namespace {places[0]}: a TrainJob uses those of its own namespace only"
    return None


# The runtimes of Trainer, which are part of the package.


@cache
def _builtin_objects() -> Mapping[str, tuple[str, JsonObject]]:
    found: list[Any] = load_json("builtins.json")
    return {entry["object"]["metadata"]["name"]: (entry["file"], entry["object"]) for entry in found}


def builtin_names() -> tuple[str, ...]:
    """Return the names of Trainer's own runtimes, which travel in the package."""
    return tuple(_builtin_objects())


@cache
def builtin(name: str) -> Document | None:
    """Return a runtime of Trainer's own, or None. Its text, which findings show, is the object as trainc writes it."""
    if name not in _builtin_objects():
        return None
    file, data = _builtin_objects()[name]
    documents, _ = load(Source(BUILTIN + file, emit(data)))
    return documents[0]
