"""The hint for a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable

_NEAR = 0.65
"""How much of two names must be equal, from 0 to 1."""


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """Return ``did you mean '...'?`` with the candidate nearest in spelling, or None where none is near."""
    from difflib import get_close_matches

    names = sorted(candidates)
    if len(name) > 3 * max(map(len, names), default=0):
        return None  # none can be near, and to compare megabytes takes long
    folded = {candidate.lower(): candidate for candidate in reversed(names)}
    near = get_close_matches(name.lower(), list(folded), n=1, cutoff=_NEAR)
    return f"did you mean '{folded[near[0]]}'?" if near else None


def suggest_by_words(name: str, candidates: Iterable[str]) -> str | None:
    """Return what ``suggest`` does, of the candidates that have every word of the name in much the same spelling.

    For names that end alike and mean different things: mlx-distributed is no misspelt flux-distributed. Words with a
    digit, such as versions and sizes, may differ.
    """
    from difflib import get_close_matches

    words = [word for word in _words(name) if word.isalpha()]
    alike = (each for each in candidates if all(get_close_matches(word, _words(each), 1, _NEAR) for word in words))
    return suggest(name, alike)


def _words(name: str) -> list[str]:
    return name.lower().replace("_", "-").split("-")
