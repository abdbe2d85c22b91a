"""The formats of findings: a name for ``--format``, and the pure function that writes it.

GitHub Actions shows workflow commands beside the lines of a pull request; GitLab, Jenkins and others show JUnit reports
among the results of tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from trainc.basics.jsonvalues import Json, JsonObject, Path, dotted
from trainc.basics.regex import lazy
from trainc.findings import text
from trainc.findings.codes import CODES
from trainc.findings.display import HINT_WIDTH, VALUE_WIDTH, is_in_file, one_line
from trainc.findings.finding import Finding, Related, Severity, Silenced, sort_key
from trainc.findings.repeats import without_count
from trainc.inputs.source import Document

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Renderer: TypeAlias = Callable[[Iterable[Finding], bool], str]
"""Takes the findings and whether to use colour; returns text that ends with a line break, or is empty."""


def as_json(findings: Iterable[Finding], colour: bool = False) -> str:
    """Return an array of objects, in order of position, with the fields of Finding and file, line, column.

    ``path`` is a list of keys and indexes, ``related`` a list of objects with
    file, line, column, path and message; absent values are null. Line and
    column count from 1, in code points. ``colour`` changes nothing: all formats
    have one signature.
    """
    items = [_json_finding(finding) for finding in sorted(findings, key=sort_key)]
    return json.dumps(items, indent=2) + "\n"


def _json_position(document: Document, path: Path) -> JsonObject:
    mark = document.locate(path)
    return {"file": document.source.name, "line": mark.line, "column": mark.column, "path": list(path)}


def _json_related(related: Related) -> Json:
    return {**_json_position(related.document, related.path), "message": related.message}


def _json_finding(finding: Finding) -> Json:
    return {
        **_json_position(finding.document, finding.path),
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "found": finding.found,
        "expected": finding.expected,
        "hint": finding.hint,
        "related": [_json_related(related) for related in finding.related],
        "stage": finding.stage,
        "upstream": finding.upstream,
    }


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}

# The percent sign first: the others bring more of them.
_DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_PROPERTY = (*_DATA, (":", "%3A"), (",", "%2C"))


def as_github(findings: Iterable[Finding], colour: bool = False) -> str:
    """Return one command per finding, in order of position: ``::error file=...,line=...,col=...,title=...::message``.

    Expected, hint and related positions follow the message, each on a line of the
    annotation. Empty for no findings. ``colour`` changes nothing. The runner
    reads commands from standard output and standard error alike. Raises
    KeyError for a code that is not in the table.
    """
    return "".join(_command(finding) for finding in sorted(findings, key=sort_key))


def _command(finding: Finding) -> str:
    mark = finding.document.locate(finding.path)
    place = {"file": finding.file, "line": str(mark.line), "col": str(mark.column)}
    in_file = is_in_file(finding.document.source)
    properties = {**(place if in_file else {}), "title": f"{finding.code} {CODES[finding.code].title}"}
    shown = ",".join(f"{name}={_escape(value, _PROPERTY)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {shown}::{_escape(_annotation(finding), _DATA)}\n"


def _annotation(finding: Finding) -> str:
    message = one_line(finding.message)
    lines = [message if is_in_file(finding.document.source) else f"{one_line(finding.file)}: {message}"]
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


HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n'

NAME_WIDTH = 250
"""The most characters of a test case's name, before its number; GitLab keeps 255."""

_NO_CHARACTER = lazy("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (2.2, Char) cannot hold, not even escaped."""

# A failure makes Jenkins call a build unstable, and a merge request of GitLab show a test that newly fails. Both list
# what is skipped, with its message, and let the run pass: what a warning is.
_OUTCOMES = {Severity.ERROR: "failure", Severity.WARNING: "skipped"}


def as_junit(findings: Iterable[Finding], colour: bool = False) -> str:
    """Return a report in ASCII: one suite per file, one case per finding, both in order of position.

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
    suites: dict[str, list[Finding]] = {}
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


def _counts(findings: Sequence[Finding]) -> dict[str, str]:
    outcomes = [_OUTCOMES.get(finding.severity) for finding in findings]
    return {
        "tests": str(max(len(findings), 1)),
        "failures": str(outcomes.count("failure")),
        "errors": "0",
        "skipped": str(outcomes.count("skipped")),
    }


def _suite(root: Element, file: str, findings: Sequence[Finding]) -> None:
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


def _names(findings: Iterable[Finding]) -> Iterable[str]:
    used: dict[str, int] = {}
    for finding in findings:
        path = one_line(dotted(finding.path))
        where = f" {path}" if path else ""
        name = first = one_line(f"{finding.code}{where}: {without_count(finding.message)}", NAME_WIDTH)
        while name in used:
            used[first] += 1
            name = f"{first} ({used[first]})"
        used[name] = 1
        yield name


def plain(value: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return _NO_CHARACTER.sub("", value)


def as_sarif(findings: Iterable[Finding], colour: bool = False, silenced: Iterable[Silenced] = ()) -> str:
    """Return a SARIF log: the one format that lists what comments suppress."""
    from trainc.findings import sarif  # few runs write it

    return sarif.render(findings, silenced=silenced)


FORMATS: Final[Mapping[str, Renderer]] = {
    "text": text.render,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
    "junit": as_junit,
}
