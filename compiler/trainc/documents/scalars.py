"""The values of plain (unquoted) scalars for different YAML readers.

Kubernetes reads YAML 1.1 in the dialect of go.yaml.in/yaml v2 and then turns it into JSON (sigs.k8s.io/yaml v1.6.0);
``kubernetes`` is that reading, and ``core`` the core schema of YAML 1.2. The vectors in tests/load/scalars.json were
made by the real library.
"""

from __future__ import annotations

import json
import math
import re
import struct
from functools import lru_cache
from typing import TypeAlias

import msgspec

from trainc.basics.jsonvalues import Path
from trainc.basics.regex import lazy
from trainc.documents.problems import Problem
from trainc.kube.gojson import decimal, exact

Scalar: TypeAlias = bool | int | float | str | None

STR, INT, FLOAT, BOOL, NULL = "str", "int", "float", "bool", "null"

HINTS = frozenset("+-.0123456789yYnNtTfFoO~")
"""The first characters of every plain scalar that any reader may resolve to something other than a string."""

TAG_PREFIX = "tag:yaml.org,2002:"

_WORDS: dict[str, tuple[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), (BOOL, True)),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, float("nan"))),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (FLOAT, float("inf"))),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, float("-inf"))),
}
_CORE_WORDS: dict[str, Scalar] = {
    text: value for text, (_, value) in _WORDS.items() if text.lower() not in ("y", "n", "yes", "no", "on", "off")
}

