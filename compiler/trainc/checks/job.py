"""What the API server refuses in a Job, beside its pods.

Source: k8s.io/kubernetes v1.34.4 pkg/apis/batch/validation, ValidateJob, after the defaults of batch/v1.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.checks.problem import Place, Problem
from trainc.checks.rules import number, qualified_name, text
from trainc.kube.fielderror import quote
from trainc.kube.names import is_domain_prefixed_path
from trainc.records import replace
from trainc.source import Json, JsonObject, as_list, get, objects

MAX_INDEXED = 100_000
MAX_FOR_MANY = 10_000
MAX_RULES = 20
MAX_VALUES = 255
MAX_MANAGED_BY = 63
MODES = ("NonIndexed", "Indexed")
ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
EXIT_OPERATORS = ("In", "NotIn")
STATUSES = ("False", "True", "Unknown")
REPLACEMENTS = ("Failed", "TerminatingOrFailed")
COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)


def job_problems(place: Place, spec: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with a Job's spec; ``place`` is where that stands."""
    for field in COUNTS:
        yield from place.child(field).not_negative(spec.get(field))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield place.child("backoffLimitPerIndex").required("when maxFailedIndexes is specified")
    if isinstance(manager := spec.get("managedBy"), str):
        yield from _manager(place.child("managedBy"), manager)
    mode = text(spec, "completionMode") or "NonIndexed"
    if mode not in MODES:
        yield place.child("completionMode").unsupported(mode, MODES)
    if mode == "Indexed":
        yield from _indexed(place, spec)
    if mode == "NonIndexed":
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if field in spec:
                yield place.child(field).invalid(spec[field], "requires indexed completion mode")
    yield from _failure_policy(place.child("podFailurePolicy"), spec)
    if isinstance(policy := spec.get("successPolicy"), dict):
        if mode == "Indexed":
            completions = number(spec, "completions")
            yield from _success_policy(place.child("successPolicy"), policy, 1 if completions is None else completions)
        else:
            yield place.child("successPolicy").invalid(_typed_success(policy), "requires indexed completion mode")
    yield from _replacement(place.child("podReplacementPolicy"), spec)
    yield from _restart(place.child("template", "spec", "restartPolicy"), spec)


def _manager(place: Place, manager: str) -> Iterator[Problem]:
    for message in is_domain_prefixed_path(place.field, manager):
        yield Problem(place.code, place.path, "must be a domain-prefixed path", message, manager)
    if len(manager.encode()) > MAX_MANAGED_BY:
        yield place.too_long(MAX_MANAGED_BY)


def _indexed(place: Place, spec: JsonObject) -> Iterator[Problem]:
    parallelism = number(spec, "parallelism")
    completions, failed = number(spec, "completions"), number(spec, "maxFailedIndexes")
    if completions is None and parallelism is not None:  # both absent are both 1
        yield place.child("completions").required("when completion mode is Indexed")
    if parallelism is not None and parallelism > MAX_INDEXED:
        detail = f"must be less than or equal to {MAX_INDEXED} when completion mode is Indexed"
        yield place.child("parallelism").invalid(parallelism, detail)
    if failed is not None and completions is not None and failed > completions:
        yield place.child("maxFailedIndexes").invalid(failed, "must be less than or equal to completions")
    if failed is not None and failed > MAX_INDEXED:
        yield place.child("maxFailedIndexes").invalid(failed, f"must be less than or equal to {MAX_INDEXED}")
    if completions is not None and completions > MAX_INDEXED and "backoffLimitPerIndex" in spec:
        yield from _many(place, parallelism, failed)


def _many(place: Place, parallelism: int | None, failed: int | None) -> Iterator[Problem]:
    if failed is None:
        detail = f"must be specified when completions is above {MAX_INDEXED}"
        yield place.child("maxFailedIndexes").required(detail)
    rest = f"when completions are above {MAX_INDEXED} and used with backoff limit per index"
    for field, value in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if value is not None and value > MAX_FOR_MANY:
            yield place.child(field).invalid(value, f"must be less than or equal to {MAX_FOR_MANY} {rest}")


def _failure_policy(place: Place, spec: JsonObject) -> Iterator[Problem]:
    policy = spec.get("podFailurePolicy")
    if not isinstance(policy, dict):
        return
    rules, at = objects(policy.get("rules")), place.child("rules")
    if len(rules) > MAX_RULES:
        yield at.too_many(len(rules), MAX_RULES)
    pod = get(spec, "template", "spec")
    names = {text(c, "name") for kind in ("containers", "initContainers") for c in objects(get(pod, kind))}
    for index, rule in enumerate(rules):
        yield from _rule(at.index(index), rule, names, per_index="backoffLimitPerIndex" in spec)


