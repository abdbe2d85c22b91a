"""A JUnit report of tests of policies: one suite per file, one case per test, and one per finding on anything else."""

from __future__ import annotations

from collections.abc import Iterable

from trainc.findings import Finding
from trainc.findings.formats import Case, junit
from trainc.policytests.run import Result


def render(results: Iterable[Result], findings: Iterable[Finding]) -> str:
    """Return the report in ASCII. ``findings`` are those on anything but a test, such as a file."""
    cases: list[Case] = []
    for result in results:
        case = result.case
        place = case.document.locate(case.path)
        cases.append((case.document.source.name, case.name, place.line, result.findings))
    cases += ((each.file, f"{each.code}: {each.message}", each.line, (each,)) for each in findings)
    return junit("trainc policy test", cases)
