"""The record of one thing that is wrong with an object, whichever document it is reported in."""

from __future__ import annotations

from msgspec import Struct

from trainc.basics.jsonvalues import Path, existing
from trainc.findings.finding import Finding, Related, Severity
from trainc.findings.reporting import report
from trainc.inputs.source import Document


class Fault(Struct, frozen=True):
    """One thing that is wrong at ``path`` of an object; ``upstream`` is the cluster's own full text.

    ``other`` is the path of a second field involved. Derive a record from this one where faults carry more.
    """

    code: str
    path: Path
    message: str
    upstream: str | None = None
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    stage: str | None = None
    other: Path | None = None


def report_fault(
    fault: Fault,
    document: Document,
    path: Path | None = None,
    *,
    severity: Severity | None = None,
    related: tuple[Related, ...] = (),
) -> Finding:
    """Return the finding of a fault in a document.

    ``path`` defaults to the fault's own, or the part of it that the document has.
    """
    return report(
        fault.code,
        document,
        existing(document.data, fault.path) if path is None else path,
        fault.message,
        severity=severity,
        found=fault.found,
        expected=fault.expected,
        hint=fault.hint,
        related=related,
        stage=fault.stage,
        upstream=fault.upstream or None,
    )
