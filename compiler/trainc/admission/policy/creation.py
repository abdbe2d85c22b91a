"""Findings on policies and bindings themselves: invalid fields, and parts that do not fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice, product
from typing import Final

from msgspec.structs import replace

from trainc.admission.crd import undeclared, unknown_field, violation_finding
from trainc.admission.fields import Field, dns_subdomain, label_selector, qualified_name, unique
from trainc.admission.policy.documents import GROUP, POLICY, RULES, VERSION, Stored, rows
from trainc.admission.policy.expressions import Expression, Expressions
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, existing, get
from trainc.basics.regex import lazy
from trainc.cel.composition import Problem
from trainc.cel.escaping import RESERVED
from trainc.documents.positions import within
from trainc.findings import Finding, report, suggest
from trainc.findings.reporting import Fault, report_fault
from trainc.inputs.source import Document, Source
from trainc.kube.gojson import trim_space
from trainc.kube.names import is_dns1035_label, is_dns1123_subdomain
from trainc.schema.kinds import BUILT_IN, all_groups, all_kinds
from trainc.schema.metadata import SEGMENT

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
        hint = "remove paramRef, or add paramKind to the policy"
    else:
        kind = get(policy.spec, "paramKind", "kind")
        message = f"policy {policy.name!r} has paramKind {kind}, but the binding has no paramRef: params is null"
        path = ("spec", "policyName")
        hint = "add paramRef to the binding, or remove paramKind from the policy"
    yield report(NO_PARAMS, binding.document, path, message, hint=hint)


_NAMED: Final = 20
"""The most versions that a message names."""

_KIND = lazy(r"""\.kind\s*[!=]=\s*['"]([A-Za-z]+)['"]""")
_PARTS = tuple(product(("matchConstraints", "matchResources"), RULES))


def _unmatched(stored: Stored) -> Iterator[Finding]:
    """Yield a warning for each group and resource in the rules that no request can have."""
    for part, field in _PARTS:
        for index, rule in enumerate(rows(as_object(stored.spec.get(part)), field)):
            path: Path = ("spec", part, field, index)
            for number, group in enumerate(as_list(rule.get("apiGroups"))):
                if isinstance(group, str) and ("/" in group or group == "core"):
                    message = f"{group!r} is not an API group: the rule matches nothing in it"
                    name = group.partition("/")[0]
                    other = f"write {name} here, and the version in apiVersions"
                    hint = 'the core group is ""' if name in ("", "core") else other
                    where = (*path, "apiGroups", number)
                    yield report(UNMATCHED, stored.document, where, message, found=group, hint=hint)
            yield from _unknown_versions(stored, rule, path)
            yield from _unknown_resources(stored, rule, path)
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


def _unknown_versions(stored: Stored, rule: JsonObject, path: Path) -> Iterator[Finding]:
    """Yield a warning for each group that has none of a rule's versions, such as v1 of a rule for another group."""
    versions = dict.fromkeys(map(str, as_list(rule.get("apiVersions"))))
    if not versions or "*" in versions:
        return
    names, rest = [*map(repr, islice(versions, _NAMED))], len(versions) - _NAMED
    found = " or ".join([*names, f"{rest:,} more"] if rest > 0 else names)
    for number, group in enumerate(as_list(rule.get("apiGroups"))):
        known = _versions(str(group))
        if known and versions.keys().isdisjoint(known):
            message = f"{_titled(str(group))} has no version {found}: the rule matches nothing in it"
            hint = f"add {' or '.join(known)} to apiVersions"
            yield report(UNMATCHED, stored.document, (*path, "apiGroups", number), message, hint=hint)


def _unknown_resources(stored: Stored, rule: JsonObject, path: Path) -> Iterator[Finding]:
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
    """Return a hint with the most similar resource; None if a newer Kubernetes may have this one."""
    folded = name.lower()
    kinds = {plural_of(kind): kind.lower() for group in all_groups() for kind in all_kinds(group)}
    if near := next((plural for plural in sorted(known) if folded in (plural, kinds.get(plural))), None):
        return f"write the plural in lower case: {near}"
    homes = sorted(group for group in all_groups() if folded in _plurals(group))
    if homes:
        return f"{folded} is a resource of {_titled(homes[0])}"
    return suggest(name, known)


def _titled(group: str) -> str:
    return f"API group {group}" if group else "the core group"


@cache
def _spellings() -> Mapping[str, set[str]]:
    """Return all kinds, by their names in lower case."""
    found: dict[str, set[str]] = {}
    for kind in (kind for group in all_groups() for kind in all_kinds(group)):
        found.setdefault(kind.lower(), set()).add(kind)
    return found


def _plurals(group: str) -> frozenset[str]:
    """Return the resources of a group whose kinds are all known; empty for any other group."""
    return frozenset(map(plural_of, all_kinds(group)))


