"""What the API server refuses in a Job, beside its pods.

Source: k8s.io/kubernetes v1.34.4 pkg/apis/batch/validation, ValidateJob, after the defaults of batch/v1.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from functools import lru_cache

from trainc.checks.fields import Field, Problem, labels, number, qualified_name, text
from trainc.checks.pods import pod_problems, template_problems
from trainc.kube.fielderror import quote
from trainc.kube.names import (
    is_config_map_key,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_domain_prefixed_path,
    is_relaxed_env_var_name,
    validate_annotations,
    validate_labels,
)
from trainc.records import replace
from trainc.source import Json, JsonObject, Path, as_list, as_object, get, objects

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


def job_problems(field: Field, spec: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with a Job's spec; ``place`` is where that stands."""
    for key in COUNTS:
        yield from field.child(key).not_negative(spec.get(key))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield field.child("backoffLimitPerIndex").required("when maxFailedIndexes is specified")
    if isinstance(manager := spec.get("managedBy"), str):
        yield from _manager(field.child("managedBy"), manager)
    mode = text(spec, "completionMode") or "NonIndexed"
    if mode not in MODES:
        yield field.child("completionMode").unsupported(mode, MODES)
    if mode == "Indexed":
        yield from _indexed(field, spec)
    if mode == "NonIndexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if key in spec:
                yield field.child(key).invalid(spec[key], "requires indexed completion mode")
    yield from _failure_policy(field.child("podFailurePolicy"), spec)
    if isinstance(policy := spec.get("successPolicy"), dict):
        if mode == "Indexed":
            completions = number(spec, "completions")
            yield from _success_policy(field.child("successPolicy"), policy, 1 if completions is None else completions)
        else:
            yield field.child("successPolicy").invalid(_typed_success(policy), "requires indexed completion mode")
    yield from _replacement(field.child("podReplacementPolicy"), spec)
    yield from _restart(field.child("template", "spec", "restartPolicy"), spec)


def _manager(field: Field, manager: str) -> Iterator[Problem]:
    for message in is_domain_prefixed_path(field.name, manager):
        yield Problem(field.code, field.path, "must be a domain-prefixed path", message, manager)
    if len(manager.encode()) > MAX_MANAGED_BY:
        yield field.too_long(MAX_MANAGED_BY)


def _indexed(field: Field, spec: JsonObject) -> Iterator[Problem]:
    parallelism = number(spec, "parallelism")
    completions, failed = number(spec, "completions"), number(spec, "maxFailedIndexes")
    if completions is None and parallelism is not None:  # both absent are both 1
        yield field.child("completions").required("when completion mode is Indexed")
    if parallelism is not None and parallelism > MAX_INDEXED:
        detail = f"must be less than or equal to {MAX_INDEXED} when completion mode is Indexed"
        yield field.child("parallelism").invalid(parallelism, detail)
    if failed is not None and completions is not None and failed > completions:
        yield field.child("maxFailedIndexes").invalid(failed, "must be less than or equal to completions")
    if failed is not None and failed > MAX_INDEXED:
        yield field.child("maxFailedIndexes").invalid(failed, f"must be less than or equal to {MAX_INDEXED}")
    if completions is not None and completions > MAX_INDEXED and "backoffLimitPerIndex" in spec:
        yield from _many(field, parallelism, failed)


def _many(field: Field, parallelism: int | None, failed: int | None) -> Iterator[Problem]:
    if failed is None:
        detail = f"must be specified when completions is above {MAX_INDEXED}"
        yield field.child("maxFailedIndexes").required(detail)
    rest = f"when completions are above {MAX_INDEXED} and used with backoff limit per index"
    for key, value in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if value is not None and value > MAX_FOR_MANY:
            yield field.child(key).invalid(value, f"must be less than or equal to {MAX_FOR_MANY} {rest}")


def _failure_policy(field: Field, spec: JsonObject) -> Iterator[Problem]:
    policy = spec.get("podFailurePolicy")
    if not isinstance(policy, dict):
        return
    rules, at = objects(policy.get("rules")), field.child("rules")
    if len(rules) > MAX_RULES:
        yield at.too_many(len(rules), MAX_RULES)
    pod = get(spec, "template", "spec")
    names = {text(c, "name") for kind in ("containers", "initContainers") for c in objects(get(pod, kind))}
    for index, rule in enumerate(rules):
        yield from _rule(at.index(index), rule, names, per_index="backoffLimitPerIndex" in spec)


def _rule(field: Field, rule: JsonObject, names: set[str], *, per_index: bool) -> Iterator[Problem]:
    action, at = text(rule, "action"), field.child("action")
    if not action:
        yield at.required(_valid(ACTIONS))
    elif action == "FailIndex":
        if not per_index:
            yield at.invalid(action, "requires the backoffLimitPerIndex to be set", typed=True)
    elif action not in ACTIONS:
        yield at.unsupported(action, ACTIONS)
    codes, conditions = rule.get("onExitCodes"), objects(rule.get("onPodConditions"))
    if isinstance(codes, dict):
        yield from _exit_codes(field.child("onExitCodes"), codes, names)
    if len(conditions) > MAX_RULES:
        yield field.child("onPodConditions").too_many(len(conditions), MAX_RULES)
    for index, condition in enumerate(conditions):
        yield from _condition(field.child("onPodConditions").index(index), condition)
    if isinstance(codes, dict) == bool(conditions):
        both = "specifying both OnExitCodes and OnPodConditions is not supported"
        detail = both if conditions else "specifying one of OnExitCodes and OnPodConditions is required"
        yield Problem(field.code, field.path, detail, f"{field.name}: Invalid value: {detail}")


