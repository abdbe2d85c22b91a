"""Admits the JobSet that the controller creates: its CRD and both webhooks (jobsetdefaults.py has the mutating one).

Source: JobSet v0.12.0 pkg/webhooks/jobset_webhook.go, with every feature gate at its default (off).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from trainc.admission.jobsetdefaults import with_defaults
from trainc.admission.rules import failures
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, existing, get, objects
from trainc.basics.regex import lazy
from trainc.findings.fault import Fault
from trainc.kube.fielderror import NO_FIELD, internal, invalid, quote
from trainc.kube.gotypes import JOB_SET, typed
from trainc.kube.names import (
    DNS1035_LABEL_MAX_LENGTH,
    is_dns1035_label,
    is_dns1123_subdomain,
    is_domain_prefixed_path,
    is_valid_label_value,
)
from trainc.schema import admit, resource
from trainc.upstream import COORDINATOR_LABEL

_RULE, _STAGE = "TC801", "jobset-webhook"
POD_SUFFIX = "-abcde"
"""Stands for the dash and the five random characters at the end of a pod's name."""
MAX_INT32 = 2**31 - 1
MAX_MANAGED_BY = 63
MAX_CLAIM_NAME = 63
TOO_LONG = "must be no more than 63 characters"
NAME_TOO_LONG = "JobSet name is too long"
CLAIM_SPEC = "v1.PersistentVolumeClaimSpec"
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
    """Return the JobSet with the defaults of CRD and webhook, and the errors of the first of them to reject it.

    The mutating webhook writes the JobSet anew, from Go's types, only if it sets a field. What it sets does not depend
    on the CRD's defaults, so it is set first: then one walk does for both readings by the server. ``claims`` holds the
    specs of the PersistentVolumeClaims in its namespace, by name.
    """
    kind, stage = resource("JobSet"), "jobset-crd"
    defaulted = with_defaults(data)
    admitted = admit(kind, defaulted, JOB_SET if defaulted is not data else "")
    stored, violations = admitted.data, admitted.violations
    refused = [
        Fault(v.code, v.path, v.message, v.upstream, expected=v.expected, hint=v.hint, stage=stage) for v in violations
    ]
    if not any(violation.blocking for violation in violations):
        for broken in failures(kind.schema, stored):
            path = existing(stored, (*broken.path, *broken.about))
            refused.append(Fault("TC201", path, broken.message, broken.upstream, stage=stage))
    return stored, tuple(refused) or tuple(dict.fromkeys(validate(stored, claims)))


def validate(jobset: JsonObject, claims: Mapping[str, Json]) -> Iterator[Fault]:
    """Yield the errors of the validating webhook on create, in its order.

    ``claims`` holds the spec of every PersistentVolumeClaim that the job's namespace has, by name.
    """
    name = str(get(jobset, "metadata", "name"))
    spec = as_object(jobset.get("spec"))
    jobs = objects(spec.get("replicatedJobs"))
    if "failurePolicy" in spec and get(spec, "failurePolicy", "restartStrategy") == "InPlaceRestart":
        yield _plain(
            ("spec", "failurePolicy", "restartStrategy"),
            "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled",
        )
    if jobs and jobs[0].get("dependsOn"):
        yield _plain(("spec", "replicatedJobs", 0, "dependsOn"), "DependsOn can't be set for the first ReplicatedJob")
    if subdomain := as_object(spec.get("network")).get("subdomain"):
        yield from _subdomain(subdomain)
    if "managedBy" in spec:
        yield from _managed_by(spec)
    seen: set[str] = set()
    for index, job in enumerate(jobs):
        seen.add(str(job.get("name")))
        yield from _replicated_job(name, index, job, seen)
    for index, target in enumerate(as_list(get(spec, "successPolicy", "targetReplicatedJobs"))):
        if target not in seen:
            where: Path = ("spec", "successPolicy", "targetReplicatedJobs", index)
            yield _plain(where, f"invalid replicatedJob name '{target}' does not appear in .spec.ReplicatedJobs")
    if "failurePolicy" in spec:
        yield from _failure_policy(spec, jobs, seen)
    if isinstance(spec.get("coordinator"), dict):
        yield from _coordinator(name, spec, jobs)
    if "volumeClaimPolicies" in spec:
        yield from _volume_claims(jobset, jobs, claims)