def _versions(group: str) -> tuple[str, ...]:
    """Return the versions of a group whose kinds are all known; empty for any other group."""
    return tuple(sorted({*chain.from_iterable(all_kinds(group).values())}))


def plural_of(kind: str) -> str:
    """Return the resource of a kind; of Kubernetes' own kinds, only Endpoints has an irregular one."""
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


# Validation on create; schema/metadata.py validates metadata.
# Sources: k8s.io/kubernetes v1.34 pkg/apis/admissionregistration/validation/validation.go; k8s.io/apimachinery v0.34
# pkg/apis/meta/v1/validation.


MAX_CONDITIONS: Final = 64
MAX_ANNOTATIONS: Final = 20
MAX_ANNOTATION_EXPRESSION: Final = 5 * 1024
"""Bytes of the expression of an audit annotation."""

_REFUSED: Final = "TC511"
_IDENTIFIER: Final = lazy("[_a-zA-Z][_a-zA-Z0-9]*")
_NOTHING_TO_CHECK: Final = "validations or auditAnnotations must contain at least one item"

_Compiled = Mapping[Path, Expression]
"""The expressions of a policy by path; blank ones, which are refused, are not compiled."""


def policy_faults(policy: Stored, expressions: Expressions) -> list[Fault]:
    """Return the errors of a policy."""
    spec = Field(policy.spec, ("spec",), "spec", _REFUSED)
    kinds = (expressions.conditions, expressions.variable_expressions, expressions.validations)
    every = chain(*kinds, expressions.messages, expressions.annotations)
    compiled = {expression.path: expression for expression in every}
    spec.child("failurePolicy").one_of(("Fail", "Ignore"), pointer=True)
    if policy.has_params:
        _param_kind(spec.child("paramKind"))
    constraints = spec.child("matchConstraints")
    if not constraints.has():
        constraints.required()
    else:
        _matching(constraints)
        constraints.child("resourceRules").require()
    _conditions(spec, compiled)
    for variable in spec.items("variables"):
        name = variable.child("name")
        if not trim_space(name.text()):
            name.required("name is not specified")
        elif not _IDENTIFIER.fullmatch(name.text()) or name.text() in RESERVED:
            name.invalid("must be a valid CEL identifier")
        _expression(variable.child("expression"), compiled)
    if not spec.items("validations") and not spec.items("auditAnnotations"):
        spec.child("validations").required(_NOTHING_TO_CHECK)
        spec.child("auditAnnotations").required(_NOTHING_TO_CHECK)
    for validation in spec.items("validations"):
        _validation(validation, compiled)
    _annotations(spec, policy.name, compiled)
    return spec.faults


def accepts_expressions(spec: JsonObject) -> bool:
    """Report whether a server would accept the variables and validations of a new policy."""
    policy = Stored(Document(Source("", ""), {"kind": POLICY}), "", spec)
    faults = policy_faults(policy, Expressions(policy))
    return not any(fault.path[1] in ("variables", "validations") for fault in faults)


def _param_kind(given: Field) -> None:
    version, kind = given.child("apiVersion"), given.child("kind")
    group, _, name = version.text().rpartition("/")
    if not version.require():
        pass
    elif "/" in group:
        version.invalid(f"unexpected GroupVersion string: {version.text()}")
    else:
        if group and (details := is_dns1123_subdomain(group)):
            version.invalid(",".join(details), group)
        if not name:
            version.invalid("version must be specified")
        elif details := is_dns1035_label(name):
            version.invalid(",".join(details), name)
    if kind.require() and (details := is_dns1035_label(kind.text().lower())):
        kind.invalid(f"may have mixed case, but should otherwise match: {','.join(details)}")


def _conditions(spec: Field, compiled: _Compiled) -> None:
    spec.child("matchConditions").at_most_items(MAX_CONDITIONS)
    conditions = spec.items("matchConditions")
    unique(condition.child("name") for condition in conditions)
    for condition in conditions:
        _expression(condition.child("expression"), compiled, "", trimmed=True)
        if condition.child("name").require():
            qualified_name(condition.child("name"))


def _validation(validation: Field, compiled: _Compiled) -> None:
    message, expression = validation.child("message"), validation.child("messageExpression")
    _expression(validation.child("expression"), compiled)
    if expression.path in compiled:
        _expression(expression, compiled)
    elif expression.text():
        expression.invalid("must be non-empty if specified")
    trimmed = trim_space(message.text())
    if message.text() and not trimmed:
        message.invalid("must be non-empty if specified")
    elif "\n" in trimmed or "\r" in trimmed:
        message.invalid("must not contain line breaks")
    validation.child("reason").one_of(("Forbidden", "Invalid", "RequestEntityTooLarge"), pointer=True)


