"""Validates policies and bindings as a server does on create, in the server's order.

Sources: k8s.io/kubernetes v1.34 pkg/apis/admissionregistration/validation/validation.go; k8s.io/apimachinery v0.34
pkg/apis/meta/v1/validation and pkg/util/validation/field/errors.go. schema/metadata.py validates metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from trainc.admission.policy.documents import Stored, rows
from trainc.admission.policy.expressions import Expression, Expressions
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted
from trainc.basics.regex import lazy
from trainc.cel import composition
from trainc.cel.escaping import RESERVED
from trainc.findings.fault import Fault
from trainc.kube.fielderror import go_value
from trainc.kube.gojson import go_json, trim_space
from trainc.kube.names import (
    is_dns1035_label,
    is_dns1123_subdomain,
    is_qualified_name,
    is_valid_label_value,
)

REFUSED: Final = "TC511"


class Refused(Fault, frozen=True):
    """A field that a server rejects; ``position`` is an offset in the expression there, if that has the error."""

    position: int | None = None


def invalid(path: Path, value: Json, detail: str, position: int | None = None) -> Refused:
    """Return the error of an invalid value."""
    shown = go_value(value, struct=True)
    text = f"{dotted(path)}: Invalid value: {shown}: {detail}"
    return Refused(REFUSED, path, detail, text, found=_found(value), position=position)


def required(path: Path, detail: str = "") -> Refused:
    """Return the error of a missing value."""
    message = detail or f"{dotted(path)} is missing"
    return Refused(REFUSED, path, message, f"{dotted(path)}: Required value" + (f": {detail}" if detail else ""))


def forbidden(path: Path, detail: str, value: Json) -> Refused:
    """Return the error of a value that is not allowed."""
    return Refused(REFUSED, path, detail, f"{dotted(path)}: Forbidden: {detail}", found=_found(value))


def unsupported(path: Path, value: str, supported: Sequence[str]) -> Refused:
    """Return the error of a value that is none of the supported ones."""
    listed = ", ".join(go_value(each) for each in supported)
    text = f"{dotted(path)}: Unsupported value: {go_json(value)}: supported values: {listed}"
    return Refused(REFUSED, path, f"unsupported value {value!r}", text, found=value, expected=" or ".join(supported))


def duplicate(path: Path, value: str) -> Refused:
    """Return the error of a duplicate value."""
    upstream = f"{dotted(path)}: Duplicate value: {go_json(value)}"
    return Refused(REFUSED, path, f"duplicate value {value!r}", upstream, found=value)


def too_many(path: Path, count: int, limit: int) -> Refused:
    """Return the error of a list with too many items."""
    detail = f"must have at most {limit} items"
    upstream = f"{dotted(path)}: Too many: {count}: {detail}"
    return Refused(REFUSED, path, detail, upstream, found=str(count), expected=f"at most {limit}")


def internal(path: Path, detail: str, position: int | None = None) -> Refused:
    """Return an internal error of the server."""
    return Refused(REFUSED, path, detail, f"{dotted(path)}: Internal error: {detail}", position=position)


def each_invalid(path: Path, value: str, details: Iterable[str]) -> list[Refused]:
    """Return all errors of one value."""
    return [invalid(path, value, detail) for detail in details]


def _found(value: Json) -> str | None:
    return value if isinstance(value, str) else go_json(value)


# Policies

MAX_CONDITIONS: Final = 64
MAX_ANNOTATIONS: Final = 20
MAX_ANNOTATION_EXPRESSION: Final = 5 * 1024
"""Bytes of the expression of an audit annotation."""

_FAILURE_POLICIES: Final = ("Fail", "Ignore")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_IDENTIFIER: Final = lazy("[_a-zA-Z][_a-zA-Z0-9]*")
_NOTHING_TO_CHECK: Final = "validations or auditAnnotations must contain at least one item"


def policy_problems(policy: Stored, expressions: Expressions) -> Iterator[Refused]:
    """Yield the errors of a policy, in the server's order."""
    failure = _text(policy.spec, "failurePolicy")
    if failure not in _FAILURE_POLICIES:
        yield unsupported(("spec", "failurePolicy"), failure, _FAILURE_POLICIES)
    if policy.has_params:
        yield from _param_kind(as_object(policy.spec.get("paramKind")), ("spec", "paramKind"))
    yield from _constraints(policy)
    yield from _conditions(policy, _by_row(expressions.conditions))
    yield from _variables(policy, _by_row(expressions.variable_expressions))
    if not policy.rows("validations") and not policy.rows("auditAnnotations"):
        yield required(("spec", "validations"), _NOTHING_TO_CHECK)
        yield required(("spec", "auditAnnotations"), _NOTHING_TO_CHECK)
        return
    yield from _validations(policy, _by_row(expressions.validations), _by_row(expressions.messages))
    yield from _annotations(policy, _by_row(expressions.annotations))


