"""Findings on policies and bindings themselves: fields that a server rejects, and parts that do not fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from msgspec.structs import replace

from trainc.admission.crd import undeclared, unknown_field, violation_finding
from trainc.admission.policy.documents import GROUP, VERSION, Stored, rows
from trainc.admission.policy.expressions import Expressions
from trainc.admission.policy.problems import binding_faults, policy_faults
from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object, dotted, existing, get
from trainc.basics.regex import lazy
from trainc.documents.positions import within
from trainc.findings import Finding, report, suggest
from trainc.findings.fault import Fault, report_fault
from trainc.inputs.source import Document
from trainc.schema.kinds import BUILT_IN, all_groups, all_kinds

UNCOMPILED, UNBOUND, DANGLING, NO_PARAMS, UNMATCHED = "TC512", "TC513", "TC514", "TC515", "TC516"


def creation_findings(given: Sequence[Stored], policies: Mapping[Document, Expressions]) -> Iterator[Finding]:
    """Yield the findings on policies and bindings that do not depend on a request."""
    for each in given:
        document = each.document
        resource = BUILT_IN.find(GROUP, VERSION, str(document.data["kind"]))
        assert resource is not None, "it is in the package"
        yield from (unknown_field(document, path, resource) for path in each.dropped)
        yield from (violation_finding(document, violation) for violation in each.violations)
        if each.decoded:
            faults = policy_faults(each, policies[document]) if each.is_policy else binding_faults(each)
            yield from (_finding(document, fault) for fault in faults)
            yield from _unmatched(each)
    yield from _between([each for each in given if each.decoded])


def _finding(document: Document, fault: Fault) -> Finding:
    if fault.position is None:
        return report_fault(replace(fault, message=f"{dotted(fault.path)}: {fault.message}"), document)
    path, message = existing(document.data, fault.path), _first(fault.message)
    position, message, hint = undeclared(str(get(document.data, *path)), fault.position, message)
    placed = within(document, path, position)
    return report(UNCOMPILED, placed, path, message, found=fault.found, hint=hint, upstream=fault.upstream)


def _first(text: str) -> str:
    """Return the message of an expression's first error, without cel-go's excerpt of the source."""
    line = text.removeprefix("compilation failed: ").split("\n", 1)[0]
    head, mark, rest = line.partition(": ")
    return rest.partition(" ")[2] or rest if mark and head == "ERROR" and rest.startswith("<input>") else line


def _between(given: Sequence[Stored]) -> Iterator[Finding]:
    policies = {each.name: each for each in given if each.is_policy}
    bound = {each.policy_name for each in given if not each.is_policy}
    for binding in (each for each in given if not each.is_policy and each.policy_name):
        if (policy := policies.get(name := binding.policy_name)) is not None:
            yield from _params(policy, binding)
        else:
            message, hint = f"policy {name!r} not found: the binding has no effect", suggest(name, sorted(policies))
            yield report(DANGLING, binding.document, ("spec", "policyName"), message, found=name, hint=hint)
    for name, policy in policies.items():
        if name not in bound:
            message = f"policy {name!r} has no binding and is never enforced"
            yield report(UNBOUND, policy.document, ("metadata", "name"), message, found=name)


def _params(policy: Stored, binding: Stored) -> Iterator[Finding]:
    """Warn if only one of the two has params: the server then uses none."""
    refers = isinstance(binding.spec.get("paramRef"), dict)
    if policy.has_params == refers:
        return
    if refers:
        message, path = f"policy {policy.name!r} has no paramKind: paramRef is ignored", ("spec", "paramRef")
    else:
        kind = get(policy.spec, "paramKind", "kind")
        message = f"policy {policy.name!r} has paramKind {kind}, but the binding has no paramRef: params is null"
        path = ("spec", "policyName")
    yield report(NO_PARAMS, binding.document, path, message)


_KIND = lazy(r"""\.kind\s*[!=]=\s*['"]([A-Za-z]+)['"]""")
_PARTS = tuple(
    (of, field) for of in ("matchConstraints", "matchResources") for field in ("resourceRules", "excludeResourceRules")
)


def _unmatched(stored: Stored) -> Iterator[Finding]:
    """Yield a warning for each group and resource in the rules that no request can have."""
    for part, field in _PARTS:
        for index, rule in enumerate(rows(as_object(stored.spec.get(part)), field)):
            path: Path = ("spec", part, field, index)
            for number, group in enumerate(as_list(rule.get("apiGroups"))):
                if isinstance(group, str) and "/" in group:
                    message = f"{group!r} is not an API group: the rule matches nothing in it"
                    hint = f"write {group.partition('/')[0]} here, and the version in apiVersions"
                    where = (*path, "apiGroups", number)
                    yield report(UNMATCHED, stored.document, where, message, found=group, hint=hint)
            yield from _resources(stored, rule, path)
    for field in ("matchConditions", "variables", "validations"):
        for index, row in enumerate(rows(stored.spec, field)):
            yield from _kinds(stored, str(row.get("expression")), ("spec", field, index, "expression"))


def _kinds(stored: Stored, expression: str, path: Path) -> Iterator[Finding]:
    """Yield a warning for a kind that differs from a real one in upper and lower case."""
    for name in dict.fromkeys(match[1] for match in _KIND.finditer(expression)):
        kinds = _spellings().get(name.lower())
        if kinds is not None and name not in kinds:
            message = f"unknown kind {name!r}: no object has this kind"
            hint = f"did you mean '{min(kinds)}'?"
            yield report(UNMATCHED, stored.document, path, message, found=name, hint=hint)


def _resources(stored: Stored, rule: JsonObject, path: Path) -> Iterator[Finding]:
    groups = [str(group) for group in as_list(rule.get("apiGroups"))]
    if not groups or not all(_plurals(group) for group in groups):
        return  # a group of which not all resources are known, or any group
    known = frozenset().union(*(_plurals(group) for group in groups))
    for index, item in enumerate(as_list(rule.get("resources"))):
        name = str(item).partition("/")[0]
        if name == "*" or name in known:
            continue
        hint = _hint(name, known)
        if hint is not None:
            message = f"{' and '.join(map(_titled, groups))} has no resource {name!r}: the rule matches nothing there"
            yield report(UNMATCHED, stored.document, (*path, "resources", index), message, found=str(item), hint=hint)


def _hint(name: str, known: frozenset[str]) -> str | None:
    """Return a hint with the resource that is probably meant; None if a newer Kubernetes may have this one."""
    folded = name.lower()
    kinds = {_plural(kind): kind.lower() for group in all_groups() for kind in all_kinds(group)}
    if near := next((plural for plural in sorted(known) if folded in (plural, kinds.get(plural))), None):
        return f"write the plural in lower case: {near}"
    homes = sorted(group for group in all_groups() if folded in _plurals(group))
    if homes:
        return f"{folded} is a resource of {_titled(homes[0])}"
    return suggest(name, known)


def _titled(group: str) -> str:
    return f"API group {group}" if group else "the core group"


@cache
def _spellings() -> Mapping[str, frozenset[str]]:
    """Return all kinds, by their names in lower case."""
    kinds = {kind for group in all_groups() for kind in all_kinds(group)}
    return {kind.lower(): frozenset(k for k in kinds if k.lower() == kind.lower()) for kind in kinds}


@cache
def _plurals(group: str) -> frozenset[str]:
    """Return the resources of a group whose kinds are all known; empty for any other group."""
    return frozenset(map(_plural, all_kinds(group)))


def _plural(kind: str) -> str:
    """Return the resource of a kind; of Kubernetes' own kinds, only Endpoints has an irregular one."""
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