def _annotations(spec: Field, policy: str, compiled: _Compiled) -> None:
    annotations = spec.items("auditAnnotations")
    if len(annotations) > MAX_ANNOTATIONS:
        # The server prints the annotations by the names of Go's fields.
        typed: list[Json] = [{"Key": a.text("key"), "ValueExpression": a.text("valueExpression")} for a in annotations]
        spec.child("auditAnnotations").invalid(f"must not have more than {MAX_ANNOTATIONS} auditAnnotations", typed)
    unique(annotation.child("key") for annotation in annotations)
    for annotation in annotations:
        key, expression = annotation.child("key"), annotation.child("valueExpression")
        if policy:
            qualified_name(key, f"{policy}/{key.text()}")
        else:
            key.invalid("requires metadata.name be non-empty", key.text())
        if len(trim_space(expression.text()).encode("utf-8", "surrogatepass")) > MAX_ANNOTATION_EXPRESSION:
            expression.required(f"must not exceed {MAX_ANNOTATION_EXPRESSION} bytes in length")
        else:
            _expression(expression, compiled, "valueExpression is not specified")


def _expression(
    field: Field, compiled: _Compiled, missing: str = "expression is not specified", *, trimmed: bool = False
) -> None:
    """Check that an expression compiles; ``trimmed``: the server shows it without surrounding white space."""
    if (expression := compiled.get(field.path)) is None:
        field.required(missing)
    elif isinstance(problem := expression.compiled, Problem):
        position = problem.position + expression.offset
        if problem.text.startswith("program instantiation failed"):
            field.internal(problem.text, position)
        else:
            shown = trim_space(expression.text) if trimmed else expression.text
            field.invalid(problem.text, shown, position=position)


def binding_faults(binding: Stored) -> list[Fault]:
    """Return the errors of a binding."""
    spec = Field(binding.spec, ("spec",), "spec", _REFUSED)
    policy, actions = spec.child("policyName"), spec.child("validationActions")
    if policy.require():
        dns_subdomain(policy)
    if spec.has("paramRef"):
        _reference(spec.child("paramRef"))
    if spec.has("matchResources"):
        _matching(spec.child("matchResources"))
    unique(actions.items())
    for action in actions.items():
        action.one_of(("Audit", "Deny", "Warn"), pointer=True)
    if {"Deny", "Warn"} <= set(binding.actions):
        actions.invalid(
            "must not contain both Deny and Warn (repeating the same validation failure information in the API"
            " response and headers serves no purpose)"
        )
    if not actions.items():
        actions.required("at least one validation action is required")
    return spec.faults


def _reference(reference: Field) -> None:
    name, selector, action = map(reference.child, ("name", "selector", "parameterNotFoundAction"))
    name.invalid_each(SEGMENT[0](name.text()))
    if selector.has():
        label_selector(selector)
        for field in (name, selector) if name.text() else ():
            field.forbidden("name and selector are mutually exclusive")
    elif not name.text():
        reference.required("one of name or selector must be specified")
    if action.require():
        action.one_of(("Deny", "Allow"))


# Matching constraints


def _matching(constraints: Field) -> None:
    """Check matchConstraints or matchResources."""
    constraints.child("matchPolicy").one_of(("Equivalent", "Exact"), pointer=True)
    for name in ("namespaceSelector", "objectSelector"):
        label_selector(constraints.child(name))
    for name in RULES:
        for rule in constraints.items(name):
            _rule(rule)


def _rule(rule: Field) -> None:
    unique(rule.items("resourceNames"))
    for name in rule.items("resourceNames"):
        name.invalid_each(SEGMENT[0](name.text()))
    for key, what in (("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")):
        if rule.child(key).require() and len(rule.items(key)) > 1 and "*" in as_list(rule.child(key).value):
            rule.child(key).invalid(f"if '*' is present, must not specify other {what}")
    for operation in rule.items("operations"):
        operation.one_of(("*", "CONNECT", "CREATE", "DELETE", "UPDATE"), pointer=True)
    for version in rule.items("apiVersions"):
        version.require()
    if rule.child("resources").require():
        _resources(rule.child("resources"))
    rule.child("scope").one_of(("*", "Cluster", "Namespaced"), pointer=True)


def _resources(resources: Field) -> None:
    items = [item.text() for item in resources.items()]
    all_of: set[str] = set()  # x, of x/*
    of_all: set[str] = set()  # y, of */y
    plain = False
    for item in resources.items():
        if not item.require():
            continue
        name, slash, sub = item.text().partition("/")
        if not slash:
            plain = item.text() != "*"  # that of the last one counts, as on the server
            continue
        if name in all_of:
            item.invalid(f"if '{name}/*' is present, must not specify {item.text()}")
        if sub in of_all:
            item.invalid(f"if '*/{sub}' is present, must not specify {item.text()}")
        if sub == "*":
            all_of.add(name)
        if name == "*":
            of_all.add(sub)
    if len(items) > 1 and "*/*" in items:
        resources.invalid("if '*/*' is present, must not specify other resources")
    if "*" in items and plain:
        resources.invalid("if '*' is present, must not specify other resources without subresources")