def _by_row(expressions: Iterable[Expression]) -> dict[Path, Expression]:
    return {expression.path[:-1]: expression for expression in expressions}


def _param_kind(given: JsonObject, path: Path) -> Iterator[Refused]:
    version, kind = _text(given, "apiVersion"), _text(given, "kind")
    at: Path = (*path, "apiVersion")
    if not version:
        yield required(at)
    elif version.count("/") > 1:
        yield invalid(at, version, f"unexpected GroupVersion string: {version}")
    else:
        group, _, name = version.rpartition("/")
        if group and (details := is_dns1123_subdomain(group)):
            yield invalid(at, group, ",".join(details))
        if not name:
            yield invalid(at, version, "version must be specified")
        elif details := is_dns1035_label(name):
            yield invalid(at, name, ",".join(details))
    if not kind:
        yield required((*path, "kind"))
    elif details := is_dns1035_label(kind.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(details)}"
        yield invalid((*path, "kind"), kind, detail)


def _constraints(policy: Stored) -> Iterator[Refused]:
    given, path = policy.spec.get("matchConstraints"), ("spec", "matchConstraints")
    if not isinstance(given, dict):
        yield required(path)
        return
    yield from matching_problems(given, path)
    if not rows(given, "resourceRules"):
        yield required((*path, "resourceRules"))


def _conditions(policy: Stored, compiled: Mapping[Path, Expression]) -> Iterator[Refused]:
    given, root = policy.rows("matchConditions"), ("spec", "matchConditions")
    if len(given) > MAX_CONDITIONS:
        yield too_many(root, len(given), MAX_CONDITIONS)
    names = [_text(row, "name") for row in given]
    twice = set(first_duplicates(names))
    for index, name in enumerate(names):
        path: Path = (*root, index)
        if (expression := compiled.get(path)) is None:
            yield required((*path, "expression"))
        else:
            yield from _uncompiled(expression, trim_space(expression.text))
        if name:
            yield from each_invalid((*path, "name"), name, qualified_name(name))
        else:
            yield required((*path, "name"))
        if index in twice:
            yield duplicate((*path, "name"), name)


