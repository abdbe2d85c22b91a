"""The defaults of JobSet's mutating webhook, and what its passage through Go's types adds.

Source: JobSet v0.12.0 pkg/webhooks/jobset_webhook.go, with every feature gate at its default (off).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, as_object
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
    network = spec.get("network")
    if network in (None, {}):
        spec["network"] = last(_NETWORK)
    elif isinstance(network, dict) and any(network.get(name) is None for name in _NETWORK):
        spec["network"] = {**_NETWORK, **{name: value for name, value in network.items() if value is not None}}
    _complete(spec, "replicatedJobs", _default_job)
    _complete(spec, "volumeClaimPolicies", lambda policy, _: _default_claims(policy))
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
    """Return a rule with a name. A name of another type is kept: Go cannot decode it."""
    return rule if rule.get("name") not in (None, "") else {**rule, "name": f"failurePolicyRule{index}"}


def _add_retention(policy: JsonObject) -> JsonObject:
    kept = policy.get("retentionPolicy") is not None
    return policy if kept else {**policy, "retentionPolicy": {"whenDeleted": "Delete"}}


_default_claims: Final = remembering(_add_retention, lasts=True)


def overlay(own: Json, typed: Json) -> JsonObject:
    """Return own with everything that typed has or spells otherwise; nothing is removed. What they share is shared."""
    return as_object(_overlay(own, typed))


def _overlay(own: Json, typed: Json) -> Json:
    if typed is own:
        return own
    if isinstance(own, dict) and isinstance(typed, dict):
        return {**own, **{key: _overlay(own[key], value) if key in own else value for key, value in typed.items()}}
    if isinstance(own, list) and isinstance(typed, list) and len(own) == len(typed):
        return [_overlay(a, b) for a, b in zip(own, typed, strict=True)]
    return typed
