"""Errors for which the API server refuses a Job, without those of its pods.

Source: k8s.io/kubernetes v1.34.4 pkg/apis/batch/validation, ValidateJobSpec, after the defaults of batch/v1.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from trainc.admission.fields import (
    Field,
    annotation_map,
    dns_label,
    faults_in,
    internal,
    label_map,
    label_selector,
    label_value_details,
    managed_by,
    qualified_name,
)
from trainc.admission.native import faults_of_created_claim
from trainc.admission.policy.match import Labels, requirements, selects
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, get
from trainc.basics.regex import lazy
from trainc.checks.controllers import check_controllers
from trainc.checks.created_pods import (
    BY_SELECTOR,
    CONTROLLERS,
    INDEX,
    JOB_NAMES,
    JOBSET_LABELS,
    added_annotations,
    controller_labels,
    created_job,
    first_job,
)
from trainc.checks.pod_containers import too_long
from trainc.checks.pod_environment import validate_env
from trainc.checks.pod_resources import NOT_FOR_CONTAINERS, NOT_QUALIFIED
from trainc.checks.pod_volumes import TWO_SOURCES
from trainc.checks.pods import label_keys_in_selectors, pod_annotations, validate_pod, validate_pod_template
from trainc.findings import Finding, Related
from trainc.findings.reporting import Fault, report_fault
from trainc.gitops.pods import claim_templates, replicated_jobs
from trainc.kube.fielderror import quote
from trainc.kube.gojson import fits
from trainc.kube.names import TOTAL_ANNOTATION_SIZE_LIMIT
from trainc.kube.pods import APP_ARMOR
from trainc.plugins.jobset import patched_sources
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import source_of
from trainc.upstream import EXCLUSIVE, NODE

MAX_INDEXED = 100_000
MAX_FOR_MANY = 10_000
MAX_RULES = 20
MAX_INDEXES = 64 * 1024
"""The most bytes of ``succeededIndexes``."""
_INTEGER = lazy(r"\+?0*([0-9]{1,19})")
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
    """Check a Job's spec, except its template."""
    for name in COUNTS:
        spec.child(name).not_negative()
    per_index, failed = spec.child("backoffLimitPerIndex"), spec.child("maxFailedIndexes")
    if failed.value is not None and per_index.value is None:
        per_index.required("when maxFailedIndexes is specified")
    managed_by(spec.child("managedBy"))
    mode = spec.child("completionMode")
    mode.one_of(("NonIndexed", "Indexed"), pointer=True)
    if mode.text() == "Indexed":
        _indexed(spec)
    if mode.value in (None, "NonIndexed"):
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
    operator.require(_valid(EXIT_OPERATORS))
    operator.one_of(EXIT_OPERATORS)
    if isinstance(container.value, str) and container.value not in names:
        container.invalid("must be one of the container or initContainer names in the pod template")
    if not values.value:
        values.invalid("at least one value is required", [])
    values.at_most_items(255)
    numbers = [value.number() or 0 for value in values.items()]
    seen: set[int] = set()
    for number, value in zip(numbers, values.items(), strict=True):
        if operator.text() == "In" and number == 0:
            value.invalid("must not be 0 for the In operator", 0)
        if number in seen:
            value.duplicate(number)
        seen.add(number)
    if numbers != sorted(numbers):
        values.invalid("must be ordered")


def _success_policy(policy: Field, spec: Field, *, indexed: bool) -> None:
    if not indexed:
        policy.invalid("requires indexed completion mode", internal(policy.value, "v1.SuccessPolicy"))
        return
    policy.child("rules").require("at least one rules must be specified when the successPolicy is specified")
    policy.child("rules").at_most_items(MAX_RULES)
    completions = spec.number("completions")
    for rule in policy.items("rules"):
        count, indexes = rule.child("succeededCount"), rule.child("succeededIndexes")
        if count.number() is None and indexes.value is None:
            rule.required("at least one of succeededCount or succeededIndexes must be specified")
        limit = 1 if completions is None else completions
        if len(indexes.text().encode()) > MAX_INDEXES:
            indexes.too_long(MAX_INDEXES)
        number = _number_of_indexes(indexes.text(), limit)
        if isinstance(number, str):
            indexes.invalid(f"error parsing succeededIndexes: {number}")
        count.not_negative()
        count.at_most(limit, " (the number of specified completions)")
        if indexes.value is not None:
            total = number if isinstance(number, int) else 0
            count.at_most(total, " (the number of indexes in the specified succeededIndexes field)")


