"""What the API server refuses in a Job, beside its pods.

Source: k8s.io/kubernetes v1.34.4 pkg/apis/batch/validation, ValidateJobSpec, after the defaults of batch/v1.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from trainc.admission.fields import (
    Field,
    annotation_map,
    dns_label,
    dns_subdomain,
    faults_in,
    internal,
    label_map,
    managed_by,
    qualified_name,
)
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get
from trainc.basics.memo import Remembered
from trainc.checks.pod_environment import validate_env
from trainc.checks.pods import validate_pod, validate_pod_template
from trainc.findings.fault import Fault
from trainc.kube.fielderror import quote

MAX_INDEXED = 100_000
MAX_FOR_MANY = 10_000
MAX_RULES = 20
ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
EXIT_OPERATORS = ("In", "NotIn")
COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)


def validate_job_spec(spec: Field) -> None:
    """Check a Job's spec, its template aside."""
    for name in COUNTS:
        spec.child(name).not_negative()
    per_index, failed = spec.child("backoffLimitPerIndex"), spec.child("maxFailedIndexes")
    if failed.value is not None and per_index.value is None:
        per_index.required("when maxFailedIndexes is specified")
    managed_by(spec.child("managedBy"))
    mode = spec.child("completionMode")
    mode.one_of(("NonIndexed", "Indexed"))
    if mode.text() == "Indexed":
        _indexed(spec)
    if mode.text() in ("NonIndexed", ""):
        for field in (per_index, failed):
            if field.value is not None:
                field.invalid("requires indexed completion mode")
    policy, pod = spec.child("podFailurePolicy"), spec.child("template", "spec")
    policy.child("rules").at_most_items(MAX_RULES)
    names = {c.text("name") for kind in ("containers", "initContainers") for c in pod.items(kind)}
    for rule in policy.items("rules"):
        _rule(rule, names, per_index=per_index.value is not None)
    if spec.has("successPolicy"):
        _success_policy(spec.child("successPolicy"), spec, indexed=mode.text() == "Indexed")
    replacements = ("Failed",) if spec.has("podFailurePolicy") else ("Failed", "TerminatingOrFailed")
    spec.child("podReplacementPolicy").one_of(replacements, pointer=True)
    _restart_policy(spec)


def _indexed(spec: Field) -> None:
    parallelism, completions, failed = map(spec.child, ("parallelism", "completions", "maxFailedIndexes"))
    count, most_failed = completions.number(), failed.number()
    if count is None and parallelism.number() is not None:  # both absent are both 1
        completions.required("when completion mode is Indexed")
    parallelism.at_most(MAX_INDEXED, " when completion mode is Indexed")
    if most_failed is not None and count is not None and most_failed > count:
        failed.invalid("must be less than or equal to completions")
    failed.at_most(MAX_INDEXED)
    if count is not None and count > MAX_INDEXED and spec.child("backoffLimitPerIndex").value is not None:
        if most_failed is None:
            failed.required(f"must be specified when completions is above {MAX_INDEXED}")
        for field in (parallelism, failed):
            condition = f" when completions are above {MAX_INDEXED} and used with backoff limit per index"
            field.at_most(MAX_FOR_MANY, condition)


def _rule(rule: Field, names: set[str], *, per_index: bool) -> None:
    action = rule.child("action")
    if not action.text():
        action.required(_valid(ACTIONS))
    elif action.text() == "FailIndex" and not per_index:
        action.invalid("requires the backoffLimitPerIndex to be set", typed=True)
    action.one_of(ACTIONS)
    codes, conditions = rule.child("onExitCodes"), rule.items("onPodConditions")
    if codes.has():
        _exit_codes(codes, names)
    rule.child("onPodConditions").at_most_items(MAX_RULES)
    for condition in conditions:
        qualified_name(condition.child("type"))
        condition.child("status").one_of(("False", "True", "Unknown"))
    if codes.has() and conditions:
        rule.invalid_without_value("specifying both OnExitCodes and OnPodConditions is not supported")
    if not codes.has() and not conditions:
        rule.invalid_without_value("specifying one of OnExitCodes and OnPodConditions is required")


def _exit_codes(codes: Field, names: set[str]) -> None:
    operator, container, values = map(codes.child, ("operator", "containerName", "values"))
    if not operator.text():
        operator.required(_valid(EXIT_OPERATORS))
    operator.one_of(EXIT_OPERATORS)
    if isinstance(container.value, str) and container.value not in names:
        container.invalid("must be one of the container or initContainer names in the pod template")
    if not values.value:
        values.invalid("at least one value is required", [])
    values.at_most_items(255)
    numbers = [value.number() or 0 for value in values.items()]
    for index, value in enumerate(values.items()):
        if operator.text() == "In" and numbers[index] == 0:
            value.invalid("must not be 0 for the In operator", 0)
        if numbers[index] in numbers[:index]:
            value.duplicate(numbers[index])
    if numbers != sorted(numbers):
        values.invalid("must be ordered")


def _success_policy(policy: Field, spec: Field, *, indexed: bool) -> None:
    if not indexed:
        policy.invalid("requires indexed completion mode", internal(policy.value, "v1.SuccessPolicy"))
        return
    if not policy.items("rules"):
        policy.child("rules").required("at least one rules must be specified when the successPolicy is specified")
    policy.child("rules").at_most_items(MAX_RULES)
    completions = spec.number("completions")
    for rule in policy.items("rules"):
        count = rule.child("succeededCount")
        if count.number() is None and rule.child("succeededIndexes").value is None:
            rule.required("at least one of succeededCount or succeededIndexes must be specified")
        count.not_negative()
        count.at_most(1 if completions is None else completions, " (the number of specified completions)")


