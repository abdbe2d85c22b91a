"""Admission policies: ValidatingAdmissionPolicies and their bindings, decided as an API server decides them."""

from trainc.admit.policy.documents import Decision, Request
from trainc.admit.policy.policyset import PolicySet
from trainc.admit.policy.secrets import without_secrets

__all__ = ["Decision", "PolicySet", "Request", "without_secrets"]
