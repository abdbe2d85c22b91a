"""Findings as a SARIF 2.1.0 log (OASIS, Static Analysis Results Interchange Format), for code scanning and editors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from trainc.basics.jsonvalues import Json, JsonObject, Path, dotted, get
from trainc.basics.regex import lazy
from trainc.findings.codes import CODES, Code, anchor, page
from trainc.findings.display import is_in_file
from trainc.findings.finding import Finding, Related, Severity, Silenced, sort_key
from trainc.findings.repeats import without_count
from trainc.inputs.source import Document

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

VERSION = "0.1.0"
"""trainc's own version, stated twice: the core cannot import the package's face. A test holds the two equal."""

ROOT = "%SRCROOT%"
"""What relative names start from: the root of the repository. Code scanning knows it by this name."""

FINGERPRINT = "traincFinding/v1"
"""The key of our fingerprint, with the version of how it is made."""

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_SURROGATE = lazy("[\ud800-\udfff]")
_LINK = lazy(r"\[(?=[^\[\]]*\]\()")


def render(findings: Iterable[Finding], colour: bool = False, silenced: Iterable[Silenced] = ()) -> str:
    """Return a log in ASCII with one run: every code of the table as a rule, every finding as a result.

    Results are in order of position; line and column count from 1, in code points.
    A result's properties hold path, stage, upstream, found, expected and hint,
    as far as there are any. Its fingerprint does not change when lines move.
    What comments suppress is a result, too, with its suppression; if there is any,
    the others say that they have none (3.27.23 asks for all or nothing).
    ``colour`` changes nothing. Raises KeyError for a code that is not in the
    table.
    """
    codes = sorted(CODES)
    indexes = {code: index for index, code in enumerate(codes)}
    driver: JsonObject = {
        "name": "trainc",
        "version": VERSION,
        "semanticVersion": VERSION,
        "rules": [_rule(code, CODES[code]) for code in codes],
    }
    muted = tuple(silenced)
    results: list[tuple[Finding, str | None]] = [
        *((each, None) for each in findings),
        *((each.finding, each.reason) for each in muted),
    ]
    results.sort(key=lambda result: sort_key(result[0]))
    run: JsonObject = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "results": [
            {**_result(finding, indexes[finding.code]), **(_suppressions(reason) if muted else {})}
            for finding, reason in results
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str, entry: Code) -> Json:
    # helpUri must be absolute (3.49.12), so the help names the page within the repository instead.
    more = f"docs/codes.md#{anchor(code)}"
    return {
        "id": code,
        "name": _name(entry.title),
        "shortDescription": {"text": _sentence(entry.title)},
        "fullDescription": {"text": entry.text},
        "help": {
            "text": f"{page(code)}\nSee {more}, or run: trainc explain {code}\n",
            "markdown": f"{_markdown(entry)}\n\nSee `{more}`, or run `trainc explain {code}`.\n",
        },
        "defaultConfiguration": {"level": _LEVELS[entry.severity]},
    }


def _name(title: str) -> str:
    # Pascal case is what 3.49.7 asks of a name for people.
    return "".join(word[0].upper() + word[1:] for word in re.findall("[A-Za-z0-9]+", title.replace("'", "")))


def _sentence(title: str) -> str:
    return f"{title[0].upper()}{title[1:]}."


def _markdown(entry: Code) -> str:
    hint = f"\n\nHint: {entry.hint}." if entry.hint is not None else ""
    return f"{entry.text}{hint}"


def _suppressions(reason: str | None) -> JsonObject:
    """Return the suppressions of a result: none, or the one of a comment with its reason."""
    return {"suppressions": [] if reason is None else [{"kind": "inSource", "justification": _plain(reason)}]}


def _result(finding: Finding, index: int) -> JsonObject:
    result: JsonObject = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": _message(_in_full(finding)),
        "locations": [_location(finding.document, finding.path)],
        "partialFingerprints": {FINGERPRINT: _fingerprint(finding)},
        "properties": _properties(finding),
    }
    if finding.related:
        result["relatedLocations"] = [_related(number, related) for number, related in enumerate(finding.related, 1)]
    return result


def _in_full(finding: Finding) -> str:
    # Code scanning shows the message and nothing of the properties.
    notes = (("found", finding.found), ("expected", finding.expected), ("hint", finding.hint))
    message = finding.message if is_in_file(finding.document.source) else f"{finding.file}: {finding.message}"
    return "\n".join((message, *(f"{name}: {value}" for name, value in notes if value is not None)))


def _message(text: str) -> JsonObject:
    # Text of an input must not become a link (3.11.6). Braces stay single although 3.11.5 doubles them: a message
    # without arguments is shown as it is by every viewer.
    return {"text": _plain(_LINK.sub(r"\\[", text))}


def _related(number: int, related: Related) -> Json:
    return {"id": number, **_location(related.document, related.path), "message": _message(related.message)}


def _location(document: Document, path: Path) -> JsonObject:
    mark = document.locate(path)
    if not is_in_file(document.source):  # code scanning asks for a place: the root of the repository is there
        place: JsonObject = {"artifactLocation": {"uri": ".", "uriBaseId": ROOT}}
        names = [_plain(name) for name in (document.source.name, dotted(path)) if name]
        return {"physicalLocation": place, "logicalLocations": [{"fullyQualifiedName": name} for name in names]}
    location: JsonObject = {
        "physicalLocation": {
            "artifactLocation": _artifact(document.source.name),
            "region": {"startLine": mark.line, "startColumn": mark.column},
        }
    }
    if path:
        location["logicalLocations"] = [{"fullyQualifiedName": _plain(dotted(path))}]
    return location


def _artifact(name: str) -> JsonObject:
    try:
        data = name.encode("utf-8", "surrogateescape")  # the bytes of a file name that is not UTF-8
    except UnicodeEncodeError:
        data = _plain(name).encode()
    uri = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in data)
    return {"uri": f"file://{uri}"} if uri.startswith("/") else {"uri": uri, "uriBaseId": ROOT}


def _fingerprint(finding: Finding) -> str:
    """Return a digest of what the finding says and of which object, but not of where in the file that stands."""
    # Imported when it is used: most runs write text.
    from hashlib import sha256

    data = finding.document.data
    identity = [get(data, *path) for path in (("kind",), ("metadata", "namespace"), ("metadata", "name"))]
    parts = [finding.code, [part if isinstance(part, str) else None for part in identity], list(finding.path)]
    return sha256(json.dumps([*parts, without_count(finding.message)]).encode("ascii")).hexdigest()


def _properties(finding: Finding) -> JsonObject:
    texts = {
        "stage": finding.stage,
        "upstream": finding.upstream,
        "found": finding.found,
        "expected": finding.expected,
        "hint": finding.hint,
    }
    path: list[Json] = [_plain(step) if isinstance(step, str) else step for step in finding.path]
    return {"path": path, **{name: _plain(text) for name, text in texts.items() if text is not None}}


def _plain(text: str) -> str:
    # A lone surrogate is JSON, but no UTF-8: many readers refuse the whole log for one.
    return _SURROGATE.sub("\ufffd", text)
