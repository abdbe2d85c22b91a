"""Findings about files and folders that are not read."""

from __future__ import annotations

import errno
import os

from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document, Source
from trainc.project.files import LIMIT, FileTooLargeError, IrregularFileError

OUTSIDE = "symbolic link that leads out of the project, not followed"
_PASS = "copy the file into the project, or pass its path on the command line"
LOOP = "loop of symbolic links"


def about(
    name: str,
    message: str,
    *,
    code: str = "TC011",
    severity: Severity | None = None,
    found: str | None = None,
    expected: str | None = None,
    hint: str | None = None,
) -> Finding:
    """Return a finding about a whole file or folder, of which no text is shown."""
    document = Document(Source(name, b""), {})
    return report(code, document, (), message, severity=severity, found=found, expected=expected, hint=hint)


def not_followed(name: str) -> Finding:
    """Return the finding of a link that leads out of the project; it does not show the target."""
    return about(name, OUTSIDE, hint=_PASS)


def unreadable(name: str, error: OSError, severity: Severity | None = None) -> Finding:
    """Return the finding of a file or folder that cannot be read."""
    if isinstance(error, FileTooLargeError):
        return about(name, f"larger than {LIMIT >> 20} MiB", code="TC012")
    message = LOOP if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
    return about(name, str(error.strerror) if isinstance(error, IrregularFileError) else message, severity=severity)


def unnamable(name: str) -> Finding:
    """Return the finding of a name that is not text."""
    data = os.fsencode(name)
    try:
        return about(data.decode(), "the locale does not allow this name: use a UTF-8 locale")
    except UnicodeDecodeError:
        return about(data.decode("utf-8", "backslashreplace"), "the name is not UTF-8")
