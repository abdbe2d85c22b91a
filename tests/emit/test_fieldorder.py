"""The order of fields."""

from __future__ import annotations

import json

import pytest

from trainc.basics.jsonvalues import JsonObject, as_object
from trainc.kube.fieldorder import DATA_MAPS, RANK, field_order, ordered


@pytest.mark.parametrize(
    "fields",
    [
        "apiVersion kind metadata spec status",
        "apiVersion kind metadata immutable data binaryData",
        "apiVersion kind metadata type data stringData",
        "apiVersion kind metadata rules",
        "apiVersion kind metadata roleRef subjects",
        "name generateName namespace labels annotations ownerReferences finalizers",
        "name groupName replicas dependsOn template",
        "suspend network successPolicy failurePolicy startupPolicy replicatedJobs",
        "parallelism completions completionMode backoffLimit podFailurePolicy template",
        "metadata spec",
        "restartPolicy serviceAccountName hostNetwork nodeSelector affinity tolerations",
        "tolerations initContainers containers volumes",
        "apiGroup kind name",
        "name image imagePullPolicy command args workingDir envFrom env ports resources volumeMounts securityContext",
        "name value valueFrom",
        "name containerPort protocol",
        "name mountPath subPath readOnly",
        "key operator value effect tolerationSeconds",
        "key operator values",
        "apiGroups resources resourceNames verbs",
        "limits requests claims",
        "key path mode",
        "runtimeRef initializer trainer runtimePatches",
        "numNodes image command args env resourcesPerNode",
    ],
)
def test_order(fields: str) -> None:
    names = tuple(fields.split())
    assert field_order(tuple(reversed(names))) == names
    assert field_order(tuple(sorted(names))) == names


def test_unknown_fields_come_last_by_name() -> None:
    assert field_order(("zeta", "Beta", "spec", "alpha", "name")) == ("name", "spec", "Beta", "alpha", "zeta")


def test_no_name_stands_twice() -> None:
    assert sorted(RANK.values()) == list(range(len(RANK)))


def test_data_maps_are_ordered_by_key_and_their_values_as_fields() -> None:
    for parent in DATA_MAPS:
        data: JsonObject = {parent: {"spec": {"kind": 1, "apiVersion": 2}, "name": 1, "Z": 1, "apiVersion": 1}}
        found = as_object(ordered(data))[parent]
        assert isinstance(found, dict)
        assert list(found) == ["Z", "apiVersion", "name", "spec"]
        assert json.dumps(found["spec"]) == '{"apiVersion": 2, "kind": 1}'


def test_ordering_changes_no_value_and_not_its_input() -> None:
    data: JsonObject = {"spec": [{"b": [1, {"kind": 1, "apiVersion": 2}], "name": "x"}], "kind": "K"}
    before = json.dumps(data)
    found = ordered(data)
    assert found == data
    assert json.dumps(found) == '{"kind": "K", "spec": [{"name": "x", "b": [1, {"apiVersion": 2, "kind": 1}]}]}'
    assert json.dumps(data) == before
    assert ordered("x") == "x"
