from __future__ import annotations

import json
from typing import Any

import jsonschema
from findings_samples import FIELD, document, findings
from hypothesis import given

from trainc.findings import Finding, Severity, report
from trainc.findings.formats import as_codequality as render

REPORT = jsonschema.Draft202012Validator(
    {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "properties": {
                "description": {"type": "string"},
                "check_name": {"type": "string", "pattern": "^TC[0-9]{3}$"},
                "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["path", "lines"],
                    "properties": {
                        "path": {"type": "string"},
                        "lines": {"type": "object", "properties": {"begin": {"type": "integer", "minimum": 1}}},
                    },
                },
            },
        },
    }
)
"""The fields that GitLab's documentation of Code Quality requires of a report, and no other."""


def issues(found: list[Finding]) -> Any:
    text = render(found)
    assert text.isascii()
    assert text.endswith("]\n")
    read = json.loads(text)
    REPORT.validate(read)
    return read


def test_nothing_is_an_empty_report() -> None:
    assert render([]) == "[]\n"


def test_fingerprints_stay_when_lines_move_and_differ_when_they_must() -> None:
    moved = document("\n\n", marks={})
    (before,) = issues([report("TC101", document(), FIELD, "m")])
    again = issues([report("TC101", moved, FIELD, "m")] * 3)
    assert again[0]["fingerprint"] == before["fingerprint"]
    elsewhere = issues([report("TC101", document(name="b.yaml"), FIELD, "m")])
    assert len({issue["fingerprint"] for issue in (*again, *elsewhere)}) == 4


def test_a_count_of_jobs_does_not_change_the_fingerprint() -> None:
    (one, other) = (issues([report("TC303", document(), FIELD, f"m (in {n} TrainJobs: a/b)")]) for n in (2, 3))
    assert one[0]["fingerprint"] == other[0]["fingerprint"]


def test_what_is_in_no_file_is_named_in_the_description() -> None:
    (issue,) = issues([report("TC101", document(name="<stdin>"), FIELD, "m")])
    assert issue["description"].startswith("<stdin>: m")
    assert issue["location"] == {"path": ".", "lines": {"begin": 1}}, "no file that does not exist"


@given(findings)
def test_any_finding_is_an_issue_of_its_own(found: list[Finding]) -> None:
    shown = issues(found)
    assert len(shown) == len({issue["fingerprint"] for issue in shown}) == len(found)
    wanted = {"major": Severity.ERROR, "minor": Severity.WARNING, "info": Severity.NOTE}
    assert sorted(wanted[issue["severity"]] for issue in shown) == sorted(finding.severity for finding in found)
