"""Finds the runtime that a TrainJob names: among the documents given, then among the built-in ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from trainc.data import load_json
from trainc.diagnostics import Diagnostic
from trainc.documents import API_VERSION, GROUP, RUNTIMES, Key
from trainc.kube.fielderror import invalid, quote
from trainc.kube.goorder import typed
from trainc.plugins.base import refused
from trainc.source import Document, Mark, Path, Source, get

BUILTIN = "trainc:"
"""How the names of built-in sources begin."""


@cache
def builtins() -> Mapping[str, Document]:
    """Return Trainer's own runtimes, by name; they travel in the package."""
    found: list[Any] = load_json("builtins.json")
    return {entry["object"]["metadata"]["name"]: _document(entry["file"], entry["object"]) for entry in found}


def _document(file: str, data: dict[str, Any]) -> Document:
    """Return a document whose text is its JSON, for findings to show."""

    def marks() -> Mapping[Path, Mark]:
        return {(): Mark(1, 1)}

    return Document(Source(BUILTIN + file, json.dumps(data)), data, 0, marks)


def reference(job: Document) -> Key:
    """Return the identity of the runtime that a TrainJob names."""
    kind = str(get(job.data, "spec", "runtimeRef", "kind"))
    name = str(get(job.data, "spec", "runtimeRef", "name"))
    namespace = str(get(job.data, "metadata", "namespace")) if kind == "TrainingRuntime" else ""
    return f"{API_VERSION}/{kind}", namespace, name


def check_kind(job: Document) -> tuple[Diagnostic, ...]:
    """Refuse a reference to something that is no runtime (L3)."""
    group, kind = (get(job.data, "spec", "runtimeRef", key) for key in ("apiGroup", "kind"))
    if group == GROUP and kind in RUNTIMES:
        return ()
    shown = f"{kind or ''}.{group}" if group else str(kind or "")
    path = ("spec", "runtimeRef", "kind" if group == GROUP else "apiGroup")
    text = f"unsupported runtime: {shown}"
    expected = " or ".join(f"{kind}.{GROUP}" for kind in RUNTIMES)
    return (refused("TC302", job, path, text, text, found=shown, expected=expected),)


def not_found(job: Document, known: Mapping[Key, object], faithful: bool) -> Diagnostic:
    """Return the finding of a runtime that is not there, with the nearest name (L3: upstream's field is spelt RuntimeRef)."""
    version, _, name = reference(job)
    kind = version.rpartition("/")[2]
    field = "spec.runtimeRef" if kind == "TrainingRuntime" else "spec.RuntimeRef"
    what = kind[0].lower() + kind[1:]
    detail = (
        f"{kind}.{GROUP} {quote(name)} not found: specified {what} must be created before the TrainJob is created"
    )
    text = invalid(field, typed(get(job.data, "spec", "runtimeRef"), "v1alpha1.RuntimeRef"), detail)
    names = [key[2] for key in known if key[0] == version]
    if not faithful and kind == "ClusterTrainingRuntime":
        names += builtins()
    return refused(
        "TC301",
        job,
        ("spec", "runtimeRef", "name"),
        text,
        f"{kind} {name!r} is not there",
        found=name,
        hint=_nearest(name, names),
    )


def _nearest(name: str, names: list[str]) -> str | None:
    from difflib import get_close_matches

    found = get_close_matches(name, sorted(set(names)), n=1)
    return f"did you mean {found[0]!r}?" if found else None


