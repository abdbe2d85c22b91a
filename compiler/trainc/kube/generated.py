"""Values that only a cluster knows, since it generates them: uids, and the end of generated names.

A placeholder stands for each of them in an object. Examples replace placeholders where it is asked whether something
depends on the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from itertools import count, islice
from typing import Final

JOB_UID: Final = "00000000-0000-0000-0000-000000000000"
JOBSET_UID: Final = "00000000-0000-0000-0000-000000000001"
OTHER_UID: Final = "00000000-0000-0000-0000-000000000002"
"""Placeholders for the uid of a Job, of a JobSet and of another object."""

NAME: Final = "?"
"""The placeholder for the name that the API server generates."""

_HEX: Final = "0123456789abcdef"
_DASHES: Final = (8, 13, 18, 23)
_FIXED: Final = {14: "4", 19: "89ab"}
"""Positions in a UUID of version 4 that not all digits may have."""

_LETTERS: Final = "bcdfghjklmnpqrstvwxz"
_DIGITS: Final = "2456789"
"""The characters of generated names: k8s.io/apimachinery v0.34 pkg/util/rand."""

_RANDOM: Final = 5
"""The number of characters of a name that are generated."""

LONGEST_PREFIX: Final = 58
"""The longest beginning of a generated name: k8s.io/apiserver v0.34 pkg/storage/names."""

EXAMPLES: Final = 36
"""The number of examples.

In at least one of them, each character is at each position that is generated. The names have letters and digits in
each possible order.
"""


class Generated:
    """The generated values that an object refers to: unknown, or those of an example.

    ``generate_name``: that of the object. ``values``: by placeholder, empty if they are unknown.
    """

    __slots__ = ("_prefix", "values")

    def __init__(self, generate_name: str) -> None:
        self._prefix = generate_name[:LONGEST_PREFIX]
        self.values: dict[str, str] = {}

    @contextmanager
    def example(self, number: int) -> Iterator[None]:
        """Take the values of the example with a number below EXAMPLES."""
        ending, uids = _example(number)
        self.values |= {**uids, NAME: self._prefix + ending}
        try:
            yield
        finally:
            self.values.clear()


@cache
def _example(number: int) -> tuple[str, dict[str, str]]:
    """Return the end of a name, and the uids by placeholder."""
    uids = {uid: "".join(column[number] for column in _uids(uid)) for uid in (JOB_UID, JOBSET_UID, OTHER_UID)}
    return "".join(column[number] for column in _endings()), uids


@cache
def _endings() -> tuple[list[str], ...]:
    """Return the characters of all examples by position. The bits of an example's number select digits."""
    columns: list[list[str]] = []
    for at in range(_RANDOM):
        letters, digits = _shuffled(_LETTERS, f"{at}"), _shuffled(_DIGITS, f"{at}")
        has_digit = (number < 2**_RANDOM and number >> at & 1 for number in range(EXAMPLES))
        columns.append([next(digits if digit else letters) for digit in has_digit])
    return tuple(columns)


@cache
def _uids(placeholder: str) -> tuple[list[str], ...]:
    """Return the characters of all examples by position."""
    columns = (_shuffled("-" if at in _DASHES else _FIXED.get(at, _HEX), f"{placeholder} {at}") for at in range(36))
    return tuple([*islice(column, EXAMPLES)] for column in columns)


def _shuffled(characters: str, key: str) -> Iterator[str]:
    """Yield the characters again and again, each time in another order, which depends on ``key`` only."""
    for turn in count():
        yield from sorted(characters, key=lambda each: sha256(f"{key} {turn} {each}".encode()).digest())