def _variables(policy: Stored, compiled: Mapping[Path, Expression]) -> Iterator[Refused]:
    for index, row in enumerate(policy.rows("variables")):
        path: Path = ("spec", "variables", index)
        name = _text(row, "name")
        if not trim_space(name):
            yield required((*path, "name"), "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in RESERVED:
            yield invalid((*path, "name"), name, "must be a valid CEL identifier")
        if (expression := compiled.get(path)) is None:
            yield required((*path, "expression"), "expression is not specified")
        else:
            yield from _uncompiled(expression, expression.text)


def _validations(
    policy: Stored, compiled: Mapping[Path, Expression], messages: Mapping[Path, Expression]
) -> Iterator[Refused]:
    for index, row in enumerate(policy.rows("validations")):
        path: Path = ("spec", "validations", index)
        if (expression := compiled.get(path)) is None:
            yield required((*path, "expression"), "expression is not specified")
        else:
            yield from _uncompiled(expression, expression.text)
        if (expression := messages.get(path)) is not None:
            yield from _uncompiled(expression, expression.text)
        elif text := _text(row, "messageExpression"):
            yield invalid((*path, "messageExpression"), text, "must be non-empty if specified")
        yield from _message(_text(row, "message"), (*path, "message"))
        reason = row.get("reason")
        if isinstance(reason, str) and reason not in _REASONS:
            yield unsupported((*path, "reason"), reason, _REASONS)


def _message(message: str, path: Path) -> Iterator[Refused]:
    trimmed = trim_space(message)
    if message and not trimmed:
        yield invalid(path, message, "must be non-empty if specified")
    elif "\n" in trimmed or "\r" in trimmed:
        yield invalid(path, message, "must not contain line breaks")


def _annotations(policy: Stored, compiled: Mapping[Path, Expression]) -> Iterator[Refused]:
    given, root = policy.rows("auditAnnotations"), ("spec", "auditAnnotations")
    keys = [_text(row, "key") for row in given]
    if len(given) > MAX_ANNOTATIONS:
        values: list[Json] = []
        for key, row in zip(keys, given, strict=True):
            values.append({"Key": key, "ValueExpression": _text(row, "valueExpression")})
        yield invalid(root, values, f"must not have more than {MAX_ANNOTATIONS} auditAnnotations")
    seen: set[str] = set()
    for index, key in enumerate(keys):
        path: Path = (*root, index)
        if policy.name:
            name = f"{policy.name}/{key}"
            yield from each_invalid((*path, "key"), name, qualified_name(name))
        else:
            yield invalid((*path, "key"), key, "requires metadata.name be non-empty")
        yield from _annotation(compiled.get(path), (*path, "valueExpression"))
        if key in seen:
            yield duplicate((*path, "key"), key)
        seen.add(key)


def _annotation(expression: Expression | None, path: Path) -> Iterator[Refused]:
    if expression is None:
        yield required(path, "valueExpression is not specified")
    elif len(trim_space(expression.text).encode("utf-8", "surrogatepass")) > MAX_ANNOTATION_EXPRESSION:
        yield required(path, f"must not exceed {MAX_ANNOTATION_EXPRESSION} bytes in length")
    else:
        yield from _uncompiled(expression, expression.text)


def _uncompiled(expression: Expression, shown: str) -> Iterator[Refused]:
    """Yield why an expression does not compile; ``shown`` is its text in the server's error."""
    made = expression.made
    if not isinstance(made, composition.Problem):
        return
    position = made.position + expression.offset
    if made.text.startswith("program instantiation failed"):
        yield internal(expression.path, made.text, position)
    else:
        yield invalid(expression.path, shown, made.text, position)


def _text(row: JsonObject, field: str) -> str:
    value = row.get(field)
    return value if isinstance(value, str) else ""


# Bindings

_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND: Final = ("Deny", "Allow")
_BOTH: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and"
    " headers serves no purpose)"
)


def binding_problems(binding: Stored) -> Iterator[Refused]:
    """Yield the errors of a binding, in the server's order."""
    name = binding.policy_name
    if not name:
        yield required(("spec", "policyName"))
    else:
        yield from each_invalid(("spec", "policyName"), name, is_dns1123_subdomain(name))
    if isinstance(reference := binding.spec.get("paramRef"), dict):
        yield from _reference(reference, ("spec", "paramRef"))
    if isinstance(resources := binding.spec.get("matchResources"), dict):
        yield from matching_problems(resources, ("spec", "matchResources"))
    yield from _actions(binding.actions, ("spec", "validationActions"))


def _reference(reference: JsonObject, path: Path) -> Iterator[Refused]:
    name, selector = str(reference.get("name") or ""), reference.get("selector")
    exclusive = "name and selector are mutually exclusive"
    if name:
        yield from each_invalid((*path, "name"), name, path_segment(name))
        if isinstance(selector, dict):
            yield forbidden((*path, "name"), exclusive, name)
    if isinstance(selector, dict):
        yield from selector_problems(selector, (*path, "selector"))
        if name:
            yield forbidden((*path, "selector"), exclusive, selector)
    elif not name:
        yield required(path, "one of name or selector must be specified")
    action = str(reference.get("parameterNotFoundAction") or "")
    if not action:
        yield required((*path, "parameterNotFoundAction"))
    elif action not in _NOT_FOUND:
        yield unsupported((*path, "parameterNotFoundAction"), action, _NOT_FOUND)


