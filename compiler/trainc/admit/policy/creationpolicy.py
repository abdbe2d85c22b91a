"""What a server refuses of a policy that is created.

Source: k8s.io/kubernetes v1.34 pkg/apis/admissionregistration/validation/validation.go. Its metadata is judged with
that of all kinds (schema/metarules.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from trainc.admit.policy.creationmatch import first_duplicates, matching_problems, qualified_name
from trainc.admit.policy.documents import Stored, rows
from trainc.admit.policy.expressions import Expression, Expressions
from trainc.admit.policy.fieldchecks import (
    Problem,
    duplicate,
    each_invalid,
    internal,
    invalid,
    required,
    too_many,
    unsupported,
)
from trainc.cel import composition
from trainc.cel.escaping import RESERVED
from trainc.kube.gojson import trim_space
from trainc.kube.names import is_dns1035_label, is_dns1123_subdomain
from trainc.regex import lazy
from trainc.source import Json, JsonObject, Path, as_object

MAX_CONDITIONS: Final = 64
MAX_ANNOTATIONS: Final = 20
MAX_ANNOTATION_EXPRESSION: Final = 5 * 1024
"""Bytes of the expression of an audit annotation."""

_FAILURE_POLICIES: Final = ("Fail", "Ignore")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_IDENTIFIER: Final = lazy("[_a-zA-Z][_a-zA-Z0-9]*")
_NOTHING_TO_CHECK: Final = "validations or auditAnnotations must contain at least one item"


def policy_problems(policy: Stored, expressions: Expressions) -> Iterator[Problem]:
    """Yield what is refused of a policy, in the server's order."""
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


def _param_kind(given: JsonObject, path: Path) -> Iterator[Problem]:
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


def _constraints(policy: Stored) -> Iterator[Problem]:
    given, path = policy.spec.get("matchConstraints"), ("spec", "matchConstraints")
    if not isinstance(given, dict):
        yield required(path)
        return
    yield from matching_problems(given, path)
    if not rows(given, "resourceRules"):
        yield required((*path, "resourceRules"))


def _conditions(policy: Stored, compiled: Mapping[Path, Expression]) -> Iterator[Problem]:
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


def _variables(policy: Stored, compiled: Mapping[Path, Expression]) -> Iterator[Problem]:
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
) -> Iterator[Problem]:
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


def _message(message: str, path: Path) -> Iterator[Problem]:
    trimmed = trim_space(message)
    if message and not trimmed:
        yield invalid(path, message, "must be non-empty if specified")
    elif "\n" in trimmed or "\r" in trimmed:
        yield invalid(path, message, "must not contain line breaks")


def _annotations(policy: Stored, compiled: Mapping[Path, Expression]) -> Iterator[Problem]:
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


def _annotation(expression: Expression | None, path: Path) -> Iterator[Problem]:
    if expression is None:
        yield required(path, "valueExpression is not specified")
    elif len(trim_space(expression.text).encode("utf-8", "surrogatepass")) > MAX_ANNOTATION_EXPRESSION:
        yield required(path, f"must not exceed {MAX_ANNOTATION_EXPRESSION} bytes in length")
    else:
        yield from _uncompiled(expression, expression.text)


def _uncompiled(expression: Expression, shown: str) -> Iterator[Problem]:
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
