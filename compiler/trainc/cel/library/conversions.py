"""Conversions between types, and the parts of times.

Source: ConvertToType of cel-go v0.26.0 (common/types), common/stdlib/standard.go, Go's strconv, time.Parse with the
layout RFC3339, and time.ParseDuration. Strings are parsed as in Go: ASCII digits only, no blanks, hexadecimal and
underscores in doubles only. Time zones come from the package tzdata; Local is UTC.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from trainc.basics.regex import lazy
from trainc.cel import cost
from trainc.cel.functions import Function, Run, function
from trainc.cel.gotext import Civil, atoi, civil, shortest, utf8
from trainc.cel.types import BOOL, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, Type, type_name
from trainc.cel.values import UINT_MAX, Duration, EvalError, Timestamp, Uint, Value
from trainc.cel.work import CHARACTERS, Meter, spend
from trainc.data import time_zone
from trainc.kube.fielderror import cut
from trainc.kube.gojson import fits, go_number, int64
from trainc.kube.gotime import DAY, EPOCH, MAX_SECONDS, MIN_SECONDS, SECOND, TimeError, parse_time

INT_OVERFLOW, UINT_OVERFLOW = "integer overflow", "unsigned integer overflow"

_DIGITS = lazy("[0-9]+")
_D, _H = "[0-9](?:_?[0-9])*", "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DECIMAL = lazy(rf"[+-]?(?:{_D}(?:\.(?:{_D})?)?|\.{_D})(?:[eE][+-]?{_D})?")
_HEXADECIMAL = lazy(rf"[+-]?0[xX](?:_?{_H}(?:\.(?:{_H})?)?|\.{_H})[pP][+-]?{_D}")
_SPECIAL = lazy(r"(?i:[+-]?inf(?:inity)?|nan)", re.ASCII)
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def no_conversion(given: Type, wanted: Type) -> EvalError:
    """Return cel-go's error of a failed conversion."""
    return EvalError(f"type conversion error from '{type_name(given)}' to '{type_name(wanted)}'")


def _from_string(parse: Callable[[str], Value], wanted: Type) -> Callable[[str], Any]:
    """Return a conversion of strings; ``parse`` returns None or raises EvalError for those that have no value."""

    def convert(text: str) -> Value:
        with suppress(EvalError):
            if (found := parse(text)) is not None:
                return found
        raise no_conversion(STRING, wanted)

    return convert


string_to_int = _from_string(atoi, INT)


def _parse_uint(text: str) -> Uint | None:
    digits = text.lstrip("0") or "0"
    valid = _DIGITS.fullmatch(text) and len(digits) <= 20 and int(digits) <= UINT_MAX
    return Uint(int(digits)) if valid else None


def parse_float(text: str) -> float | None:
    """Return strconv.ParseFloat(text, 64); None if it fails or is out of range."""
    if _SPECIAL.fullmatch(text):
        return float(text)
    digits = text.replace("_", "")
    try:
        number = float(digits) if _DECIMAL.fullmatch(text) else math.inf
        number = float.fromhex(digits) if _HEXADECIMAL.fullmatch(text) else number
    except OverflowError:
        return None
    return None if math.isinf(number) else number


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


def checked_int(number: int) -> int:
    """Return an int. Raises EvalError if it has more than 64 bits."""
    if fits(number):
        return number
    raise EvalError(INT_OVERFLOW)


def int_to_uint(number: int) -> Uint:
    """Return ``uint(number)``. Raises EvalError."""
    if 0 <= number <= UINT_MAX:
        return Uint(number)
    raise EvalError(UINT_OVERFLOW)


def uint_to_int(number: Uint) -> int:
    """Return ``int(number)``. Raises EvalError."""
    return checked_int(number.value)


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


# Times