def _condition(field: Field, condition: JsonObject) -> Iterator[Problem]:
    yield from qualified_name(field.child("type"), text(condition, "type"))
    status = text(condition, "status") or "True"
    if status not in STATUSES:
        yield field.child("status").unsupported(status, STATUSES)


def _exit_codes(field: Field, codes: JsonObject, names: set[str]) -> Iterator[Problem]:
    operator, values = text(codes, "operator"), as_list(codes.get("values"))
    if not operator:
        yield field.child("operator").required(_valid(EXIT_OPERATORS))
    elif operator not in EXIT_OPERATORS:
        yield field.child("operator").unsupported(operator, EXIT_OPERATORS)
    container = codes.get("containerName")
    if isinstance(container, str) and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield field.child("containerName").invalid(container, detail)
    at = field.child("values")
    if not values:
        yield at.invalid(values, "at least one value is required")
    elif len(values) > MAX_VALUES:
        yield at.too_many(len(values), MAX_VALUES)
    yield from _values(at, values, operator)


def _values(field: Field, values: list[Json], operator: str) -> Iterator[Problem]:
    numbers = [value if isinstance(value, int) else 0 for value in values]
    for index, value in enumerate(numbers):
        if operator == "In" and value == 0:
            yield field.index(index).invalid(value, "must not be 0 for the In operator")
        if value in numbers[:index]:
            yield field.index(index).duplicate(value)
    if numbers != sorted(numbers):
        yield field.invalid(values, "must be ordered")


def _typed_success(policy: JsonObject) -> JsonObject:
    """Return a success policy as the server prints it: by the names of Go's fields."""
    rules: list[Json] = [
        {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}
        for rule in objects(policy.get("rules"))
    ]
    return {"Rules": rules}


def _success_policy(field: Field, policy: JsonObject, completions: int) -> Iterator[Problem]:
    rules, at = objects(policy.get("rules")), field.child("rules")
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


def _replacement(field: Field, spec: JsonObject) -> Iterator[Problem]:
    policy = spec.get("podReplacementPolicy")
    supported = ("Failed",) if isinstance(spec.get("podFailurePolicy"), dict) else REPLACEMENTS
    if isinstance(policy, str) and policy not in supported:
        yield field.unsupported(policy, supported)


def _restart(field: Field, spec: JsonObject) -> Iterator[Problem]:
    policy = text(spec, "template", "spec", "restartPolicy")
    if policy in ("", "Always"):
        yield replace(field.required('valid values: "OnFailure", "Never"'), found=policy or None)
    elif policy not in ("OnFailure", "Never"):
        yield field.unsupported(policy, ("OnFailure", "Never"))
    elif policy == "OnFailure" and isinstance(spec.get("podFailurePolicy"), dict):
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        yield replace(field.invalid(policy, detail, typed=True), other=(*field.path[:-3], "podFailurePolicy"))


def _valid(values: tuple[str, ...]) -> str:
    return f"valid values: [{' '.join(map(quote, values))}]"


# Whether a Job has any problem, for each job of a fleet at the cost of one comparison.
#
# The checks run once for all Jobs that are equal in what the checks look at. What differs from job to job and is valid
# by itself (`abridged`) is left out before Jobs are compared: text that no check reads, valid names and labels. For a
# Job with problems the checks run again on all of it. Without this, 1,000 jobs take 1.6 times as long.

JOB, METADATA = "TC803", "TC804"
POD: Path = ("spec", "template", "spec")

_PLAIN = 2
"""The version of marshal's format in which equal values have equal bytes, however they are shared."""

_UNREAD = ("command", "args", "workingDir")
"""The fields of a container that may hold any text."""

_NAMED = (("configMap", "name"), ("secret", "secretName"), ("persistentVolumeClaim", "claimName"))
"""The sources of volumes of which only has to be there what they name."""

_SOME = "x"
"""Stands for a text of which only is asked whether there is one."""


