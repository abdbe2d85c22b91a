"""The codes of admission policies: what they say of objects, and what trainc says of their tests."""

from __future__ import annotations

from trainc.findings.code import Code
from trainc.findings.finding import Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

_ABOUT = (
    "A ValidatingAdmissionPolicy of this repository is asked about every TrainJob and runtime, what stands beside them,"
    " and every object that trainc makes."
)

POLICY = {
    "TC501": Code(
        _E,
        "denied by a policy",
        f"{_ABOUT} It is bound with the action Deny, and the object fails one of its validations, or a validation fails"
        " to be evaluated: the cluster would refuse the object. A job with such an object is not emitted.",
    ),
    "TC502": Code(
        _W,
        "warning of a policy",
        f"{_ABOUT} It is bound with the action Warn: the cluster would take the object and send this warning.",
    ),
    "TC503": Code(
        _N,
        "failure that a policy records",
        f"{_ABOUT} It is bound with the action Audit: the cluster would take the object and write this to its audit"
        " log.",
    ),
    "TC504": Code(
        _W,
        "policy that cannot be decided offline",
        "Whether the policy lets objects pass depends on what only the cluster knows: who asks (request.userInfo, the"
        " authorizer), or, where it is not bound with the action Deny, a namespace of which no Namespace document is"
        " given. That is neither a pass nor a failure: a warning for a Deny, else a note.",
    ),
    "TC505": Code(
        _E,
        "failed test of a policy",
        "What a policy says of the object of a test in policies/tests/ is not what the test expects.",
    ),
    "TC506": Code(
        _W,
        "validation that no test shows to fail",
        "No test in policies/tests/ has an object that this validation, or this policy at all, finds fault with. Nobody"
        " would notice if it let everything pass.",
        "add a test with an object that must be denied",
    ),
    "TC519": Code(
        _E,
        "policy that lacks a document",
        "A policy bound with the action Deny depends on the labels or annotations of a namespace, or on params, and"
        " policies/ does not contain that document. Documents in jobs/ and runtimes/ do not count: whoever adds a job"
        " must not decide which policies apply to it.",
    ),
    "TC520": Code(
        _W,
        "policies that deny less",
        "Compared with another revision, a policy, a binding, a Namespace or params in policies/ was removed, matches"
        " less, or has different expressions, so it may allow what it denied before. Reported by diff, and by validate"
        " --base and --policies-from, which also check every job against the policies of that revision.",
    ),
    "TC521": Code(
        _W,
        "setting that reports less",
        "Compared with another revision, trainc.yaml lowers a severity, unlocks a code, or relaxes another setting."
        " Reported by diff, and by validate --base and --policies-from, which use the stricter of the two severities.",
    ),
    "TC522": Code(
        _N,
        "new comment that silences",
        "A comment `# trainc: ignore CODE reason` was added since the revision compared with. Check its reason."
        " Reported by diff, and by validate --base and --policies-from.",
    ),
    "TC507": Code(
        _E,
        "test of a policy that makes no sense",
        "A file in policies/tests/ is a list of tests, each with a name, an object and what is expected of it.",
    ),
}
