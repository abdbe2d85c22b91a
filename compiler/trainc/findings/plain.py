"""Findings as plain data, and back. A document is told by its place, so it is found anew in the text of today."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from trainc.diagnostics import Diagnostic, Related, Severity
from trainc.source import Document

Place: TypeAlias = tuple[str, int]
"""The name of a document's source, and its index there."""

Plain: TypeAlias = list[Any]
"""JSON without objects."""


def place_of(document: Document) -> Place:
    """Return the place of a document."""
    return document.source.name, document.index


def encode(finding: Diagnostic, place: Callable[[Document], Place]) -> Plain:
    """Return a finding as plain data; ``place`` tells the places of its documents, and may refuse one."""
    return [
        finding.code,
        finding.severity.value,
        finding.message,
        place(finding.document),
        list(finding.path),
        finding.found,
        finding.expected,
        finding.hint,
        [[other.message, place(other.document), list(other.path)] for other in finding.related],
        finding.stage,
        finding.upstream,
    ]


def decode(plain: Plain, find: Callable[[Place], Document]) -> Diagnostic:
    """Return the finding; ``find`` gives the documents of places."""
    code, severity, message, place, path, found, expected, hint, related, stage, upstream = plain
    others = tuple(Related(text, find(there), tuple(way)) for text, there, way in related)
    return Diagnostic(
        code, Severity(severity), message, find(place), tuple(path), found, expected, hint, others, stage, upstream
    )


def places(plain: Plain) -> list[Place]:
    """Return the places that a finding, as plain data, is about."""
    return [tuple(place) for place in (plain[3], *(other[1] for other in plain[8]))]
