"""ValidatingAdmissionPolicies and their bindings, evaluated as an API server does."""

from trainc.admission.policy.documents import Decision, Request
from trainc.admission.policy.policyset import PolicySet, without_secrets

__all__ = ["Decision", "PolicySet", "Request", "without_secrets"]