def _subdomain(value: Json) -> Iterator[Fault]:
    if not isinstance(value, str):
        return
    path = ("spec", "network", "subdomain")
    for text in is_dns1123_subdomain(value):
        yield _invalid(path, "spec.network.subdomain", value, text)
    for text in is_dns1035_label(value):
        too_long = ".spec.network.subdomain is too long, must be less than 63 characters"
        yield _invalid(path, "spec.network.subdomain", value, too_long if TOO_LONG in text else text)


def _managed_by(spec: JsonObject) -> Iterator[Fault]:
    value = spec.get("managedBy")
    if not isinstance(value, str):
        return
    path = ("spec", "managedBy")
    for text in is_domain_prefixed_path("spec.managedBy", value):
        yield Fault(_RULE, path, "must be a domain-prefixed path", text, stage=_STAGE)
    if len(value.encode()) > MAX_MANAGED_BY:
        detail = f"may not be more than {MAX_MANAGED_BY} bytes"
        yield Fault(_RULE, path, detail, f"spec.managedBy: Too long: {detail}", stage=_STAGE)


def _replicated_job(jobset: str, index: int, job: JsonObject, seen: set[str]) -> Iterator[Fault]:
    path: Path = ("spec", "replicatedJobs", index)
    name, replicas = str(job.get("name")), _int(job.get("replicas"), 1)
    spec = as_object(as_object(job.get("template")).get("spec"))
    if _int(spec.get("parallelism"), 1) * replicas > MAX_INT32:
        detail = f"the product of replicas and parallelism must not exceed {MAX_INT32} for replicatedJob '{name}'"
        yield _plain(path, detail)
    if wrong := _wrong_group(group := str(job.get("groupName") or "")):
        too_long = ".spec.replicatedJob[].groupName is too long, must be less than 63 characters"
        yield from _misnamed((*path, "groupName"), group, wrong, too_long)
    longest = f"{jobset}-{name}-{replicas - 1}"
    too_long = f"{NAME_TOO_LONG}, %s names generated for this JobSet will exceed 63 characters"
    if wrong := is_dns1035_label(longest):
        yield from _misnamed((*path, "name"), longest, wrong, too_long % "job")
    completions = spec.get("completions")
    indexed = spec.get("completionMode") == "Indexed" and isinstance(completions, int)
    if indexed and (wrong := is_dns1035_label(f"{longest}-{_int(completions, 0) - 1}{POD_SUFFIX}")):
        yield from _misnamed((*path, "name"), longest, wrong, too_long % "pod")
    for i, dependency in enumerate(objects(job.get("dependsOn"))):
        if dependency.get("name") not in seen:
            detail = f"replicatedJob: {name} cannot depend on replicatedJob: {dependency.get('name')}"
            yield _plain((*path, "dependsOn", i, "name"), detail)


def name_limit(jobset: JsonObject) -> tuple[int, str]:
    """Return how many characters the name of a JobSet may have, and the form of the longest name that contains it."""
    endings = []
    for job in objects(get(jobset, "spec", "replicatedJobs")):
        ending, spec = f"-{job.get('name')}-{_int(job.get('replicas'), 1) - 1}", as_object(get(job, "template", "spec"))
        if spec.get("completionMode") == "Indexed":
            ending += f"-{_int(spec.get('completions'), 1) - 1}{POD_SUFFIX}"
        endings.append(ending)
    longest = max(endings, key=len)
    shown = longest.replace(POD_SUFFIX, "-<5 characters>")
    kind = "job" if shown == longest else "pod"
    return DNS1035_LABEL_MAX_LENGTH - len(longest), f"{kind} name <name>{shown}"


