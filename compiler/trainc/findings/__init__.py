"""Findings: one frozen type, one table of codes, one file a renderer."""

from trainc.findings.codes import CODES, Code
from trainc.findings.finding import Diagnostic, Related, Severity, Silenced, has_errors, sort_key
from trainc.findings.reporting import report
from trainc.findings.suggestion import suggest, suggest_by_words

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
