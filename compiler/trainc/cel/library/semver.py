"""Versions as values: semver(), isSemver() and comparisons.

Source: k8s.io/apiserver v0.34.4 pkg/cel/library/semverlib.go (version 1), github.com/blang/semver/v4 v4.0.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from trainc.cel.gotext import quote_cut, utf8
from trainc.cel.types import struct
from trainc.cel.values import UINT_MAX, EvalError, Opaque, Value
from trainc.cel.work import Panic
from trainc.kube.gojson import int64

_NUMBER = re.compile("[0-9]+", re.ASCII)
_IDENTIFIER = re.compile("[-0-9A-Za-z]+", re.ASCII)
_MOST_DIGITS = 20


class Version(Opaque, frozen=True, eq=False):
    """``1.2.3-rc.1+build.5``; identifiers of a pre-release are numbers where they are digits."""

    type = struct("kubernetes.Semver")
    numbers: tuple[int, int, int]
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the version as it was given, normalized where that was asked for."""
        pre, build = ".".join(map(str, self.pre)), ".".join(self.build)
        return ".".join(map(str, self.numbers)) + (f"-{pre}" if self.pre else "") + (f"+{build}" if self.build else "")

    def form(self) -> None:
        """Refuse to be a key. Raises Panic."""
        raise Panic("runtime error: hash of unhashable type cel.Semver")

    def weight(self) -> int:
        """Return the number of identifiers."""
        return 1 + len(self.pre) + len(self.build)

    def equals(self, other: Value) -> bool:
        """Compare by precedence, so without build metadata. Raises EvalError for another type."""
        if not isinstance(other, Version):
            raise EvalError("no such overload")
        return compare(self, other) == 0


def compare(left: Version, right: Version) -> int:
    """Return -1, 0 or 1: numbers, then a pre-release before none, its numbers before its words."""
    one, two = (
        (version.numbers, not version.pre, [(isinstance(part, str), part) for part in version.pre])
        for version in (left, right)
    )
    return int(one > two) - int(one < two)


def parse(text: str) -> Version:
    """Return ``semver(text)``. Raises EvalError."""
    if not text:
        raise EvalError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvalError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major", "Major"), _number(parts[1], "minor", "Minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre = rest.partition("-")
    numbers = (major, minor, _number(patch, "patch", "Patch"))
    identifiers = tuple(map(_identifier, pre.split("."))) if dash else ()
    return Version(numbers, identifiers, tuple(map(_metadata, build.split("."))) if plus else ())


def _number(text: str, name: str, title: str) -> int:
    if not text:
        raise EvalError('strconv.ParseUint: parsing "": invalid syntax')
    if not _NUMBER.fullmatch(text):
        raise EvalError(f"Invalid character(s) found in {name} number {quote_cut(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvalError(f"{title} number must not contain leading zeroes {quote_cut(text)}")
    return _uint(text)


def _uint(digits: str) -> int:
    if len(digits) > _MOST_DIGITS or int(digits) > UINT_MAX:
        raise EvalError(f"strconv.ParseUint: parsing {quote_cut(digits)}: value out of range")
    return int(digits)


def _identifier(text: str) -> int | str:
    if not text:
        raise EvalError("Prerelease is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise EvalError(f"Invalid character(s) found in prerelease {quote_cut(text)}")
    if not _NUMBER.fullmatch(text):
        return text
    if len(text) > 1 and text[0] == "0":
        raise EvalError(f"Numeric PreRelease version must not contain leading zeroes {quote_cut(text)}")
    return _uint(text)


def _metadata(text: str) -> str:
    if not text:
        raise EvalError("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise EvalError(f"Invalid character(s) found in build meta data {quote_cut(text)}")
    return text


def parse_loosely(text: str, normalize: bool) -> Version:
    """Return ``semver(text, normalize)``: a ``v`` in front, missing numbers and leading zeros are then allowed.

    Raises EvalError.
    """
    if not normalize:
        return parse(text)
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvalError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def _without_zeros(part: str) -> str:
    if len(utf8(part)) <= 1:
        return part
    part = part.lstrip("0")
    return part if part and part[0] in "0123456789" else f"0{part}"


def is_semver(text: str, normalize: bool = False) -> bool:
    """Tell whether text is a version."""
    try:
        parse_loosely(text, normalize)
    except EvalError:
        return False
    return True


OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "string_to_semver": parse,
    "string_bool_to_semver": parse_loosely,
    "is_semver_string": is_semver,
    "is_semver_string_bool": is_semver,
    "semver_major": lambda version: int64(version.numbers[0]),
    "semver_minor": lambda version: int64(version.numbers[1]),
    "semver_patch": lambda version: int64(version.numbers[2]),
    "semver_compare_to": compare,
    "semver_is_greater_than": lambda left, right: compare(left, right) > 0,
    "semver_is_less_than": lambda left, right: compare(left, right) < 0,
}
