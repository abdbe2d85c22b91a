"""Deprecated: use trainc.findings."""

from trainc.findings import (
    CODES,
    Code,
    Diagnostic,
    Related,
    Severity,
    Silenced,
    has_errors,
    report,
    sort_key,
    suggest,
    suggest_by_words,
)

__all__ = [
    "CODES",
    "Code",
    "Diagnostic",
    "Related",
    "Severity",
    "Silenced",
    "has_errors",
    "report",
    "sort_key",
    "suggest",
    "suggest_by_words",
]
