"""Values that only a cluster knows, since it generates them: uids, and the end of generated names.

A placeholder stands for each of them in an object. Examples replace placeholders where it is asked whether something
depends on the value.
"""

from __future__ import annotations

from typing import Final

JOB_UID: Final = "00000000-0000-0000-0000-000000000000"
JOBSET_UID: Final = "00000000-0000-0000-0000-000000000001"
OTHER_UID: Final = "00000000-0000-0000-0000-000000000002"
"""Placeholders for the uid of a Job, of a JobSet and of another object."""

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


def examples(generate_name: str, number: int) -> dict[str, str]:
    """Return the example with a number below EXAMPLES for each placeholder in an object with this generateName."""
    placeholders = JOB_UID, JOBSET_UID, OTHER_UID
    uids = {placeholder: _uid(number + 5 * at) for at, placeholder in enumerate(placeholders)}
    return {**uids, placeholder_name(generate_name): generated_name(generate_name, number)}


def placeholder_name(generate_name: str) -> str:
    """Return the placeholder for the name that the API server generates."""
    return f"{generate_name}?"


def generated_name(generate_name: str, number: int) -> str:
    """Return an example of the name that the API server generates."""
    return generate_name[:_LONGEST] + "".join(_rotated(letter, _LETTERS, number) for letter in _LETTERS[:5])


def _uid(by: int) -> str:
    digits = ((digit, _FIXED.get(at, _HEX)) for at, digit in enumerate(_SOME_UID))
    return "".join(digit if digit == "-" else _rotated(digit, letters, by) for digit, letters in digits)


def _rotated(letter: str, letters: str, by: int) -> str:
    return letters[(letters.index(letter) + by) % len(letters)]
