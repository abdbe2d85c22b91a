"""Findings as plain data, and back. A document is told by its place, so it is found anew in the text of today."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from trainc.documents.positions import Moved, within
from trainc.findings.finding import Finding, Related, Severity
from trainc.source import Document

Place: TypeAlias = tuple[str, int]
"""The name of a document's source, and its index there."""

Plain: TypeAlias = list[Any]
"""JSON without objects."""


def place_of(document: Document) -> Place:
    """Return the place of a document."""
    return document.source.name, document.index


def encode(finding: Finding, place: Callable[[Document], Place]) -> Plain:
    """Return a finding as plain data; ``place`` tells the places of its documents, and may refuse one."""
    return [
        finding.code,
        finding.severity.value,
        finding.message,
        _place(finding.document, place),
        list(finding.path),
        finding.found,
        finding.expected,
        finding.hint,
        [[other.message, _place(other.document, place), list(other.path)] for other in finding.related],
        finding.stage,
        finding.upstream,
    ]


def decode(plain: Plain, find: Callable[[Place], Document]) -> Finding:
    """Return the finding; ``find`` gives the documents of places."""
    code, severity, message, place, path, found, expected, hint, related, stage, upstream = plain
    others = tuple(Related(text, _document(there, find), tuple(way)) for text, there, way in related)
    document = _document(place, find)
    return Finding(
        code, Severity(severity), message, document, tuple(path), found, expected, hint, others, stage, upstream
    )


def places(plain: Plain) -> list[Place]:
    """Return the places that a finding, as plain data, is about."""
    return [(place[0], place[1]) for place in (plain[3], *(other[1] for other in plain[8]))]


def _place(document: Document, place: Callable[[Document], Place]) -> Plain:
    """Return a place, and the character of a string there that is meant, if one is."""
    marks = document.marks
    return [*place(document), list(marks.path), marks.offset] if isinstance(marks, Moved) else [*place(document)]


def _document(plain: Plain, find: Callable[[Place], Document]) -> Document:
    name, index, *moved = plain
    document = find((name, index))
    if not moved:
        return document
    return within(document, tuple(moved[0]), moved[1])
