"""What the API server refuses in a Job, beside its pods.

Source: k8s.io/kubernetes v1.34.4 pkg/apis/batch/validation, ValidateJob, after the defaults of batch/v1.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator
from functools import lru_cache

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects
from trainc.checks.fields import Field, labels, number, qualified_name, text
from trainc.checks.pod_environment import env_problems
from trainc.checks.pods import annotation_problems, pod_problems, spec_problems, template_problems
from trainc.findings.fault import Fault
from trainc.kube.fielderror import quote
from trainc.kube.names import is_domain_prefixed_path

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


def job_problems(field: Field, spec: JsonObject) -> Iterator[Fault]:
    """Yield what is wrong with a Job's spec; ``place`` is where that stands."""
    yield from field.not_negatives(spec, COUNTS)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield field.child("backoffLimitPerIndex").required("when maxFailedIndexes is specified")
    if isinstance(manager := spec.get("managedBy"), str):
        yield from _manager(field.child("managedBy"), manager)
    mode = text(spec, "completionMode") or "NonIndexed"
    yield from field.one_of(spec, "completionMode", MODES)
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


def _manager(field: Field, manager: str) -> Iterator[Fault]:
    for message in is_domain_prefixed_path(field.name, manager):
        yield Fault(field.code, field.path, "must be a domain-prefixed path", message, manager)
    if len(manager.encode()) > MAX_MANAGED_BY:
        yield field.too_long(MAX_MANAGED_BY)


def _indexed(field: Field, spec: JsonObject) -> Iterator[Fault]:
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


def _many(field: Field, parallelism: int | None, failed: int | None) -> Iterator[Fault]:
    if failed is None:
        detail = f"must be specified when completions is above {MAX_INDEXED}"
        yield field.child("maxFailedIndexes").required(detail)
    rest = f"when completions are above {MAX_INDEXED} and used with backoff limit per index"
    for key, value in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if value is not None and value > MAX_FOR_MANY:
            yield field.child(key).invalid(value, f"must be less than or equal to {MAX_FOR_MANY} {rest}")


def _failure_policy(field: Field, spec: JsonObject) -> Iterator[Fault]:
    policy = spec.get("podFailurePolicy")
    if not isinstance(policy, dict):
        return
    yield from _too_many(field.child("rules"), objects(policy.get("rules")))
    pod = get(spec, "template", "spec")
    names = {text(c, "name") for kind in ("containers", "initContainers") for c in objects(get(pod, kind))}
    for at, rule in field.items(policy, "rules"):
        yield from _rule(at, rule, names, per_index="backoffLimitPerIndex" in spec)


def _too_many(field: Field, items: list[JsonObject]) -> Iterator[Fault]:
    if len(items) > MAX_RULES:
        yield field.too_many(len(items), MAX_RULES)


def _rule(field: Field, rule: JsonObject, names: set[str], *, per_index: bool) -> Iterator[Fault]:
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
    yield from _too_many(field.child("onPodConditions"), conditions)
    for at, condition in field.items(rule, "onPodConditions"):
        yield from _condition(at, condition)
    if isinstance(codes, dict) == bool(conditions):
        both = "specifying both OnExitCodes and OnPodConditions is not supported"
        detail = both if conditions else "specifying one of OnExitCodes and OnPodConditions is required"
        yield Fault(field.code, field.path, detail, f"{field.name}: Invalid value: {detail}")


def _condition(field: Field, condition: JsonObject) -> Iterator[Fault]:
    yield from qualified_name(field.child("type"), text(condition, "type"))
    yield from field.one_of(condition, "status", STATUSES)


def _exit_codes(field: Field, codes: JsonObject, names: set[str]) -> Iterator[Fault]:
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


def _values(field: Field, values: list[Json], operator: str) -> Iterator[Fault]:
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


def _success_policy(field: Field, policy: JsonObject, completions: int) -> Iterator[Fault]:
    rules, at = objects(policy.get("rules")), field.child("rules")
    if not rules:
        yield at.required("at least one rules must be specified when the successPolicy is specified")
    yield from _too_many(at, rules)
    for item, rule in field.items(policy, "rules"):
        count = number(rule, "succeededCount")
        if count is None:
            if "succeededIndexes" not in rule:
                detail = "at least one of succeededCount or succeededIndexes must be specified"
                yield item.required(detail)
            continue
        there = item.child("succeededCount")
        yield from there.not_negative(count)
        if count > completions:
            detail = f"must be less than or equal to {completions} (the number of specified completions)"
            yield there.invalid(count, detail)


def _replacement(field: Field, spec: JsonObject) -> Iterator[Fault]:
    policy = spec.get("podReplacementPolicy")
    supported = ("Failed",) if isinstance(spec.get("podFailurePolicy"), dict) else REPLACEMENTS
    if isinstance(policy, str) and policy not in supported:
        yield field.unsupported(policy, supported)


