"""timestamp(), duration() and the parts of times, read and written as Go's package time does.

Source: cel-go v0.26.0 (common/stdlib/standard.go, common/types/timestamp.go, duration.go), Go's time.Parse with the
layout RFC3339 and time.ParseDuration. Zones come from the package tzdata, never from the machine; Local is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from trainc.basics.regex import lazy
from trainc.cel.conversions import no_conversion
from trainc.cel.gotext import cut, quote_cut
from trainc.cel.types import DURATION, INT, STRING, TIMESTAMP
from trainc.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, EvalError, Timestamp, Value
from trainc.data import time_zone
from trainc.kube.gojson import int64

SECOND, DAY = 10**9, 86400
MIN_SECONDS, MAX_SECONDS = -62135596800, 253402300799
"""Seconds since 1970 of the first of year 1 and of the last second of year 9999."""
TIMESTAMP_OVERFLOW = "timestamp overflow"

_RFC3339 = lazy(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_SPAN = lazy(r"([0-9]*)(\.?)([0-9]*)([^0-9.]*)", re.ASCII)
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
_MOST_DIGITS = 100
"""More digits than this are no int64, once zeros in front are gone."""
_ATOI = lazy("([+-]?)([0-9]+)(.*)", re.ASCII | re.DOTALL)
_CYCLE_DAYS, _CYCLE_YEARS = 146097, 400
"""The calendar repeats after so many days."""


class Civil(NamedTuple):
    """A time on a calendar and a clock; ``weekday`` counts from Sunday, ``yearday`` and ``weekday`` from 0."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    weekday: int
    yearday: int


def parse_timestamp(text: str) -> Timestamp:
    """Return ``timestamp(text)``.

    Go reads a little more than RFC 3339: an hour of one digit, a comma before the fraction, offsets up to 24:60.
    Digits after the ninth are dropped. Raises EvalError.
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        no_conversion(STRING, TIMESTAMP)
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    fraction_digits, sign, zone_hour, zone_minute = found.groups()[6:]
    if not (1 <= month <= 12 and 1 <= day <= days_in(year, month) and hour < 24 and minute < 60 and second < 60):
        no_conversion(STRING, TIMESTAMP)
    offset = 0
    if sign:
        if int(zone_hour) > 24 or int(zone_minute) > 60:
            no_conversion(STRING, TIMESTAMP)
        offset = (int(zone_hour) * 60 + int(zone_minute)) * (-60 if sign == "-" else 60)
    seconds = days_before(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise EvalError(TIMESTAMP_OVERFLOW)
    nanos = int((fraction_digits or "0")[:9].ljust(9, "0"))
    return Timestamp(seconds * SECOND + nanos, offset)


def int_to_timestamp(seconds: int) -> Timestamp:
    """Return ``timestamp(seconds)``, seconds since 1970. Raises EvalError."""
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise EvalError(TIMESTAMP_OVERFLOW)
    return Timestamp(seconds * SECOND)


def timestamp_to_string(time: Timestamp) -> str:
    """Return ``string(time)``: RFC 3339 in the zone that it was written with, no zeros at the end of the fraction."""
    moment = civil(time, time.offset)
    hours, minutes = divmod(abs(time.offset) // 60, 60)
    zone = f"{'-' if time.offset < 0 else '+'}{hours:02d}:{minutes:02d}" if time.offset else "Z"
    date = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    return f"{date}T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}{fraction(moment.nanosecond)}{zone}"


def fraction(nanos: int) -> str:
    """Return the fraction of a second with its point; nothing for 0."""
    return f".{nanos:09d}".rstrip("0") if nanos else ""


def parse_duration(text: str) -> Duration:
    """Return ``duration(text)``, ``1h30m``, ``-1.5s``, ``0``, in time linear in its length. Raises EvalError."""
    nanos = duration_nanos(text)
    if nanos is None:
        no_conversion(STRING, DURATION)
    return Duration(nanos)


def duration_nanos(text: str) -> int | None:
    """Return the nanoseconds that time.ParseDuration finds in a text; None where it fails."""
    negative, rest = text.startswith("-"), text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    total, at = 0, 0
    while at < len(rest):
        found = _SPAN.match(rest, at)
        part = None if found is None else _span(*found.groups())
        if found is None or part is None:
            return None
        total, at = total + part, found.end()
        if total > _MOST_NANOS:
            return None
    if not rest or (total == _MOST_NANOS and not negative):
        return None
    return -total if negative else total


def _span(whole: str, point: str, decimals: str, unit: str) -> int | None:
    """Return the nanoseconds of a number and a unit; the fraction counts as Go's float64 arithmetic makes it."""
    size = _UNITS.get(unit)
    digits = whole.lstrip("0")
    if size is None or not whole + decimals or len(digits) > _MOST_DIGITS:
        return None
    number = int(digits or "0")
    if number > _MOST_NANOS // size:
        return None
    nanos = number * size
    part, scale = _leading_fraction(decimals)
    if part > 0:
        nanos += int(float(part) * (size / scale))
    return nanos if nanos <= _MOST_NANOS else None


def _leading_fraction(digits: str) -> tuple[int, float]:
    """Return the digits after the point as a number and its power of ten; Go stops where 63 bits are full."""
    number, scale = 0, 1.0
    for digit in digits:
        if number > INT_MAX // 10 or (longer := number * 10 + int(digit)) > _MOST_NANOS:
            break
        number, scale = longer, scale * 10
    return number, scale


