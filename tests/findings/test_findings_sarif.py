from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from findings_samples import DATA, FIELD, TEXT, document, findings
from hypothesis import assume, given

import trainc
from trainc.basics.about import docs_page
from trainc.basics.jsonvalues import Json
from trainc.findings import CODES, Finding, Related, Severity, report
from trainc.findings.codes import anchor, markdown, page
from trainc.findings.formats import FINGERPRINT, ROOT, SCHEMA
from trainc.findings.formats import as_sarif as render


def closed(required: dict[str, Json], **optional: Json) -> Json:
    """Return the schema of an object that has these properties and no other."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: Json) -> Json:
    return {"type": "array", "items": items}


STRING: Json = {"type": "string"}
COUNT: Json = {"type": "integer", "minimum": 1}
LEVEL: Json = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = closed({"text": STRING})
URI: Json = {"type": "string", "pattern": r"^(file://)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})*$"}
PHYSICAL = closed(
    {"artifactLocation": closed({"uri": URI}, uriBaseId=STRING)},
    region=closed({"startLine": COUNT, "startColumn": COUNT}),
)
LOCATION: dict[str, Json] = {"physicalLocation": PHYSICAL}
LOGICAL = array(closed({"fullyQualifiedName": STRING}))
RELATED: dict[str, Json] = {**LOCATION, "id": COUNT, "message": MESSAGE}
RULE = closed(
    {
        "id": {"type": "string", "pattern": "^TC[0-9]{3}$"},
        "name": {"type": "string", "pattern": "^[A-Z][A-Za-z0-9]*$"},
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
        "helpUri": {"type": "string", "pattern": "^https://"},
        "help": closed({"text": STRING, "markdown": STRING}),
        "defaultConfiguration": closed({"level": LEVEL}),
    }
)
RESULT = closed(
    {
        "ruleId": STRING,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": {**array(closed(LOCATION, logicalLocations=LOGICAL)), "minItems": 1},  # type: ignore[dict-item]
        "partialFingerprints": closed({FINGERPRINT: {"type": "string", "pattern": "^[0-9a-f]{64}$"}}),
        "properties": {"type": "object"},
    },
    relatedLocations=array(closed(RELATED, logicalLocations=LOGICAL)),
)
DRIVER = closed({"name": STRING, "version": STRING, "semanticVersion": STRING, "rules": array(RULE)})
RUN = closed(
    {
        "tool": closed({"driver": DRIVER}),
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "originalUriBaseIds": closed({ROOT: closed({"description": MESSAGE})}),
        "results": array(RESULT),
    }
)
LOG = jsonschema.Draft202012Validator(
    closed({"$schema": {"const": SCHEMA}, "version": {"const": "2.1.0"}, "runs": array(RUN)})
)
"""The part of SARIF 2.1.0 that trainc uses (3.13 and on), closed: a property that is not in the standard is an error.

