"""Kubernetes' own kinds, against what the API server's own code says of objects changed in one place."""

from __future__ import annotations

import copy

import pytest
from native_cases import ask, bases, changed, load, resource_of

from effort import some
from oracle import gotools
from trainc.admission.native import faults_of
from trainc.basics.jsonvalues import dotted
from trainc.schema import Resource, admit, unknown_field_hint
from trainc.schema.inputs import COMPANION, kinds_of
from trainc.schema.kinds import BUILT_IN

OFF = ("clusterTrustBundle", "image")
"""Volumes behind features that 1.34 does not switch on by default: they are dropped before anything is said."""


def letter(data: dict[str, object]) -> str:
    resource = resource_of(data)
    result = admit(resource, data)
    if any(violation.decode for violation in result.violations):
        return "D"
    if result.dropped:
        return "U"
    wrong = (*(each for each in result.violations if not each.advisory), *faults_of(resource, result))
    return "E" if wrong else "."


@pytest.mark.parametrize("base", bases(), ids=lambda base: base["kind"])
def test_what_cannot_be_decoded_and_what_is_unknown(base: dict[str, object]) -> None:
    letters = load()[str(base["kind"])]
    cases = list(changed(base))
    assert len(letters) == len(cases)
    assert letters[0] == "."
    for case, expected in some(zip(cases, letters, strict=True), 3):
        before = copy.deepcopy(case.data)
        found = letter(case.data)
        assert case.data == before, "the argument was changed"
        where = f"{dotted(case.path)}: {case.change}"
        if case.path[-1:] in (("c",), ("a",)) and case.path[:1] in (("binaryData",), ("data",)) and "[" in case.change:
            assert (found, expected) in {("D", "."), ("D", "E"), ("D", "D")}, (
                "Go takes a list for bytes; trainc does not"
            )
        elif "D" in (found, expected) or "U" in (found, expected) or base["kind"] in kinds_of(COMPANION):
            assert found == expected, where
        elif found == "E":
            assert expected == "E" or _is_off(case.data, case.path), where


def _is_off(data: dict[str, object], path: tuple[str | int, ...]) -> bool:
    if any(step in OFF for step in path):
        return True
    place: object = data
    for step in path[:-1]:
        place = place[step]  # type: ignore[index]
    return isinstance(place, dict) and any(name in place for name in OFF) and path[-1] == "name"


def test_fields_that_are_missing_are_found() -> None:
    found = 0
    for base in bases():
        for case, expected in zip(changed(base), load()[base["kind"]], strict=True):
            if case.change == "gone" and expected == "E":
                found += letter(case.data) == "E"
    assert found > 90


def test_every_kind_has_an_object() -> None:
    native = {kind for group, kind in BUILT_IN.kinds() if BUILT_IN.served(group, kind)[0].native}
    assert native - {"CustomResourceDefinition"} == {base["kind"] for base in bases()}


@pytest.mark.parametrize(
    ("kind", "path", "hint"),
    [
        ("ConfigMap", ("imutable",), "did you mean 'immutable'?"),
        ("Pod", ("spec", "containers", 0, "imagePullPolice"), "did you mean 'imagePullPolicy'?"),
        ("Pod", ("metadata", "anotations"), "did you mean 'annotations'?"),
        ("Job", ("spec", "template", "metadata", "lables"), "did you mean 'labels'?"),
        ("Role", ("rules", 0, "resource"), "did you mean 'resources'?"),
        ("Role", ("rules", 0, "quite different"), None),
    ],
)
def test_the_nearest_spelling(kind: str, path: tuple[str | int, ...], hint: str | None) -> None:
    of = next(resource_of(base) for base in bases() if base["kind"] == kind)
    assert unknown_field_hint(of, path) == hint


