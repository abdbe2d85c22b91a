"""CustomResourceDefinitions, their kinds and the formats of strings, against what an API server's own code says."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
from typing import Any

import format_cases
import pytest
from definition_cases import answer, ask, asked, cases, expected, refusals
from definition_vectors import VECTORS
from schema_cases import ORACLE

from trainc.schema import Violation
from trainc.schema.definition import define
from trainc.schema.formats import FORMATS, RARE_NAMES, format_check
from trainc.source import existing

ROWS: list[dict[str, Any]] = json.loads((VECTORS / "definitions.json").read_text(encoding="utf-8"))
TEXTS: dict[str, list[tuple[str, bool]]] = json.loads((VECTORS / "formats.json").read_text(encoding="utf-8"))
SAID = (
    *("items: Required value: must be specified", "additionalProperties: Forbidden: must not be used at the root"),
    *("type: Required value: must not be empty at the root", "must not be empty for specified array items"),
    *("must not be empty for specified object fields", "must be object at the root", "must be empty to be structural"),
    *("must be false to be structural", "must be undefined to be structural", "must not be specified in a nested"),
    *("because it is defined in", "must be false if x-kubernetes-int-or-string is true", "metadata is implicitly"),
    *("must be object if x-kubernetes-embedded-resource is true", "must be a valid regular expression, but isn't"),
    *("must not be empty if x-kubernetes-embedded-resource", r"properties\[kind\].type: Invalid value"),
    *(
        "must not have unknown fields",
        r"default: Invalid value: .*in body must be of type",
        "uniqueItems cannot be set",
    ),
    *("additionalProperties and properties are mutual exclusive", "must be true or undefined", "id is not supported"),
    *("patternProperties is not supported", r"\$ref is not supported", "definitions is not supported"),
    *("dependencies is not supported", "additionalItems is not supported", "items must be a schema object"),
    *("'schema' is not supported", "type: Unsupported value", "type cannot be set to null", "must not be set in top-"),
    *("x-kubernetes-map-type: Unsupported value", "must be object if x-kubernetes-map-type is specified"),
    *("x-kubernetes-list-type: Unsupported value", "must be array if x-kubernetes-list-type is specified"),
    *("must be atomic as item of a list", "must be map if x-kubernetes-list-map-keys is non-empty"),
    *("must not be empty if x-kubernetes-list-type is map", "must be object if parent array's"),
    *("entries must all be names of item properties", "must not contain duplicate entries", "must only have a single"),
    *("so it must have a default or be a required property", "rule is not specified", "message must be specified if"),
    *(
        "message: Invalid value: .*: must not contain line breaks",
        "reason: Unsupported value",
        "nullable cannot be true",
    ),
    *("only .Description Type", 'only "object" is allowed as the type', r"must be spec\.names\.plural"),
    *("spec.group: Invalid value", "spec.group: Required value", "should be a domain with at least one dot"),
    *("spec.scope: Unsupported value", "spec.scope: Required value", "api-approved", "spec.names.kind: Required value"),
    *("may have mixed case", "kind and listKind may not be the same", r"shortNames\[1\]: Invalid value"),
    *("spec.names.plural: Invalid value", r"categories\[0\]", "cannot set to true, set x-kubernetes-preserve"),
    *("required when strategy is set to Webhook", "should not be set when strategy is not set to Webhook"),
    *("conversion.strategy: Unsupported value", "exactly one of url or service", "duplicate version"),
    *("must include at least one of v1, v1beta1", "must have exactly one version marked as storage", "spec.version: "),
    *(r"openAPIV3Schema: Required value", "can only be set for deprecated versions", "JSONPath: Required value"),
    *(
        "must be a simple json path starting with",
        "should be a json path under either",
        "type: Invalid value: .*boolean",
    ),
)
"""Every kind of text, and how to know it."""


def test_what_is_refused_of_a_crd_is_what_the_api_server_refuses() -> None:
    refused = 0
    for row in ROWS:
        before = copy.deepcopy(row["definition"])
        found = define(row["definition"])
        assert row["definition"] == before, "the argument was changed"
        if row["data"] is None or refusals(found):
            assert refusals(found) == expected(row["answer"]), json.dumps(row["definition"])
            assert bool(found.resources) == (not refusals(found)) or "served" not in json.dumps(before)
            refused += bool(found.violations)
    assert 150 < refused < len(ROWS)


def test_objects_of_a_crd_get_the_api_servers_answer() -> None:
    rows = [row for row in ROWS if row["data"] is not None]
    assert len(rows) > 30
    for row in rows:
        assert answer(define(row["definition"]), row["data"]) == row["answer"], json.dumps(row)


@pytest.mark.parametrize("text", SAID)
def test_every_kind_of_text_is_recorded(text: str) -> None:
    assert any(re.search(text, error) for row in ROWS for error in row["answer"].get("errors", ()))


@pytest.mark.parametrize("form", TEXTS)
def test_formats_are_the_api_servers(form: str) -> None:
    check = format_check(form)
    assert check is not None
    assert [(text, check(text)) for text, _ in TEXTS[form]] == [(text, taken) for text, taken in TEXTS[form]]
    assert {taken for _, taken in TEXTS[form]} == {True, False}


def test_every_format_is_recorded() -> None:
    recorded = {form.replace("-", "") for form in TEXTS} | {"datetime", "password"}
    assert recorded == set(FORMATS) | RARE_NAMES


def test_every_violation_of_a_crd_has_a_place() -> None:
    for row in ROWS:
        for violation in define(row["definition"]).violations:
            path = existing(row["definition"], violation.path)
            missing = len(violation.path) - len(path)
            assert missing <= 3, violation
            assert violation.message
            assert violation.upstream


def violations(schema: dict[str, Any], **spec: Any) -> tuple[Violation, ...]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Thing", "plural": "things"}
    whole = {"group": "example.com", "names": names, "scope": "Cluster", "versions": [version], **spec}
    data = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": whole,
    }
    return define(data).violations


@pytest.mark.parametrize(
    ("schema", "code", "message", "hint"),
    [
        ({"type": 3}, "TC102", "type must be a string", "write it in quotes"),
        ({"type": "object", "propertees": {}}, "TC101", "unknown keyword propertees", "did you mean 'properties'?"),
        ({"type": "object", "properties": []}, "TC102", "properties must be a mapping", None),
        ({"type": "object", "properties": {"a": 3}}, "TC102", "a must be a mapping", None),
        ({"type": "object", "required": "a"}, "TC102", "required must be a list", None),
        (
            {"type": "object", "maxProperties": "3"},
            "TC102",
            "maxProperties must be an integer",
            "write 3 without quotes",
        ),
        ({"items": 3}, "TC102", "items must be a schema", None),
        ({"additionalProperties": "no"}, "TC102", "additionalProperties must be a schema, true or false", None),
        ({"x-kubernetes-validations": [{"rul": "true"}]}, "TC101", "unknown field rul", "did you mean 'rule'?"),
        ({"x-kubernetes-validations": [3]}, "TC102", "0 must be a mapping", None),
        ({"dependencies": {"a": 3}}, "TC102", "a must be a mapping", None),
    ],
)
def test_a_schema_of_another_shape(schema: dict[str, Any], code: str, message: str, hint: str | None) -> None:
    first = next(violation for violation in violations(schema) if violation.code == code)
    assert (first.message, first.hint) == (message, hint)


@pytest.mark.parametrize(
    "spec", [{"versions": {}}, {"versions": [3]}, {"names": []}, {"scope": 3}, {"conversion": "x"}]
)
def test_a_spec_of_another_shape(spec: dict[str, Any]) -> None:
    assert {violation.code for violation in violations({"type": "object"}, **spec)} == {"TC102"}


@pytest.fixture(scope="module")
def upstream() -> None:
    """Skip where Go or the modules are missing; a program that does not compile is a failure."""
    if shutil.which("go") is None:
        pytest.skip("no Go toolchain (go is not on the PATH)")
    done = subprocess.run(["go", "mod", "download"], cwd=ORACLE, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the Go modules of tests/oracle/go.mod are not there: {done.stderr.strip()[-300:]}")


@pytest.mark.go
@pytest.mark.usefixtures("upstream")
def test_new_crds_and_objects_get_the_api_servers_answer() -> None:
    made = list(cases(1999, 500))
    for (crd, data), reply in zip(made, ask(asked(*case) for case in made), strict=True):
        definition = define(crd)
        if data is None or refusals(definition):
            assert refusals(definition) == expected(reply), json.dumps(crd)
        else:
            assert answer(definition, data) == reply, json.dumps([crd, data])


@pytest.mark.go
@pytest.mark.usefixtures("upstream")
def test_new_texts_get_the_api_servers_answer() -> None:
    found = format_cases.texts(1999, 3000)
    [reply] = ask([format_cases.request(found)])
    for form, taken in format_cases.accepted(found, reply).items():
        check = format_check(form)
        assert check is not None
        assert list(map(check, found[form])) == taken, form