_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)
_GO_INT = lazy(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.A)
_GO_BINARY_SIGN = lazy(r"(-?)0b([-+]?)([01]+)", re.A)
_GO_FLOAT = lazy(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.A)
_GO_DOT_FLOAT = lazy(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?", re.A)
_CORE_INT = lazy(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", re.A)
_LONGEST_INT = 400  # digits; past a float's range, and int() refuses thousands of them


def _integer(sign: str, digits: str) -> int | None:
    """Read digits as Go's ParseInt with base 0 does; None if they are too many for any 64-bit type."""
    if len(digits) > _LONGEST_INT:
        return None
    base = {"x": 16, "b": 2, "o": 8}.get(digits[1:2].lower(), 8 if digits[0] == "0" else 10)
    value = int(digits[2:] if digits[1:2].isalpha() else digits, base)
    return -value if sign == "-" else value


def resolve(text: str) -> tuple[str, Scalar]:
    """Return kind and value of an untagged plain scalar as go-yaml v2 resolves it, before it becomes JSON.

    Integers lie within -2**63..2**64-1; a float may be infinite or not a number. Dates are strings.
    """
    if text and text[0] not in HINTS:
        return STR, text
    if (word := _WORDS.get(text)) is not None:
        return word
    if text[0] == ".":
        return _float(text.replace("_", ""), text) if _GO_DOT_FLOAT.fullmatch(text) else (STR, text)
    if text[0] not in "+-0123456789":
        return STR, text
    plain = text.replace("_", "")
    if match := _GO_INT.fullmatch(plain):
        value = _integer(match[1], match[2])
        if value is not None and (value in _INT64 or (not match[1] and value in _UINT64)):
            return INT, value
    if _GO_FLOAT.fullmatch(plain):
        return _float(plain, text)
    # go-yaml removes "0b", and the rest may have a sign, too.
    match = _GO_BINARY_SIGN.fullmatch(plain)
    if match and match[2] and not match[1] and len(match[3]) <= _LONGEST_INT:
        value = int(match[2] + match[3], 2)
        if value in _INT64:
            return INT, value
    return STR, text


def _float(plain: str, text: str) -> tuple[str, Scalar]:
    value = float(plain)
    # Go's ParseFloat fails out of range, and the text stays a string.
    return (FLOAT, value) if math.isfinite(value) else (STR, text)


def resolve_tagged(tag: str, text: str) -> Scalar:
    """Return the value of a scalar with the tag ``str``, ``int``, ``float``, ``bool`` or ``null``.

    Raises ValueError with go-yaml's message where the text does not fit the tag.
    """
    if tag == STR:
        return text
    kind, value = resolve(text)
    if tag == FLOAT and kind == INT and value in _INT64:
        return float(value)  # type: ignore[arg-type]  # an int of 64 bits
    if kind != tag:
        raise ValueError(f"cannot decode !!{kind} `{text}` as a !!{tag}")
    return value


def to_json(value: Scalar) -> Scalar:
    """Return a finite value after a round trip through Go's JSON.

    Floats without a fraction become integers (``4.0`` is 4), integers beyond 64 bits with sign become floats.
    """
    if type(value) is float and value.is_integer() and abs(value) < 1e21:
        # The shortest digits that identify the float, filled up with zeros: not int(value) past 2**53.
        value = int(decimal(repr(value)))
    if type(value) is int and value not in _INT64:
        return float(value)
    return value


def key_text(value: Scalar) -> str:
    """Return the JSON key that sigs.k8s.io/yaml makes of a key.

    Raises ValueError with its type's name in Go for null and for integers beyond 64 bits with sign.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _short_float32(value)
    if value is None:
        raise ValueError("%!s(<nil>)")
    if value not in _INT64:
        raise ValueError("uint64")
    return str(value)


def _short_float32(value: float) -> str:
    """Write a float as Go's FormatFloat(value, 'g', -1, 32): the shortest digits that identify the 32-bit float."""
    if math.isnan(value):
        return ".nan"
    try:
        (single,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        single = float("inf") if value > 0 else float("-inf")
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    shortest = next(
        text
        for text in (f"{single:.{digits}e}" for digits in range(17))
        if struct.pack("f", float(text)) == struct.pack("f", single)
    )
    mantissa, _, exponent = shortest.partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        return format(decimal(mantissa).scaleb(power, exact()), "f")
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def core(text: str) -> Scalar:
    """Return the value of an untagged plain scalar under the core schema of YAML 1.2."""
    if text and text[0] not in HINTS:
        return text
    if text in _CORE_WORDS:
        return _CORE_WORDS[text]
    if len(text) <= _LONGEST_INT and _CORE_INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    return float(text) if _GO_FLOAT.fullmatch(text) else text


class Reading(msgspec.Struct, frozen=True):
    """An untagged plain scalar as Kubernetes reads it.

    ``raw`` is the value before JSON (a key is made of it), ``value`` the one after; ``finite`` is false for NaN and
    infinities, which JSON does not have; ``agrees``: YAML 1.2 has the same value.
    """

    raw: Scalar
    value: Scalar
    finite: bool
    agrees: bool


@lru_cache(maxsize=4096)
def kubernetes(text: str) -> Reading:
    """Read an untagged plain scalar as Kubernetes does."""
    _, raw = resolve(text)
    finite = not isinstance(raw, float) or math.isfinite(raw)
    value, other = (to_json(raw) if finite else raw), core(text)
    agrees = other == value and all(isinstance(other, kind) == isinstance(value, kind) for kind in (str, bool))
    return Reading(raw, value, finite, agrees)


def describe(value: Scalar) -> str:
    """Name type and value for a finding: ``the boolean true``, ``the string "yes"``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {'true' if value else 'false'}"
    return f'the string "{value}"' if isinstance(value, str) else f"the number {value}"


def ambiguous(path: Path, text: str, reading: Reading, *, key: str | None = None) -> Problem:
    """Return the problem of a plain scalar, or a key, that YAML readers resolve differently."""
    ours = describe(reading.value) if key is None else f'the key "{key}"'
    others = f"YAML 1.2 readers as {describe(core(text))}"
    if key is not None or isinstance(reading.value, str):
        hint = f"write {json.dumps(text, ensure_ascii=False)} for the string"
    else:
        plain = json.dumps(reading.value)
        hint = f'write "{text}" for the string, or {plain} for what Kubernetes reads'
    return Problem("TC005", path, f"Kubernetes reads {text} as {ours}, {others}", found=text, hint=hint, fatal=False)