def civil(time: Timestamp, offset: int) -> Civil:
    """Return what calendar and clock show of a time, offset seconds east of UTC."""
    seconds, nanos = divmod(time.nanos, SECOND)
    days, clock = divmod(seconds + offset, DAY)
    # The calendar of Howard Hinnant's civil_from_days: eras of 400 years that begin in March.
    era, day_of_era = divmod(days + 719468, _CYCLE_DAYS)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * _CYCLE_YEARS + (month <= 2)
    yearday = days - days_before(year, 1, 1)
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    return Civil(year, month, day, clock // 3600, clock // 60 % 60, clock % 60, nanos, (days + 4) % 7, yearday)


def days_before(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date."""
    shifted = year - (month <= 2)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + day_of_year - 719468


def days_in(year: int, month: int) -> int:
    """Return the number of days of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def zone_offset(zone: str, time: Timestamp) -> int:
    """Return how many seconds east of UTC a zone is at a time: ``America/New_York``, ``+05:30``, ``-8:00``, ``UTC``.

    Raises EvalError.
    """
    colon = zone.find(":")
    if colon < 0:
        return _named_offset(zone, time)
    hours, minutes = _atoi(zone[:colon]), _atoi(zone[colon + 1 :])
    offset = int64(hours * 60 - minutes if zone.startswith("-") else hours * 60 + minutes)
    return int(int64(offset * 60 * SECOND) / 1e9)


def _named_offset(name: str, time: Timestamp) -> int:
    if name in ("", "UTC", "Local"):
        return 0
    from datetime import datetime, timedelta

    try:
        zone = time_zone(name)
    except LookupError as error:
        raise EvalError(str(error).replace(name, cut(name))) from None
    # A little inwards at both ends, for datetime cannot leave the years 1 to 9999. Nothing changes there.
    seconds, days = time.nanos // SECOND, 0
    if seconds < MIN_SECONDS + 2 * DAY:
        days = 2
    elif seconds > MAX_SECONDS - 2 * DAY:
        days = -_CYCLE_DAYS
    moment = datetime(1970, 1, 1, tzinfo=zone) + timedelta(days=days, seconds=seconds)
    offset = zone.fromutc(moment).utcoffset()
    return 0 if offset is None else offset.days * DAY + offset.seconds


def _atoi(text: str) -> int:
    """Return strconv.Atoi(text). Raises EvalError with its message."""
    found = _ATOI.fullmatch(text)
    sign, digits, junk = found.groups() if found else ("", "0", "junk")
    digits = digits.lstrip("0") or "0"
    number = int(digits) if len(digits) <= _MOST_DIGITS else _MOST_NANOS * 2
    # Go reads from the left, and meets an overflow of 64 bits before what follows the digits.
    if junk and number <= UINT_MAX:
        raise EvalError(f"strconv.Atoi: parsing {quote_cut(text)}: invalid syntax")
    number = -number if sign == "-" else number
    if junk or not INT_MIN <= number <= INT_MAX:
        raise EvalError(f"strconv.Atoi: parsing {quote_cut(text)}: value out of range")
    return number


def _int_to_duration(_: int) -> Duration:
    no_conversion(INT, DURATION)


def _same(value: Value) -> Value:
    return value


def _whole(unit: int) -> Callable[[Duration], int]:
    """Return what counts units, cut towards zero, with Go's float64 arithmetic, which may round a fraction up."""

    def count(span: Duration) -> int:
        units, rest = divmod(abs(span.nanos), unit)
        number = int(units + rest / float(unit))
        return -number if span.nanos < 0 else number

    return count


def _milliseconds(span: Duration) -> int:
    return span.nanos // 10**6 if span.nanos >= 0 else -(-span.nanos // 10**6)


_PARTS: Mapping[str, Callable[[Civil], int]] = {
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month - 1,
    "day_of_year": lambda moment: moment.yearday,
    "day_of_month": lambda moment: moment.day - 1,
    "day_of_month_1_based": lambda moment: moment.day,
    "day_of_week": lambda moment: moment.weekday,
    "hours": lambda moment: moment.hour,
    "minutes": lambda moment: moment.minute,
    "seconds": lambda moment: moment.second,
    "milliseconds": lambda moment: moment.nanosecond // 10**6,
}


def _in_utc(part: Callable[[Civil], int]) -> Callable[[Timestamp], int]:
    return lambda time: part(civil(time, 0))


def _in_zone(part: Callable[[Civil], int]) -> Callable[[Timestamp, str], int]:
    return lambda time, zone: part(civil(time, zone_offset(zone, time)))


OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "string_to_timestamp": parse_timestamp,
    "int64_to_timestamp": int_to_timestamp,
    "timestamp_to_timestamp": _same,
    "timestamp_to_string": timestamp_to_string,
    "string_to_duration": parse_duration,
    "int64_to_duration": _int_to_duration,
    "duration_to_duration": _same,
    "duration_to_hours": _whole(3600 * SECOND),
    "duration_to_minutes": _whole(60 * SECOND),
    "duration_to_seconds": _whole(SECOND),
    "duration_to_milliseconds": _milliseconds,
    **{f"timestamp_to_{name}": _in_utc(part) for name, part in _PARTS.items()},
    **{f"timestamp_to_{name}_with_tz": _in_zone(part) for name, part in _PARTS.items() if name != "seconds"},
    "timestamp_to_seconds_tz": _in_zone(_PARTS["seconds"]),
}
