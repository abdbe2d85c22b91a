"""What a server refuses of the part of policies and bindings that says which requests they are about.

Source: k8s.io/kubernetes v1.34 pkg/apis/admissionregistration/validation/validation.go and k8s.io/apimachinery v0.34
pkg/apis/meta/v1/validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from trainc.admit.policy.documents import rows
from trainc.admit.policy.fieldchecks import (
    Problem,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    required,
    unsupported,
)
from trainc.kube.names import is_qualified_name, is_valid_label_value
from trainc.source import Json, JsonObject, Path, as_list, as_object

_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_VALUES: Final = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
"""The operators of selectors, and whether they have values."""


def matching_problems(given: JsonObject, path: Path) -> Iterator[Problem]:
    """Yield what is refused of matchConstraints or matchResources."""
    policy = _text(given.get("matchPolicy"))
    if policy not in _MATCH_POLICIES:
        yield unsupported((*path, "matchPolicy"), policy, _MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        yield from selector_problems(as_object(given.get(field)), (*path, field))
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(rows(given, field)):
            yield from _rule(rule, (*path, field, index))


def selector_problems(selector: JsonObject, path: Path) -> Iterator[Problem]:
    """Yield what is refused of a label selector. Labels come sorted; Go's order is random."""
    labels: Path = (*path, "matchLabels")
    for key, value in sorted(as_object(selector.get("matchLabels")).items()):
        yield from each_invalid(labels, key, qualified_name(key))
        yield from each_invalid(labels, _text(value), _label_value(_text(value)))
    for index, row in enumerate(rows(selector, "matchExpressions")):
        yield from _requirement(row, (*path, "matchExpressions", index))


def _requirement(row: JsonObject, path: Path) -> Iterator[Problem]:
    operator, key = _text(row.get("operator")), _text(row.get("key"))
    values = [_text(value) for value in as_list(row.get("values"))]
    has_values = _VALUES.get(operator)
    if has_values is None:
        yield invalid((*path, "operator"), operator, "not a valid selector operator")
    elif has_values and not values:
        yield required((*path, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif values and not has_values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield forbidden((*path, "values"), detail, list(values))
    yield from each_invalid((*path, "key"), key, qualified_name(key))
    for index, value in enumerate(values):
        yield from each_invalid((*path, "values", index), value, _label_value(value))


def qualified_name(name: str) -> tuple[str, ...]:
    """Return why a name is no qualified one, in the words of Kubernetes 1.34: newer ones say it differently."""
    details = (
        detail.replace("a valid label key must", "a qualified name must", 1) for detail in is_qualified_name(name)
    )
    return tuple(map(_older, details))


def _label_value(value: str) -> tuple[str, ...]:
    return tuple(map(_older, is_valid_label_value(value)))


def _older(detail: str) -> str:
    return f"{detail.removesuffix(' bytes')} characters" if detail.endswith(" bytes") else detail


def path_segment(name: str) -> Iterator[str]:
    """Yield why a name cannot stand in a URL's path (k8s.io/apimachinery pkg/api/validation/path/name.go)."""
    if name in (".", ".."):
        yield f"may not be '{name}'"
        return
    for char in ("/", "%"):
        if char in name:
            yield f"may not contain '{char}'"


def _rule(rule: JsonObject, path: Path) -> Iterator[Problem]:
    yield from _names(rule, (*path, "resourceNames"))
    operations = _texts(rule, "operations")
    yield from _list(rule, "operations", path, "operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield unsupported((*path, "operations", index), operation, _OPERATIONS)
    yield from _list(rule, "apiGroups", path, "API groups")
    yield from _list(rule, "apiVersions", path, "API versions")
    for index, version in enumerate(_texts(rule, "apiVersions")):
        if not version:
            yield required((*path, "apiVersions", index))
    yield from _resources(_texts(rule, "resources"), (*path, "resources"))
    scope = _text(rule.get("scope"))
    if scope not in _SCOPES:
        yield unsupported((*path, "scope"), scope, _SCOPES)


def _names(rule: JsonObject, path: Path) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, name in enumerate(_texts(rule, "resourceNames")):
        yield from each_invalid((*path, index), name, path_segment(name))
        if name in seen:
            yield duplicate((*path, index), name)
        seen.add(name)


def _list(rule: JsonObject, field: str, path: Path, what: str) -> Iterator[Problem]:
    items = _texts(rule, field)
    if not items:
        yield required((*path, field))
    if len(items) > 1 and "*" in items:
        yield invalid((*path, field), list(items), f"if '*' is present, must not specify other {what}")


def _resources(items: list[str], path: Path) -> Iterator[Problem]:
    if not items:
        yield required(path)
    all_of: set[str] = set()  # x, of x/*
    of_all: set[str] = set()  # y, of */y
    plain = False
    for index, item in enumerate(items):
        if not item:
            yield required((*path, index))
            continue
        name, slash, sub = item.partition("/")
        if not slash:
            plain = item != "*"  # that of the last one counts, as on the server
            continue
        if name in all_of:
            yield invalid((*path, index), item, f"if '{name}/*' is present, must not specify {item}")
        if sub in of_all:
            yield invalid((*path, index), item, f"if '*/{sub}' is present, must not specify {item}")
        if sub == "*":
            all_of.add(name)
        if name == "*":
            of_all.add(sub)
    if len(items) > 1 and "*/*" in items:
        yield invalid(path, list(items), "if '*/*' is present, must not specify other resources")
    if "*" in items and plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, list(items), detail)


def _texts(rule: JsonObject, field: str) -> list[str]:
    return [_text(item) for item in as_list(rule.get(field))]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def first_duplicates(names: Iterable[str]) -> Iterator[int]:
    """Yield the indexes of names that stand before them already; empty ones do not count."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name and name in seen:
            yield index
        seen.add(name)