def _restart_policy(spec: Field) -> None:
    policy = spec.child("template", "spec", "restartPolicy")
    if policy.text() in ("", "Always"):
        policy.required('valid values: "OnFailure", "Never"', found=policy.text() or None)
    elif policy.text() == "OnFailure" and spec.has("podFailurePolicy"):
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        policy.invalid(detail, typed=True, other=(*spec.path, "podFailurePolicy"))
    else:
        policy.one_of(("OnFailure", "Never"))


def _valid(values: tuple[str, ...]) -> str:
    return f"valid values: [{' '.join(map(quote, values))}]"


# Whether a Job has any fault, for each job of a fleet at the cost of one comparison.
#
# The checks run once for all Jobs that are equal in what the checks look at. What differs from job to job and is valid
# by itself (`abridged`) is left out before Jobs are compared: text that no check reads, valid names and labels. For a
# Job with faults the checks run again on all of it. Without this, 1,000 jobs take 1.6 times as long.

POD: Path = ("spec", "template", "spec")

_PLAIN = 2
"""The version of marshal's format in which equal values have equal bytes, however they are shared."""

_NAMED = (("configMap", "name"), ("secret", "secretName"), ("persistentVolumeClaim", "claimName"))
"""The sources of volumes that need a name, whatever it is."""

_SOME = "x"
"""Replaces a text that only has to be non-empty."""


def faults_of(job: JsonObject) -> list[Fault]:
    """Return what is wrong with a Job, as ``created_job`` returns it; paths are those of the Job."""
    root = Field(job, (), "", "TC804")
    _validate_job(root)
    _validate_template(root)
    return root.faults


def _validate_job(root: Field) -> None:
    label_map(root.child("metadata", "labels").named("metadata.labels"))
    validate_job_spec(root.child("spec").named("spec").coded("TC803"))


def _validate_template(root: Field) -> None:
    template = root.child("spec", "template").named("spec.template").coded("TC803")
    validate_pod_template(template)
    # The server validates a pod again when the Job controller creates it, and then names its fields from spec.
    validate_pod(template.child("spec").named("spec"))


def is_sound(job: JsonObject) -> bool:
    """Tell whether ``faults_of`` returns nothing. False may also mean that only calling it can tell."""
    try:
        short = abridged(job)
        # Jobs with the same template differ in their numbers of pods, so each part is remembered by itself.
        template: JsonObject = {"spec": {"template": get(short, "spec", "template")}}
        return _is_valid(_validate_job, short) and _is_valid(_validate_template, template)
    except (TypeError, ValueError):  # something has the wrong type, or is nested too deeply
        return False


def abridged(job: JsonObject) -> JsonObject:
    """Return a Job without what is valid by itself: it has faults if and only if the whole Job has.

    Raises TypeError or ValueError for what a Job cannot hold.
    """
    spec = as_object(job["spec"])
    template = as_object(spec.get("template"))
    pod = {**as_object(template.get("spec"))}
    for kind, short in (("containers", _container), ("initContainers", _container), ("volumes", _volume)):
        if isinstance(items := pod.get(kind), list):
            pod[kind] = [short(item) if isinstance(item, dict) else item for item in items]
    for name, rule in (("subdomain", dns_label), ("serviceAccountName", dns_subdomain)):
        if isinstance(pod.get(name), str) and _is_valid(rule, pod[name]):
            del pod[name]
    short_template: JsonObject = {"metadata": _metadata(template.get("metadata")), "spec": pod}
    return {"metadata": _metadata(job["metadata"]), "spec": {**spec, "template": short_template}}


def _container(container: JsonObject) -> JsonObject:
    short = {name: value for name, value in container.items() if name not in ("command", "args", "workingDir")}
    image = short.get("image")
    if isinstance(image, str) and image and image == image.strip():
        short["image"] = _SOME
    if isinstance(variables := short.get("env"), list):
        short["env"] = [each for each in variables if not (isinstance(each, dict) and _is_valid_variable(each))]
    return short


def _is_valid_variable(variable: JsonObject) -> bool:
    if len(variable) == 2 and type(variable.get("value")) is str and type(name := variable.get("name")) is str:
        return _IS_VALID_NAME[name]
    return _is_valid(validate_env, {"env": [{**variable, "value": _SOME if variable.get("value") else ""}]})


_IS_VALID_NAME: Final[Remembered[str, bool]] = Remembered(
    lambda name: _is_valid(validate_env, {"env": [{"name": name, "value": _SOME}]}), 4096
)
"""Whether a variable with a value may have a name."""


def _volume(volume: JsonObject) -> JsonObject:
    for kind, name in _NAMED:
        source = volume.get(kind)
        if isinstance(source, dict) and isinstance(source.get(name), str) and source[name]:
            volume = {**volume, kind: {**source, name: _SOME}}
    return volume


def _metadata(metadata: Json) -> JsonObject:
    """Return the labels and annotations if they are not valid."""
    found = {name: as_object(get(metadata, name)) for name in ("labels", "annotations")}
    rules: dict[str, Callable[[Field], None]] = {"labels": label_map, "annotations": annotation_map}
    return {name: values for name, values in found.items() if values and not _is_valid(rules[name], values)}


def _is_valid(rule: Callable[[Field], None], value: Json) -> bool:
    return _is_valid_packed(rule, marshal.dumps(value, _PLAIN))


@lru_cache(maxsize=8192)
def _is_valid_packed(rule: Callable[[Field], None], key: bytes) -> bool:
    return not faults_in(rule, marshal.loads(key))
