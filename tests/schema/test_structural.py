"""The schemas in the package: complete, shared, and with everything that later passes need."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trainc.basics.jsonvalues import Path
from trainc.data import load_json
from trainc.schema import KINDS, has_rules, parse, resource, unknown_field_hint
from trainc.schema.formats import FORMATS, known_format, matcher
from trainc.schema.structural import Structural, difference

CONTAINER = ("replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0)


def reachable(schema: Structural) -> list[Structural]:
    """Return every schema below schema, itself included, once."""
    found: dict[int, Structural] = {}
    todo = [schema]
    while todo:
        node = todo.pop()
        if id(node) not in found:
            found[id(node)] = node
            below = (*node.properties.values(), node.items, node.additional, *node.alternatives("anyOf"))
            todo.extend(sub for sub in below if sub is not None)
    return list(found.values())


@pytest.mark.parametrize("kind", KINDS)
def test_every_resource_says_what_its_crd_says(kind: str) -> None:
    of = resource(kind)
    jobset = kind == "JobSet"
    assert of.api_version == ("jobset.x-k8s.io/v1alpha2" if jobset else "trainer.kubeflow.org/v1alpha1")
    assert of.kind == kind
    assert of.namespaced == (kind != "ClusterTrainingRuntime")
    assert of.status == (kind in ("TrainJob", "JobSet"))
    assert {"apiVersion", "kind", "metadata", "spec"} <= of.schema.properties.keys()


def test_a_kind_without_a_schema_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="Pod"):
        resource("Pod")


def test_equal_parts_of_kinds_are_one_object() -> None:
    of_jobset = resource("JobSet").schema.at(("spec", *CONTAINER))
    of_runtime = resource("TrainingRuntime").schema.at(("spec", "template", "spec", *CONTAINER))
    assert of_jobset is not None
    assert of_jobset is of_runtime


def test_a_path_that_the_schema_does_not_know_leads_nowhere() -> None:
    trainjob = resource("TrainJob").schema
    assert trainjob.at(("spec", "trainer", "numNodez")) is None
    assert trainjob.at(("spec", 0, "trainer")) is None
    assert trainjob.at(("spec", "suspend", "deeper", "still")) is None
    labels = trainjob.at(("spec", "trainer", "resourcesPerNode", "limits", "any/key"))
    assert labels is not None
    assert labels.int_or_string


@pytest.mark.parametrize(
    ("kind", "path", "rule"),
    [
        ("TrainJob", ("spec", "runtimeRef"), "self == oldSelf"),
        ("TrainJob", ("spec", "managedBy"), "self in ['trainer.kubeflow.org/trainjob-controller'"),
        ("JobSet", ("spec", "network"), "self == oldSelf"),
        ("ClusterTrainingRuntime", ("spec", "mlPolicy"), "has(self.mpi)"),
    ],
)
def test_rules_are_reachable_by_path(kind: str, path: tuple[str, ...], rule: str) -> None:
    schema = resource(kind).schema.at(path)
    assert schema is not None
    assert any(rule in str(entry["rule"]) for entry in schema.rules)
    assert has_rules(resource(kind).schema)


def test_the_walk_knows_all_keywords_of_the_crds() -> None:
    known = {
        *("type", "properties", "items", "additionalProperties", "required", "default", "enum", "pattern", "format"),
        *("maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems", "minProperties", "anyOf"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"),
        *("x-kubernetes-int-or-string", "x-kubernetes-validations"),
    }
    rows = load_json("schemas/nodes.json")
    assert {keyword for row in rows for keyword in row} == known
    for node in (node for kind in KINDS for node in reachable(resource(kind).schema)):
        matcher(node.keywords.get("pattern", ""))
        if node.type == "string" and "format" in node.keywords:
            assert node.keywords["format"].replace("-", "") in FORMATS


def test_all_rows_are_used_and_none_is_there_twice() -> None:
    rows = load_json("schemas/nodes.json")
    assert len({json.dumps(row, sort_keys=True) for row in rows}) == len(rows)
    assert len({id(node) for kind in KINDS for node in reachable(resource(kind).schema)}) == len(rows)


def test_prose_is_gone_and_properties_of_that_name_are_not() -> None:
    schema = parse({"type": "object", "description": "d", "properties": {"description": {"type": "string"}}})
    assert "description" not in schema.keywords
    assert schema.properties["description"].type == "string"
    assert parse({"properties": {"title": {"title": "t"}}}).properties["title"].keywords == {}


def test_formats_that_the_server_ignores() -> None:
    assert not known_format("string", "no-such-format")
    assert not known_format("integer", "date")
    assert known_format("string", "date-time") == "date-time"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        (("spec", "trainer", "numProcsPerNode"), "did you mean 'numProcPerNode'?"),
        (("spec", "trainer", "NUMNODES"), "did you mean 'numNodes'?"),
        (("metadata", "lables"), "did you mean 'labels'?"),
        (("spec", "zzz"), None),
        (("spec", "trainer", "env", 0, "nmae"), "did you mean 'name'?"),
        (("spec", "nowhere", "deeper"), None),
    ],
)
def test_an_unknown_field_gets_the_nearest_spelling(path: tuple[str | int, ...], hint: str | None) -> None:
    assert unknown_field_hint(resource("TrainJob"), path) == hint


@pytest.mark.parametrize(
    ("other", "where"),
    [
        ({"type": "object", "additionalProperties": {"type": "string"}}, None),
        ({"type": "object", "additionalProperties": {"type": "string"}, "description": "d"}, None),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, ("additionalProperties", "type")),
        ({"type": "object", "additionalProperties": True}, ("additionalProperties",)),
        ({"type": "object"}, ("additionalProperties",)),
        ({"type": "object", "additionalProperties": False}, ("additionalProperties",)),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}, ("properties", "a")),
        ({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1}, ("maxProperties",)),
        ({"type": "object", "additionalProperties": {"type": "string"}, "anyOf": [{}]}, ("anyOf", 0)),
    ],
)
def test_where_two_schemas_differ(other: dict[str, Any], where: Path | None) -> None:
    one = parse({"type": "object", "additionalProperties": {"type": "string"}})
    assert difference(parse(other), one) == where
    assert (difference(one, parse(other)) is None) == (where is None)


def test_what_is_below_an_alternative_differs_there() -> None:
    one, other = (parse({"allOf": [{}, {"not": {"items": {"maxLength": size}}}]}) for size in (1, 2))
    assert difference(one, other) == ("allOf", 1, "not", "items", "maxLength")
