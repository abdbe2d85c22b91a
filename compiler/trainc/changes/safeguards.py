"""Finds policies, severities and comments that are less strict than at another revision. Pure.

Whether a changed expression forbids less cannot be decided in general. Only changes that clearly forbid as much or more
are accepted; all others are reported, so that no rule is weakened unnoticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from trainc.admission.policy.documents import BINDING, POLICY, is_policy, rows
from trainc.admission.policy.documents import read as read_policy
from trainc.admission.policy.match import requirements
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, existing, get
from trainc.documents.classify import JOBS, Key, classify, identity
from trainc.documents.compare import changes
from trainc.documents.load import comments, load
from trainc.findings import CODES, Finding, report, sort_key
from trainc.findings.severities import IGNORE, KEY, locked, rank
from trainc.findings.severities import read as read_levels
from trainc.findings.suppression import WORD
from trainc.findings.suppression import read as read_comments
from trainc.inputs.options import Revision
from trainc.inputs.source import Document, Source
from trainc.project.files import KEY as UNMANAGED
from trainc.project.files import unmanaged

CODE = "TC520"
_FOLDER = "policies/"


def changed_documents(before: Revision, after: Revision, unread: Iterable[Source]) -> Iterator[Finding]:
    """Yield a warning for each way in which policies forbid less than before."""
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
            hint = f"it is in {there.source.name}, where trainc reads no policies" if there is not None else None
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
    """Return the kind and name of a document for messages."""
    kind, (_, namespace, name) = str(document.data["kind"]), identity(document)
    if is_policy(document) and kind == BINDING:
        return f"binding {name!r} of policy {str(get(document.data, 'spec', 'policyName'))!r}"
    if is_policy(document) and kind == POLICY:
        return f"policy {name!r}"
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def _less(was: Document, now: Document) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path and the text of each less strict field."""
    if not is_policy(now):
        for change in changes(now.data, was.data):
            yield change.name, f"{dotted(change.name)} changed"
        return
    old, new = read_policy(was).stored, read_policy(now).stored
    if old is None or new is None:
        return  # an invalid one has no effect, and another finding reports it
    compare = less_by_policy if now.data["kind"] == POLICY else less_by_binding
    for path, message in compare(old.spec, new.spec):
        yield ("spec", *path), message


__all__ = ["weakened"]


def weakened(
    before: Revision, after: Revision, config: Document | None, unread: Iterable[Source] = ()
) -> tuple[Finding, ...]:
    """Return findings about checks that are less strict than before: TC520, TC521 and TC522, sorted.

    ``config`` is trainc.yaml after the change. ``unread`` are files below policies/ that are not read as policies, to
    which a missing policy may have been moved.
    """
    found = (*changed_documents(before, after, unread), *lowered(before, after, config), *new_comments(before, after))
    return tuple(sorted(found, key=sort_key))


Entry = tuple[str, str, str]
"""File, code and reason."""


def new_comments(before: Revision, after: Revision) -> Iterator[Finding]:
    """Yield a note for each code that a comment newly suppresses, by file, code and reason."""
    old = {source.name: source for source in before.sources}
    for source in after.sources:
        if WORD not in source.decoded() or (source.name in old and old[source.name].text == source.text):
            continue
        known = Counter(entry for entry, _ in _entries(old[source.name])) if source.name in old else Counter[Entry]()
        for entry, place in _entries(source):
            known[entry] -= 1
            if known[entry] < 0:
                yield report("TC522", place, (), f"new comment ignores {entry[1]}: {entry[2]}")


def _entries(source: Source) -> Iterator[tuple[Entry, Document]]:
    for ignore in read_comments(source, comments)[0]:
        for code, place in ignore.codes.items():
            yield (source.name, code, ignore.reason), place


_FILE = "trainc.yaml"
_PODS: Path = ("policies", "pods")
_REQUIRED: Path = ("lock", "required")


def lowered(before: Revision, after: Revision, config: Document | None) -> Iterator[Finding]:
    """Yield a warning for each setting that is less strict than before."""
    document = config or Document(Source(_FILE, b""), {})
    for path, message in (*_severities(before.config.get(KEY), after.config.get(KEY)), *_others(before, after)):
        yield report("TC521", document, existing(document.data, path), f"{message} since {before.name}")


def _severities(before: Json, after: Json) -> Iterator[tuple[Path, str]]:
    old, new = read_levels(before), read_levels(after)
    for code in sorted({*old, *new}):
        was, now = (levels.get(code, CODES[code].severity) for levels in (old, new))
        if rank(now) > rank(was):
            yield (KEY, code), f"severity of {code} lowered from {was or IGNORE} to {now or IGNORE}"
    for code in sorted(locked(before) - locked(after)):
        yield (KEY, code), f"{code} no longer locked"