def problems_of(made: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with a Job, as ``created_job`` returns it; paths are those of the Job."""
    yield from _own_problems(made)
    yield from _problems_of_pods(as_object(get(made, "spec", "template")))


def _own_problems(made: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with a Job beside its template."""
    yield from labels(
        Field(METADATA, ("metadata", "labels"), "metadata.labels"), as_object(get(made, "metadata", "labels"))
    )
    yield from job_problems(Field(JOB, ("spec",), "spec"), as_object(made["spec"]))


def _problems_of_pods(template: JsonObject) -> Iterator[Problem]:
    """Yield what is wrong with the template of a Job, whatever the Job."""
    yield from template_problems(Field(JOB, ("spec",), "spec").child("template"), template)
    # A pod's own rules come with the server's names of a pod's fields.
    yield from pod_problems(Field(JOB, POD, "spec"), as_object(template.get("spec")))


def is_sound(made: JsonObject) -> bool:
    """Tell whether ``problems_of`` yields nothing. False may also mean that this can only be told by asking it."""
    try:
        return _is_sound(marshal.dumps(abridged(made), _PLAIN))
    except (TypeError, ValueError):  # something has the wrong type, or is nested too deeply
        return False


@lru_cache(maxsize=4096)
def _is_sound(key: bytes) -> bool:
    made = marshal.loads(key)
    if next(_own_problems(made), None) is not None:
        return False
    return _has_sound_pods(marshal.dumps(made["spec"]["template"], _PLAIN))


@lru_cache(maxsize=4096)
def _has_sound_pods(key: bytes) -> bool:
    """Tell it of a template: Jobs of the same one differ in their numbers of pods."""
    return next(_problems_of_pods(marshal.loads(key)), None) is None


def abridged(made: JsonObject) -> JsonObject:
    """Return a Job without what is fine by itself: it has problems just where the whole one has.

    Raises TypeError for what cannot stand in a Job.
    """
    spec = as_object(made["spec"])
    template = as_object(spec.get("template"))
    pod = {**as_object(template.get("spec"))}
    for kind in ("containers", "initContainers"):
        if isinstance(containers := pod.get(kind), list):
            pod[kind] = [_container(each) if isinstance(each, dict) else each for each in containers]
    if isinstance(volumes := pod.get("volumes"), list):
        pod["volumes"] = [_volume(volume) if isinstance(volume, dict) else volume for volume in volumes]
    for field, is_fine in (("subdomain", _is_label), ("serviceAccountName", _is_subdomain)):
        if isinstance(name := pod.get(field), str) and is_fine(name):
            del pod[field]
    short: JsonObject = {"metadata": _metadata(template.get("metadata")), "spec": pod}
    return {"metadata": _metadata(made["metadata"]), "spec": {**spec, "template": short}}


def _container(container: JsonObject) -> JsonObject:
    short = {**container}
    for field in _UNREAD:
        short.pop(field, None)
    image = short.get("image")
    if isinstance(image, str) and image and image == image.strip():
        short["image"] = _SOME
    variables = short.get("env")
    if isinstance(variables, list):
        short["env"] = [variable for variable in variables if not _is_fine(variable)]
    return short


def _is_fine(variable: Json) -> bool:
    """Tell whether a variable has a valid name, and a value of its own, which may be any text, or one of a key."""
    if not isinstance(variable, dict):
        return False
    name, source = variable.get("name"), variable.get("valueFrom")
    if not isinstance(name, str) or not _is_variable(name):
        return False
    if source is None:
        return True
    if variable.get("value") or not isinstance(source, dict) or len(source) != 1:
        return False
    [(kind, ref)] = source.items()
    if kind not in ("secretKeyRef", "configMapKeyRef") or not isinstance(ref, dict):
        return False
    owner, key = ref.get("name"), ref.get("key")
    return isinstance(owner, str) and _is_subdomain(owner) and isinstance(key, str) and key != "" and _is_key(key)


def _volume(volume: JsonObject) -> JsonObject:
    for kind, field in _NAMED:
        source = volume.get(kind)
        if isinstance(source, dict) and isinstance(source.get(field), str) and source[field]:
            volume = {**volume, kind: {**source, field: _SOME}}
    return volume


def _metadata(metadata: Json) -> JsonObject:
    """Return the labels and annotations that may be wrong; a Job's own annotations are looked at in vain."""
    short: JsonObject = {}
    if isinstance(metadata, dict):
        for field, are_fine in (("labels", _are_labels), ("annotations", _are_annotations)):
            values = metadata.get(field)
            if isinstance(values, dict) and values and not are_fine(tuple(values.items())):
                short[field] = values
    return short


@lru_cache(maxsize=4096)
def _are_labels(labels: tuple[tuple[str, Json], ...]) -> bool:
    values = {key: value for key, value in labels if isinstance(value, str)}
    return len(values) == len(labels) and not validate_labels(values, "")


@lru_cache(maxsize=1024)
def _are_annotations(annotations: tuple[tuple[str, Json], ...]) -> bool:
    values = {key: value for key, value in annotations if isinstance(value, str)}
    return len(values) == len(annotations) and not validate_annotations(values, "")


@lru_cache(maxsize=4096)
def _is_variable(name: str) -> bool:
    return not is_relaxed_env_var_name(name)


@lru_cache(maxsize=1024)
def _is_key(key: str) -> bool:
    return not is_config_map_key(key)


@lru_cache(maxsize=4096)
def _is_label(name: str) -> bool:
    return not is_dns1123_label(name)


@lru_cache(maxsize=4096)
def _is_subdomain(name: str) -> bool:
    return not is_dns1123_subdomain(name)
