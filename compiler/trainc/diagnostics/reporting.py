"""Makes findings from the table of codes."""

from __future__ import annotations

from trainc.diagnostics.codes import CODES
from trainc.diagnostics.diagnostic import Diagnostic, Related, Severity
from trainc.source import Document, Path


def report(
    code: str,
    document: Document,
    path: Path,
    message: str,
    *,
    severity: Severity | None = None,
    found: str | None = None,
    expected: str | None = None,
    hint: str | None = None,
    related: tuple[Related, ...] = (),
    stage: str | None = None,
    upstream: str | None = None,
) -> Diagnostic:
    """Make a finding whose severity and hint are, unless given, those of its code in the table.

    Raises KeyError for a code that is not in the table.
    """
    entry = CODES[code]
    return Diagnostic(
        code,
        severity or entry.severity,
        message,
        document,
        path,
        found,
        expected,
        hint if hint is not None else entry.hint,
        related,
        stage,
        upstream,
    )
