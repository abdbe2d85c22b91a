"""Findings as workflow commands of GitHub Actions, which shows them beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from trainc.findings.codes import CODES
from trainc.findings.display import HINT_WIDTH, VALUE_WIDTH, is_in_file, one_line
from trainc.findings.finding import Diagnostic, Severity, sort_key

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}

# The percent sign first: the others bring more of them.
_DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_PROPERTY = (*_DATA, (":", "%3A"), (",", "%2C"))


def render(findings: Iterable[Diagnostic], colour: bool = False) -> str:
    """Return one command a finding, in order of place: ``::error file=...,line=...,col=...,title=...::message``.

    Expected, hint and related places follow the message, each on a line of the
    annotation. Empty for no findings. ``colour`` changes nothing. The runner
    reads commands from standard output and standard error alike. Raises
    KeyError for a code that is not in the table.
    """
    return "".join(_command(finding) for finding in sorted(findings, key=sort_key))


def _command(finding: Diagnostic) -> str:
    mark = finding.document.locate(finding.path)
    place = {"file": finding.file, "line": str(mark.line), "col": str(mark.column)}
    in_file = is_in_file(finding.document.source)
    properties = {**(place if in_file else {}), "title": f"{finding.code} {CODES[finding.code].title}"}
    shown = ",".join(f"{name}={_escape(value, _PROPERTY)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {shown}::{_escape(_message(finding), _DATA)}\n"


def _message(finding: Diagnostic) -> str:
    said = one_line(finding.message)
    lines = [said if is_in_file(finding.document.source) else f"{one_line(finding.file)}: {said}"]
    for name, value, limit in (("expected", finding.expected, VALUE_WIDTH), ("hint", finding.hint, HINT_WIDTH)):
        if value is not None:
            lines.append(f"{name}: {one_line(value, limit)}")
    for related in finding.related:
        mark = related.document.locate(related.path)
        place = f"{one_line(related.document.source.name)}:{mark.line}:{mark.column}"
        lines.append(f"also here: {place}: {one_line(related.message)}")
    return "\n".join(lines)


def _escape(text: str, table: Iterable[tuple[str, str]]) -> str:
    for char, code in table:
        text = text.replace(char, code)
    return text
