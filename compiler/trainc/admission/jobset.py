"""Admits the JobSet that the controller creates: its CRD and both webhooks.

Source: JobSet v0.12.0 pkg/webhooks/jobset_webhook.go, with every feature gate at its default (off).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from operator import is_
from typing import Final

from msgspec.structs import replace

from trainc.admission.fields import Field, managed_by
from trainc.admission.native import CLAIM_DEFAULTS
from trainc.admission.rules import failures
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, existing, get
from trainc.basics.memo import last
from trainc.basics.regex import lazy
from trainc.documents.classify import CLAIM_SPEC
from trainc.findings import suggest
from trainc.findings.reporting import Fault
from trainc.kube.fielderror import NO_FIELD, quote
from trainc.kube.gojson import int32
from trainc.kube.gotypes import JOB_SET, GoDecodeError, decode, typed
from trainc.kube.names import DNS1035_LABEL_MAX_LENGTH, is_dns1035_label, is_dns1123_subdomain, is_valid_label_value
from trainc.schema import admit, resource
from trainc.upstream import COORDINATOR_LABEL

_RULE, _STAGE = "TC801", "jobset-webhook"
POD_SUFFIX = "-abcde"
"""Stands for the dash and the five random characters at the end of a pod's name."""
MAX_INT32 = 2**31 - 1
MAX_CLAIM_NAME = 63
TOO_LONG = "must be no more than 63 characters"
NAME_TOO_LONG = "JobSet name is too long"
_JOB_SPEC: Final[Path] = ("template", "spec")
_POD_SPEC: Final[Path] = (*_JOB_SPEC, "template", "spec")
RULE_NAME = lazy(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
JOB_FAILURE_REASONS = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
RESTART_JOB = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


def admit_jobset(data: JsonObject, claims: Mapping[str, Json]) -> tuple[JsonObject, tuple[Fault, ...]]:
    """Return the JobSet with the defaults of CRD and webhook, and the errors of the first one that rejects it.

    The mutating webhook re-encodes the JobSet from Go's types, but only if it sets a field. The fields that it sets do
    not depend on the CRD's defaults, so they are set first, and one walk serves for both decodings by the server.
    ``claims`` holds the specs of the PersistentVolumeClaims in its namespace, by name.
    """
    kind, stage = resource("JobSet"), "jobset-crd"
    defaulted = with_defaults(data)
    try:
        admitted = admit(kind, defaulted, JOB_SET if defaulted is not data else "")
    except GoDecodeError:
        return data, _undecodable(data)
    stored, violations = admitted.data, admitted.violations
    refused = [
        Fault(v.code, v.path, v.message, v.upstream, expected=v.expected, hint=v.hint, stage=stage) for v in violations
    ]
    if not any(violation.blocking for violation in violations):
        for broken in failures(kind.schema, stored):
            path = existing(stored, broken.path)
            refused.append(Fault(broken.code, path, broken.message, broken.upstream, stage=stage))
    return stored, tuple(dict.fromkeys(refused or validate(stored, claims)))


def _undecodable(data: JsonObject) -> tuple[Fault, ...]:
    """Return the error of a JobSet that fits the CRD, and that the webhook cannot decode."""
    try:
        decode(data, JOB_SET)
    except GoDecodeError as error:
        message = f"{dotted(error.path)} cannot be decoded: {error.message}"
        found = str(get(data, *error.path))
        return (Fault("TC109", error.path, message, error.message, found=found, stage=_STAGE),)
    raise AssertionError("a part cannot be decoded, and the whole can")


def validate(jobset: JsonObject, claims: Mapping[str, Json]) -> list[Fault]:
    """Return the errors of the validating webhook on create, for a JobSet that the CRD accepts.

    ``claims`` holds the spec of every PersistentVolumeClaim that the job's namespace has, by name.
    """
    name = str(get(jobset, "metadata", "name"))
    spec = Field(jobset.get("spec"), ("spec",), "spec", _RULE)
    jobs = spec.items("replicatedJobs")
    names = [job.text("name") for job in jobs]
    known = dict.fromkeys(names)
    strategy, subdomain = spec.child("failurePolicy", "restartStrategy"), spec.child("network", "subdomain")
    if strategy.text() == "InPlaceRestart":
        _plain(strategy, "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled")
    if jobs and (depends_on := jobs[0].child("dependsOn")).value is not None:
        detail = "DependsOn can't be set for the first ReplicatedJob"
        hint = "put the jobs that it depends on before it in replicatedJobs"
        _plain(depends_on, detail, "the first replicated job cannot depend on another", hint)
    if subdomain.text():
        subdomain.invalid_each(is_dns1123_subdomain(subdomain.text()))
        too_long = ".spec.network.subdomain is too long, must be less than 63 characters"
        _dns_label(subdomain, subdomain.text(), too_long)
    managed_by(spec.child("managedBy"))
    for index, job in enumerate(jobs):
        _replicated_job(name, job, names[: index + 1])
    for target in spec.items("successPolicy", "targetReplicatedJobs"):
        if target.text() not in known:
            detail = f"invalid replicatedJob name '{target.text()}' does not appear in .spec.ReplicatedJobs"
            _plain(target, detail, f"no replicated job is called {target.text()!r}", suggest(target.text(), known))
    _failure_policy(spec.child("failurePolicy"), known)
    if spec.has("coordinator"):
        _coordinator(name, spec)
    _volume_claims(jobset, spec, claims)
    return [
        replace(fault, code="TC802" if fault.message.startswith(NAME_TOO_LONG) else _RULE, found=None, stage=_STAGE)
        for fault in spec.faults
    ]


def _plain(field: Field, detail: str, message: str = "", hint: str | None = None) -> None:
    """Report an error whose text in JobSet names no field; ``message`` is our text."""
    field.named(NO_FIELD).internal(detail, message=message, hint=hint)


def _dns_label(field: Field, name: str, too_long: str, shown: str | None = None) -> None:
    for text in is_dns1035_label(name):
        field.invalid(too_long if TOO_LONG in text else text, name if shown is None else shown)


def _count(field: Field, *steps: str | int, absent: int = 1) -> int:
    found = field.number(*steps)
    return absent if found is None else found


def _replicated_job(jobset: str, job: Field, seen: list[str]) -> None:
    name, replicas = job.text("name"), _count(job, "replicas")
    if _count(job, *_JOB_SPEC, "parallelism") * replicas > MAX_INT32:
        limit = f"the product of replicas and parallelism must not exceed {MAX_INT32}"
        _plain(job, f"{limit} for replicatedJob '{name}'")
    group, longest = job.child("groupName"), _longest_names(jobset, job)
    _dns_label(group, group.text(), ".spec.replicatedJob[].groupName is too long, must be less than 63 characters")
    for kind, generated in longest.items():
        too_long = f"{NAME_TOO_LONG}, {kind} names generated for this JobSet will exceed 63 characters"
        _dns_label(job.child("name"), generated, too_long, longest["job"])
    for dependency in job.items("dependsOn"):
        if (other := dependency.child("name")).text() not in seen:
            detail = f"replicatedJob: {name} cannot depend on replicatedJob: {other.text()}"
            message = f"{other.text()!r} is not a replicated job before {name!r}"
            _plain(other, detail, message, suggest(other.text(), seen[:-1]))


def _longest_names(jobset: str, job: Field) -> dict[str, str]:
    """Return the longest name of a replicated job's Jobs, and that of its pods if they are indexed."""
    name = f"{jobset}-{job.text('name')}-{int32(_count(job, 'replicas') - 1)}"
    completions = job.number(*_JOB_SPEC, "completions")
    if job.text(*_JOB_SPEC, "completionMode") != "Indexed" or completions is None:
        return {"job": name}
    return {"job": name, "pod": f"{name}-{int32(completions - 1)}{POD_SUFFIX}"}


def name_limit(jobset: JsonObject) -> tuple[int, str]:
    """Return how many characters the name of a JobSet may have, and the form of the longest name that contains it."""
    jobs = Field(jobset, (), "", _RULE).items("spec", "replicatedJobs")
    endings = [item for job in jobs for item in _longest_names("", job).items()]
    kind, longest = max(endings, key=lambda item: len(item[1]))
    shown = longest.replace(POD_SUFFIX, "-<5 characters>")
    return DNS1035_LABEL_MAX_LENGTH - len(longest), f"{kind} name <name>{shown}"


def _failure_policy(policy: Field, names: Collection[str]) -> None:
    if any(rule.text("action") in RESTART_JOB for rule in policy.items("rules")):
        actions = "RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions"
        _plain(policy.child("rules"), f"{actions} are not allowed when RestartJob feature gate is disabled")
        return
    indexes: dict[str, list[int]] = {}
    for index, rule in enumerate(policy.items("rules")):
        _rule_name(rule.child("name"))
        indexes.setdefault(rule.text("name"), []).append(index)
        for target in rule.items("targetReplicatedJobs"):
            if target.text() not in names:
                missing = f"invalid replicatedJob name '{target.text()}' in failure policy"
                message, hint = f"no replicated job is called {target.text()!r}", suggest(target.text(), names)
                _plain(target, f"{missing} does not appear in .spec.ReplicatedJobs", message, hint)
        for reason in rule.items("onJobFailureReasons"):
            if reason.text() not in JOB_FAILURE_REASONS:
                unknown = f"invalid job failure reason '{reason.text()}' in failure policy"
                _plain(reason, f"{unknown} is not a recognized job failure reason")
    for name, same in sorted(indexes.items()):
        if len(same) > 1:
            shown = f"rules with indices [{' '.join(map(str, same))}] all have the same name '{name}'"
            _plain(policy.child("rules", same[-1], "name"), f"rule names are not unique, {shown}")


def _rule_name(name: Field) -> None:
    length = len(name.text().encode())
    if not 1 <= length <= 128:
        limits = "the rule name must be at least 1 characters long and at most 128 characters long"
        _plain(name, f"invalid failure policy rule name of length {length}, {limits}")
    if not RULE_NAME.fullmatch(name.text()):
        _plain(
            name,
            f"invalid failure policy rule name '{name.text()}', a failure policy rule name must start with an"
            " alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end"
            " with an alphanumeric character or '_'",
        )


def _coordinator(jobset: str, spec: Field) -> None:
    coordinator = spec.child("coordinator")
    name, job_index, pod_index = map(coordinator.child, ("replicatedJob", "jobIndex", "podIndex"))
    indexes = _count(job_index, absent=0), _count(pod_index, absent=0)
    job = next((job for job in spec.items("replicatedJobs") if job.text("name") == name.text()), None)
    template = job.child("template", "spec") if job is not None else coordinator
    completions = template.number("completions")
    if job is None:
        _plain(name, f"coordinator replicatedJob {name.text()} does not exist")
    elif not 0 <= indexes[0] < _count(job, "replicas"):
        _plain(job_index, f"coordinator job index {indexes[0]} is invalid for replicatedJob {name.text()}")
    elif template.text("completionMode") != "Indexed" or completions is None:
        detail = "job for coordinator pod must be indexed completion mode, and completions number must be set"
        _plain(coordinator, detail)
    elif not 0 <= indexes[1] < completions:
        where = f"replicatedJob {name.text()} job index {indexes[0]}"
        _plain(pod_index, f"coordinator pod index {indexes[1]} is invalid for {where}")
    subdomain = spec.text("network", "subdomain") or jobset
    value = f"{jobset}-{name.text()}-{indexes[0]}-{indexes[1]}.{subdomain}"
    if errors := is_valid_label_value(value):
        label = f"invalid label value {quote(value)} for coordinator label {quote(COORDINATOR_LABEL)}"
        why = f"(long JobSet / ReplicatedJob / SubDomain name?): {', '.join(errors)}"
        _plain(coordinator, f"spec will lead to {label} {why}")


_WRITE_MODE: Final = "add volumeMode: Filesystem, which the server adds to the claim, but not to this template"


def _volume_claims(jobset: JsonObject, spec: Field, claims: Mapping[str, Json]) -> None:
    owner, namespace = (str(get(jobset, "metadata", key)) for key in ("name", "namespace"))
    if not (policies := spec.items("volumeClaimPolicies")):
        return
    seen: set[str] = set()
    check_mounts = _mount_check(spec.child("replicatedJobs"))
    for policy in policies:
        for index, template in enumerate(policy.items("templates")):
            field = template.child("metadata", "name").named(f"{policy.name}.template[{index}].name")
            name = field.text()
            if name in seen:
                field.invalid("names must be unique for VolumeClaimPolicies template", name)
            field.invalid_each(is_dns1123_subdomain(name), name)
            if len(f"{name}-{owner}".encode()) > MAX_CLAIM_NAME:
                field.invalid("VolumeClaimPolicies template name is too long", name)
            if name not in seen:
                check_mounts(name)
            if (claim := f"{name}-{owner}") in claims:
                existing_spec, kept = typed(claims[claim] or {}, CLAIM_SPEC), ("retentionPolicy", "whenDeleted")
                shown = typed(template.child("spec").value or {}, CLAIM_SPEC)
                if shown != existing_spec:
                    where = template.child("spec").named(f"{policy.name}.template[{index}].spec")
                    hint = _WRITE_MODE if {**CLAIM_DEFAULTS, **as_object(shown)} == existing_spec else None
                    detail = f"spec does not match existing PVC {claim} in namespace {namespace}"
                    where.invalid(detail, shown, hint=hint)
                if policy.text(*kept) != "Retain":
                    policy.child(*kept).invalid("retentionPolicy must be retain when PVC exists")
            seen.add(name)


_WHOLE: Final = 4
"""The most errors on claims without a mount that show all replicated jobs, as the server's texts do."""


def _mount_check(jobs: Field) -> Callable[[str], None]:
    """Return a function that checks the mounts of the claims of a name, and that no volume has it."""
    volumes: dict[str, list[Field]] = {}
    mounted: set[str] = set()
    for pod in (job.child(*_POD_SPEC) for job in jobs.items()):
        for volume in pod.items("volumes"):
            volumes.setdefault(volume.text("name"), []).append(volume.child("name"))
        for container in (*pod.items("initContainers"), *pod.items("containers")):
            mounted.update(mount.text("name") for mount in container.items("volumeMounts"))
    without: list[str] = []

    def check(name: str) -> None:
        for volume in volumes.get(name, ()):
            volume.invalid(f"volume name conflicts with VolumeClaimPolicy template name: {name}")
        if name in mounted:
            return
        detail = f"replicatedJob containers don't have a matching volumeMount: {name} from VolumeClaimPolicies"
        if len(without) < _WHOLE:
            jobs.invalid(detail, typed(jobs.value, "v1alpha2.ReplicatedJob") if jobs.items() else None)
        else:
            jobs.invalid_without_value(detail)
        without.append(name)

    return check


# The defaults of the mutating webhook, and what its passage through Go's types adds.


_NETWORK: Final[JsonObject] = {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
_SUCCESS: Final[JsonObject] = {"operator": "All"}
_STARTUP: Final[JsonObject] = {"startupPolicyOrder": "AnyOrder"}


def default(jobset: JsonObject) -> JsonObject:
    """Return the JobSet with the mutating webhook's defaults, re-encoded through Go's types.

    The webhook patches what Go's types add or spell differently, but removes nothing (V11). If it has nothing to set,
    it changes nothing: then the JobSet comes back itself.
    """
    changed = with_defaults(jobset)
    return as_object(overlay(changed, decode(changed, JOB_SET))) if changed is not jobset else jobset


def with_defaults(jobset: JsonObject) -> JsonObject:
    """Return the JobSet with the fields that the webhook sets, or the JobSet itself if it has all of them."""
    before = as_object(jobset.get("spec"))
    spec = {**before}
    for name, usual in (("successPolicy", _SUCCESS), ("startupPolicy", _STARTUP)):
        if spec.get(name) is None:
            spec[name] = last(usual)
    network = spec.get("network")
    if network in (None, {}):
        spec["network"] = last(_NETWORK)
    elif isinstance(network, dict) and any(network.get(name) is None for name in _NETWORK):
        spec["network"] = {**_NETWORK, **{name: value for name, value in network.items() if value is not None}}
    _complete(spec, "replicatedJobs", _default_job)
    _complete(spec, "volumeClaimPolicies", _default_claims)
    if isinstance(policy := spec.get("failurePolicy"), dict):
        named = dict(policy)
        _complete(named, "rules", _default_rule)
        if named.get("rules") is not policy.get("rules"):
            spec["failurePolicy"] = named
    if spec.keys() == before.keys() and all(map(is_, spec.values(), before.values())):
        return jobset
    return {**jobset, "spec": spec}


def _complete(of: JsonObject, name: str, default_of: Callable[[JsonObject, int], JsonObject]) -> None:
    """Replace a list by one whose objects have their defaults, unless they have them already."""
    if isinstance(items := of.get(name), list):
        found = [default_of(item, index) if isinstance(item, dict) else item for index, item in enumerate(items)]
        if not all(map(is_, found, items)):
            of[name] = found


def _default_job(job: JsonObject, _index: int) -> JsonObject:
    template = as_object(job.get("template"))
    spec = as_object(template.get("spec"))
    pod = as_object(spec.get("template"))
    pod_spec = as_object(pod.get("spec"))
    mode, restart = spec.get("completionMode"), pod_spec.get("restartPolicy")
    if restart not in (None, "") and mode is not None:
        return job
    if restart in (None, ""):
        pod_spec = {**pod_spec, "restartPolicy": "OnFailure"}
    spec = {**spec, "completionMode": "Indexed" if mode is None else mode, "template": {**pod, "spec": pod_spec}}
    return {**job, "template": {**template, "spec": spec}}


def _default_rule(rule: JsonObject, index: int) -> JsonObject:
    """Return a rule with a name. A name of another type is kept, for Go to reject."""
    return rule if rule.get("name") not in (None, "") else {**rule, "name": f"failurePolicyRule{index}"}


def _default_claims(policy: JsonObject, _index: int) -> JsonObject:
    kept = policy.get("retentionPolicy") is not None
    return policy if kept else {**policy, "retentionPolicy": {"whenDeleted": "Delete"}}


def overlay(own: Json, typed: Json) -> Json:
    """Return ``own`` with everything that ``typed`` has in addition or spells differently; nothing is removed."""
    if typed is own:
        return own
    if isinstance(own, dict) and isinstance(typed, dict):
        return {**own, **{key: overlay(own[key], value) if key in own else value for key, value in typed.items()}}
    if isinstance(own, list) and isinstance(typed, list) and len(own) == len(typed):
        return [overlay(a, b) for a, b in zip(own, typed, strict=True)]
    return typed
