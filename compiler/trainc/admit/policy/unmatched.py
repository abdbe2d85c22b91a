"""Rules of policies and bindings that match no request, since no API group has a resource or kind of the name given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from trainc.admit.policy.documents import Stored, rows
from trainc.diagnostics import Diagnostic, report, suggest
from trainc.regex import lazy
from trainc.schema.kinds import all_groups, all_kinds
from trainc.source import JsonObject, Path, as_list, as_object

CODE = "TC516"
_KIND = lazy(r"""\.kind\s*[!=]=\s*['"]([A-Za-z]+)['"]""")
_PARTS = tuple(
    (of, field) for of in ("matchConstraints", "matchResources") for field in ("resourceRules", "excludeResourceRules")
)


def unmatched(stored: Stored) -> Iterator[Diagnostic]:
    """Yield a warning for each group and resource in the rules that no request can have."""
    for part, field in _PARTS:
        for index, rule in enumerate(rows(as_object(stored.spec.get(part)), field)):
            path: Path = ("spec", part, field, index)
            yield from _groups(stored, rule, path)
            yield from _resources(stored, rule, path)
    for field in ("matchConditions", "variables", "validations"):
        for index, row in enumerate(stored.rows(field)):
            yield from _kinds(stored, str(row.get("expression")), ("spec", field, index, "expression"))


def _kinds(stored: Stored, expression: str, path: Path) -> Iterator[Diagnostic]:
    """Yield a warning for a kind that is spelt as none is, but for upper and lower case."""
    for name in dict.fromkeys(match[1] for match in _KIND.finditer(expression)):
        kinds = _spellings().get(name.lower())
        if kinds is not None and name not in kinds:
            message = f"no kind is called {name!r}: nothing is ever equal to it"
            hint = f"did you mean '{min(kinds)}'?"
            yield report(CODE, stored.document, path, message, found=name, hint=hint)


def _groups(stored: Stored, rule: JsonObject, path: Path) -> Iterator[Diagnostic]:
    for index, group in enumerate(as_list(rule.get("apiGroups"))):
        if isinstance(group, str) and "/" in group:
            message = f"{group} is not an API group: the rule matches nothing in it"
            hint = f"write {group.partition('/')[0]}; versions stand in apiVersions"
            yield report(CODE, stored.document, (*path, "apiGroups", index), message, found=group, hint=hint)


def _resources(stored: Stored, rule: JsonObject, path: Path) -> Iterator[Diagnostic]:
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
            message = f"{' and '.join(map(_titled, groups))} has no resource {name!r}: the rule does not match it"
            yield report(CODE, stored.document, (*path, "resources", index), message, found=str(item), hint=hint)


def _hint(name: str, known: frozenset[str]) -> str | None:
    """Return what is probably meant; None for what a newer Kubernetes may have."""
    folded = name.lower()
    if near := next((plural for plural in sorted(known) if folded in (plural, _singular(plural))), None):
        return f"resources are named by their plural in lower case: {near}"
    homes = sorted(group for group in all_groups() if folded in _plurals(group))
    if homes:
        return f"{folded} is a resource of {_titled(homes[0])}"
    return suggest(name, known)


def _singular(plural: str) -> str:
    return next((kind.lower() for group in all_groups() for kind in all_kinds(group) if _plural(kind) == plural), "")


def _titled(group: str) -> str:
    return f"API group {group}" if group else "the core group"


@cache
def _spellings() -> Mapping[str, frozenset[str]]:
    """Return the kinds known, by their names in lower case."""
    kinds = {kind for group in all_groups() for kind in all_kinds(group)}
    return {kind.lower(): frozenset(k for k in kinds if k.lower() == kind.lower()) for kind in kinds}


@cache
def _plurals(group: str) -> frozenset[str]:
    """Return the resources of a group of which all kinds are known; empty for any other."""
    return frozenset(map(_plural, all_kinds(group)))


def _plural(kind: str) -> str:
    """Return the resource of a kind: none of Kubernetes' own kinds has an irregular one but Endpoints."""
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
