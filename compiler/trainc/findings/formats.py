"""The formats of findings: a name for ``--format``, and the pure function that writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias
from urllib.parse import quote

from trainc.basics.about import VERSION, docs_page
from trainc.basics.jsonvalues import Json, JsonObject, Path, dotted, get
from trainc.basics.regex import lazy
from trainc.findings import text
from trainc.findings.codes import CODES, Code, anchor, page
from trainc.findings.display import escaped, is_in_file, one_line, shown_name
from trainc.findings.finding import Finding, Severity, Silenced, sort_key
from trainc.findings.redaction import masked_path
from trainc.findings.settling import without_count
from trainc.inputs.source import Document

Renderer: TypeAlias = Callable[[Iterable[Finding], bool], str]
"""Takes the findings and whether to use colour; returns text that ends with a line break, or is empty.

Every format is in order of position; lines and columns count from 1, columns in code points. Only text has colour.
"""


def as_json(findings: Iterable[Finding], colour: bool = False) -> str:
    """Return an array of objects with the fields of Finding and file, line, column; absent values are null.

    A finding that `trainc fix` can fix also has ``fix``: action, path, value, and whether it is safe.
    """
    return json.dumps([_json_finding(finding) for finding in sorted(findings, key=sort_key)], indent=2) + "\n"


def _json_position(document: Document, path: Path) -> JsonObject:
    mark = document.locate(path)
    return {"file": document.source.name, "line": mark.line, "column": mark.column, "path": [*masked_path(path)]}


def _json_finding(finding: Finding) -> Json:
    from trainc.findings.fixes import fix_of  # no other format needs it

    related = [{**_json_position(other.document, other.path), "message": other.message} for other in finding.related]
    fix = fix_of(finding)
    edit: JsonObject = {}
    if fix is not None:
        edit["fix"] = {
            "action": fix.action.value,
            "path": [*masked_path(fix.path)],
            "value": fix.value,
            "safe": fix.safe,
        }
    return {
        **_json_position(finding.document, finding.path),
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "found": finding.found,
        "expected": finding.expected,
        "hint": finding.hint,
        "related": [*related],
        "stage": finding.stage,
        "upstream": finding.upstream,
        **edit,
    }


# GitHub Actions shows workflow commands beside the lines of a pull request. The runner reads them from standard output
# and standard error alike.

# The percent sign first, since the other escapes contain it.
_DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_PROPERTY = (*_DATA, (":", "%3A"), (",", "%2C"))


def as_github(findings: Iterable[Finding], colour: bool = False) -> str:
    """Return one command per finding: ``::error file=...,line=...,col=...,title=...::message``.

    Expected, hint and related positions follow the message, each on a line of the annotation.
    """
    return "".join(_command(finding) for finding in sorted(findings, key=sort_key))


def _command(finding: Finding) -> str:
    properties = {"title": f"{finding.code} {CODES[finding.code].title}"}
    if is_in_file(finding.document.source):
        mark = finding.document.locate(finding.path)
        properties = {"file": finding.file, "line": str(mark.line), "col": str(mark.column), **properties}
    shown = ",".join(f"{name}={_escape(value, _PROPERTY)}" for name, value in properties.items())
    command = "notice" if finding.severity is Severity.NOTE else finding.severity
    return f"::{command} {shown}::{_escape(_annotation(finding), _DATA)}\n"


def _annotation(finding: Finding) -> str:
    message = one_line(finding.message)
    lines = [message if is_in_file(finding.document.source) else f"{shown_name(finding.document.source)}: {message}"]
    lines += (f"{name}: {value}" for name, value in text.details(finding).items() if name != "found")
    lines += (f"also here: {text.position(to.document, to.path)}: {one_line(to.message)}" for to in finding.related)
    return "\n".join(lines)


def _escape(value: str, table: Iterable[tuple[str, str]]) -> str:
    for char, code in table:
        value = value.replace(char, code)
    return value


# GitLab, Jenkins and others show JUnit reports among the results of tests.

_HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n'

NAME_WIDTH = 250
"""The most characters of a test case's name, before its number; GitLab keeps 255."""

