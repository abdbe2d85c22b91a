"""The runtimes of a run, from the inputs and built-in, each admitted once, and the lookup of a TrainJob's runtime."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trainc.admission.base_revision import Base
from trainc.admission.crd import Admitted, admit_document
from trainc.admission.trainer import validate_runtime
from trainc.basics.jsonvalues import JsonObject, Path, as_object, get, put
from trainc.checks.devices import check_listed
from trainc.data import load_json
from trainc.documents.classify import JOBS, RUNTIMES, Key, identity
from trainc.documents.emit import emit
from trainc.documents.load import load
from trainc.findings import Finding, Related, report, suggest
from trainc.findings.display import listed
from trainc.gitops.environment import is_included
from trainc.inputs.options import Options
from trainc.inputs.source import BUILTIN, Document, Source
from trainc.kube.fielderror import invalid, quote
from trainc.kube.gotypes import typed
from trainc.plugins.base import refused
from trainc.plugins.mpi.implementations import EXTENSIONS, IMPLEMENTATION_PATH
from trainc.upstream import TRAINER_API, TRAINER_GROUP

_NAMED = 5
"""The most runtimes that a message names."""

CLUSTER_WIDE = "ClusterTrainingRuntime"

_Pair = tuple[str, str]


class Runtimes(Struct, frozen=True, dict=True):
    """The runtimes in the inputs, by identity. ``base`` has the runtimes of the base revision."""

    given: Mapping[Key, Admitted]
    options: Options
    base: Base = Base()

    @classmethod
    def admit(cls, documents: tuple[Document, ...], options: Options, base: Base | None = None) -> Runtimes:
        """Admit the runtimes in the inputs."""
        return cls({identity(d): admit_runtime(d, options) for d in documents}, options, base or Base())

    @property
    def findings(self) -> list[Finding]:
        """The findings on the runtimes in the inputs."""
        return [finding for admitted in self.given.values() for finding in admitted.findings]

    @cached_property
    def existing(self) -> tuple[Mapping[_Pair, Set[str]], Mapping[_Pair, Set[str]]]:
        """The names of all runtimes by kind and namespace, and the namespaces by kind and name."""
        names, namespaces = defaultdict[_Pair, set[str]](set), defaultdict[_Pair, set[str]](set)
        built_in = () if self.options.faithful else builtin_names()
        for kind, namespace, name in (*self.given, *((f"{TRAINER_API}/{CLUSTER_WIDE}", "", name) for name in built_in)):
            names[kind, namespace].add(name)
            namespaces[kind, name].add(namespace)
        return names, namespaces

    def with_findings(self, check: Callable[[Document], tuple[Finding, ...]]) -> Runtimes:
        """Return the runtimes with the findings of ``check`` on those that a cluster would store."""
        checked = dict(self.given)
        for key, admitted in self.given.items():
            if not admitted.is_refused:
                checked[key] = replace(admitted, findings=(*admitted.findings, *check(admitted.document)))
        return Runtimes(checked, self.options, self.base)

    def find(self, job: Document) -> Admitted | Finding:
        """Return the admitted runtime that a TrainJob references, or a finding if it does not exist."""
        key = reference(job, self.options.settings.runtimes)
        if (found := self.given.get(key)) is not None:
            return found if self.options.faithful or _may_use(job, found.document) else _of_others(job, found.document)
        version, namespace, name = key
        kind = version.rpartition("/")[2]
        may_be_built_in = kind == CLUSTER_WIDE and not self.options.faithful
        if may_be_built_in and (built_in := admit_builtin(name)) is not None:
            return built_in
        finding = not_found(job, key, *self.existing, faithful=self.options.faithful)
        old = self.base.input(TRAINER_GROUP, kind, namespace, name)
        if old is None:
            return finding
        # In a cluster, a finalizer keeps a runtime as long as a TrainJob uses it.
        message = f"{kind} {name!r} was removed, but this job uses it"
        hint = "restore it, or change the job to another runtime first"
        related = Related(f"defined at {self.base.revision}", old, ("metadata", "name"))
        return replace(finding, message=message, hint=hint, related=(related,))

    def uses(self, jobs: Iterable[Document]) -> Iterator[tuple[Source, str]]:
        """Yield the source of the runtime, and the namespace, of each job in the environment with a runtime."""
        for job in jobs:
            admitted = self.given.get(reference(job, self.options.settings.runtimes))
            if admitted is not None and is_included(job, self.options.settings):
                yield admitted.document.source, str(get(job.data, "metadata", "namespace"))

    def unused(self, jobs: Iterable[Document]) -> tuple[Document, ...]:
        """Return the runtimes in the inputs that no TrainJob references."""
        named = {reference(job, self.options.settings.runtimes) for job in jobs}
        return tuple(admitted.document for key, admitted in self.given.items() if key not in named)


def without_jobs(unused: Sequence[Iterable[Document]]) -> tuple[Finding, ...]:
    """Return one note on the runtimes that no job uses in any environment, except copies of built-in ones.

    ``unused`` has those of each environment.
    """
    found = [{(one.source.name, one.index): one for one in documents} for documents in unused]
    everywhere = sorted(set.intersection(*(set(each) for each in found))) if found else []
    documents = [found[0][key] for key in everywhere if not _is_builtin(found[0][key])]
    if not documents:
        return ()
    names = [f"{d.data['kind']} {get(d.data, 'metadata', 'name')}" for d in documents]
    named = listed(names, _NAMED)
    return (report("TC314", documents[0], ("metadata", "name"), f"no job uses {named}"),)


def _is_builtin(runtime: Document) -> bool:
    """Return whether an admitted runtime is a copy of a built-in one."""
    built_in = admit_builtin(str(get(runtime.data, "metadata", "name")))
    return built_in is not None and built_in.document.data == runtime.data


def admit_builtin(name: str) -> Admitted | None:
    """Return a built-in runtime as a cluster stores it, or None. Findings show the text that trainc writes for it."""
    return _admit_builtin(name) if name in _builtin_objects() else None


@cache
def _admit_builtin(name: str) -> Admitted:
    file, data = _builtin_objects()[name]
    (document,), _ = load(Source(BUILTIN + file, emit(data)))
    return admit_runtime(document, Options())


def admit_runtime(document: Document, options: Options) -> Admitted:
    """Return a runtime as the cluster stores it, after its CRD and its webhook."""
    implementation = get(document.data, *IMPLEMENTATION_PATH)
    extended = not options.faithful and implementation in EXTENSIONS
    if extended:  # the CRD refuses extensions of trainc
        document = replace(document, data=put(document.data, IMPLEMENTATION_PATH, "OpenMPI"))
    admitted = admit_document(document, "runtime-crd", "runtime-webhook", faithful=options.faithful)
    if extended:
        data = put(admitted.document.data, IMPLEMENTATION_PATH, implementation)
        admitted = replace(admitted, document=replace(admitted.document, data=data))
    if admitted.is_refused:
        return admitted
    found = (*validate_runtime(admitted.document), *check_listed(admitted.document))
    return replace(admitted, findings=(*admitted.findings, *found))


# References to runtimes.


def reference(job: Document, replacements: Mapping[str, str]) -> Key:
    """Return the identity of the runtime that a TrainJob references; ``replacements`` maps names to others."""
    wanted = as_object(get(job.data, "spec", "runtimeRef"))
    kind = str(wanted.get("kind") or CLUSTER_WIDE)  # the CRD's default
    name = str(wanted.get("name"))
    namespace = str(get(job.data, "metadata", "namespace")) if kind == "TrainingRuntime" else ""
    return f"{TRAINER_API}/{kind}", namespace, replacements.get(name, name)


def check_kind(job: Document) -> tuple[Finding, ...]:
    """Refuse a reference to another kind (L3)."""
    group, kind = (get(job.data, "spec", "runtimeRef", key) for key in ("apiGroup", "kind"))
    if group == TRAINER_GROUP and kind in RUNTIMES:
        return ()
    if get(job.data, "spec", "runtimeRef") is None:  # a TrainJob without a spec, which the CRD accepts
        expected = "spec.runtimeRef, such as {name: torch-distributed}"
        # Admission drops a spec that is null, but the text has one.
        position: Path = ("spec",) if ("spec",) in job.marks() else ()
        text = "unsupported runtime: "
        return (refused("TC302", job, position, text, "spec.runtimeRef is missing", expected=expected),)
    shown = f"{kind or ''}.{group}" if group else str(kind or "")
    path = ("spec", "runtimeRef", "kind" if group == TRAINER_GROUP else "apiGroup")
    text = f"unsupported runtime: {shown}"
    expected = " or ".join(f"{kind}.{TRAINER_GROUP}" for kind in RUNTIMES)
    return (refused("TC302", job, path, text, text, found=shown, expected=expected),)


def not_found(
    job: Document,
    wanted: Key,
    names: Mapping[_Pair, Set[str]],
    namespaces: Mapping[_Pair, Set[str]],
    *,
    faithful: bool,
) -> Finding:
    """Return the finding on a missing runtime, with the nearest name (L3: upstream spells one field RuntimeRef)."""
    version, namespace, name = wanted
    original = str(get(job.data, "spec", "runtimeRef", "name"))
    reason = "" if original == name else f" (the environment replaces {original!r} with it)"
    kind = version.rpartition("/")[2]
    field = "spec.runtimeRef" if kind == "TrainingRuntime" else "spec.RuntimeRef"
    what = kind[0].lower() + kind[1:]
    detail = f"{kind}.{TRAINER_GROUP} {quote(name)} not found"
    detail = f"{detail}: specified {what} must be created before the TrainJob is created"
    text = invalid(field, typed(get(job.data, "spec", "runtimeRef"), "v1alpha1.RuntimeRef"), detail)
    hint = _elsewhere(job, wanted, namespaces) or suggest(name, names.get((version, namespace), ()), by_words=True)
    if hint is None and faithful:
        hint = "--faithful reads only the given files: add the runtime's ('trainc runtimes NAME' prints it)"
    path, message = ("spec", "runtimeRef", "name"), f"{kind} {name!r} not found{reason}"
    return refused("TC301", job, path, text, message, found=name, hint=hint)


def _may_use(job: Document, runtime: Document) -> bool:
    """Return whether a job of the project may use a runtime: one below jobs/ only from the same folder.

    Who may change jobs/<namespace> must not be able to change the jobs of other namespaces.
    """
    home = f"{runtime.source.name.rpartition('/')[0]}/"
    is_of_project = job.source.name.startswith((JOBS, "runtimes/", "policies/"))
    return not home.startswith(JOBS) or job.source.name.startswith(home) or not is_of_project


def _of_others(job: Document, runtime: Document) -> Finding:
    """Return the finding on a job that uses a runtime below another folder of jobs/."""
    name, home = str(get(runtime.data, "metadata", "name")), runtime.source.name.rpartition("/")[0]
    message = f"{runtime.data['kind']} {name!r} is below {home}/, so only the jobs there can use it"
    related = (Related("defined here", runtime, ("metadata", "name")),)
    return report("TC021", job, ("spec", "runtimeRef", "name"), message, found=name, related=related)


def _elsewhere(job: Document, wanted: Key, existing: Mapping[_Pair, Set[str]]) -> str | None:
    """Return a hint if a runtime with the name exists, but with another kind or in another namespace."""
    version, _, name = wanted
    home = str(get(job.data, "metadata", "namespace"))
    for kind, namespace in ((CLUSTER_WIDE, ""), ("TrainingRuntime", home)):
        if namespace in existing.get((f"{TRAINER_API}/{kind}", name), ()):
            return f"a {kind} with this name exists: set kind: {kind}"
    if namespaces := existing.get((version, name)):
        return f"it exists in namespace {min(namespaces)}, but a TrainJob can only use a runtime of its own namespace"
    return None


# The built-in runtimes: those of Trainer.


@cache
def _builtin_objects() -> Mapping[str, tuple[str, JsonObject]]:
    found: list[Any] = load_json("builtins.json")
    return {entry["object"]["metadata"]["name"]: (entry["file"], entry["object"]) for entry in found}


def builtin_sources() -> Iterator[Source]:
    """Yield the texts of the built-in runtimes, with their comments."""
    for entry in load_json("builtins.json"):
        yield Source(BUILTIN + entry["file"], entry["text"])


def builtin_object(name: str) -> JsonObject:
    """Return a built-in runtime as its file has it. Raises KeyError if there is none of this name."""
    return _builtin_objects()[name][1]


def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in runtimes."""
    return tuple(_builtin_objects())
