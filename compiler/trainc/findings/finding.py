"""The one type of finding."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from trainc.records import NamedTuple, dataclass
from trainc.source import Document, Path


class Severity(StrEnum):
    """How bad a finding is; only errors keep a job from being compiled."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that a finding is about."""

    message: str
    document: Document
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about one place in one document.

    ``path`` is a real path in ``document.data``. ``stage`` says where a cluster
    would refuse (decode, runtime-crd, runtime-webhook, crd, webhook, build,
    jobset-crd, jobset-webhook, policy); ``upstream`` is then the cluster's own full text.
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
        """The line of the place, from 1."""
        return self.document.locate(self.path).line

    @property
    def column(self) -> int:
        """The column of the place, from 1, in code points."""
        return self.document.locate(self.path).column


class Silenced(NamedTuple):
    """A finding that a comment takes away, and the reason that the comment gives."""

    finding: Diagnostic
    reason: str


def sort_key(finding: Diagnostic) -> tuple[str, int, int, str, str]:
    """Order findings by file, line, column, code and message."""
    mark = finding.document.locate(finding.path)
    return finding.file, mark.line, mark.column, finding.code, finding.message


def has_errors(findings: Iterable[Diagnostic]) -> bool:
    """Tell whether any finding is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)
