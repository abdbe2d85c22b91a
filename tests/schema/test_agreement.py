"""The fast judge and jsonschema's explanation are two implementations; they must say the same."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_cases import ALL_KINDS, Objects, resource_of

from trainc.schema import admit, drop_nulls, is_clean, parse, prune, read, validate
from trainc.schema import default as fill
from trainc.schema.explain import explain

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, width=32) | st.text()
)
JSON = st.recursive(
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abk", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("kind", ALL_KINDS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=120, deadline=None)
def test_violations_are_there_exactly_when_a_document_is_not_clean(kind: str, seed: int) -> None:
    schema = resource_of(kind).schema
    data = Objects(random.Random(seed)).make(kind)
    for stage in (data, read(resource_of(kind), data).data):
        clean = is_clean(schema, stage)
        assert clean == (not explain(schema, stage))
        assert clean == (not validate(schema, stage))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "date-time", "nullable": True},
        {"type": "string", "enum": ["a", "1"], "maxLength": 1},
        {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10, "exclusiveMaximum": True},
        {"type": "integer", "enum": [1, 65]},
        {"type": "number", "format": "float", "multipleOf": 0.5},
        {"type": "boolean", "enum": [True]},
        {"type": "array", "x-kubernetes-list-type": "set", "items": {"x-kubernetes-int-or-string": True}},
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a", "b"],
            "items": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "string"}}},
        },
        {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "integer"}, "required": ["a"]},
        {"x-kubernetes-int-or-string": True, "pattern": "^a"},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"x-kubernetes-preserve-unknown-fields": True, "not": {"required": ["a"]}},
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "x-kubernetes-map-type": "atomic"},
    ],
    ids=json.dumps,
)
@given(value=JSON)
@settings(max_examples=150, deadline=None)
def test_judge_and_explanation_agree_on_any_value(schema: dict[str, object], value: object) -> None:
    structural = parse({"type": "object", "properties": {"k": schema}})  # type: ignore[dict-item]
    data = {"k": value}
    assert is_clean(structural, data) == (not explain(structural, data))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ALL_KINDS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_passes_are_idempotent_and_change_nothing_in_place(kind: str, seed: int) -> None:
    resource = resource_of(kind)
    data = Objects(random.Random(seed)).make(kind)
    before = json.dumps(data)
    once = read(resource, data)
    assert json.dumps(data) == before
    if once.violations:
        assert once.data is data
        return
    again = read(resource, once.data)
    assert again.data == once.data
    assert not again.dropped
    pruned, dropped = prune(resource.schema, once.data)
    assert pruned is once.data
    assert not dropped
    assert drop_nulls(resource.schema, once.data) is once.data
    assert fill(resource.schema, once.data) is once.data


@pytest.mark.parametrize("kind", ALL_KINDS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_refused_document_has_a_violation_that_is_not_secondary(kind: str, seed: int) -> None:
    violations = admit(resource_of(kind), Objects(random.Random(seed)).make(kind)).violations
    assert not violations or not all(violation.secondary for violation in violations)
    assert all(violation.upstream and violation.message for violation in violations)
