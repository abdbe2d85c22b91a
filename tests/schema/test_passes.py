"""Pruning, nulls, defaults and order of admission, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.schema import Structural, admit, default, drop_nulls, parse, prune, read, resource

TEXT: Any = {"type": "string"}


def schema_of(**properties: Any) -> Structural:
    return parse({"type": "object", "properties": properties})


@pytest.mark.parametrize(
    ("properties", "data", "kept", "dropped"),
    [
        ({"a": TEXT}, {"a": "x", "b": 1}, {"a": "x"}, [("b",)]),
        ({"a": TEXT}, {"a": {"b": 1, "c": {}}}, {"a": {}}, [("a", "b"), ("a", "c")]),
        ({"a": TEXT}, {"a": [{"b": 1}, 2, [{"c": 3}]]}, {"a": [{}, 2, [{}]]}, [("a", 0, "b"), ("a", 2, 0, "c")]),
        ({"a": {"type": "array", "items": {"type": "object"}}}, {"a": [{"b": 1}]}, {"a": [{}]}, [("a", 0, "b")]),
        (
            {"m": {"additionalProperties": TEXT}},
            {"m": {"x": "1", "y": {"z": 1}}},
            {"m": {"x": "1", "y": {}}},
            [("m", "y", "z")],
        ),
        ({"m": {"additionalProperties": True}}, {"m": {"x": {"y": 1}}}, {"m": {"x": {}}}, [("m", "x", "y")]),
        ({"a": {"x-kubernetes-preserve-unknown-fields": True}}, {"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": 1}]}}, []),
        (
            {},
            {"metadata": {"anything": 1}, "kind": "K", "spec": 1},
            {"metadata": {"anything": 1}, "kind": "K"},
            [("spec",)],
        ),
    ],
)
def test_prune(properties: Any, data: Any, kept: Any, dropped: Any) -> None:
    assert prune(schema_of(**properties), data) == (kept, tuple(dropped))


def test_preserving_reaches_through_lists_but_not_into_known_fields() -> None:
    item = {"type": "object", "properties": {"a": {"type": "object"}}}
    schema = schema_of(l={"type": "array", "items": item, "x-kubernetes-preserve-unknown-fields": True})
    data = {"l": [{"a": {"gone": 1}, "b": {"kept": 1}}]}
    assert prune(schema, data) == ({"l": [{"a": {}, "b": {"kept": 1}}]}, (("l", 0, "a", "gone"),))
    assert data == {"l": [{"a": {"gone": 1}, "b": {"kept": 1}}]}


@pytest.mark.parametrize(
    ("properties", "data", "expected"),
    [
        ({"a": TEXT}, {"a": None}, {}),
        ({"a": {**TEXT, "nullable": True}}, {"a": None}, {"a": None}),
        ({"a": {**TEXT, "default": "d"}}, {"a": None}, {"a": "d"}),
        ({"a": {**TEXT, "default": "d", "nullable": True}}, {"a": None}, {"a": None}),
        ({"a": {**TEXT, "default": "d", "nullable": True}}, {}, {"a": "d"}),
        ({"a": {"type": "array", "items": TEXT}}, {"a": [None, "x"]}, {"a": [None, "x"]}),
        ({"a": {"type": "array", "items": {**TEXT, "default": "d"}}}, {"a": [None, "x"]}, {"a": ["d", "x"]}),
        ({"m": {"additionalProperties": TEXT}}, {"m": {"x": None}}, {"m": {}}),
        ({"m": {"additionalProperties": {**TEXT, "default": "d"}}}, {"m": {"x": None}}, {"m": {"x": "d"}}),
        ({"o": {"type": "object", "properties": {"a": {**TEXT, "default": "d"}}}}, {}, {}),
        (
            {"o": {"type": "object", "properties": {"a": {**TEXT, "default": "d"}}, "default": {}}},
            {},
            {"o": {"a": "d"}},
        ),
        ({"o": {"type": "object", "properties": {"a": {**TEXT, "default": "d"}}}}, {"o": {"a": ""}}, {"o": {"a": ""}}),
    ],
)
def test_nulls_and_defaults(properties: Any, data: Any, expected: Any) -> None:
    schema = schema_of(**properties)
    assert default(schema, drop_nulls(schema, data)) == expected


def test_defaults_are_not_shared_between_documents() -> None:
    schema = schema_of(o={"type": "object", "default": {"list": []}, "x-kubernetes-preserve-unknown-fields": True})
    first, second = default(schema, {}), default(schema, {})
    assert first == second == {"o": {"list": []}}
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first["o"] is not second["o"]
    assert first["o"]["list"] is not second["o"]["list"]  # type: ignore[index,call-overload]


def test_what_is_not_touched_is_the_argument_itself() -> None:
    schema = schema_of(a={"type": "object", "properties": {"b": TEXT}}, c={**TEXT, "default": "d"})
    data: Any = {"a": {"b": "x"}, "c": "y"}
    assert prune(schema, data)[0] is data
    assert drop_nulls(schema, data) is data
    assert default(schema, data) is data
    partly: Any = {"a": {"b": "x"}, "z": 1}
    pruned: Any = prune(schema, partly)[0]
    assert pruned["a"] is partly["a"]


def trainjob(**more: Any) -> Any:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "j"},
        "spec": {"runtimeRef": {"name": "rt"}},
        **more,
    }


def test_a_status_is_not_stored_and_its_unknown_fields_are_told() -> None:
    admitted = admit(resource("TrainJob"), trainjob(status={"conditions": "x", "bogus": 1}))
    assert "status" not in admitted.data
    assert admitted.dropped == (("status", "bogus"),)
    assert admitted.violations == ()


def test_metadata_is_read_as_go_reads_it() -> None:
    metadata = {"name": "j", "labels": {"a": None}, "annotations": {}, "creationTimestamp": None, "lables": {}}
    admitted = read(resource("TrainJob"), trainjob(metadata=metadata))
    assert admitted.data["metadata"] == {"name": "j", "labels": {"a": ""}}
    assert admitted.dropped == (("metadata", "lables"),)


def test_metadata_of_a_wrong_type_ends_admission() -> None:
    data = trainjob(metadata={"name": "j", "labels": {"a": 1}}, spec={})
    admitted = admit(resource("TrainJob"), data)
    assert admitted.data is data
    [violation] = admitted.violations
    assert violation.decode
    assert violation.path == ("metadata", "labels", "a")
    assert violation.upstream == "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"


def test_a_cluster_scoped_object_loses_its_namespace() -> None:
    data = {**trainjob(), "kind": "ClusterTrainingRuntime", "metadata": {"name": "rt", "namespace": "n"}, "spec": {}}
    assert read(resource("ClusterTrainingRuntime"), data).data["metadata"] == {"name": "rt"}
