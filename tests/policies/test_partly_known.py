"""What policies decide about maps of which some values are known only in a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.admission.policy import Request
from trainc.admission.policy.policyset import PolicySet
from trainc.inputs.source import Document, Source

API = "admissionregistration.k8s.io/v1"
LABELS = {"app": "a", "example.com/uid": "0"}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "team", "labels": LABELS, "annotations": dict(LABELS)},
    "spec": {"resources": {"requests": {"cpu": "1"}}, "containers": [{"name": "c", "resources": {"requests": {}}}]},
}
UNKNOWN = (
    ("metadata", "labels", "example.com/uid"),
    ("metadata", "annotations", "example.com/uid"),
    ("spec", "resources", "requests"),
    ("spec", "priorityClassName"),
)


def outcome(expression: str) -> str:
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
    validations = [{"expression": expression}]
    specs: dict[str, Any] = {
        "ValidatingAdmissionPolicy": {"matchConstraints": {"resourceRules": rules}, "validations": validations},
        "ValidatingAdmissionPolicyBinding": {"policyName": "p", "validationActions": ["Deny"]},
    }
    documents = [
        Document(Source(f"{kind}.yaml", ""), {"apiVersion": API, "kind": kind, "metadata": {"name": "p"}, "spec": spec})
        for kind, spec in specs.items()
    ]
    request = Request("CREATE", POD, None, "", "v1", "Pod", "pods", "team", "p", unknown=UNKNOWN)
    return next((decision.outcome for decision in PolicySet.load(documents, {}).decide(request)), "allowed")


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("'example.com/uid' in object.metadata.labels", "allowed"),
        ("!('example.com/uid' in object.metadata.labels)", "denied"),
        ("object.metadata.annotations.all(key, key in object.metadata.labels)", "allowed"),
        ("'other' in object.metadata.labels", "denied"),
        ("object.metadata.labels['example.com/uid'] == 'x'", "undecided"),
        ("object.metadata.?labels['example.com/uid'].orValue('') == 'x'", "undecided"),
        ("has(object.spec.resources.requests)", "allowed"),
        ("has(object.spec['resources'].requests)", "allowed"),
        ("has(object.spec.resources.requests.cpu)", "undecided"),
        ("has(object.spec.priorityClassName)", "undecided"),
        ("'priorityClassName' in object.spec", "undecided"),
    ],
)
def test_presence_does_not_depend_on_the_value(expression: str, expected: str) -> None:
    assert outcome(expression) == expected


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("object.metadata.labels != {}", "allowed"),
        ("object.metadata.labels == {}", "denied"),
        ("{} == object.metadata.labels", "denied"),
        ("object.metadata.labels == {'app': 'a'}", "denied"),
        ("object.metadata.labels == {'app': 'b', 'example.com/uid': '0'}", "denied"),
        ("object.metadata.labels == {'app': 'a', 'example.com/uid': '0'}", "undecided"),
        ("object.metadata.labels == object.metadata.labels", "allowed"),
        ("object.metadata.labels == object.metadata.annotations", "undecided"),
        ("object.metadata.labels == object.spec.containers[0].name", "denied"),
        ("object.spec == {}", "undecided"),
    ],
)
def test_equality_reads_unknown_values_only_where_it_must(expression: str, expected: str) -> None:
    assert outcome(expression) == expected
