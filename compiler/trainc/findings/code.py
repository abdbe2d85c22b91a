"""What a code is; the table of all of them is codes.py."""

from __future__ import annotations

from trainc.findings.finding import Severity
from trainc.records import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: ``title`` in a few words, ``text`` for ``trainc explain``, ``hint`` shown with each."""

    severity: Severity
    title: str
    text: str
    hint: str | None = None