def _actions(actions: tuple[str, ...], path: Path) -> Iterator[Refused]:
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield unsupported((*path, index), action, _ACTIONS)
        if action in seen:
            yield duplicate((*path, index), action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        yield invalid(path, list(actions), _BOTH)
    if not seen:
        yield required(path, "at least one validation action is required")


# Which requests they match

_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_VALUES: Final = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
"""The operators of selectors, and whether they have values."""


def matching_problems(given: JsonObject, path: Path) -> Iterator[Refused]:
    """Yield the errors of matchConstraints or matchResources."""
    policy = _string(given.get("matchPolicy"))
    if policy not in _MATCH_POLICIES:
        yield unsupported((*path, "matchPolicy"), policy, _MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        yield from selector_problems(as_object(given.get(field)), (*path, field))
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(rows(given, field)):
            yield from _rule(rule, (*path, field, index))


def selector_problems(selector: JsonObject, path: Path) -> Iterator[Refused]:
    """Yield what is refused of a label selector. Labels come sorted; Go's order is random."""
    labels: Path = (*path, "matchLabels")
    for key, value in sorted(as_object(selector.get("matchLabels")).items()):
        yield from each_invalid(labels, key, qualified_name(key))
        yield from each_invalid(labels, _string(value), _label_value(_string(value)))
    for index, row in enumerate(rows(selector, "matchExpressions")):
        yield from _requirement(row, (*path, "matchExpressions", index))


def _requirement(row: JsonObject, path: Path) -> Iterator[Refused]:
    operator, key = _string(row.get("operator")), _string(row.get("key"))
    values = [_string(value) for value in as_list(row.get("values"))]
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
    """Yield why a name is not valid in a URL's path (k8s.io/apimachinery pkg/api/validation/path/name.go)."""
    if name in (".", ".."):
        yield f"may not be '{name}'"
        return
    for char in ("/", "%"):
        if char in name:
            yield f"may not contain '{char}'"


def _rule(rule: JsonObject, path: Path) -> Iterator[Refused]:
    yield from _names(rule, (*path, "resourceNames"))
    operations = _texts(rule, "operations")
    yield from _listed(rule, "operations", path, "operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield unsupported((*path, "operations", index), operation, _OPERATIONS)
    yield from _listed(rule, "apiGroups", path, "API groups")
    yield from _listed(rule, "apiVersions", path, "API versions")
    for index, version in enumerate(_texts(rule, "apiVersions")):
        if not version:
            yield required((*path, "apiVersions", index))
    yield from _resources(_texts(rule, "resources"), (*path, "resources"))
    scope = _string(rule.get("scope"))
    if scope not in _SCOPES:
        yield unsupported((*path, "scope"), scope, _SCOPES)


def _names(rule: JsonObject, path: Path) -> Iterator[Refused]:
    seen: set[str] = set()
    for index, name in enumerate(_texts(rule, "resourceNames")):
        yield from each_invalid((*path, index), name, path_segment(name))
        if name in seen:
            yield duplicate((*path, index), name)
        seen.add(name)


def _listed(rule: JsonObject, field: str, path: Path, what: str) -> Iterator[Refused]:
    items = _texts(rule, field)
    if not items:
        yield required((*path, field))
    if len(items) > 1 and "*" in items:
        yield invalid((*path, field), list(items), f"if '*' is present, must not specify other {what}")


def _resources(items: list[str], path: Path) -> Iterator[Refused]:
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
    return [_string(item) for item in as_list(rule.get(field))]


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""


def first_duplicates(names: Iterable[str]) -> Iterator[int]:
    """Yield the indexes of names that occur earlier, too; empty ones do not count."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name and name in seen:
            yield index
        seen.add(name)
