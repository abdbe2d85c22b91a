"""What no function may exceed, for it would take memory that no cost limit has time to refuse."""

from __future__ import annotations

from trainc.cel.values import EvalError

MOST_CHARACTERS = 2**26
MOST_ELEMENTS = 2_000_000
"""Lists and texts past these cost more than the limit of any expression; the server makes them, and refuses then."""

TOO_EXPENSIVE = "operation cancelled: actual cost limit exceeded"


def check_size(characters: int) -> None:
    """Raise EvalError, as the cost limit would, for a text of too many characters."""
    if characters > MOST_CHARACTERS:
        raise EvalError(TOO_EXPENSIVE)


def check_length(elements: int) -> None:
    """Raise EvalError, as the cost limit would, for a list of too many elements."""
    if elements > MOST_ELEMENTS:
        raise EvalError(TOO_EXPENSIVE)
