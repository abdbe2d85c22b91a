"""Findings for programs: one JSON array, in ASCII."""

from __future__ import annotations

import json
from collections.abc import Iterable

from trainc.findings.finding import Diagnostic, Related, sort_key
from trainc.source import Document, Json, JsonObject, Path


def render(findings: Iterable[Diagnostic], colour: bool = False) -> str:
    """Return an array of objects, in order of place, with the fields of Diagnostic and file, line, column.

    ``path`` is a list of keys and indexes, ``related`` a list of objects with
    file, line, column, path and message; absent values are null. Line and
    column count from 1, in code points. ``colour`` changes nothing: it is there
    because all formats have one signature.
    """
    items = [_finding(finding) for finding in sorted(findings, key=sort_key)]
    return json.dumps(items, indent=2) + "\n"


def _place(document: Document, path: Path) -> JsonObject:
    mark = document.locate(path)
    return {"file": document.source.name, "line": mark.line, "column": mark.column, "path": list(path)}


def _related(related: Related) -> Json:
    return {**_place(related.document, related.path), "message": related.message}


def _finding(finding: Diagnostic) -> Json:
    return {
        **_place(finding.document, finding.path),
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "found": finding.found,
        "expected": finding.expected,
        "hint": finding.hint,
        "related": [_related(related) for related in finding.related],
        "stage": finding.stage,
        "upstream": finding.upstream,
    }
