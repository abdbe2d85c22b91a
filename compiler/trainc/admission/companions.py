"""Admits all other inputs: objects of built-in kinds, and of CRDs in the inputs.

They are not compiled, but applied from the same commit, so trainc reports what an API server would reject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from trainc.admission.crd import UNCHECKED, broken_rules, rule_finding, unknown_field, violation_finding
from trainc.admission.native import dropped_sources, faults_of
from trainc.basics.jsonvalues import Path, as_object, dotted, existing, get, objects
from trainc.basics.memo import while_alive
from trainc.documents.classify import RUNTIMES, TRAINJOB
from trainc.documents.load import load
from trainc.documents.problems import excess
from trainc.findings import Finding, Related, Severity, report, suggest
from trainc.findings.reporting import MOST_NAMES, report_fault, secrets_in_plain_text
from trainc.inputs.source import Document, Source
from trainc.schema import Resource, admit
from trainc.schema.definitions import KIND, TOO_LARGE, Definition, define
from trainc.schema.formats import MOST_WORK
from trainc.schema.kinds import BUILT_IN, KINDS, GroupKind, Registry, all_kinds, split_version
from trainc.schema.structural import difference
from trainc.upstream import JOBSET_VERSION, TRAINER_VERSION

_OWN = frozenset((*RUNTIMES, TRAINJOB))
_LISTED: Final = 100
"""The most versions of a kind that a message is made of; it shows fewer."""

_OF_OBJECTS = ("TC005", "TC006")
"""The codes of YAML problems that are reported only for CRDs, not for other documents in a file with CRDs."""


class Companions(Struct, frozen=True):
    """All inputs except TrainJobs and runtimes as a cluster would store them, the registered kinds, and findings.

    An object of an unknown kind, or one that cannot be decoded, is unchanged.
    """

    documents: tuple[Document, ...] = ()
    registry: Registry = BUILT_IN
    findings: tuple[Finding, ...] = ()


def admit_companions(documents: Iterable[Document], crds: tuple[Source, ...], *, faithful: bool) -> Companions:
    """Admit all documents except TrainJobs and runtimes.

    ``crds`` are files with CustomResourceDefinitions; those among the documents count, too. With ``faithful``,
    all findings are warnings, since the controller ignores these objects.
    """
    given = tuple(document for document in documents if document.data["kind"] not in _OWN)
    loaded, unreadable = read_definitions(crds)
    definitions = tuple(_defined(document for document in (*loaded, *given) if _is_definition(document)))
    registry, twice = _registry(definitions)
    findings = [*unreadable, *twice]
    for document, definition in definitions:
        findings += _of_definition(document, definition)
    stored: list[Document] = []
    for document in given:
        admitted, found = (document, ()) if _is_definition(document) else admit_object(document, registry)
        stored.append(admitted)
        findings += (*found, *secrets_in_plain_text(document))
    if faithful:
        findings = [replace(f, severity=Severity.WARNING) if f.severity is Severity.ERROR else f for f in findings]
    return Companions(tuple(stored), registry, tuple(findings))


@lru_cache(maxsize=4)
def read_definitions(crds: tuple[Source, ...]) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    """Return the CRDs of files. Other readable documents in them are ignored."""
    documents: list[Document] = []
    findings: list[Finding] = []
    for source in crds:
        loaded, found = load(source)
        documents += (document for document in loaded if _is_definition(document))
        findings += (f for f in found if f.code not in _OF_OBJECTS or _is_definition(f.document))
    return tuple(documents), tuple(findings)


_definition: Final[Callable[[Document], Definition]] = while_alive(lambda document: define(document.data))


def _defined(documents: Iterable[Document]) -> Iterator[tuple[Document, Definition]]:
    """Yield CRDs with what they define, and once their patterns together are too large, with an error."""
    work = 0
    for document in documents:
        definition = _definition(document) if work <= MOST_WORK else TOO_LARGE
        work += definition.work
        yield document, definition if work <= MOST_WORK else TOO_LARGE


def _is_definition(document: Document) -> bool:
    return document.data.get("kind") == KIND[2] and document.data.get("apiVersion") == f"{KIND[0]}/{KIND[1]}"


def _registry(definitions: Iterable[tuple[Document, Definition]]) -> tuple[Registry, tuple[Finding, ...]]:
    """Return the kinds of CRDs, and a finding for each CRD that redefines a kind."""
    given: dict[GroupKind, tuple[Resource, ...]] = {}
    first: dict[GroupKind, Document] = {}
    findings: list[Finding] = []
    for document, definition in definitions:
        if not definition.resources:
            continue
        of = definition.resources[0]
        key = of.group, of.kind
        if key not in given:
            given[key], first[key] = definition.resources, document
        elif any(
            one.version != other.version or difference(one.schema, other.schema) is not None
            for one, other in zip(given[key], definition.resources, strict=False)
        ):
            path: Path = ("spec", "names", "kind")
            related = (Related("the first one", first[key], path),)
            message = f"conflicting definitions of {of.kind} in {of.group}: trainc uses the first one"
            findings.append(report("TC113", document, path, message, related=related, hint="remove one of the two"))
    return Registry(given), tuple(findings)


def _of_definition(document: Document, definition: Definition) -> Iterator[Finding]:
    kind = BUILT_IN.find(*KIND)
    assert kind is not None, "it travels in the package"
    yield from (unknown_field(document, path, kind) for path in definition.dropped)
    yield from (violation_finding(document, each) for each in definition.violations if not each.secondary)
    for resource in definition.resources:
        own = BUILT_IN.find(resource.group, resource.version, resource.kind)
        if own is not None and own.kind in KINDS and not own.native:
            yield from _of_compiled(document, resource, own)


def _of_compiled(document: Document, given: Resource, own: Resource) -> Iterator[Finding]:
    """Warn if the CRD of a kind that trainc compiles differs from the version that trainc uses."""
    where = difference(given.schema, own.schema)
    if where is None:
        return
    names = [version["name"] for version in objects(get(document.data, "spec", "versions"))]
    root: Path = ("spec", "versions", names.index(given.version), "schema", "openAPIV3Schema")
    release = f"JobSet {JOBSET_VERSION}" if own.kind == "JobSet" else f"Trainer {TRAINER_VERSION}"
    message = f"the CRD of {own.kind} differs from that of {release}, which trainc uses"
    path = existing(document.data, (*root, *where))
    hint = "install that release in the cluster, or use the release of trainc for the cluster's"
    yield report("TC113", document, path, message, found=f"first difference: {dotted(where)}", hint=hint)


def admit_object(document: Document, registry: Registry) -> tuple[Document, tuple[Finding, ...]]:
    """Return an object as a cluster stores it, and findings; an object of an unknown kind is unchanged."""
    group, version = split_version(str(document.data["apiVersion"]))
    kind = str(document.data["kind"])
    resource = registry.find(group, version, kind)
    if resource is None:
        return document, tuple(_no_match(document, registry, group, kind))
    result = admit(resource, document.data)
    # Defaults may multiply: a long one of the items of a long list.
    if not resource.native and (message := excess(result.data)) is not None:
        return document, (report("TC012", document, (), f"with the defaults of its CRD: {message}"),)
    findings = [unknown_field(document, path, resource) for path in result.dropped]
    findings += [violation_finding(document, each) for each in result.violations if each.code != UNCHECKED]
    findings += [report_fault(fault, document) for fault in faults_of(resource, result)]
    if kind == "PersistentVolumeClaim" and resource.native and not findings:
        for key, reason in dropped_sources(as_object(result.data.get("spec"))):
            message = f"Kubernetes 1.34 drops {key}, and the volume is empty: {reason}"
            findings.append(report("TC101", document, ("spec", key), message, severity=Severity.WARNING))
    stored = replace(document, data=result.data)
    findings += [rule_finding(stored, failure, None) for failure in broken_rules(resource, result)]
    return stored, tuple(findings)


def _no_match(document: Document, registry: Registry, group: str, kind: str) -> Iterator[Finding]:
    """Yield a finding for a version that is not served, or a kind that its group does not have."""
    version = str(document.data["apiVersion"])
    upstream = f'no matches for kind "{kind}" in version "{version}"'
    known = all_kinds(group)
    versions = [resource.api_version for resource in registry.served(group, kind)[:_LISTED]]
    versions = versions or [f"{group}/{name}".lstrip("/") for name in known.get(kind, ())]
    if version in versions:
        return
    if versions:
        expected, message = " or ".join(versions), f"unsupported apiVersion {version} of {kind}"
        yield report("TC008", document, ("apiVersion",), message, found=version, expected=expected, upstream=upstream)
    elif known:
        message = f"unknown kind {kind} in {version}"
        yield report("TC008", document, ("kind",), message, found=kind, hint=suggest(kind, known), upstream=upstream)
    elif siblings := [*islice((sibling for of, sibling in registry.given if of == group), MOST_NAMES + 1)]:
        hint, message = suggest(kind, siblings), f"no CRD found for kind {kind} in {group}"
        yield report(
            "TC008", document, ("kind",), message, severity=Severity.WARNING, found=kind, hint=hint, upstream=upstream
        )