_DURATION = lazy(r"[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_SPAN = lazy(r"([0-9]*)\.?([0-9]*)([a-zµμ]+)")
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # the micro sign
    "μs": 10**3,  # the Greek letter
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_MOST_NANOS = 2**63

_ZONE: Final = 150
"""The work of finding a time zone."""


def parse_timestamp(text: str) -> Timestamp:
    """Return ``timestamp(text)``. Raises EvalError."""
    try:
        seconds, nanos, offset = parse_time(text)
    except TimeError:
        raise no_conversion(STRING, TIMESTAMP) from None
    return Timestamp(in_range(seconds) * SECOND + nanos, offset)


def in_range(seconds: int) -> int:
    """Return the seconds of a timestamp. Raises EvalError for one before year 1 or after year 9999."""
    if MIN_SECONDS <= seconds <= MAX_SECONDS:
        return seconds
    raise EvalError("timestamp overflow")


def timestamp_to_string(time: Timestamp) -> str:
    """Return ``string(time)``: RFC 3339 at its original offset, without trailing zeros in the fraction."""
    hours, minutes = divmod(abs(time.offset) // 60, 60)
    zone = f"{'-' if time.offset < 0 else '+'}{hours:02d}:{minutes:02d}" if time.offset else "Z"
    return f"{civil(time, time.offset).text('T')}{zone}"


def parse_duration(text: str) -> Duration:
    """Return ``duration(text)``, ``1h30m``, ``-1.5s``, ``0``. Raises EvalError."""
    nanos = duration_nanos(text)
    if nanos is None:
        raise no_conversion(STRING, DURATION)
    return Duration(nanos)


def duration_nanos(text: str) -> int | None:
    """Return time.ParseDuration in nanoseconds; None if it fails."""
    if not _DURATION.fullmatch(text):
        return None
    total = sum(_span(*found.groups()) for found in _SPAN.finditer(text))
    if total > _MOST_NANOS or (total == _MOST_NANOS and not text.startswith("-")):
        return None
    return -total if text.startswith("-") else total


def _span(whole: str, decimals: str, unit: str) -> int:
    """Return the nanoseconds of a number and a unit; the fraction is rounded like Go's float64 arithmetic."""
    part, scale = _leading_fraction(decimals)
    whole = whole.lstrip("0")[:20] or "0"  # 20 digits exceed 64 bits
    return int(whole) * _UNITS[unit] + int(float(part) * (_UNITS[unit] / scale))


def _leading_fraction(digits: str) -> tuple[int, float]:
    """Return the digits after the point as a number and its power of ten, limited to 63 bits as in Go."""
    number, scale = 0, 1.0
    for digit in digits:
        if (longer := number * 10 + int(digit)) > _MOST_NANOS:
            break
        number, scale = longer, scale * 10
    return number, scale


def _zone_offset(zone: str, time: Timestamp) -> int:
    """Return the seconds east of UTC of a zone such as ``America/New_York``, ``+05:30``, ``-8:00`` or ``UTC``.

    Raises EvalError.
    """
    colon = zone.find(":")
    if colon < 0:
        return _named_offset(zone, time)
    hours, minutes = atoi(zone[:colon]), atoi(zone[colon + 1 :])
    offset = int64(hours * 60 - minutes if zone.startswith("-") else hours * 60 + minutes)
    return int(int64(offset * 60 * SECOND) / 1e9)


def _named_offset(name: str, time: Timestamp) -> int:
    if name in ("", "UTC", "Local"):
        return 0
    try:
        zone = time_zone(name)
    except LookupError as error:
        raise EvalError(str(error).replace(name, cut(name))) from None
    # Stay two days inside the years 1 to 9999 of datetime; offsets do not change there.
    seconds = min(max(time.nanos // SECOND, MIN_SECONDS + 2 * DAY), MAX_SECONDS - 2 * DAY)
    offset = zone.fromutc(EPOCH.replace(tzinfo=zone) + timedelta(seconds=seconds)).utcoffset()
    return 0 if offset is None else offset.days * DAY + offset.seconds


def _int_to_duration(_: int) -> Duration:
    raise no_conversion(INT, DURATION)


def _whole(unit: int) -> Callable[[Duration], int]:
    """Return a function that counts units with Go's float64 arithmetic, truncated, though a fraction may round up."""

    def count(span: Duration) -> int:
        units, rest = divmod(abs(span.nanos), unit)
        number = int(units + rest / float(unit))
        return -number if span.nanos < 0 else number

    return count


def _milliseconds(span: Duration) -> int:
    return span.nanos // 10**6 if span.nanos >= 0 else -(-span.nanos // 10**6)


def _zoned(args: Sequence[Value], meter: Meter) -> None:
    if len(args) == 2 and args[1].__class__ is str:
        spend(meter, _ZONE + len(args[1]) * 4 // CHARACTERS)


_UTC, _WITH_ZONE = ".(timestamp) int", ".(timestamp, string) int"


def _part(
    name: str,
    overload: str,
    part: Callable[[Civil], int],
    of_duration: Callable[[Duration], int] | None = None,
    suffix: str = "_with_tz",
) -> Function:
    """Return the row of a function of a time with an optional zone, or of a duration."""
    rows: list[tuple[str, str, Run]] = [
        (f"timestamp_to_{overload}", _UTC, lambda time: part(civil(time, 0))),
        (
            f"timestamp_to_{overload}{suffix}",
            _WITH_ZONE,
            lambda time, zone: part(civil(time, _zone_offset(zone, time))),
        ),
    ]
    if of_duration is not None:
        rows.append((f"duration_to_{overload}", ".(duration) int", of_duration))
    return function(name, *rows, work=_zoned)


FUNCTIONS: Final = (
    function(
        "bool",
        ("bool_to_bool", "(bool) bool", _same),
        ("string_to_bool", "(string) bool", _from_string(_BOOLS.get, BOOL)),
    ),
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
        ("string_to_double", "(string) double", _from_string(parse_float, DOUBLE)),
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
        ("double_to_string", "(double) string", go_number),
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
        ("string_to_uint64", "(string) uint", _from_string(_parse_uint, UINT)),
        work=cost.reading(2),
    ),
    function(
        "timestamp",
        ("timestamp_to_timestamp", "(timestamp) timestamp", _same),
        ("int64_to_timestamp", "(int) timestamp", lambda seconds: Timestamp(in_range(seconds) * SECOND)),
        ("string_to_timestamp", "(string) timestamp", parse_timestamp),
        work=cost.reading(8),
    ),
    function(
        "duration",
        ("duration_to_duration", "(duration) duration", _same),
        ("int64_to_duration", "(int) duration", _int_to_duration),
        ("string_to_duration", "(string) duration", parse_duration),
        work=cost.reading(CHARACTERS),
    ),
    _part("getFullYear", "year", lambda civil: civil.year),
    _part("getMonth", "month", lambda civil: civil.moment.month - 1),
    _part("getDayOfYear", "day_of_year", lambda civil: civil.moment.timetuple().tm_yday - 1),
    _part("getDayOfMonth", "day_of_month", lambda civil: civil.moment.day - 1),
    _part("getDate", "day_of_month_1_based", lambda civil: civil.moment.day),
    _part("getDayOfWeek", "day_of_week", lambda civil: civil.moment.isoweekday() % 7),
    _part("getHours", "hours", lambda civil: civil.moment.hour, _whole(3600 * SECOND)),
    _part("getMinutes", "minutes", lambda civil: civil.moment.minute, _whole(60 * SECOND)),
    _part("getSeconds", "seconds", lambda civil: civil.moment.second, _whole(SECOND), suffix="_tz"),
    _part("getMilliseconds", "milliseconds", lambda civil: civil.nanosecond // 10**6, _milliseconds),
)
