"""The record of what a cluster refuses in an object."""

from __future__ import annotations

from typing import NamedTuple

from trainc.basics.jsonvalues import Path, existing
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document


class Refused(NamedTuple):
    """One thing that a cluster refuses: its path, which may name a missing field, our message, and the cluster's text.

    ``position`` is an offset in the expression at path, if one is to blame.
    """

    path: Path
    message: str
    upstream: str
    code: str = ""
    stage: str | None = None
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    position: int | None = None

    def finding(self, document: Document, severity: Severity | None = None) -> Finding:
        """Return the finding, where the refused object is a document itself."""
        return report(
            self.code,
            document,
            existing(document.data, self.path),
            self.message,
            severity=severity,
            found=self.found,
            expected=self.expected,
            hint=self.hint,
            stage=self.stage,
            upstream=self.upstream or None,
        )