def _number_of_indexes(text: str, completions: int) -> int | str:
    """Return how many indexes a text such as ``0-2,4`` names, or the error (validateIndexesFormat)."""
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        limits = interval.split("-")
        if len(limits) > 2:
            rule = "the requirement that an index interval can have at most two parts separated by '-'"
            return f"the fragment {quote(interval)} violates {rule}"
        numbers = []
        for limit in limits:
            digits = _INTEGER.fullmatch(limit)
            if digits is None or not fits(int(digits[1])):
                return f"cannot convert string to integer for index: {quote(limit)}"
            if int(digits[1]) >= completions:
                return f"too large index: {quote(limit)}"
            numbers.append(int(digits[1]))
        first, end = numbers[0], numbers[-1]
        if len(limits) == 2 and first >= end:
            return f"non-increasing order, previous: {first}, current: {end}"
        if last >= first:
            return f"non-increasing order, previous: {last}, current: {first}"
        total, last = total + end - first + 1, end
    return total


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


# Fast detection of Jobs without errors: for each job of a fleet at the cost of one comparison.
#
# The checks run once for all Jobs with equal fields that a check reads. Parts that differ from job to job and are
# valid by themselves are removed (`abridged`) before Jobs are compared: text that no check reads, valid names and
# labels. For a Job with errors, the checks run again on the whole Job. Without this, 1,000 jobs take 1.6 times as long.

POD: Path = ("spec", "template", "spec")

_PLAIN = 2
"""The version of marshal's format in which equal values have equal bytes, however they are shared."""

_NAMED = (("configMap", "name"), ("secret", "secretName"), ("persistentVolumeClaim", "claimName"))
"""The sources of volumes that require any name."""

_SOME = "x"
"""A placeholder for a text that only has to be non-empty."""


def faults_of(job: JsonObject) -> list[Fault]:
    """Return the errors of a Job, as returned by ``created_job``, with paths in the Job."""
    root = Field(job, (), "", "TC804")
    _validate_job(root)
    _validate_template(root)
    return root.faults


def _validate_job(root: Field) -> None:
    label_map(root.child("metadata", "labels").named("metadata.labels"))
    annotation_map(root.child("metadata", "annotations").named("metadata.annotations"))
    validate_job_spec(root.child("spec").named("spec").coded("TC803"))


def _validate_template(root: Field) -> None:
    template = root.child("spec", "template").named("spec.template").coded("TC803")
    validate_pod_template(template)
    # The server validates a pod again when the Job controller creates it.
    validate_pod(template)


def is_sound(job: JsonObject) -> bool:
    """Return True if the Job certainly has no errors, without collecting them."""
    try:
        short = abridged(job)
        # Jobs with the same template differ in their numbers of pods, so each part is cached separately.
        template: JsonObject = {"spec": {"template": get(short, "spec", "template")}}
        return _is_valid(_validate_job, short) and _is_valid(_validate_template, template)
    except (TypeError, ValueError):  # something has the wrong type, or is nested too deeply
        return False


def abridged(job: JsonObject) -> JsonObject:
    """Return a Job without parts that are valid by themselves: it has errors if and only if the whole Job has.

    Raises TypeError or ValueError for values that a Job cannot contain.
    """
    spec = as_object(job["spec"])
    template = as_object(spec.get("template"))
    pod = {**as_object(template.get("spec"))}
    for kind, short in (("containers", _container), ("initContainers", _container), ("volumes", _volume)):
        if isinstance(items := pod.get(kind), list):
            pod[kind] = [short(item) if isinstance(item, dict) else item for item in items]
    if isinstance(pod.get("subdomain"), str) and _is_valid(dns_label, pod["subdomain"]):
        del pod["subdomain"]
    short_template: JsonObject = {"metadata": _metadata(template.get("metadata")), "spec": pod}
    return {"metadata": _metadata(job["metadata"]), "spec": {**spec, "template": short_template}}


def _container(container: JsonObject) -> JsonObject:
    variables, is_short = container.get("env"), not any(too_long(container))
    short = {name: value for name, value in container.items() if not is_short or name not in ("command", "args")}
    image = short.get("image")
    if isinstance(image, str) and image and image == image.strip():
        short["image"] = _SOME
    if isinstance(variables, list) and is_short:
        short["env"] = [each for each in variables if not (isinstance(each, dict) and _is_valid_variable(each))]
    return short


