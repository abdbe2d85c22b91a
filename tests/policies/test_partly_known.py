"""What policies decide about maps of which some values are known only in a cluster."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from msgspec.structs import replace

from trainc.admission.policy import Request, match
from trainc.admission.policy.policyset import PolicySet
from trainc.inputs.source import Document, Source
from trainc.kube.generated import EXAMPLES, JOB_UID, JOBSET_UID, NAME, Generated
from trainc.schema.kinds import BUILT_IN

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


REQUEST = Request("CREATE", POD, None, "", "v1", "Pod", "pods", "team", "p", unknown=UNKNOWN)


def outcome(expression: str, request: Request = REQUEST, **more: Any) -> str:
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
    validations = [{"expression": expression}]
    specs: dict[str, Any] = {
        "ValidatingAdmissionPolicy": {"matchConstraints": {"resourceRules": rules}, "validations": validations, **more},
        "ValidatingAdmissionPolicyBinding": {"policyName": "p", "validationActions": ["Deny"]},
    }
    documents = [
        Document(Source(f"{kind}.yaml", ""), {"apiVersion": API, "kind": kind, "metadata": {"name": "p"}, "spec": spec})
        for kind, spec in specs.items()
    ]
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


PEOPLE = "!('system:nodes' in request.userInfo.groups)"
BROKEN = "object.metadata.labels['none'] == ''"


@pytest.mark.parametrize(
    "conditions, expression, policy, expected",
    [
        ((PEOPLE,), "true", "Fail", "allowed"),
        ((PEOPLE,), "true", "Ignore", "allowed"),
        ((PEOPLE,), "false", "Fail", "undecided"),
        ((PEOPLE,), "false", "Ignore", "undecided"),
        ((PEOPLE,), BROKEN, "Fail", "undecided"),
        ((PEOPLE,), BROKEN, "Ignore", "allowed"),
        ((PEOPLE,), "request.userInfo.username == ''", "Fail", "undecided"),
        ((PEOPLE, BROKEN), "true", "Fail", "undecided"),
        ((PEOPLE, BROKEN), "true", "Ignore", "allowed"),
        ((PEOPLE, "false"), "false", "Fail", "allowed"),
    ],
)
def test_who_passes_all_validations_is_admitted_under_any_condition(
    conditions: tuple[str, ...], expression: str, policy: str, expected: str
) -> None:
    rows = [{"name": f"c{index}", "expression": each} for index, each in enumerate(conditions)]
    assert outcome(expression, matchConditions=rows, failurePolicy=policy) == expected


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
        ("object.spec.all(key, key != 'containers')", "denied"),
        ("object.spec.all(key, key != 'hostNetwork')", "undecided"),
        ("object.spec.exists(key, key == 'containers')", "allowed"),
        ("object.spec.exists(key, key == 'hostNetwork')", "undecided"),
        ("object.spec.exists(key, true)", "allowed"),
        ("object.spec.all(key, value, key != 'containers')", "undecided"),
        ("object.spec.map(key, key).size() > 0", "undecided"),
        ("object.spec.exists_one(key, key == 'containers')", "undecided"),
        ("object.spec.filter(key, key == 'containers').size() > 0", "undecided"),
    ],
)
def test_equality_reads_unknown_values_only_where_it_must(expression: str, expected: str) -> None:
    assert outcome(expression) == expected


OWNER = [{"apiVersion": "batch/v1", "kind": "Job", "name": "train-node-0", "uid": JOB_UID}]
NAMED = {
    **POD,
    "metadata": {
        "generateName": "train-node-0-0-",
        "namespace": "team",
        "labels": {"app": "a", "controller-uid": JOB_UID, "jobset-uid": JOBSET_UID},
        "ownerReferences": OWNER,
    },
}
GENERATED = (
    ("metadata", "labels", "controller-uid"),
    ("metadata", "labels", "jobset-uid"),
    ("metadata", "ownerReferences", 0, "uid"),
    ("metadata", "name"),
)


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("object.metadata.name.startsWith('train-')", "allowed"),
        ("object.metadata.name.startsWith('debug-')", "denied"),
        ("object.metadata.name.size() == 20", "allowed"),
        ("object.metadata.name in ['debug', 'train-node-0-0-']", "denied"),
        ("object.metadata.name.matches('^[a-z0-9-]+$')", "allowed"),
        ("object.metadata.name.matches('^[a-z-]+$')", "denied"),
        ("object.metadata.name.matches('-[a-z]+$')", "undecided"),
        ("object.metadata.name.endsWith('x')", "undecided"),
        ("object.metadata.name.endsWith('a')", "denied"),
        ("object.metadata.name == request.name", "allowed"),
        ("has(object.metadata.name) && has(request.name) && has(object.metadata.uid)", "allowed"),
        ("int(object.metadata.name) > 0", "error"),
        ("object.metadata.name > 0", "error"),
        ("object.metadata.labels.all(key, size(object.metadata.labels[key]) < 64)", "allowed"),
        ("!object.metadata.labels.exists(key, value, value.startsWith('-'))", "allowed"),
        ("object.metadata.labels.filter(key, object.metadata.labels[key] == 'a').size() == 1", "allowed"),
        ("'b' in object.metadata.labels.map(key, object.metadata.labels[key])", "denied"),
        ("object.metadata.labels.map(key, object.metadata.labels[key]).exists(value, value > 'f')", "undecided"),
        ("object.metadata.labels['controller-uid'] == object.metadata.ownerReferences[0].uid", "allowed"),
        ("object.metadata.labels['controller-uid'] == object.metadata.labels['jobset-uid']", "denied"),
        ("object.metadata.uid != object.metadata.labels['controller-uid']", "allowed"),
        ("object.metadata.uid.matches('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')", "allowed"),
        ("object.metadata.uid.startsWith('0')", "undecided"),
        ("object.metadata.name.findAll('[0-9]+').size() <= 3", "undecided"),
        ("!object.metadata.name.matches('[0-9][a-z][0-9]')", "undecided"),
        ("object.metadata.labels.all(key, !object.metadata.labels[key].matches('[0-9]{6}'))", "undecided"),
        ("!object.metadata.labels.exists(key, object.metadata.labels[key].contains('ff'))", "undecided"),
        ("object.metadata.labels == {'app': 'a'}", "denied"),
        ("object.metadata.name.startsWith('train-') && object.metadata.generation == 1", "undecided"),
        ("object.metadata.name.startsWith('debug-') && object.metadata.generation == 1", "denied"),
        ("object.metadata.name.startsWith('train-') || request.userInfo.username == 'x'", "allowed"),
    ],
)
def test_generated_values_count_only_if_the_result_depends_on_them(expression: str, expected: str) -> None:
    request = Request("CREATE", NAMED, None, "", "v1", "Pod", "pods", "team", "", unknown=GENERATED)
    assert outcome(expression, request) == expected


def generated(prefix: str) -> list[dict[str, str]]:
    values, found = Generated(prefix), []
    for number in range(EXAMPLES):
        with values.example(number):
            found.append(dict(values.values))
    return found


def test_each_generated_character_is_at_each_position() -> None:
    names = [values[NAME] for values in generated("train-")]
    assert all(name.startswith("train-") and len(name) == len("train-") + 5 for name in names)
    assert all({name[-at] for name in names} == set("bcdfghjklmnpqrstvwxz2456789") for at in range(1, 6))
    assert generated("a" * 63)[0][NAME] == f"{'a' * 58}{names[0][-5:]}"
    for placeholder in (JOB_UID, JOBSET_UID):
        uids = [values[placeholder] for values in generated("")]
        assert all(uuid.UUID(text).version == 4 and str(uuid.UUID(text)) == text for text in uids)
        assert all({text[at] for text in uids} == set("0123456789abcdef") for at in (0, 9, 15, 35))


def test_generated_names_have_letters_and_digits_in_each_order() -> None:
    orders = {tuple(character.isdigit() for character in values[NAME]) for values in generated("")}
    assert len(orders) == 2**5


def test_examples_cost_at_most_as_much_as_one_expression() -> None:
    many = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    loops = f"{many}.all(a, {many}.all(b, {many}.all(c, {many}.all(d, {{body}}))))"
    request = Request("CREATE", NAMED, None, "", "v1", "Pod", "pods", "team", "", unknown=GENERATED)
    assert outcome(loops.replace("{body}", "object.metadata.name.size() == 20"), request) == "undecided"
    assert outcome(loops.replace("{body}", "object.metadata.namespace.size() == 4"), request) == "allowed"


def test_each_rule_is_tried_twice_for_a_kind_without_a_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """For its own version, and for one in the rule, not for those in all rules."""
    tried, real = [], match._applies
    monkeypatch.setattr(match, "_applies", lambda *args: tried.append(args) or real(*args))
    row = {"apiGroups": ["example.com"], "operations": ["CREATE"], "resources": ["others"]}
    rules = [{**row, "apiVersions": [f"v{number}", "v1"]} for number in range(2, 102)]
    constraints: Any = {"matchPolicy": "Equivalent", "resourceRules": rules}
    request = Request("CREATE", POD, None, "example.com", "v1", "Thing", "things", "team", "a")
    cluster = match.Cluster({}, BUILT_IN)
    assert match.match(constraints, request, cluster) is None
    assert len(tried) == 2 * len(rules)
    assert match.match(constraints, replace(request, resource="others", version="v0"), cluster) == (
        ("example.com", "v2", "Thing"),
        ("example.com", "v2", "others"),
    )
