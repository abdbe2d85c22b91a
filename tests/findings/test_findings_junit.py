from __future__ import annotations

from collections import Counter
from xml.etree.ElementTree import Element, fromstring

from findings_samples import FIELD, document, findings
from hypothesis import given

from trainc.findings import Finding, Severity, report
from trainc.findings.formats import NAME_WIDTH
from trainc.findings.formats import as_junit as render


def parse(report: str) -> Element:
    return fromstring(report.encode("ascii"))


def names(report: str) -> list[str]:
    return [case.attrib["name"] for case in parse(report).iter("testcase")]


def test_nothing_is_one_case_that_passes() -> None:
    assert render([]) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="trainc" tests="1" failures="0" errors="0" skipped="0">\n'
        '  <testsuite name="trainc" tests="1" failures="0" errors="0" skipped="0">\n'
        '    <testcase classname="trainc" name="trainc" />\n'
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def test_escapes_and_characters_that_xml_cannot_hold() -> None:
    shown = render([report("TC102", document("a: <b>&\n", name='a&"<\x01\ud800\uffff.yaml'), (), "x < y && 'ü'\x1b")])
    assert shown.isascii()
    (case,) = parse(shown).iter("testcase")
    assert case.attrib["file"] == r'a&"<\x01\ud800\uffff.yaml'
    (failure,) = case
    assert failure.attrib["message"] == "x < y && 'ü'\\x1b"
    assert " 1 | a: <b>&\n" in (failure.text or "")


def test_names_stay_when_lines_move_and_differ_when_they_must() -> None:
    moved = document("\n\n", marks={})
    (before,) = names(render([report("TC101", document(), FIELD, "m")]))
    assert names(render([report("TC101", moved, FIELD, "m")] * 3)) == [before, f"{before} (2)", f"{before} (3)"]
    elsewhere = document(name="b.yaml")
    both = render([report("TC101", document(), FIELD, "m"), report("TC101", elsewhere, FIELD, "m")])
    assert names(both) == [before, before], "another file is another class"


def test_long_names_are_cut_and_still_differ() -> None:
    shown = names(render([report("TC102", document(), (), "m" * 400 + end) for end in "ab"]))
    assert [len(name) for name in shown] == [NAME_WIDTH, NAME_WIDTH + len(" (2)")]
    assert len(set(shown)) == 2


@given(findings)
def test_any_finding_is_a_case(found: list[Finding]) -> None:
    shown = render(found)
    assert shown.isascii()
    root = parse(shown)
    cases = list(root.iter("testcase"))
    assert len(cases) == max(len(found), 1)
    assert len({(case.attrib["classname"], case.attrib["name"]) for case in cases}) == len(cases)
    severities = Counter(finding.severity for finding in found)
    outcomes = {"failure": Severity.ERROR, "skipped": Severity.WARNING, "system-out": Severity.NOTE}
    for tag, severity in outcomes.items():
        assert len(list(root.iter(tag))) == severities[severity]
    assert int(root.attrib["failures"]) == severities[Severity.ERROR]
    for total in ("tests", "failures", "skipped"):
        assert int(root.attrib[total]) == sum(int(suite.attrib[total]) for suite in root)
