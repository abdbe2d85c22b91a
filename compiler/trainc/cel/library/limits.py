"""What no function may exceed, for it would take memory or time before any cost limit has a say."""

from __future__ import annotations

from trainc.cel.work import Panic

MOST_CHARACTERS = 2**26
MOST_ELEMENTS = 2_000_000
"""Lists, and pairs to compare, past this cost more than the limit of any expression; the server makes them, and then
refuses."""

TOO_EXPENSIVE = "operation cancelled: actual cost limit exceeded"


class Exceeded(Panic):
    """A call that no cost limit allows. Nothing in an expression absorbs it."""

    def __init__(self) -> None:
        super().__init__("")
        self.message = TOO_EXPENSIVE


def check_size(characters: int) -> None:
    """Raise Exceeded for a text of too many characters."""
    if characters > MOST_CHARACTERS:
        raise Exceeded


def check_length(elements: int) -> None:
    """Raise Exceeded for a list of too many elements, or too many pairs to compare."""
    if elements > MOST_ELEMENTS:
        raise Exceeded
