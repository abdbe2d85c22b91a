"""Admission of custom resources, against what an API server's own code makes of them."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from schema_cases import ALL_KINDS, Objects, answer, ask, resource_of
from schema_vectors import VECTORS, load, texts

SAID = {
    "type": r'must be of type (integer|string|boolean|array|object|number): "',
    "int-or-string": r"must be of type integer,string:",
    "null": r'must be of type \w+: "null"',
    "integer format": r'must be of type int(32|64): "float64"',
    "range": r"^<nil>: .*Checked value must be of type integer with format int32",
    "boundary": r"Maximum boundary value must be of type",
    "float range": r"Checked value must be of type number with format float",
    "required": r": Required value$",
    "enum": r": Unsupported value: .*: supported values: ",
    "maxLength": r": Too long: may not be more than",
    "minLength": r"should be at least \d+ chars? ?long",
    "pattern": r"in body should match '",
    "format": r"must be of type (date|date-time|uuid4|cidr|byte): \"",
    "maximum": r"should be less than or equal to",
    "minimum": r"should be greater than or equal to",
    "exclusiveMaximum": r"should be less than \d",
    "exclusiveMinimum": r"should be greater than \d",
    "multipleOf": r"should be a multiple of",
    "maxItems": r": Too many: \d+: must have at most \d+ items",
    "minItems": r"should have at least \d+ items",
    "minProperties": r"should have at least \d+ properties",
    "anyOf": r"must validate at least one schema",
    "oneOf": r"must validate one and only one schema \(oneOf\)\. (Found none valid|Found 2 valid)",
    "allOf": r"must validate all the schemas",
    "not": r"must not validate the schema",
    "list map": r": Duplicate value: \{\"name\":",
    "list map of two keys": r": Duplicate value: \{\"containerPort\":81,\"protocol\":\"TCP\"\}",
    "list set": r": Duplicate value: \"",
    "list below a map": r"\[a\]\.l\[1\]: Duplicate value",
    "list map of no mappings": r"must be an object for an array of list-type map",
    "name": r"metadata\.name: Invalid value: .*RFC 1123 subdomain",
    "no name": r"metadata\.name: Required value: name or generateName",
    "namespace": r"metadata\.namespace: Invalid value",
    "label": r"metadata\.labels: Invalid value",
    "annotation": r"metadata\.annotations: Invalid value",
    "finalizer": r"metadata\.finalizers: Invalid value",
    "owner": r"metadata\.ownerReferences\.uid: Invalid value",
    "controller": r"Only one reference can have Controller set to true",
    "embedded": r"spec\.emb\.kind: (Required|Invalid) value",
    "rules": r"^<nil>: Invalid value: null: some validation rules were not checked",
}
"""Every kind of text, and how to know it."""


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_answers_are_the_api_servers(kind: str) -> None:
    vectors = load(kind)
    assert len(vectors) >= 40
    for data, expected in vectors:
        before = copy.deepcopy(data)
        assert answer(resource_of(kind), data) == expected, json.dumps(data)
        assert data == before, "the argument was changed"


@pytest.mark.parametrize("what", SAID)
def test_every_kind_of_text_is_recorded(what: str) -> None:
    texts = [text for kind in ALL_KINDS for _, expected in load(kind) for text in expected.get("errors", ())]
    assert any(re.search(SAID[what], text) for text in texts)


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_recorded_answers_are_those_of_today() -> None:
    assert texts() == {kind: (VECTORS / f"{kind.lower()}.json").read_text(encoding="utf-8") for kind in ALL_KINDS}


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_new_objects_get_the_api_servers_answer() -> None:
    objects = Objects(99)
    asked = [(kind, objects.make(kind)) for _ in range(120) for kind in ALL_KINDS]
    for (kind, data), expected in zip(asked, ask(asked), strict=True):
        assert answer(resource_of(kind), data) == expected, json.dumps(data)


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_the_schemas_are_those_of_the_pinned_modules() -> None:
    tool = Path(__file__).parents[2] / "compiler" / "tools" / "schemas.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