def _is_valid_variable(variable: JsonObject) -> bool:
    return _is_valid(validate_env, {"env": [{**variable, "value": _SOME if variable.get("value") else ""}]})


def _volume(volume: JsonObject) -> JsonObject:
    for kind, name in _NAMED:
        source = volume.get(kind)
        if isinstance(source, dict) and isinstance(source.get(name), str) and source[name]:
            volume = {**volume, kind: {**source, name: _SOME}}
    return volume


def _metadata(metadata: Json) -> JsonObject:
    """Return the labels and annotations if they are not valid by themselves, and the finalizers."""
    found = {name: as_object(get(metadata, name)) for name in ("labels", "annotations")}
    rules: dict[str, Callable[[Field], None]] = {"labels": label_map, "annotations": pod_annotations}
    short: JsonObject = {
        name: values
        for name, values in found.items()
        if values and (any(key.startswith(APP_ARMOR) for key in values) or not _is_valid(rules[name], values))
    }
    return {**short, "finalizers": finalizers} if (finalizers := get(metadata, "finalizers")) else short


def _is_valid(rule: Callable[[Field], None], value: Json) -> bool:
    return _is_valid_packed(rule, marshal.dumps(value, _PLAIN))


@lru_cache(maxsize=8192)
def _is_valid_packed(rule: Callable[[Field], None], key: bytes) -> bool:
    return not faults_in(rule, marshal.loads(key))


# Findings on the errors that prevent controllers from creating the Jobs, pods and claims of a JobSet.


NUM_NODES: Path = ("spec", "trainer", "numNodes")
_REMOVE: Final = "remove this label: the Job controller adds it"
_GENERATED: Final = "remove selector and manualSelector: the server generates a selector for each Job"
WORDING: dict[str, tuple[str, str | None]] = {
    "Limit must be set for non overcommitable resources": (
        "this resource needs a limit",
        "set the same amount in limits; or set only limits, which requests default to",
    ),
    'valid values: "OnFailure", "Never"': (
        "must be OnFailure or Never",
        "leave it out, or write OnFailure",
    ),
    NOT_QUALIFIED: (
        "unknown resource",
        "use cpu, memory, ephemeral-storage, hugepages-<size>, or a device with its vendor's prefix: nvidia.com/gpu",
    ),
    "must be an integer": ("must be a whole number", "a device cannot be divided"),
    TWO_SOURCES: ("a volume can have only one source", "keep one of the sources, or use two volumes"),
    "when completion mode is Indexed": (
        "required with completionMode: Indexed",
        "set completions, to the same number as parallelism",
    ),
    "must specify a handler type": ("required: one of exec, httpGet, tcpSocket or, in a probe, grpc", None),
    "may not specify more than 1 handler type": ("a probe or hook can have only one handler", "keep one of them"),
    "must provide `dnsConfig` when `dnsPolicy` is None": (
        "required with dnsPolicy: None",
        "list the nameservers in it",
    ),
    "must provide at least one DNS nameserver when `dnsPolicy` is None": ("required with dnsPolicy: None", None),
    "cannot set `allowPrivilegeEscalation` to false and `privileged` to true": (
        "false contradicts privileged: true",
        "remove one of the two",
    ),
    "may not have more than one field specified at a time": ("can have only one source", "keep one of them"),
    "may not be specified when `value` is not empty": ("contradicts value", "remove one of the two"),
}
"""Our text and a hint for texts of the server."""


def check_jobs(model: Model, obj: Object) -> Iterator[Finding]:
    """Yield findings on an admitted JobSet, or a Job of its own, whose Jobs or pods do not run as intended.

    Each is at its source. Errors are warnings under faithful, since upstream accepts the TrainJob and the JobSet.
    """
    yield from check_controllers(model, obj)
    if obj.kind == "Job":  # its metadata is checked when it is patched
        yield from _check_job(model, obj, (), obj.name, {**obj.data, "metadata": {}})
        return
    for root, replicated in replicated_jobs(obj.data):
        name = str(replicated.get("name"))
        label = Field(replicated, (), "", "TC804").child("name")
        label.invalid_each(label_value_details(name), name)
        for fault in label.faults:
            yield _finding(model, obj, fault, root, f"job {name!r} cannot be created: name")
        job = created_job(obj.data, replicated)
        yield from _check_job(model, obj, (*root, "template"), first_job(obj.name, replicated), job, replicated=name)
    for fault in _faults_of_exclusive(obj.data):
        yield _finding(model, obj, fault, (), f"pods cannot be created: {dotted(fault.path)}")
    for root, _, template in claim_templates(obj.data):
        for fault in faults_of_created_claim(template, "TC812"):
            subject = f"the PersistentVolumeClaim cannot be created: {dotted(fault.path)}"
            yield _finding(model, obj, fault, root, subject)


