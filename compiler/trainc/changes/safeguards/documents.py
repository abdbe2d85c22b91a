"""Policies, bindings, Namespaces and params that are gone, or that forbid less than before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from trainc.admission.policy.documents import BINDING, POLICY, is_policy, read
from trainc.basics.jsonvalues import dotted, existing, get
from trainc.changes.safeguards.policies import less_by_binding, less_by_policy
from trainc.documents.classify import JOBS, Key, classify, identity
from trainc.documents.compare import changes
from trainc.documents.load import load
from trainc.findings import Finding, report
from trainc.inputs.options import Revision
from trainc.inputs.source import Document, Source

CODE = "TC520"
_FOLDER = "policies/"


def changed_documents(before: Revision, after: Revision, unread: Iterable[Source]) -> Iterator[Finding]:
    """Yield a warning for each way in which the policies of a revision forbid less than they did before."""
    old, new = _documents(before.sources), _documents(after.sources)
    hidden = _documents(unread, anywhere=True) if old.keys() - new.keys() else {}
    for added in (new[key] for key in sorted(new.keys() - old.keys())):
        if not is_policy(added) and get(added.data, "metadata", "labels"):
            labels = ("metadata", "labels")
            yield report(CODE, added, labels, f"{_label(added)} added with labels since {before.name}")
    for key, was in sorted(old.items()):
        if (now := new.get(key)) is None:
            place = replace(was, source=replace(was.source, name=f"{before.name}:{was.source.name}"))
            there = hidden.get(key)
            hint = f"it is in {there.source.name}, which is not read as policies" if there is not None else None
            yield report(CODE, place, ("metadata", "name"), f"{_label(was)} removed since {before.name}", hint=hint)
        elif was.data != now.data:
            for path, message in _less(was, now):
                yield report(CODE, now, existing(now.data, path), f"{_label(now)}: {message} since {before.name}")


def _documents(sources: Iterable[Source], *, anywhere: bool = False) -> Mapping[Key, Document]:
    """Return the policies and bindings that are read, and the other documents of policies/; ``anywhere``: of all."""
    loaded = [document for source in sources if not source.name.startswith(JOBS) for document in load(source)[0]]
    given = classify(loaded)[0].cluster
    return {
        key: document
        for key, document in given.items()
        if anywhere or is_policy(document) or document.source.name.startswith(_FOLDER)
    }


def _label(document: Document) -> str:
    """Return what a document is called: its kind in short and its name."""
    kind, (_, namespace, name) = str(document.data["kind"]), identity(document)
    if is_policy(document) and kind == BINDING:
        return f"binding {name!r} of policy {str(get(document.data, 'spec', 'policyName'))!r}"
    if is_policy(document) and kind == POLICY:
        return f"policy {name!r}"
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def _less(was: Document, now: Document) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the places and the words of what is less strict."""
    if not is_policy(now):
        for change in changes(now.data, was.data):
            yield change.name, f"{dotted(change.name)} changed"
        return
    old, new = read(was).stored, read(now).stored
    if old is None or new is None:
        return  # neither decides anything, and a finding says so
    compare = less_by_policy if now.data["kind"] == POLICY else less_by_binding
    for path, message in compare(old.spec, new.spec):
        yield ("spec", *path), message
