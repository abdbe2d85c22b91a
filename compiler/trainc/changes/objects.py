"""What becomes of the objects of one directory, file by file: a file keeps its name when its object gets another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from trainc.changes.fields import field_changes
from trainc.changes.folders import read
from trainc.changes.model import Effect, ObjectChange, Place, Refusal
from trainc.changes.refusals import refusals
from trainc.changes.veil import Veil
from trainc.diagnostics import Diagnostic
from trainc.documents.compare import same
from trainc.records import NamedTuple
from trainc.source import Document, JsonObject, get

_KEEP: Final = (
    ("argocd.argoproj.io/sync-options", "Prune=false"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
)
"""Annotations, and what stands in those of an object that is not removed with its file."""


class Pair(NamedTuple):
    """One file before and after, read; None where there is none."""

    old: Document | None
    new: Document | None


class Found(NamedTuple):
    """What becomes of objects: their changes, the pairs that they come from, refusals, and findings."""

    objects: tuple[ObjectChange, ...]
    pairs: tuple[Pair, ...]
    refusals: tuple[Refusal, ...]
    findings: tuple[Diagnostic, ...]


def object_changes(place: Place, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Found:
    """Compare the files of a directory. Only those whose bytes differ are read."""
    changed: list[ObjectChange] = []
    pairs: list[Pair] = []
    refused: list[Refusal] = []
    findings: list[Diagnostic] = []
    for file in sorted({*before, *after}, key=lambda file: (not file.startswith("jobset"), file)):
        if before.get(file) == after.get(file):
            continue
        name = f"out/{place}/{file}"
        sides = []
        for tree, old in ((before, True), (after, False)):
            document, found = read(name, tree[file], old=old) if file in tree else (None, ())
            sides.append(document)
            findings += found
        if any(file in tree and side is None for tree, side in zip((before, after), sides, strict=True)):
            continue  # a side that cannot be read is neither there nor gone
        pair = Pair(*sides)
        pairs.append(pair)
        made, forbidden, found = _of_pair(name, pair)
        changed += made
        refused += forbidden
        findings += found
    return Found(tuple(changed), tuple(pairs), tuple(refused), tuple(findings))


def _of_pair(file: str, pair: Pair) -> tuple[list[ObjectChange], tuple[Refusal, ...], tuple[Diagnostic, ...]]:
    old, new = pair
    if old is None or new is None:
        return [_alone(file, each, gone=new is None) for each in pair if each is not None], (), ()
    if _kind(old) != _kind(new):
        return [_alone(file, old, gone=True), _alone(file, new, gone=False)], (), ()
    if same(old.data, new.data):
        return [_change(file, old, new, Effect.COMMENTS)], (), ()
    if _place(old) != _place(new):
        return [_change(file, old, new, Effect.RERUN)], (), ()
    forbidden, findings = refusals(new, old)
    effect = Effect.REFUSED if forbidden else Effect.UPDATED
    return [_change(file, old, new, effect)], forbidden, findings


def _change(file: str, old: Document, new: Document, effect: Effect) -> ObjectChange:
    fields = field_changes(old, new, Veil(old, new)) if effect is not Effect.COMMENTS else ()
    return ObjectChange(file, str(new.data["kind"]), _name(new), _name(old), effect, fields)


def _alone(file: str, document: Document, *, gone: bool) -> ObjectChange:
    kind, name = str(document.data["kind"]), _name(document)
    if not gone:
        return ObjectChange(file, kind, name, "", Effect.CREATED)
    return ObjectChange(file, kind, "", name, Effect.KEPT if is_kept(document.data) else Effect.DELETED)


def is_kept(data: JsonObject) -> bool:
    """Tell whether an object says that it stays when its file goes."""
    return any(word in str(get(data, "metadata", "annotations", key) or "").split(",") for key, word in _KEEP)


def jobset_of(documents: Iterable[Document | None]) -> Document | None:
    """Return the first JobSet."""
    return next((each for each in documents if each is not None and each.data["kind"] == "JobSet"), None)


def _kind(document: Document) -> tuple[str, str]:
    return str(document.data["apiVersion"]).rpartition("/")[0], str(document.data["kind"])


def _place(document: Document) -> tuple[str, str]:
    return str(get(document.data, "metadata", "namespace") or ""), _name(document)


def _name(document: Document) -> str:
    return str(get(document.data, "metadata", "name"))
