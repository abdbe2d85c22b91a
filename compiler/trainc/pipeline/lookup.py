"""Finds the runtime that a TrainJob names: among the documents given, then among the built-in ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import cache
from typing import Any

from trainc.basics.jsonvalues import JsonObject, Path, as_object, get
from trainc.data import load_json
from trainc.documents.classify import RUNTIMES, Key
from trainc.documents.emit import emit
from trainc.documents.load import load
from trainc.findings import Finding, suggest_by_words
from trainc.inputs.source import Document, Source
from trainc.kube.fielderror import invalid, quote
from trainc.kube.gotypes import typed
from trainc.plugins.base import refused
from trainc.upstream import TRAINER_API, TRAINER_GROUP

CLUSTER_WIDE = "ClusterTrainingRuntime"
_VERSIONED = {kind: f"{TRAINER_API}/{kind}" for kind in RUNTIMES}
BUILTIN = "trainc:"
"""How the names of built-in sources begin."""


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


def reference(job: Document, instead: Mapping[str, str]) -> Key:
    """Return the identity of the runtime that a TrainJob names; ``instead`` has other names for some."""
    wanted = as_object(get(job.data, "spec", "runtimeRef"))
    kind = str(wanted.get("kind") or CLUSTER_WIDE)  # the CRD's default
    name = str(wanted.get("name"))
    namespace = str(get(job.data, "metadata", "namespace")) if kind == "TrainingRuntime" else ""
    return _VERSIONED.get(kind) or f"{TRAINER_API}/{kind}", namespace, instead.get(name, name)


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
    """Return the finding of a runtime that is not there, with the nearest name (L3: one field is spelt RuntimeRef)."""
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