def _rule(place: Place, rule: JsonObject, names: set[str], *, per_index: bool) -> Iterator[Problem]:
    action, at = text(rule, "action"), place.child("action")
    if not action:
        yield at.required(_valid(ACTIONS))
    elif action == "FailIndex":
        if not per_index:
            yield at.invalid(action, "requires the backoffLimitPerIndex to be set", typed=True)
    elif action not in ACTIONS:
        yield at.unsupported(action, ACTIONS)
    codes, conditions = rule.get("onExitCodes"), objects(rule.get("onPodConditions"))
    if isinstance(codes, dict):
        yield from _exit_codes(place.child("onExitCodes"), codes, names)
    if len(conditions) > MAX_RULES:
        yield place.child("onPodConditions").too_many(len(conditions), MAX_RULES)
    for index, condition in enumerate(conditions):
        yield from _condition(place.child("onPodConditions").index(index), condition)
    if isinstance(codes, dict) == bool(conditions):
        both = "specifying both OnExitCodes and OnPodConditions is not supported"
        detail = both if conditions else "specifying one of OnExitCodes and OnPodConditions is required"
        yield Problem(place.code, place.path, detail, f"{place.field}: Invalid value: {detail}")


def _condition(place: Place, condition: JsonObject) -> Iterator[Problem]:
    yield from qualified_name(place.child("type"), text(condition, "type"))
    status = text(condition, "status") or "True"
    if status not in STATUSES:
        yield place.child("status").unsupported(status, STATUSES)


def _exit_codes(place: Place, codes: JsonObject, names: set[str]) -> Iterator[Problem]:
    operator, values = text(codes, "operator"), as_list(codes.get("values"))
    if not operator:
        yield place.child("operator").required(_valid(EXIT_OPERATORS))
    elif operator not in EXIT_OPERATORS:
        yield place.child("operator").unsupported(operator, EXIT_OPERATORS)
    container = codes.get("containerName")
    if isinstance(container, str) and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield place.child("containerName").invalid(container, detail)
    at = place.child("values")
    if not values:
        yield at.invalid(values, "at least one value is required")
    elif len(values) > MAX_VALUES:
        yield at.too_many(len(values), MAX_VALUES)
    yield from _values(at, values, operator)


def _values(place: Place, values: list[Json], operator: str) -> Iterator[Problem]:
    numbers = [value if isinstance(value, int) else 0 for value in values]
    for index, value in enumerate(numbers):
        if operator == "In" and value == 0:
            yield place.index(index).invalid(value, "must not be 0 for the In operator")
        if value in numbers[:index]:
            yield place.index(index).duplicate(value)
    if numbers != sorted(numbers):
        yield place.invalid(values, "must be ordered")


def _typed_success(policy: JsonObject) -> JsonObject:
    """Return a success policy as the server prints it: by the names of Go's fields."""
    rules: list[Json] = [
        {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}
        for rule in objects(policy.get("rules"))
    ]
    return {"Rules": rules}


def _success_policy(place: Place, policy: JsonObject, completions: int) -> Iterator[Problem]:
    rules, at = objects(policy.get("rules")), place.child("rules")
    if not rules:
        yield at.required("at least one rules must be specified when the successPolicy is specified")
    if len(rules) > MAX_RULES:
        yield at.too_many(len(rules), MAX_RULES)
    for index, rule in enumerate(rules):
        count = number(rule, "succeededCount")
        if count is None:
            if "succeededIndexes" not in rule:
                detail = "at least one of succeededCount or succeededIndexes must be specified"
                yield at.index(index).required(detail)
            continue
        there = at.index(index).child("succeededCount")
        yield from there.not_negative(count)
        if count > completions:
            detail = f"must be less than or equal to {completions} (the number of specified completions)"
            yield there.invalid(count, detail)


def _replacement(place: Place, spec: JsonObject) -> Iterator[Problem]:
    policy = spec.get("podReplacementPolicy")
    supported = ("Failed",) if isinstance(spec.get("podFailurePolicy"), dict) else REPLACEMENTS
    if isinstance(policy, str) and policy not in supported:
        yield place.unsupported(policy, supported)


def _restart(place: Place, spec: JsonObject) -> Iterator[Problem]:
    policy = text(spec, "template", "spec", "restartPolicy")
    if policy in ("", "Always"):
        yield replace(place.required('valid values: "OnFailure", "Never"'), found=policy or None)
    elif policy not in ("OnFailure", "Never"):
        yield place.unsupported(policy, ("OnFailure", "Never"))
    elif policy == "OnFailure" and isinstance(spec.get("podFailurePolicy"), dict):
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        yield replace(place.invalid(policy, detail, typed=True), other=(*place.path[:-3], "podFailurePolicy"))


def _valid(values: tuple[str, ...]) -> str:
    return f"valid values: [{' '.join(map(quote, values))}]"
