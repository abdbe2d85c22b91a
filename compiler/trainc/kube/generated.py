"""Values that only a cluster knows, since it generates them: uids, and the end of generated names.

A placeholder stands for each of them in an object. Examples replace placeholders where it is asked whether something
depends on the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

JOB_UID: Final = "00000000-0000-0000-0000-000000000000"
JOBSET_UID: Final = "00000000-0000-0000-0000-000000000001"
OTHER_UID: Final = "00000000-0000-0000-0000-000000000002"
"""Placeholders for the uid of a Job, of a JobSet and of another object."""

NAME: Final = "?"
"""The placeholder for the name that the API server generates."""

_SOME_UID: Final = "1d7e3a95-0b4c-4f62-8a5e-9c1f6b20d847"
_HEX: Final = "0123456789abcdef"
_FIXED: Final = {14: "4", 19: "89ab"}
"""Positions in a UUID of version 4 that not all digits may have."""

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The characters of generated names: k8s.io/apimachinery v0.34 pkg/util/rand."""

_LONGEST: Final = 58
"""The longest beginning of a generated name: k8s.io/apiserver v0.34 pkg/storage/names."""

EXAMPLES: Final = len(_LETTERS)
"""The number of examples: each character is at each position that is generated, in at least one of them."""


class Generated:
    """The generated values that an object refers to: unknown, or those of an example.

    ``generate_name``: that of the object. ``values``: by placeholder, empty if they are unknown.
    """

    __slots__ = ("_prefix", "values")

    def __init__(self, generate_name: str) -> None:
        self._prefix = generate_name[:_LONGEST]
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
    uids = {uid: _uid(number + 5 * at) for at, uid in enumerate((JOB_UID, JOBSET_UID, OTHER_UID))}
    return "".join(_rotated(letter, _LETTERS, number) for letter in _LETTERS[:5]), uids


def _uid(by: int) -> str:
    digits = ((digit, _FIXED.get(at, _HEX)) for at, digit in enumerate(_SOME_UID))
    return "".join(digit if digit == "-" else _rotated(digit, letters, by) for digit, letters in digits)


def _rotated(letter: str, letters: str, by: int) -> str:
    return letters[(letters.index(letter) + by) % len(letters)]