The official schema comes under terms that do not let this repository hold a copy.
"""


def log(found: list[Finding]) -> Any:
    text = render(found)
    assert text.isascii()
    assert text.endswith("}\n")
    read = json.loads(text)
    LOG.validate(read)
    return read


def results(found: list[Finding]) -> Any:
    return log(found)["runs"][0]["results"]


def fingerprint(finding: Finding) -> str:
    (result,) = results([finding])
    made: str = result["partialFingerprints"][FINGERPRINT]
    return made


def test_nothing_is_a_run_without_results() -> None:
    (run,) = log([])["runs"]
    assert run["results"] == []
    assert run["columnKind"] == "unicodeCodePoints"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == sorted(CODES)


def test_the_version_is_that_of_the_package() -> None:
    driver = log([])["runs"][0]["tool"]["driver"]
    assert driver["version"] == driver["semanticVersion"] == trainc.__version__


def test_rules_are_the_table() -> None:
    rules = log([])["runs"][0]["tool"]["driver"]["rules"]
    for (code, entry), rule in zip(sorted(CODES.items()), rules, strict=True):
        assert rule["id"] == code
        assert rule["fullDescription"]["text"] == entry.text, code
        assert rule["shortDescription"]["text"].lower() == f"{entry.title}.".lower(), code
        assert rule["defaultConfiguration"]["level"] == entry.severity, code
        assert rule["help"]["text"].startswith(page(code)), code
        assert rule["helpUri"] == docs_page("codes", anchor(code))
        for text in rule["help"].values():
            assert f"See {rule['helpUri']}, or run" in text, code
            assert entry.hint is None or " ".join(entry.hint.split()) in " ".join(text.split()), code


def test_names_of_rules_differ() -> None:
    names = [rule["name"] for rule in log([])["runs"][0]["tool"]["driver"]["rules"]]
    assert len(set(names)) == len(names)
    assert {"UnknownField", "NotUTF8Text", "ReplicasMustBe1"} <= set(names)


def test_anchors_are_those_of_the_headings() -> None:
    headings = [line.removeprefix("### ") for line in markdown().splitlines() if line.startswith("### ")]
    assert len(headings) == len(CODES)
    assert anchor("TC001") == "tc001-not-utf-8-text"
    assert anchor("TC308") == "tc308-environment-variables-in-a-runtime-patch"
    for heading in headings:
        assert anchor(heading[:5]) == re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("jobs/a b/ü.yaml", "jobs/a%20b/%C3%BC.yaml"),
        ("<stdin>", "."),
        ("c:d%.yaml", "c%3Ad%25.yaml"),
        ("../x#1?.yaml", "../x%231%3F.yaml"),
        ("\udcff.yaml", "%FF.yaml"),
        ("\ud800.yaml", "%EF%BF%BD.yaml"),
    ],
)
def test_names_become_uris(name: str, uri: str) -> None:
    (result,) = results([report("TC102", document(name=name), (), "m")])
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": uri, "uriBaseId": "%SRCROOT%"}


def test_an_absolute_name_is_a_file_uri() -> None:
    (result,) = results([report("TC102", document(name="/srv/a b.yaml"), (), "m")])
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": "file:///srv/a%20b.yaml"}


def test_the_fingerprint_stays_when_lines_move() -> None:
    before = report("TC101", document(), FIELD, "m")
    moved = report("TC101", document("# a\n" + TEXT, marks={}), FIELD, "m", hint="h", severity=Severity.WARNING)
    assert fingerprint(before) == fingerprint(moved)
    assert fingerprint(before) == "365b44616a771c051d33a47e3c64f13ff9ee4e31ac2f8584b29bec561d801358", (
        "it is a contract: count the version in FINGERPRINT up to change it"
    )


@pytest.mark.parametrize(
    "other",
    [
        report("TC102", document(), FIELD, "m"),
        report("TC101", document(), FIELD[:2], "m"),
        report("TC101", document(), FIELD, "n"),
        report("TC101", document(data={**DATA, "metadata": {"name": "k"}}), FIELD, "m"),
        report("TC101", document(data={**DATA, "metadata": {"name": "j", "namespace": "a"}}), FIELD, "m"),
        report("TC101", document(data={**DATA, "kind": "JobSet"}), FIELD, "m"),
    ],
)
def test_the_fingerprint_tells_findings_apart(other: Finding) -> None:
    assert fingerprint(report("TC101", document(), FIELD, "m")) != fingerprint(other)


def test_text_of_an_input_is_no_link_and_no_surrogate() -> None:
    finding = report(
        "TC102", document(), (), "see [x](https://e.com) [1] {0}\ud800", related=(Related("[a](1)", document()),)
    )
    (result,) = results([finding])
    assert result["message"]["text"] == "see [x] (https://e.com) [1] {0}\\ud800"
    assert result["relatedLocations"][0]["message"]["text"] == "[a] (1)"


@given(findings)
def test_any_finding_is_a_result(found: list[Finding]) -> None:
    assume(all(finding.file != "." for finding in found))  # what stands for no file
    shown = results(found)
    rules = sorted(CODES)
    assert sorted(result["ruleId"] for result in shown) == sorted(finding.code for finding in found)
    for result in shown:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        (location,) = result["locations"]
        in_file = location["physicalLocation"]["artifactLocation"]["uri"] != "."
        assert ("region" in location["physicalLocation"]) == in_file
    assert json.dumps(shown, ensure_ascii=False).encode(), "no lone surrogate is left"