def _check_job(
    model: Model, owner: Object, root: Path, name: str, job: JsonObject, *, replicated: str = ""
) -> Iterator[Finding]:
    """Yield findings on a Job at path ``root`` of an object: the first one of a ``replicated`` job, or the object."""
    shown = f"job {replicated!r}" if replicated else f"Job {owner.plain}"
    added = (*_faults_of_added_labels(name, job), *_faults_of_added_annotations(owner, replicated, name, job))
    for fault in (*added, *_faults_of_selector(name, job)):
        yield _finding(model, owner, fault, root, f"{shown} cannot be created: {_field(job, fault.path)}")
    for fault in _faults_of_label_keys(name, job, of_jobset=bool(replicated)):
        yield _finding(model, owner, fault, root, f"{shown} cannot create pods: {_field(job, fault.path)}")
    if is_sound(job):
        return
    faults = dict.fromkeys(faults_of(job))
    unqualified = {fault.path for fault in faults if fault.message == NOT_QUALIFIED}
    for fault in faults:
        # Of two errors about the same name of a resource, only the first is reported.
        is_repeated = fault.message == NOT_FOR_CONTAINERS and fault.path in unqualified
        if not is_repeated and not _has_other_code(model, owner, replicated, (*root, *fault.path), fault):
            yield _finding(model, owner, fault, root, f"{shown} cannot create pods: {_field(job, fault.path)}")


def _faults_of_added_labels(name: str, job: JsonObject) -> list[Fault]:
    """Return the errors of labels of pods that the Job controller adds, with the right values only."""
    root = Field(job, (), "", "TC804")
    labels = root.child(*POD[:-1], "metadata", "labels")
    for key in () if get(job, "spec", "manualSelector") is True else labels.object():
        if key in JOB_NAMES and labels.text(key) != name:
            labels.child(key).invalid(f"must be '{name}'", hint=_REMOVE)
        elif key in CONTROLLERS:
            labels.child(key).invalid("must be the uid of the Job", hint=_REMOVE)
    return root.faults


def _faults_of_added_annotations(jobset: Object, replicated: str, name: str, job: JsonObject) -> list[Fault]:
    """Return the errors of annotations that are too long only together with those that JobSet adds."""
    root = Field(job, (), "", "TC804")
    for path in (("metadata", "annotations"), ("spec", "template", "metadata", "annotations")) if replicated else ():
        own = root.child(*path)
        size = sum(len(key) + len(str(value)) for key, value in own.object().items())
        if size > TOTAL_ANNOTATION_SIZE_LIMIT // 8 and not faults_in(annotation_map, own.value):
            added = added_annotations(jobset.data, replicated, name)
            annotation_map(replace(own, value={**own.object(), **added}).named(dotted(path)))
    return root.faults


def _faults_of_label_keys(name: str, job: JsonObject, *, of_jobset: bool) -> list[Fault]:
    """Return the errors of matchLabelKeys, which the server compares with all labels of a pod."""
    root = Field(job, (), "", "TC808")
    spec = root.child(*POD).named("spec")
    if not {"affinity", "topologySpreadConstraints"}.isdisjoint(spec.object()):
        labels = {*root.object(*POD[:-1], "metadata", "labels"), *controller_labels(name)}
        if get(job, "spec", "completionMode") == "Indexed":
            labels.add(INDEX)
        added = JOBSET_LABELS if of_jobset else ()
        label_keys_in_selectors(spec, lambda key: key in labels or key.startswith(added))
    return root.faults