def test_an_object_as_it_is_stored() -> None:
    service = next(base for base in bases() if base["kind"] == "Service")
    data = {
        **service,
        "spec": {"ports": [{"port": 80}], "selector": None, "bogus": 1},
        "status": {"loadBalancer": {}},
    }
    stored = admit(resource_of(data), data)
    assert stored.data["spec"] == {"ports": [{"port": 80, "protocol": "TCP"}]}
    assert "status" not in stored.data
    assert stored.dropped == (("spec", "bogus"),)


def test_two_items_of_one_key_are_advice() -> None:
    service = next(base for base in bases() if base["kind"] == "Service")
    ports = [{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "TCP"}]
    [violation] = admit(resource_of(service), {**service, "spec": {"ports": ports}}).violations
    assert violation.advisory
    assert violation.code == "TC107"
    assert violation.path == ("spec", "ports", 1)


def of_kind(kind: str, spec: dict[str, object]) -> tuple[Resource, dict[str, object]]:
    base = next(base for base in bases() if base["kind"] == kind)
    return resource_of(base), {**base, **spec}


@pytest.mark.parametrize(
    ("limit", "path", "expected"),
    [
        ({"max": {"cpu": "x"}}, ("max", "cpu"), "a quantity such as 500m or 2Gi"),
        ({"max": {"cpu": []}}, ("max", "cpu"), "a quantity such as 500m or 2Gi"),
        ({"max": []}, ("max",), "a mapping"),
    ],
)
def test_what_is_expected_of_a_value(limit: dict[str, object], path: tuple[str, ...], expected: str) -> None:
    kind, data = of_kind("LimitRange", {"spec": {"limits": [{"type": "Container", **limit}]}})
    [violation] = admit(kind, data).violations
    assert (violation.path, violation.expected) == (("spec", "limits", 0, *path), expected)


def test_a_32_bit_integer_that_is_a_list() -> None:
    kind, data = of_kind("Service", {"spec": {"ports": [{"port": []}]}})
    [violation] = admit(kind, data).violations
    assert (violation.path, violation.expected) == (("spec", "ports", 0, "port"), "an integer")


def test_null_in_a_list_is_the_zero_value() -> None:
    kind, data = of_kind("Role", {"rules": [None]})
    assert admit(kind, data).data["rules"] == [{}]


def test_null_under_a_key_of_any_name_is_the_zero_value() -> None:
    kind, data = of_kind("ConfigMap", {"data": {"__init__.py": None, "a": "b"}, "binaryData": {"c": None}})
    admitted = admit(kind, data).data
    assert admitted["data"] == {"__init__.py": "", "a": "b"}
    assert admitted["binaryData"] == {"c": ""}
    kind, data = of_kind("PersistentVolumeClaim", {"spec": {"resources": {"limits": {"storage": None}}}})
    assert admit(kind, data).data["spec"] == {"resources": {"limits": {"storage": "0"}}}
    kind, data = of_kind("ConfigMap", {"data": None, "immutable": None})
    assert not {"data", "immutable"} & admit(kind, data).data.keys()


def test_repeated_items_of_a_set_are_advice() -> None:
    kind, data = of_kind(
        "ValidatingAdmissionPolicyBinding", {"spec": {"policyName": "p", "validationActions": ["Deny"] * 2}}
    )
    [violation] = admit(kind, data).violations
    assert violation.advisory
    assert violation.path == ("spec", "validationActions", 1)


def test_items_without_all_keys_are_not_compared() -> None:
    constraints = [{"topologyKey": "a", "maxSkew": 1}] * 2
    kind, data = of_kind("Pod", {"spec": {"containers": [{"name": "a"}], "topologySpreadConstraints": constraints}})
    assert {violation.code for violation in admit(kind, data).violations} == {"TC103"}


@pytest.mark.go
def test_the_answers_are_the_api_servers() -> None:
    if (reason := gotools.missing(gotools.ORACLE / "kinds")) is not None:
        pytest.skip(reason)
    few = [base for base in bases() if base["kind"] in ("RoleBinding", "LimitRange", "PriorityClass")]
    recorded = "".join(load()[base["kind"]] for base in few)
    assert ask([case for base in few for case in changed(base)]) == recorded
