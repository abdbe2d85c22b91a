"""Converts strings by the format of their schema: times, durations and bytes.

Source: k8s.io/kube-openapi pkg/validation/strfmt, which accepts more than RFC 3339 and Go's durations.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping

from trainc.basics.regex import lazy
from trainc.cel.gotext import atoi, cut
from trainc.cel.library.times import day_number, duration_nanos, parse_timestamp
from trainc.cel.values import Duration, EvalError, Timestamp, Value
from trainc.kube.gojson import int64

_DATE = lazy(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_LOCAL = lazy(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?")
_NUMBER_AND_UNIT = lazy(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
_NO_BASE64 = lazy(r"[^A-Za-z0-9_=\r\n-]|=(?=[^=\r\n])")
_UNITS = (
    (1, ("ns",), "nano"),
    (10**3, ("us", "µs"), "micro"),
    (10**6, ("ms",), "milli"),
    (10**9, ("s",), "sec"),
    (60 * 10**9, ("m",), "min"),
    (3600 * 10**9, ("h", "hr"), "hour"),
    (86400 * 10**9, ("d",), "day"),
    (7 * 86400 * 10**9, ("w", "wk"), "week"),
)
"""Nanoseconds, short names, and the prefix of long names."""


def to_duration(text: str) -> Duration:
    """Parse a duration: in Go's form, else the sum of all numbers with a unit of Scala. Raises EvalError."""
    nanos = duration_nanos(text)
    if nanos is not None:
        return Duration(nanos)
    total, known = 0, False
    for number, unit in _NUMBER_AND_UNIT.findall(text):
        try:
            count = atoi(number)
        except EvalError as error:
            raise EvalError(f"Invalid duration {cut(text)}: {error.message}") from None
        for size, names, long in _UNITS:
            if unit.lower() in names or unit.lower().startswith(long):
                total, known = total + count * size, True
    if not known:
        raise EvalError(f"Invalid duration {cut(text)}: unable to parse {cut(text)} as duration")
    return Duration(int64(total))


def to_date(text: str) -> Timestamp:
    """Parse a day as its midnight UTC, ``2006-01-02``. Raises EvalError."""
    found = _DATE.fullmatch(text)
    if found is not None:
        days = day_number(*map(int, found.groups()))
        if days is not None:
            return Timestamp(days * 86400 * 10**9)
    raise EvalError(f"Invalid date formatted string {cut(text)}: no such day")


def to_date_time(text: str) -> Timestamp:
    """Parse an RFC 3339 time, in UTC if it has no zone; an empty text is 1970. Raises EvalError."""
    if not text:
        return Timestamp(0)
    try:
        return parse_timestamp(f"{text}Z" if _LOCAL.fullmatch(text) else text)
    except EvalError as error:
        raise EvalError(f"Invalid date-time formatted string {cut(text)}: {error.message}") from None


def to_bytes(text: str) -> bytes:
    """Decode URL-safe base64; line breaks are ignored. Raises EvalError."""
    invalid = _NO_BASE64.search(text)
    at = invalid.start() if invalid is not None else len(text)
    if invalid is None:
        import base64  # few values are bytes

        try:
            return base64.urlsafe_b64decode(text.replace("\r", "").replace("\n", ""))
        except binascii.Error:
            at = max(at - 1, 0)
    raise EvalError(f"Invalid byte formatted string {cut(text)}: illegal base64 data at input byte {at}")


FORMATS: Mapping[str, Callable[[str], Value]] = {
    "duration": to_duration,
    "date": to_date,
    "date-time": to_date_time,
    "byte": to_bytes,
}
"""Parsers by format; strings of other formats stay strings."""
