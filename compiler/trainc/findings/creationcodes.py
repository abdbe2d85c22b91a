"""The codes of policies and bindings themselves: what a server refuses when they are created."""

from __future__ import annotations

from trainc.findings.code import Code
from trainc.findings.finding import Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

POLICY_CREATION = {
    "TC511": Code(
        _E,
        "policy that is refused",
        "The API server refuses to create a ValidatingAdmissionPolicy or binding with this field. It then decides"
        " nothing, here and in the cluster.",
    ),
    "TC512": Code(
        _E,
        "expression that is refused",
        "The API server refuses to create a ValidatingAdmissionPolicy with this CEL expression: it does not compile, or"
        " is of a type that does not fit. A new policy may use less of CEL than one that is stored: what Kubernetes"
        " 1.34 has introduced itself is for the next version.",
    ),
    "TC513": Code(
        _N,
        "policy without a binding",
        "A ValidatingAdmissionPolicy decides nothing before a ValidatingAdmissionPolicyBinding names it.",
    ),
    "TC514": Code(
        _W,
        "binding without a policy",
        "spec.policyName names a policy that is not among those given, so that nothing is checked here.",
    ),
    "TC515": Code(
        _W,
        "params of policy and binding do not meet",
        "Either the policy has a paramKind and the binding no paramRef: params is then null, and every expression that"
        " reads it fails. Or the other way round: the paramRef is then ignored.",
    ),
    "TC516": Code(
        _W,
        "rule of a policy that matches nothing",
        "The rules of policies and bindings name resources by their plural in lower case, such as jobsets, and groups"
        " without a version. No API group of the rule has a resource of this name. Or an expression compares a kind"
        " with a name that no kind has, upper and lower case included. What is meant is not checked.",
    ),
}
