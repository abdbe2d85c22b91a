"""Admission policies: ValidatingAdmissionPolicies and their bindings, decided as an API server decides them."""

from trainc.admit.policy.decision import Decision, Request
from trainc.admit.policy.policyset import PolicySet

__all__ = ["Decision", "PolicySet", "Request"]
