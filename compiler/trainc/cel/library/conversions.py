"""Conversions between scalar types; those of times are in times.py.

Source: ConvertToType of cel-go v0.26.0 (common/types), with Go's strconv. Strings are parsed as in Go: ASCII
digits only, no blanks, hexadecimal and underscores in doubles only.
"""

from __future__ import annotations

import math
import re
from typing import Final

from trainc.basics.regex import lazy
from trainc.cel import cost
from trainc.cel.functions import function
from trainc.cel.gotext import atoi, general, shortest, utf8
from trainc.cel.library.times import no_conversion, timestamp_to_string
from trainc.cel.types import BOOL, DOUBLE, INT, STRING, UINT
from trainc.cel.values import INT_MAX, UINT_MAX, Duration, EvalError, Uint, Value

INT_OVERFLOW, UINT_OVERFLOW = "integer overflow", "unsigned integer overflow"

_DIGITS = lazy("[0-9]+")
_DECIMAL = lazy(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_HEXADECIMAL = lazy(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", re.ASCII)
_SPECIAL = lazy(r"(?i:[+-]?inf(?:inity)?|nan)", re.ASCII)
_NOT_BETWEEN_DIGITS = lazy(r"(?<![0-9a-fA-FxX])_|_(?![0-9a-fA-F])")
_NOT_BETWEEN_DECIMAL_DIGITS = lazy(r"(?<![0-9])_|_(?![0-9])")
_PREFIX = lazy(r"[+-]?0[xX]")
_TRUE, _FALSE = (
    frozenset(("1", "t", "T", "TRUE", "true", "True")),
    frozenset(("0", "f", "F", "FALSE", "false", "False")),
)


def string_to_int(text: str) -> int:
    """Return ``int(text)``. Raises EvalError."""
    try:
        return atoi(text)
    except EvalError:
        raise no_conversion(STRING, INT) from None


def _string_to_uint(text: str) -> Uint:
    digits = text.lstrip("0") or "0"
    if _DIGITS.fullmatch(text) and len(digits) <= 20 and int(digits) <= UINT_MAX:
        return Uint(int(digits))
    raise no_conversion(STRING, UINT)


def _string_to_double(text: str) -> float:
    number = parse_float(text)
    if number is None:
        raise no_conversion(STRING, DOUBLE)
    return number


def parse_float(text: str) -> float | None:
    """Return strconv.ParseFloat(text, 64); None if it fails or is out of range."""
    if _SPECIAL.fullmatch(text):
        return float(text)
    hexadecimal = _PREFIX.match(text) is not None
    if "_" in text:
        if (_NOT_BETWEEN_DIGITS if hexadecimal else _NOT_BETWEEN_DECIMAL_DIGITS).search(text):
            return None
        text = text.replace("_", "")
    if hexadecimal:
        try:
            return float.fromhex(text) if _HEXADECIMAL.fullmatch(text) else None
        except OverflowError:
            return None
    number = float(text) if _DECIMAL.fullmatch(text) else None
    return None if number is None or math.isinf(number) else number


def _string_to_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise no_conversion(STRING, BOOL)


def double_to_int(number: float) -> int:
    """Return ``int(number)``, truncated. Raises EvalError; both ends of int64 as doubles count as overflow."""
    if -(2.0**63) < number < 2.0**63:
        return int(number)
    raise EvalError(INT_OVERFLOW)


def double_to_uint(number: float) -> Uint:
    """Return ``uint(number)``, truncated. Raises EvalError."""
    if 0 <= number < 2.0**64:
        return Uint(int(number))
    raise EvalError(UINT_OVERFLOW)


def int_to_uint(number: int) -> Uint:
    """Return ``uint(number)``. Raises EvalError."""
    if number < 0:
        raise EvalError(UINT_OVERFLOW)
    return Uint(number)


def uint_to_int(number: Uint) -> int:
    """Return ``int(number)``. Raises EvalError."""
    if number.value > INT_MAX:
        raise EvalError(INT_OVERFLOW)
    return number.value


def bytes_to_string(data: bytes) -> str:
    """Return ``string(data)``. Raises EvalError for invalid UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


def duration_to_string(span: Duration) -> str:
    """Return ``string(span)``: seconds as a double, ``-1.5s``."""
    seconds, nanos = divmod(abs(span.nanos), 10**9)
    number = seconds + nanos / 1e9
    return f"{shortest(-number if span.nanos < 0 else number)}s"


def _same(value: Value) -> Value:
    return value


FUNCTIONS: Final = (
    function("bool", ("bool_to_bool", "(bool) bool", _same), ("string_to_bool", "(string) bool", _string_to_bool)),
    function(
        "bytes",
        ("bytes_to_bytes", "(bytes) bytes", _same),
        ("string_to_bytes", "(string) bytes", utf8, cost.first),
        work=cost.reading(2),
    ),
    function(
        "double",
        ("double_to_double", "(double) double", _same),
        ("int64_to_double", "(int) double", float),
        ("string_to_double", "(string) double", _string_to_double),
        ("uint64_to_double", "(uint) double", lambda number: float(number.value)),
        work=cost.reading(8),
    ),
    function(
        "int",
        ("int64_to_int64", "(int) int", _same),
        ("double_to_int64", "(double) int", double_to_int),
        ("duration_to_int64", "(duration) int", lambda span: span.nanos),
        ("string_to_int64", "(string) int", string_to_int),
        ("timestamp_to_int64", "(timestamp) int", lambda time: time.nanos // 10**9),
        ("uint64_to_int64", "(uint) int", uint_to_int),
        work=cost.reading(2),
    ),
    function(
        "string",
        ("string_to_string", "(string) string", _same),
        ("bool_to_string", "(bool) string", lambda flag: "true" if flag else "false"),
        ("bytes_to_string", "(bytes) string", bytes_to_string, cost.first),
        ("double_to_string", "(double) string", general),
        ("duration_to_string", "(duration) string", duration_to_string),
        ("int64_to_string", "(int) string", str),
        ("timestamp_to_string", "(timestamp) string", timestamp_to_string),
        ("uint64_to_string", "(uint) string", lambda number: str(number.value)),
        work=cost.reading(2),
    ),
    function(
        "uint",
        ("uint64_to_uint64", "(uint) uint", _same),
        ("double_to_uint64", "(double) uint", double_to_uint),
        ("int64_to_uint64", "(int) uint", int_to_uint),
        ("string_to_uint64", "(string) uint", _string_to_uint),
        work=cost.reading(2),
    ),
)