def _others(before: Revision, after: Revision) -> Iterator[tuple[Path, str]]:
    if get(before.config, *_PODS) is True and get(after.config, *_PODS) is not True:
        yield _PODS, "policies no longer check pods"
    required = as_list(get(after.config, *_REQUIRED))
    for place in as_list(get(before.config, *_REQUIRED)):
        if place not in required:
            yield _REQUIRED, f"images of {place} no longer have to be locked"
    known = {*unmanaged(before.config)}
    for path in unmanaged(after.config):
        if path not in known:
            yield (UNMANAGED,), f"files at {path} that trainc did not write are no longer an error"


Less = Iterator[tuple[Path, str]]
"""The path below spec, and the message."""

_LISTS = ("apiGroups", "apiVersions", "operations", "resources")


def less_by_policy(old: JsonObject, new: JsonObject) -> Less:
    """Yield each way in which a policy forbids less, or may."""
    yield from _scalar(old, new, "failurePolicy", "Ignore")
    yield from _matches(
        as_object(old.get("matchConstraints")), as_object(new.get("matchConstraints")), "matchConstraints"
    )
    known = [_expression(row) for row in rows(old, "matchConditions")]
    for index, row in enumerate(rows(new, "matchConditions")):
        if _expression(row) not in known:
            yield ("matchConditions", index), f"match condition {str(row.get('name'))!r} added or changed"
    left = [_expression(row) for row in rows(new, "validations")]
    for row in rows(old, "validations"):
        if _expression(row) not in left:
            yield ("validations",), f"validation {_expression(row)!r} removed or changed"
    variables = {str(row.get("name")): _expression(row) for row in rows(new, "variables")}
    for row in rows(old, "variables"):
        if variables.get(name := str(row.get("name"))) not in (None, _expression(row)):
            yield ("variables",), f"variable {name!r} changed"
    if old.get("paramKind") != new.get("paramKind"):
        yield ("paramKind",), "paramKind changed"


def less_by_binding(old: JsonObject, new: JsonObject) -> Less:
    """Yield each way in which a binding forbids less, or may."""
    if old.get("policyName") != new.get("policyName"):
        yield ("policyName",), f"policyName changed from {old.get('policyName')}"
    was, now = (as_list(spec.get("validationActions")) for spec in (old, new))
    if any(action not in now for action in was):
        shown = " to ".join(f"[{', '.join(map(str, actions))}]" for actions in (was, now))
        yield ("validationActions",), f"validationActions changed from {shown}"
    if old.get("paramRef") != new.get("paramRef"):
        yield ("paramRef",), "paramRef changed"
    yield from _matches(as_object(old.get("matchResources")), as_object(new.get("matchResources")), "matchResources")


def _scalar(old: JsonObject, new: JsonObject, field: str, mild: str) -> Less:
    if old.get(field) != mild and new.get(field) == mild:
        yield (field,), f"{field} changed from {old.get(field)} to {mild}"


def _matches(old: JsonObject, new: JsonObject, field: str) -> Less:
    """Yield each way in which constraints match less."""
    for path, message in _scalar(old, new, "matchPolicy", "Exact"):
        yield (field, *path), message
    rules, wider = rows(old, "resourceRules"), rows(new, "resourceRules")
    if wider and not (rules and all(any(_covers(other, rule) for other in wider) for rule in rules)):
        yield (field, "resourceRules"), "resourceRules match less"
    spared = rows(old, "excludeResourceRules")
    if not all(any(_covers(other, rule) for other in spared) for rule in rows(new, "excludeResourceRules")):
        yield (field, "excludeResourceRules"), "excludeResourceRules match more"
    for selector in ("namespaceSelector", "objectSelector"):
        asked = requirements(old.get(selector))
        if any(each not in asked for each in requirements(new.get(selector))):
            yield (field, selector), f"{selector} selects less"


def _covers(wide: JsonObject, rule: JsonObject) -> bool:
    """Return whether a rule clearly matches everything that another does."""
    lists = all(_within(as_list(rule.get(field)), as_list(wide.get(field))) for field in _LISTS)
    names, wider = as_list(rule.get("resourceNames")), as_list(wide.get("resourceNames"))
    scope = wide.get("scope") in ("*", rule.get("scope"))
    return lists and scope and (not wider or (bool(names) and all(name in wider for name in names)))


def _within(items: list[Json], wide: list[Json]) -> bool:
    return "*" in wide or all(item in wide for item in items)


def _expression(row: JsonObject) -> str:
    return " ".join(str(row.get("expression", "")).split())
