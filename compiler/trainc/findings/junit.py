"""Findings as a JUnit report, which GitLab, Jenkins and others show among the results of tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from trainc.findings import text
from trainc.findings.counts import without_count
from trainc.findings.display import is_in_file, one_line
from trainc.findings.finding import Diagnostic, Severity, sort_key
from trainc.regex import lazy
from trainc.source import dotted

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n'

NAME_WIDTH = 250
"""The most characters of a test case's name, before its number; GitLab keeps 255."""

_NO_CHARACTER = lazy("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (2.2, Char) cannot hold, not even escaped."""

# A failure makes Jenkins call a build unstable, and a merge request of GitLab show a test that newly fails. Both list
# what is skipped, with its message, and let the run pass: what a warning is.
_OUTCOMES = {Severity.ERROR: "failure", Severity.WARNING: "skipped"}


def render(findings: Iterable[Diagnostic], colour: bool = False) -> str:
    """Return a report in ASCII: one suite a file, one case a finding, both in order of place.

    An error is a failure, a warning is skipped, a note passes and is printed
    (system-out). Without findings there is one case, trainc, that passes.
    A case's name has no line in it, so that it stays the same when the file
    grows; no two cases of a file have one name, since GitLab drops the second.
    ``colour`` changes nothing. There is no timestamp, and times are left out.
    """
    # Imported when it is used: most runs write text.
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    ordered = sorted(findings, key=sort_key)
    root = Element("testsuites", {"name": "trainc", **_counts(ordered)})
    suites: dict[str, list[Diagnostic]] = {}
    for finding in ordered:
        suites.setdefault(one_line(finding.file), []).append(finding)
    for file, group in suites.items():
        _suite(root, file, group)
    if not ordered:
        suite = SubElement(root, "testsuite", {"name": "trainc", **_counts(ordered)})
        SubElement(suite, "testcase", {"classname": "trainc", "name": "trainc"})
    indent(root)
    shown: bytes = tostring(root, encoding="us-ascii")
    return f"{HEADER}{shown.decode('ascii')}\n"


def _counts(findings: Sequence[Diagnostic]) -> dict[str, str]:
    outcomes = [_OUTCOMES.get(finding.severity) for finding in findings]
    return {
        "tests": str(max(len(findings), 1)),
        "failures": str(outcomes.count("failure")),
        "errors": "0",
        "skipped": str(outcomes.count("skipped")),
    }


def _suite(root: Element, file: str, findings: Sequence[Diagnostic]) -> None:
    from xml.etree.ElementTree import SubElement

    suite = SubElement(root, "testsuite", {"name": file, **_counts(findings)})
    for finding, name, shown in zip(findings, _names(findings), text.each(findings), strict=True):
        place = {"file": file, "line": str(finding.line)} if is_in_file(finding.document.source) else {}
        case = SubElement(suite, "testcase", {"classname": file, "name": name, **place})
        outcome = _OUTCOMES.get(finding.severity)
        if outcome is None:
            result = SubElement(case, "system-out")
        else:
            result = SubElement(case, outcome, {"type": finding.code, "message": one_line(finding.message)})
        result.text = plain(shown)


def _names(findings: Iterable[Diagnostic]) -> Iterable[str]:
    taken: dict[str, int] = {}
    for finding in findings:
        path = one_line(dotted(finding.path))
        where = f" {path}" if path else ""
        name = first = one_line(f"{finding.code}{where}: {without_count(finding.message)}", NAME_WIDTH)
        while name in taken:
            taken[first] += 1
            name = f"{first} ({taken[first]})"
        taken[name] = 1
        yield name


def plain(value: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return _NO_CHARACTER.sub("", value)
