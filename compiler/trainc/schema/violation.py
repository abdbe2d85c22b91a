"""What is wrong with one place of a document, in our words and in the API server's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trainc.source import Path


@dataclass(frozen=True, slots=True)
class Violation:
    """One failure.

    ``code`` is one of TC102..TC110. ``path`` leads to a value of the document (for a missing field, to what should hold
    it). ``upstream`` is the API server's own text for this error, ``<path>: <type>: <value>: <detail>``.
    ``blocking``: the server does not evaluate the CRD's rules after such an error.
    ``secondary``: the server says it, but it adds nothing to another violation of the same place.
    ``decode``: the server refuses the document before it looks at any schema.
    """

    code: str
    path: Path
    message: str
    upstream: str
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    blocking: bool = False
    secondary: bool = False
    decode: bool = False


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """Return ``did you mean '...'?`` with the candidate nearest in spelling, or None where none is near."""
    from difflib import get_close_matches

    names = sorted(candidates)
    folded = {candidate.lower(): candidate for candidate in reversed(names)}
    near = get_close_matches(name.lower(), list(folded), n=1, cutoff=0.65)
    return f"did you mean '{folded[near[0]]}'?" if near else None
