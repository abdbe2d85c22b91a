"""CustomResourceDefinitions, objects of their kinds and the formats of strings, against an API server's own code."""

from __future__ import annotations

import json
from typing import Any

import format_cases
import pytest
from definition_cases import VECTORS, ask
from schema_cases import answer

from builders import crd
from trainc import Options, Source, compile
from trainc.schema.definitions import Definition, define
from trainc.schema.formats import FORMATS, format_check

ROWS: list[dict[str, Any]] = json.loads((VECTORS / "definitions.json").read_text(encoding="utf-8"))
TEXTS: dict[str, list[tuple[str, bool]]] = json.loads((VECTORS / "formats.json").read_text(encoding="utf-8"))


def test_objects_of_a_crd_get_the_api_servers_answer() -> None:
    assert len(ROWS) >= 300
    for row in ROWS:
        assert answer(define(row["definition"]).resources[0], row["data"]) == row["answer"], json.dumps(row)


@pytest.mark.parametrize("form", TEXTS)
def test_formats_are_the_api_servers(form: str) -> None:
    check = format_check(form)
    assert check is not None
    known = [(text, taken) for text, taken in TEXTS[form] if format_cases.supported(form, text)]
    assert [(text, check(text)) for text, _ in known] == known
    assert {taken for _, taken in TEXTS[form]} == {True, False}


@pytest.mark.parametrize(("count", "codes"), [(200, []), (400, ["TC012"])])
def test_defaults_do_not_multiply_without_limit(count: int, codes: list[str]) -> None:
    default = json.dumps([*range(count)])
    item = f"{{type: object, properties: {{d: {{type: array, items: {{type: integer}}, default: {default}}}}}}}"
    kind = Source("crd.yaml", crd("Thing", f"properties: {{spec: {{type: array, items: {item}}}}}"))
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": [{}] * count}
    build = compile([Source("a.yaml", json.dumps(thing))], Options(crds=(kind,)))
    assert [finding.code for finding in build.findings if finding.code != "TC014"] == codes


@pytest.mark.parametrize(("last", "codes"), [(5, []), (6, ["TC012"])])
def test_the_patterns_of_all_crds_have_a_limit(last: int, codes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a few characters may take a second to compile."""
    monkeypatch.setattr("trainc.schema.definitions.COMPILING", 5_000)

    def patterns(kind: str, count: int) -> str:
        fields = {f"p{number}": {"type": "string", "pattern": "x{990}" * 10} for number in range(count)}
        return crd(kind, f"properties: {{spec: {json.dumps({'type': 'object', 'properties': fields})}}}")

    kinds = Source("crds.yaml", f"{patterns('One', 5)}---\n{patterns('Two', last)}")
    build = compile([], Options(crds=(kinds,)))
    assert [finding.code for finding in build.findings if finding.code != "TC014"] == codes


def test_every_format_is_recorded() -> None:
    recorded = {form.replace("-", "") for form in TEXTS} | {"datetime", "password"}
    assert recorded == set(FORMATS)


def defined(schema: Any, **spec: Any) -> Definition:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Thing", "plural": "things"}
    whole = {"group": "example.com", "names": names, "scope": "Cluster", "versions": [version], **spec}
    data = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": whole,
    }
    return define(data)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": 3}, "type must be a string"),
        ({"type": "object", "properties": []}, "properties must be a mapping"),
        ({"type": "object", "properties": {"a": 3}}, "a schema must be a mapping"),
        ({"type": "object", "required": "a"}, "required must be a list"),
        ({"type": "object", "required": [False]}, "required must be a list of strings"),
        ({"type": "array", "x-kubernetes-list-map-keys": [[]]}, "x-kubernetes-list-map-keys must be a list of strings"),
        ({"x-kubernetes-validations": [None]}, "x-kubernetes-validations must be a list of mappings"),
        ({"type": "object", "maxProperties": "3"}, "maxProperties must be an integer"),
        ({"type": "object", "maxProperties": True}, "maxProperties must be an integer"),
        ({"items": 3}, "items must be a mapping"),
        ({"additionalProperties": "no"}, "additionalProperties must be a mapping, true or false"),
        ({"properties": {"a": {"$ref": "#/b"}}}, "$ref is not supported"),
        ({"type": "array", "minItems": "3"}, "minItems must be an integer"),
        ({"type": "object", "not": 3}, "not must be a mapping"),
        ({"type": "object", "anyOf": {}}, "anyOf must be a list"),
        ({"type": "object", "nullable": "true"}, "nullable must be true or false"),
    ],
)
def test_a_schema_that_cannot_be_read(schema: Any, message: str) -> None:
    definition = defined(schema)
    assert [(violation.code, violation.message) for violation in definition.violations] == [("TC111", message)]
    assert not definition.resources


def test_keywords_that_mean_nothing_and_patterns_that_cannot_be_tried() -> None:
    definition = defined({"type": "object", "propertees": {}, "properties": {"a": {"type": "string", "pattern": "[a"}}})
    assert [(v.code, v.message, v.hint) for v in definition.violations] == [
        ("TC101", "unknown keyword propertees", "did you mean 'properties'?"),
        ("TC112", "trainc cannot evaluate this pattern, so it accepts any text", None),
    ]
    assert definition.resources


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"versions": {}}, "TC102"),
        ({"versions": [3]}, "TC102"),
        ({"names": []}, "TC102"),
        ({"names": {"kind": "Thing"}}, "TC103"),
        ({"scope": 3}, "TC102"),
        ({"scope": None}, "TC103"),
    ],
)
def test_a_spec_that_cannot_be_read(spec: dict[str, Any], code: str) -> None:
    definition = defined({"type": "object"}, **spec)
    assert {violation.code for violation in definition.violations} == {code}
    assert not definition.resources


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_recorded_answers_are_those_of_today() -> None:
    answers = ask({"definition": row["definition"], "data": row["data"]} for row in ROWS)
    assert answers == [row["answer"] for row in ROWS]


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_new_texts_get_the_api_servers_answer() -> None:
    found = format_cases.texts(1999, 3000)
    [reply] = ask([format_cases.request(found)])
    for form, taken in format_cases.accepted(found, reply).items():
        check = format_check(form)
        assert check is not None
        pairs = zip(found[form], taken, strict=True)
        known = [(text, answer) for text, answer in pairs if format_cases.supported(form, text)]
        assert [(text, check(text)) for text, _ in known] == known, form