_wrong_group = lru_cache(256)(is_dns1035_label)
"""The errors of a group name, cached: a fleet has few names."""


def _misnamed(path: Path, shown: str, details: tuple[str, ...], too_long: str) -> Iterator[Fault]:
    for text in details:
        yield _invalid(path, dotted(path), shown, too_long if TOO_LONG in text else text)


def _failure_policy(spec: JsonObject, jobs: list[JsonObject], names: set[str]) -> Iterator[Fault]:
    rules = objects(get(spec, "failurePolicy", "rules"))
    base: Path = ("spec", "failurePolicy", "rules")
    if any(rule.get("action") in RESTART_JOB for rule in rules):
        yield _plain(
            base,
            "RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed"
            " when RestartJob feature gate is disabled",
        )
        return
    by_name: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        name = str(rule.get("name") or "")
        by_name.setdefault(name, []).append(index)
        yield from _rule_name((*base, index, "name"), name)
        for i, target in enumerate(as_list(rule.get("targetReplicatedJobs"))):
            if target not in names:
                detail = (
                    f"invalid replicatedJob name '{target}' in failure policy does not appear in .spec.ReplicatedJobs"
                )
                yield _plain((*base, index, "targetReplicatedJobs", i), detail)
        for i, reason in enumerate(as_list(rule.get("onJobFailureReasons"))):
            if reason not in JOB_FAILURE_REASONS:
                detail = (
                    f"invalid job failure reason '{reason}' in failure policy is not a recognized job failure reason"
                )
                yield _plain((*base, index, "onJobFailureReasons", i), detail)
    for name, indexes in sorted(by_name.items()):
        if len(indexes) > 1:
            shown = f"[{' '.join(map(str, indexes))}]"
            detail = f"rule names are not unique, rules with indices {shown} all have the same name '{name}'"
            yield _plain((*base, indexes[-1], "name"), detail)


def _rule_name(path: Path, name: str) -> Iterator[Fault]:
    length = len(name.encode())
    if not 1 <= length <= 128:
        yield _plain(
            path,
            f"invalid failure policy rule name of length {length}, the rule name must be at least 1 characters long"
            " and at most 128 characters long",
        )
    if not RULE_NAME.fullmatch(name):
        yield _plain(
            path,
            f"invalid failure policy rule name '{name}', a failure policy rule name must start with an alphabetic"
            " character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an"
            " alphanumeric character or '_'",
        )


def _coordinator(jobset: str, spec: JsonObject, jobs: list[JsonObject]) -> Iterator[Fault]:
    coordinator = as_object(spec["coordinator"])
    name = str(coordinator.get("replicatedJob") or "")
    job_index, pod_index = _int(coordinator.get("jobIndex"), 0), _int(coordinator.get("podIndex"), 0)
    path: Path = ("spec", "coordinator")
    job = next((j for j in jobs if j.get("name") == name), None)
    template = as_object(get(job, "template", "spec"))
    completions = template.get("completions")
    if job is None:
        yield _plain((*path, "replicatedJob"), f"coordinator replicatedJob {name} does not exist")
    elif not 0 <= job_index < _int(job.get("replicas"), 1):
        yield _plain((*path, "jobIndex"), f"coordinator job index {job_index} is invalid for replicatedJob {name}")
    elif template.get("completionMode") != "Indexed" or not isinstance(completions, int):
        yield _plain(
            path, "job for coordinator pod must be indexed completion mode, and completions number must be set"
        )
    elif not 0 <= pod_index < completions:
        detail = f"coordinator pod index {pod_index} is invalid for replicatedJob {name} job index {job_index}"
        yield _plain((*path, "podIndex"), detail)
    subdomain = get(spec, "network", "subdomain") or jobset
    value = f"{jobset}-{name}-{job_index}-{pod_index}.{subdomain}"
    if errors := is_valid_label_value(value):
        detail = (
            f"spec will lead to invalid label value {quote(value)} for coordinator label {quote(COORDINATOR_LABEL)}"
            f" (long JobSet / ReplicatedJob / SubDomain name?): {', '.join(errors)}"
        )
        yield _plain(path, detail)