def _restart(field: Field, spec: JsonObject) -> Iterator[Fault]:
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

_ANY_TEXT = ("command", "args", "workingDir")
"""The fields of a container that may hold any text."""

_NAMED = (("configMap", "name"), ("secret", "secretName"), ("persistentVolumeClaim", "claimName"))
"""The sources of volumes that need a name, whatever it is."""

_SOME = "x"
"""Replaces a text that only has to be non-empty."""


def problems_of(job: JsonObject) -> Iterator[Fault]:
    """Yield what is wrong with a Job, as ``created_job`` returns it; paths are those of the Job."""
    yield from _job_problems(job)
    yield from _template_problems(as_object(get(job, "spec", "template")))


def _job_problems(job: JsonObject) -> Iterator[Fault]:
    """Yield what is wrong with a Job beside its template."""
    yield from labels(
        Field(METADATA, ("metadata", "labels"), "metadata.labels"), as_object(get(job, "metadata", "labels"))
    )
    yield from job_problems(Field(JOB, ("spec",), "spec"), as_object(job["spec"]))


def _template_problems(template: JsonObject) -> Iterator[Fault]:
    """Yield what is wrong with the template of a Job, whatever the Job."""
    yield from template_problems(Field(JOB, ("spec",), "spec").child("template"), template)
    # A pod's own rules come with the server's names of a pod's fields.
    yield from pod_problems(Field(JOB, POD, "spec"), as_object(template.get("spec")))


def is_sound(job: JsonObject) -> bool:
    """Tell whether ``problems_of`` yields nothing. False may also mean that only calling it can tell."""
    try:
        return _is_sound(marshal.dumps(abridged(job), _PLAIN))
    except (TypeError, ValueError):  # something has the wrong type, or is nested too deeply
        return False


@lru_cache(maxsize=4096)
def _is_sound(key: bytes) -> bool:
    job = marshal.loads(key)
    return not any(_job_problems(job)) and _has_sound_pods(marshal.dumps(job["spec"]["template"], _PLAIN))


@lru_cache(maxsize=4096)
def _has_sound_pods(key: bytes) -> bool:
    """Tell the same of a template alone: Jobs with one template differ in their numbers of pods."""
    return not any(_template_problems(marshal.loads(key)))


def abridged(job: JsonObject) -> JsonObject:
    """Return a Job without what is valid by itself: it has problems if and only if the whole Job has.

    Raises TypeError or ValueError for what a Job cannot hold.
    """
    spec = as_object(job["spec"])
    template = as_object(spec.get("template"))
    pod = {**as_object(template.get("spec"))}
    for kind, short in (("containers", _container), ("initContainers", _container), ("volumes", _volume)):
        if isinstance(items := pod.get(kind), list):
            pod[kind] = [short(item) if isinstance(item, dict) else item for item in items]
    for name in ("subdomain", "serviceAccountName"):
        if isinstance(pod.get(name), str) and _is_valid(spec_problems, {name: pod[name]}):
            del pod[name]
    short_template: JsonObject = {"metadata": _metadata(template.get("metadata")), "spec": pod}
    return {"metadata": _metadata(job["metadata"]), "spec": {**spec, "template": short_template}}


def _container(container: JsonObject) -> JsonObject:
    short = {name: value for name, value in container.items() if name not in _ANY_TEXT}
    image = short.get("image")
    if isinstance(image, str) and image and image == image.strip():
        short["image"] = _SOME
    if isinstance(variables := short.get("env"), list):
        short["env"] = [each for each in variables if not (isinstance(each, dict) and _is_valid_variable(each))]
    return short


def _is_valid_variable(variable: JsonObject) -> bool:
    value = _SOME if variable.get("value") else ""
    return _is_valid(env_problems, {"env": [{**variable, "value": value}]})


def _volume(volume: JsonObject) -> JsonObject:
    for kind, name in _NAMED:
        source = volume.get(kind)
        if isinstance(source, dict) and isinstance(source.get(name), str) and source[name]:
            volume = {**volume, kind: {**source, name: _SOME}}
    return volume


def _metadata(metadata: Json) -> JsonObject:
    """Return the labels and annotations if they are not valid."""
    found = {name: as_object(get(metadata, name)) for name in ("labels", "annotations")}
    checks = {"labels": labels, "annotations": annotation_problems}
    return {name: values for name, values in found.items() if values and not _is_valid(checks[name], values)}


def _is_valid(check: Callable[[Field, JsonObject], Iterator[Fault]], value: JsonObject) -> bool:
    """Tell whether a check finds nothing in a value."""
    return _is_valid_packed(check, marshal.dumps(value, _PLAIN))


@lru_cache(maxsize=8192)
def _is_valid_packed(check: Callable[[Field, JsonObject], Iterator[Fault]], key: bytes) -> bool:
    return not any(check(Field(JOB, (), ""), marshal.loads(key)))