_NO_CHARACTER = lazy("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 (2.2, Char) cannot contain, not even escaped."""

# A failure makes Jenkins call a build unstable, and a merge request of GitLab show a test that newly fails. Both list
# what is skipped, with its message, and let the run pass: what a warning is. A note passes and is printed.
_OUTCOMES = {Severity.ERROR: "failure", Severity.WARNING: "skipped", Severity.NOTE: "system-out"}

Case: TypeAlias = tuple[str, str, int | None, Sequence[Finding]]
"""A case of a JUnit report: file, name, line (None without a file), and findings."""


def as_junit(findings: Iterable[Finding], colour: bool = False) -> str:
    """Return a JUnit report: one case per finding, or one, trainc, that passes.

    The name of a case has no line number, so that it stays the same when the file grows.
    """
    cases: list[Case] = []
    for finding in sorted(findings, key=sort_key):
        path = one_line(dotted(masked_path(finding.path)))
        name = f"{finding.code}{' ' * bool(path)}{path}: {without_count(finding.message)}"
        line = finding.line if is_in_file(finding.document.source) else None
        cases.append((finding.file, name, line, (finding,)))
    return junit("trainc", cases or [("trainc", "trainc", None, ())])


def junit(title: str, cases: Sequence[Case]) -> str:
    """Return a report in ASCII with one suite per file. The worst finding of a case determines its outcome.

    No two cases of a file have the same name, since GitLab drops the second. Timestamp and times are left out.
    """
    # Imported when it is used: most runs write text.
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    root = Element("testsuites", {"name": title})
    suites: dict[str, Element] = {}
    names: dict[tuple[str, str], int] = {}
    texts = text.each(finding for *_, findings in cases for finding in findings)
    for name, long_name, line, findings in cases:
        file = one_line(name)
        if file not in suites:
            suites[file] = SubElement(root, "testsuite", {"name": file})
        unique = _unique_name(file, one_line(long_name, NAME_WIDTH), names)
        case = SubElement(suites[file], "testcase", {"classname": file, "name": unique})
        if line is not None:
            case.attrib |= {"file": file, "line": str(line)}
        if findings:
            severity = min((finding.severity for finding in findings), key=[*Severity].index)
            result = SubElement(case, _OUTCOMES[severity])
            if severity is not Severity.NOTE:
                result.attrib |= {"type": findings[0].code, "message": one_line(findings[0].message)}
            shown = _NO_CHARACTER.sub("", "\n".join(islice(texts, len(findings))))
            # GitLab and Jenkins link the file that the text names behind this mark.
            result.text = shown.replace("[[ATTACHMENT|", r"[[ATTACHMENT\x7c")
    for element in (*root, root):
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            element.set(name, str(len([*element.iter(tag)])))
    indent(root)
    written: bytes = tostring(root, encoding="us-ascii")
    return f"{_HEADER}{written.decode('ascii')}\n"


def _unique_name(file: str, first: str, used: dict[tuple[str, str], int]) -> str:
    name = first
    while (file, name) in used:
        used[file, first] += 1
        name = f"{first} ({used[file, first]})"
    used[file, name] = 1
    return name


# GitLab shows a Code Quality report in the merge request, beside the lines of its diff.

_QUALITY = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def as_codequality(findings: Iterable[Finding], colour: bool = False) -> str:
    """Return a Code Quality report of GitLab: an array of objects in ASCII, [] without findings.

    Each has description, check_name, fingerprint, severity and location. Fingerprints do not depend on lines, so that
    a merge request shows only new findings as new. They are unique, since GitLab drops the second of two equal ones.
    """
    issues: list[Json] = []
    counts: dict[str, int] = {}
    for finding in sorted(findings, key=sort_key):
        first = _digest(finding.file, _fingerprint(finding))
        counts[first] = counts.get(first, 0) + 1
        fingerprint = first if counts[first] == 1 else _digest(first, str(counts[first]))
        path, line = (finding.file, finding.line) if is_in_file(finding.document.source) else (".", 1)
        issue: JsonObject = {
            "description": _plain("; ".join(_annotation(finding).split("\n"))),
            "check_name": finding.code,
            "fingerprint": fingerprint,
            "severity": _QUALITY[finding.severity],
            "location": {"path": _plain(path), "lines": {"begin": line}},
        }
        issues.append(issue)
    return json.dumps(issues, indent=2) + "\n"


# SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format), for code scanning and editors.

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

ROOT = "%SRCROOT%"
"""The root of the repository, from which relative names start. Code scanning knows it by this name."""

FINGERPRINT = "traincFinding/v1"
"""The key of our fingerprint, with the version of its algorithm."""

_SURROGATE = lazy("[\ud800-\udfff]")


def as_sarif(findings: Iterable[Finding], colour: bool = False, silenced: Iterable[Silenced] = ()) -> str:
    """Return a log in ASCII with one run: every code of the table as a rule, every finding as a result.

    Only this format lists suppressed findings, each with its suppression. If there are any, the others have an empty
    list of suppressions (3.27.23 requires all or nothing).
    """
    codes = sorted(CODES)
    suppressed = [(each.finding, each.reason) for each in silenced]
    found: list[tuple[Finding, str | None]] = [*((each, None) for each in findings), *suppressed]
    results: list[Json] = []
    for finding, reason in sorted(found, key=lambda result: sort_key(result[0])):
        result = _result(finding, codes.index(finding.code))
        if suppressed:
            suppression: JsonObject = {"kind": "inSource", "justification": _plain(reason or "")}
            result["suppressions"] = [] if reason is None else [suppression]
        results.append(result)
    run: JsonObject = {
        "tool": {
            "driver": {
                "name": "trainc",
                "version": VERSION,
                "semanticVersion": VERSION,
                "rules": [_rule(code, CODES[code]) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str, entry: Code) -> Json:
    more = docs_page("codes", anchor(code))
    hint = f"\n\nHint: {entry.hint}." if entry.hint is not None else ""
    words = re.findall("[A-Za-z0-9]+", entry.title.replace("'", ""))
    return {
        "id": code,
        "name": "".join(word[0].upper() + word[1:] for word in words),  # in Pascal case (3.49.7)
        "shortDescription": {"text": f"{entry.title[0].upper()}{entry.title[1:]}."},
        "fullDescription": {"text": entry.text},
        "helpUri": more,
        "help": {
            "text": f"{page(code)}\nSee {more}, or run: trainc explain {code}\n",
            "markdown": f"{entry.text}{hint}\n\nSee {more}, or run `trainc explain {code}`.\n",
        },
        "defaultConfiguration": {"level": entry.severity.value},
    }


def _result(finding: Finding, index: int) -> JsonObject:
    texts = {name: getattr(finding, name) for name in ("stage", "upstream", "found", "expected", "hint")}
    # Code scanning shows the message and nothing of the properties.
    source = finding.document.source
    message = finding.message if is_in_file(source) else f"{shown_name(source)}: {finding.message}"
    notes = [f"{name}: {texts[name]}" for name in ("found", "expected", "hint") if texts[name] is not None]
    path: list[Json] = [_plain(step) if isinstance(step, str) else step for step in masked_path(finding.path)]
    result: JsonObject = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": _message(message, *notes),
        "locations": [_location(finding.document, finding.path)],
        "partialFingerprints": {FINGERPRINT: _fingerprint(finding)},
        "properties": {"path": path, **{name: _plain(value) for name, value in texts.items() if value is not None}},
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(other.document, other.path), "message": _message(other.message)}
            for number, other in enumerate(finding.related, 1)
        ]
    return result


def _message(*lines: str) -> JsonObject:
    # Text of an input must not become a link (3.11.6): a blank, since viewers differ in how they count backslashes.
    # Braces stay single although 3.11.5 doubles them: viewers show a message without arguments unchanged.
    return {"text": "\n".join(escaped(line).replace("](", "] (") for line in lines)}


def _location(document: Document, path: Path) -> JsonObject:
    mark, name = document.locate(path), document.source.name
    physical: JsonObject = {
        "artifactLocation": _artifact(name),
        "region": {"startLine": mark.line, "startColumn": mark.column},
    }
    names = [dotted(masked_path(path))]
    if not is_in_file(document.source):  # code scanning needs a file or folder that exists: the root of the repository
        physical, names = {"artifactLocation": {"uri": ".", "uriBaseId": ROOT}}, [name, *names]
    logical: list[Json] = [{"fullyQualifiedName": escaped(each)} for each in names if each]
    return {"physicalLocation": physical, **({"logicalLocations": logical} if logical else {})}


def _artifact(name: str) -> JsonObject:
    try:
        data = name.encode("utf-8", "surrogateescape")  # the bytes of a file name that is not UTF-8
    except UnicodeEncodeError:
        data = _plain(name).encode()
    uri = quote(data)
    return {"uri": f"file://{uri}"} if uri.startswith("/") else {"uri": uri, "uriBaseId": ROOT}


def _fingerprint(finding: Finding) -> str:
    """Return a digest of the finding and its object, without its line, so that it stays the same when lines move."""
    data = finding.document.data
    identity = [get(data, *path) for path in (("kind",), ("metadata", "namespace"), ("metadata", "name"))]
    parts: list[Json] = [
        finding.code,
        [part if isinstance(part, str) else None for part in identity],
        list(finding.path),
    ]
    return _digest(*parts, without_count(finding.message))


def _digest(*parts: Json) -> str:
    # Imported when it is used: most runs write text.
    from hashlib import sha256

    return sha256(json.dumps(parts).encode("ascii")).hexdigest()


def _plain(value: str) -> str:
    # A lone surrogate is JSON, but not UTF-8: many readers refuse the whole log for one.
    return _SURROGATE.sub("\ufffd", value)


FORMATS: Final[Mapping[str, Renderer]] = {
    "text": text.render,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
    "junit": as_junit,
    "codequality": as_codequality,
}
