"""Rules on create: which hold, and that what is remembered of shared parts of objects changes nothing."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from corpus import documents, jobsets, mutated, partly_lasting
from hypothesis import given
from hypothesis import strategies as st
from schema_cases import ALL_KINDS, Data, resource_of

from effort import share
from trainc.admission.rules import failures
from trainc.schema import admit, parse

seeds = st.integers(0, 2**32)


def test_documents() -> None:
    held = [not failures(resource_of(data["kind"]).schema, data) for data in (*documents(), *jobsets())]
    assert held.count(True) > share(500)
    assert held.count(False) > 1


@given(seed=seeds)
def test_parts_that_last(seed: int) -> None:
    data = mutated(random.Random(seed).choice((*documents(), *jobsets())), seed)
    resource = resource_of(data["kind"]) if data.get("kind") in ALL_KINDS else resource_of("TrainJob")
    shared = partly_lasting(admit(resource, data).data, seed)
    alone = failures(resource.schema, copy.deepcopy(shared))
    assert failures(resource.schema, shared) == failures(resource.schema, shared) == alone


def rule(text: str, **more: Any) -> Data:
    return {"rule": text, **more}


SCHEMA: Data = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-validations": [
                rule("size(self.names) < 3"),
                rule("self.names == oldSelf.names"),
                rule("oldSelf.hasValue() || has(self.names)", optionalOldSelf=True),
                rule(" "),
            ],
            "properties": {
                "names": {
                    "type": "array",
                    "maxItems": 9,
                    "items": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [rule("self != 'bad'")]},
                },
                "by": {
                    "type": "object",
                    "maxProperties": 9,
                    "additionalProperties": {"type": "integer", "x-kubernetes-validations": [rule("10 / self > 1")]},
                },
                "at": {
                    "type": "string",
                    "nullable": True,
                    "format": "date-time",
                    "x-kubernetes-validations": [rule("self.getFullYear() > 2000")],
                },
                "part": {"type": "object", "allOf": [{"x-kubernetes-validations": [rule("size(self.a) > 1")]}]},
                "broken": {"type": "string", "x-kubernetes-validations": [rule("self.nonsense(")]},
            },
        }
    },
}
SCHEMA["properties"]["spec"]["properties"]["part"]["properties"] = {"a": {"type": "string", "maxLength": 9}}


@pytest.mark.parametrize(
    ("spec", "holds"),
    [
        ({"names": ["a", "b"]}, True),
        ({"names": ["a", "bad"]}, False),
        ({"names": ["a", "a", "a"]}, False),
        ({}, False),
        ({"names": [], "by": {"x": 1, "y": 4}}, True),
        ({"names": [], "by": {"x": 0}}, False),
        ({"names": [], "by": {"x": 10}}, False),
        ({"names": [], "at": None}, True),
        ({"names": [], "at": "2024-01-01T00:00:00Z"}, True),
        ({"names": [], "at": "1999-01-01T00:00:00Z"}, False),
        ({"names": [], "at": "no time"}, False),
        ({"names": [], "part": {"a": "ab"}}, True),
        ({"names": [], "part": {"a": "a"}}, False),
        ({"names": [], "broken": ""}, False),
    ],
)
def test_every_sort_of_place(spec: Data, holds: bool) -> None:
    schema = parse(SCHEMA)
    assert (not failures(schema, {"spec": spec})) == holds


@pytest.mark.parametrize("text", ["self.oldSelf", "self.?oldSelf.orValue(1)", "self. oldSelf"])
def test_a_field_named_like_the_variable_is_read_on_create(text: str) -> None:
    field = {"type": "integer"}
    rules = [rule(f"{text} > 0")]
    spec: Data = {"type": "object", "properties": {"oldSelf": field}, "x-kubernetes-validations": rules}
    schema = parse({"type": "object", "properties": {"spec": spec}})
    assert failures(schema, {"spec": {"oldSelf": 0}})
    assert not failures(schema, {"spec": {"oldSelf": 1}})
