"""What a server says: its errors, its warnings, and what it records.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/validating/dispatcher.go and pkg/admission/errors.go.
"""

from __future__ import annotations

from trainc.admit.policy.documents import ANNOTATION, AUDIT, UNDECIDED, WARN, Request, Stored
from trainc.admit.policy.evaluate import Verdict
from trainc.kube.gojson import go_json

FAILURE_KEY = "validation.policy.admission.k8s.io/validation_failure"


def upstream(request: Request, policy: Stored, binding: Stored | None, action: str, verdict: Verdict) -> str:
    """Return what a server says where an action is taken; nothing for what is undecided, or said in unknown words."""
    if verdict.outcome == UNDECIDED or verdict.guessed:
        return ""
    if verdict.outcome == ANNOTATION:
        return f"{policy.name}/{verdict.key}: {verdict.message}"
    bound = f" with binding '{binding.name}'" if binding is not None else ""
    if action == WARN:
        return f"Validation failed for ValidatingAdmissionPolicy '{policy.name}'{bound}: {verdict.message}"
    if action == AUDIT and binding is not None:
        return f"{FAILURE_KEY}: {_failure(binding, verdict)}"
    denial = f"ValidatingAdmissionPolicy '{policy.name}'{bound} denied request: {verdict.message}"
    return f"{request.label} is forbidden: {denial}"


def _failure(binding: Stored, verdict: Verdict) -> str:
    return go_json(
        [
            {
                "message": verdict.message,
                "policy": binding.policy_name,
                "binding": binding.name,
                "expressionIndex": verdict.ordinal,
                "validationActions": list(binding.actions),
            }
        ],
        struct=True,
    )
