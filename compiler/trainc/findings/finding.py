"""The record of a finding: an error, warning or note at a position in a document."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from trainc.basics.jsonvalues import Path
from trainc.inputs.source import Document


class Severity(StrEnum):
    """The severity of a finding; only errors prevent the compilation of a job."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Related(Struct, frozen=True):
    """A second position of a finding."""

    message: str
    document: Document
    path: Path = ()


class Finding(Struct, frozen=True):
    """One finding at one position in one document.

    ``path`` exists in ``document.data``. ``stage`` is the step in which a cluster would refuse (decode, runtime-crd,
    runtime-webhook, crd, webhook, build, jobset-crd, jobset-webhook, policy); ``upstream`` is its full message.
    """

    code: str
    severity: Severity
    message: str
    document: Document
    path: Path = ()
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    related: tuple[Related, ...] = ()
    stage: str | None = None
    upstream: str | None = None

    @property
    def file(self) -> str:
        """The name of the source."""
        return self.document.source.name

    @property
    def line(self) -> int:
        """The line of the position, from 1."""
        return self.document.locate(self.path).line

    @property
    def column(self) -> int:
        """The column of the position, from 1, in code points."""
        return self.document.locate(self.path).column


class Silenced(Struct, frozen=True):
    """A finding that a comment suppresses, and the comment's reason."""

    finding: Finding
    reason: str


Diagnostic = Finding
"""Deprecated: the name of Finding in earlier releases."""


def sort_key(finding: Finding) -> tuple[str, int, int, str, str]:
    """Order findings by file, line, column, code and message."""
    mark = finding.document.locate(finding.path)
    return finding.file, mark.line, mark.column, finding.code, finding.message


def has_errors(findings: Iterable[Finding]) -> bool:
    """Return whether any finding is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)
