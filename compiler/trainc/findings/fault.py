"""The record of an error in an object, independent of the document in which it is reported."""

from __future__ import annotations

from msgspec import Struct

from trainc.basics.jsonvalues import Path, existing
from trainc.findings.finding import Finding, Related, Severity
from trainc.findings.reporting import report
from trainc.inputs.source import Document


class Fault(Struct, frozen=True):
    """An error at ``path`` of an object; ``upstream`` is the cluster's full message.

    ``other`` is the path of a second field involved. ``position`` is an offset in the expression at ``path``.
    Subclasses add fields.
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
    position: int | None = None


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
