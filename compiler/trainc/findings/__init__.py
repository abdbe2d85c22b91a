"""Findings: one record, one table of codes, one mechanism each for secrets, suppression, severities and formats."""

from trainc.findings.codes import CODES, Code
from trainc.findings.finding import Diagnostic, Finding, Related, Severity, Silenced, has_errors, sort_key
from trainc.findings.reporting import report, suggest

__all__ = [
    "CODES",
    "Code",
    "Diagnostic",
    "Finding",
    "Related",
    "Severity",
    "Silenced",
    "has_errors",
    "report",
    "sort_key",
    "suggest",
]
