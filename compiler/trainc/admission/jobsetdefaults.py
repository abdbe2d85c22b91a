"""The defaults of JobSet's mutating webhook, and what its passage through Go's types adds.

Source: JobSet v0.12.0 pkg/webhooks/jobset_webhook.go, with every feature gate at its default (off).
"""

from __future__ import annotations

from operator import is_
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, as_object, get, objects
from trainc.basics.memo import last, remembering
from trainc.kube.gotypes import JOB_SET, decode

_NETWORK: Final[JsonObject] = {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
_SUCCESS: Final[JsonObject] = {"operator": "All"}
_STARTUP: Final[JsonObject] = {"startupPolicyOrder": "AnyOrder"}


def default(jobset: JsonObject) -> JsonObject:
    """Return the JobSet with the mutating webhook's defaults, re-written through Go's types.

    The webhook patches what Go's types add or spell otherwise, but removes nothing (V11). Where it has nothing to set,
    it changes nothing: then the JobSet comes back itself.
    """
    changed = with_defaults(jobset)
    return overlay(changed, decode(changed, JOB_SET)) if changed is not jobset else jobset


def with_defaults(jobset: JsonObject) -> JsonObject:
    """Return the JobSet with the fields that the webhook sets, or the JobSet itself if it has all of them."""
    before = as_object(jobset.get("spec"))
    spec = {**before}
    for name, usual in (("successPolicy", _SUCCESS), ("startupPolicy", _STARTUP)):
        if spec.get(name) is None:
            spec[name] = last(usual)
    network = as_object(spec.get("network"))
    if not network:
        spec["network"] = last(_NETWORK)
    elif any(network.get(name) is None for name in _NETWORK):
        spec["network"] = {**_NETWORK, **{name: value for name, value in network.items() if value is not None}}
    if jobs := objects(spec.get("replicatedJobs")):
        named = [_default_job(job) for job in jobs]
        if not _same(named, spec["replicatedJobs"]):
            spec["replicatedJobs"] = [*named]
    if "failurePolicy" in spec and (rules := objects(get(spec, "failurePolicy", "rules"))):
        _set_rules(spec, [_default_rule(rule, index) for index, rule in enumerate(rules)])
    if policies := objects(spec.get("volumeClaimPolicies")):
        kept = list(map(_default_claims, policies))
        if not _same(kept, spec["volumeClaimPolicies"]):
            spec["volumeClaimPolicies"] = [*kept]
    if spec.keys() == before.keys() and all(map(is_, spec.values(), before.values())):
        return jobset
    return {**jobset, "spec": spec}


def _same(made: list[JsonObject], given: Json) -> bool:
    return isinstance(given, list) and len(made) == len(given) and all(map(is_, made, given))


def _default_job(job: JsonObject) -> JsonObject:
    template = as_object(job.get("template"))
    spec = as_object(template.get("spec"))
    pod = as_object(spec.get("template"))
    pod_spec = as_object(pod.get("spec"))
    restarts = bool(pod_spec.get("restartPolicy"))
    mode = spec.get("completionMode")
    if restarts and mode is not None:
        return job
    if not restarts:
        pod_spec = {**pod_spec, "restartPolicy": "OnFailure"}
    spec = {**spec, "completionMode": mode or "Indexed", "template": {**pod, "spec": pod_spec}}
    return {**job, "template": {**template, "spec": spec}}


def _default_rule(rule: JsonObject, index: int) -> JsonObject:
    return rule if rule.get("name") else {**rule, "name": f"failurePolicyRule{index}"}


def _add_retention(policy: JsonObject) -> JsonObject:
    return policy if policy.get("retentionPolicy") else {**policy, "retentionPolicy": {"whenDeleted": "Delete"}}


_default_claims: Final = remembering(_add_retention, lasts=True)


def _set_rules(spec: JsonObject, rules: list[JsonObject]) -> None:
    policy = as_object(spec["failurePolicy"])
    if not _same(rules, policy["rules"]):
        spec["failurePolicy"] = {**policy, "rules": [*rules]}


def overlay(own: Json, typed: Json) -> JsonObject:
    """Return own with everything that typed has or spells otherwise; nothing is removed. What they share is shared."""
    out = _overlay(own, typed)
    assert isinstance(out, dict)
    return out


def _overlay(own: Json, typed: Json) -> Json:
    if typed is own:
        return own
    if isinstance(own, dict) and isinstance(typed, dict):
        return {**own, **{key: _overlay(own[key], value) if key in own else value for key, value in typed.items()}}
    if isinstance(own, list) and isinstance(typed, list) and len(own) == len(typed):
        return [_overlay(a, b) for a, b in zip(own, typed, strict=True)]
    return typed