def _volume_claims(jobset: JsonObject, jobs: list[JsonObject], claims: Mapping[str, Json]) -> Iterator[Fault]:
    owner, namespace = (str(get(jobset, "metadata", key)) for key in ("name", "namespace"))
    seen: set[str] = set()
    for i, policy in enumerate(objects(get(jobset, "spec", "volumeClaimPolicies"))):
        for j, template in enumerate(objects(policy.get("templates"))):
            name = str(get(template, "metadata", "name") or "")
            field = f"spec.volumeClaimPolicies[{i}].template[{j}].name"
            path: Path = ("spec", "volumeClaimPolicies", i, "templates", j, "metadata", "name")
            if name in seen:
                yield _invalid(path, field, name, "names must be unique for VolumeClaimPolicies template")
            for text in is_dns1123_subdomain(name):
                yield _invalid(path, field, name, text)
            if len(f"{name}-{owner}".encode()) > MAX_CLAIM_NAME:
                yield _invalid(path, field, name, "VolumeClaimPolicies template name is too long")
            yield from _claim_mounts(jobs, name)
            if (claim := f"{name}-{owner}") in claims:
                yield from _existing_claim(f"{claim} in namespace {namespace}", claims[claim], policy, (i, j))
            seen.add(name)


def _claim_mounts(jobs: list[JsonObject], name: str) -> Iterator[Fault]:
    mounted = False
    for index, job in enumerate(jobs):
        pod_spec = as_object(get(job, "template", "spec", "template", "spec"))
        for i, volume in enumerate(objects(pod_spec.get("volumes"))):
            if volume.get("name") == name:
                tail: Path = ("template", "spec", "template", "spec", "volumes", i, "name")
                field = f"spec.replicatedJobs[{index}].template.spec.template.spec.volumes[{i}].name"
                detail = f"volume name conflicts with VolumeClaimPolicy template name: {name}"
                yield _invalid(("spec", "replicatedJobs", index, *tail), field, name, detail)
        containers = (*objects(pod_spec.get("initContainers")), *objects(pod_spec.get("containers")))
        mounted |= any(m.get("name") == name for c in containers for m in objects(c.get("volumeMounts")))
    if not mounted:
        detail = f"replicatedJob containers don't have a matching volumeMount: {name} from VolumeClaimPolicies"
        shown: Json = typed([*jobs], "v1alpha2.ReplicatedJob")
        yield _invalid(("spec", "replicatedJobs"), "spec.replicatedJobs", shown if jobs else None, detail)


def _existing_claim(name: str, spec: Json, policy: JsonObject, at: tuple[int, int]) -> Iterator[Fault]:
    path: Path = ("spec", "volumeClaimPolicies", at[0])
    template = get(policy, "templates", at[1], "spec")
    shown = typed(template or {}, CLAIM_SPEC)
    if shown != typed(spec or {}, CLAIM_SPEC):
        detail = f"spec does not match existing PVC {name}"
        field = f"spec.volumeClaimPolicies[{at[0]}].template[{at[1]}].spec"
        yield _invalid((*path, "templates", at[1], "spec"), field, shown, detail)
    kept = get(policy, "retentionPolicy", "whenDeleted")
    if kept != "Retain":
        where = (*path, "retentionPolicy", "whenDeleted")
        yield _invalid(where, dotted(where), kept, "retentionPolicy must be retain when PVC exists")


def _plain(path: Path, detail: str) -> Fault:
    return Fault(_RULE, path, detail, internal(NO_FIELD, detail), stage=_STAGE)


def _invalid(path: Path, field: str, value: Json, detail: str) -> Fault:
    code = "TC802" if detail.startswith(NAME_TOO_LONG) else _RULE
    return Fault(code, path, detail, invalid(field, value, detail), stage=_STAGE)


def _int(value: Json, absent: int) -> int:
    return value if isinstance(value, int) else absent
