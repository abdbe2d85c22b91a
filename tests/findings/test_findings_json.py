from __future__ import annotations

import json

from trainc.findings import Finding, Related, report
from trainc.findings.formats import FORMATS
from trainc.findings.formats import as_json as render
from trainc.inputs.source import Document, Mark, Source

PLACE = Document(Source("jobs/ü.yaml", "a:\n- b\n"), {}, 0, lambda: {("a", 0): Mark(2, 3)})


def test_every_field_and_the_place() -> None:
    finding = report(
        "TC104",
        PLACE,
        ("a", 0),
        "ü",
        found="b",
        expected="c",
        hint="h",
        related=(Related("there", PLACE, ("a", 0)),),
        stage="crd",
        upstream="a[0]: Unsupported value",
    )
    text = render([finding])
    assert text.isascii()
    assert text.endswith("]\n")
    assert json.loads(text) == [
        {
            "file": "jobs/ü.yaml",
            "line": 2,
            "column": 3,
            "path": ["a", 0],
            "code": "TC104",
            "severity": "error",
            "message": "ü",
            "found": "b",
            "expected": "c",
            "hint": "h",
            "related": [{"file": "jobs/ü.yaml", "line": 2, "column": 3, "path": ["a", 0], "message": "there"}],
            "stage": "crd",
            "upstream": "a[0]: Unsupported value",
        }
    ]


def test_the_fields_are_those_of_a_finding() -> None:
    (item,) = json.loads(render([report("TC101", PLACE, (), "m")]))
    assert set(item) == {*Finding.__struct_fields__} - {"document"} | {"file", "line", "column"}


def test_an_empty_array_is_still_json() -> None:
    assert json.loads(render([])) == []


def test_order_and_lone_surrogates() -> None:
    odd = Document(Source("\udcff.yaml", ""), {})
    items = json.loads(render([report("TC102", odd, (), "b"), report("TC102", PLACE, (), "a\ud800")]))
    assert [item["file"] for item in items] == ["jobs/ü.yaml", "\udcff.yaml"]


def test_formats_share_a_signature() -> None:
    findings = [report("TC101", PLACE, (), "m")]
    for write in FORMATS.values():
        assert write(findings, True).endswith("\n")
        assert write(findings, False).endswith("\n")