def _faults_of_selector(name: str, job: JsonObject) -> list[Fault]:
    """Return the errors of a Job's selector, which the server generates unless manualSelector is true.

    Labels that JobSet adds are not compared, since they differ from Job to Job.
    """
    root = Field(job, (), "", "TC803")
    spec = root.child("spec")
    selector, manual = spec.child("selector").named("spec.selector"), spec.object().get("manualSelector") is True
    if selector.value is None:
        if manual:
            spec.child("manualSelector").named("spec.selector").required("true requires a selector", found="true")
        return [replace(fault, hint=_GENERATED) for fault in root.faults]
    label_selector(selector)
    wanted = tuple(each for each in requirements(selector.value) if not each.key.startswith(JOBSET_LABELS))
    generated = controller_labels(name)
    labels = {key: str(value) for key, value in spec.object("template", "metadata", "labels").items()}
    if not root.faults and not manual and not selects(wanted, Labels(generated)):
        selector.invalid("`selector` not auto-generated")
    elif not root.faults and not selects(wanted, Labels(labels if manual else {**generated, **labels})):
        selector.invalid("`selector` does not match template `labels`")
    return [replace(fault, hint=_GENERATED) for fault in root.faults]


def _faults_of_exclusive(jobset: JsonObject) -> list[Fault]:
    """Return the errors of exclusive placement: JobSet's webhook for pods makes an affinity of the annotation.

    It lets the pod with index 0 start first, and refuses the others, and all those without an index, until then.
    With nodes labelled for each Job, they have a node selector instead, whose value is namespace and name of the Job.
    """
    root = Field(jobset, (), "", "TC808")
    jobs = root.items("spec", "replicatedJobs")
    prefix = f"{get(jobset, 'metadata', 'namespace')}_{get(jobset, 'metadata', 'name')}"
    for owner, owned in ((root, jobs), *((job.child("template"), [job]) for job in jobs)):
        annotations = owner.child("metadata", "annotations")
        if EXCLUSIVE not in annotations.object():
            continue
        topology, selector = annotations.child(EXCLUSIVE), annotations.child(BY_SELECTOR)
        if selector.value is not None:
            for job in owned:
                name = f"{prefix}-{job.text('name')}-{max((job.number('replicas') or 1) - 1, 0)}"
                selector.invalid_each(label_value_details(name), name)
            continue
        if topology.require("can not be empty"):
            qualified_name(topology)
        for job in owned:
            mode = job.child("template", "spec", "completionMode")
            if mode.text() == "NonIndexed":
                mode.invalid(f"must be Indexed with the annotation {EXCLUSIVE}")
    return root.faults


def _has_other_code(model: Model, owner: Object, job: str, path: Path, fault: Fault) -> bool:
    """Return whether another code reports the error: a node count, a patched volume, a container not in the runtime."""
    if path[-1] in ("parallelism", "completions") and (model.num_nodes or 0) < 1:
        return source_of(model, owner, path)[1] == NUM_NODES
    if fault.message == TWO_SOURCES:
        return get(owner.data, *path[:-1], "name") in patched_sources(model).get(job, {})
    if path[-1] == "image":
        # Patches have no field for an image, so a container without one that a patch adds has a misspelt name.
        return source_of(model, owner, path[:-1])[1][:2] == ("spec", "runtimePatches")
    return False


def _finding(model: Model, owner: Object, fault: Fault, root: Path, subject: str) -> Finding:
    document, path = source_of(model, owner, (*root, *fault.path))
    related: tuple[Related, ...] = ()
    if fault.other is not None:
        related = (Related("because of this", *source_of(model, owner, (*root, *fault.other))),)
    message, hint = WORDING.get(fault.message, (fault.message, None))
    hint = fault.hint or hint
    if hint is None and fault.path[-1] == "image":
        is_trainer = get(owner.data, *root, *fault.path[:-1], "name") == NODE
        hint = f"set image in this container{', or spec.trainer.image in the TrainJob' * is_trainer}"
    fault = replace(fault, message=f"{subject}: {message}", hint=hint)
    return report_fault(fault, document, path, severity=model.severity, related=related)


def _field(job: JsonObject, path: Path) -> str:
    """Name a field by its container, and without the steps through the templates."""
    depth = len(POD) if path[: len(POD)] == POD else 2 if path[:2] == POD[:2] else 1
    rest = path[depth:]
    if len(rest) > 1 and rest[0] in ("containers", "initContainers"):
        name = get(job, *POD, *rest[:2], "name")
        return f"container {name!r}" + (f", {dotted(rest[2:])}" if rest[2:] else "")
    return dotted(rest)
