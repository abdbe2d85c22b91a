"""Makes findings from the table of codes."""

from __future__ import annotations

from trainc.findings.codes import CODES
from trainc.findings.display import ELLIPSIS, VALUE_WIDTH
from trainc.findings.finding import Diagnostic, Related, Severity
from trainc.findings.secrecy import Redactor
from trainc.records import replace
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

    What looks secret in the documents concerned is masked in every text, and found and expected are cut to
    VALUE_WIDTH characters, so that no format shows more. Raises KeyError for a code that is not in the table.
    """
    entry = CODES[code]
    shown = Redactor(document, path, found, (other.document for other in related))
    return Diagnostic(
        code,
        severity or entry.severity,
        shown.text(message) or "",
        document,
        path,
        _short(shown.value(found)),
        _short(shown.text(expected)),
        shown.text(hint if hint is not None else entry.hint),
        tuple(replace(other, message=shown.text(other.message) or "") for other in related),
        stage,
        shown.text(upstream),
    )


def _short(value: str | None) -> str | None:
    return value if value is None or len(value) <= VALUE_WIDTH else value[: VALUE_WIDTH - len(ELLIPSIS)] + ELLIPSIS
