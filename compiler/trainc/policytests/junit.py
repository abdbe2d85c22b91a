"""A JUnit report of tests of policies: a suite a file, a case a test, and a case a finding on anything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trainc.findings import Finding, Severity
from trainc.findings.display import one_line
from trainc.findings.formats import HEADER, NAME_WIDTH, plain
from trainc.findings.text import each
from trainc.policytests.run import Result

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    Suites = dict[str, Element]


def render(results: Iterable[Result], findings: Iterable[Finding]) -> str:
    """Return the report in ASCII. ``findings`` are those that are of no result, such as on a file.

    There is no timestamp, and times are left out. A test that fails is a failure; a finding that is a warning is
    skipped.
    """
    from xml.etree.ElementTree import Element, indent, tostring

    suites: Suites = {}
    for result in results:
        case = result.case
        place = case.document.locate(case.path)
        _add(suites, case.document.source.name, case.name, place.line, result.findings)
    for finding in findings:
        _add(suites, finding.file, f"{finding.code}: {finding.message}", finding.line, (finding,))
    root = Element("testsuites", {"name": "trainc policy test"})
    root.extend(suites.values())
    for suite in suites.values():
        _count(suite, [suite])
    _count(root, list(suites.values()))
    indent(root)
    shown: bytes = tostring(root, encoding="us-ascii")
    return f"{HEADER}{shown.decode('ascii')}\n"


def _add(suites: Suites, file: str, name: str, line: int, findings: tuple[Finding, ...]) -> None:
    from xml.etree.ElementTree import Element, SubElement

    file = one_line(file)
    suite = suites.setdefault(file, Element("testsuite", {"name": file}))
    place = {"classname": file, "name": one_line(name, NAME_WIDTH), "file": file}
    case = SubElement(suite, "testcase", {**place, "line": str(line)})
    if not findings:
        return
    failed = any(finding.severity is Severity.ERROR for finding in findings)
    message = one_line(findings[0].message)
    outcome = {"type": findings[0].code, "message": message}
    result = SubElement(case, "failure" if failed else "skipped", outcome)
    result.text = plain("\n".join(each(findings)))


def _count(element: Element, suites: list[Element]) -> None:
    for name, path in (("tests", "testcase"), ("failures", "testcase/failure"), ("skipped", "testcase/skipped")):
        element.set(name, str(sum(len(suite.findall(path)) for suite in suites)))
    element.set("errors", "0")
