"""The hint for a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """Return ``did you mean '...'?`` with the candidate nearest in spelling, or None where none is near."""
    from difflib import get_close_matches

    names = sorted(candidates)
    folded = {candidate.lower(): candidate for candidate in reversed(names)}
    near = get_close_matches(name.lower(), list(folded), n=1, cutoff=0.65)
    return f"did you mean '{folded[near[0]]}'?" if near else None
