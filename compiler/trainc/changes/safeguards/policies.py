"""In what a policy or a binding forbids less than before, by their specs with defaults."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.policy.documents import rows
from trainc.admission.policy.match import requirements
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object

Less = Iterator[tuple[Path, str]]
"""The path below spec, and what is said of it."""

_LISTS = ("apiGroups", "apiVersions", "operations", "resources")


def less_by_policy(old: JsonObject, new: JsonObject) -> Less:
    """Yield in what a policy forbids less, or may."""
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
    """Yield in what a binding forbids less, or may."""
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
    """Yield in what constraints match less."""
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
    """Tell whether a rule plainly matches whatever another does."""
    lists = all(_within(as_list(rule.get(field)), as_list(wide.get(field))) for field in _LISTS)
    names, wider = as_list(rule.get("resourceNames")), as_list(wide.get("resourceNames"))
    scope = wide.get("scope") in ("*", rule.get("scope"))
    return lists and scope and (not wider or (bool(names) and all(name in wider for name in names)))


def _within(items: list[Json], wide: list[Json]) -> bool:
    return "*" in wide or all(item in wide for item in items)


def _expression(row: JsonObject) -> str:
    return " ".join(str(row.get("expression", "")).split())
