"""Times as Go parses them with the layout RFC3339, and as metav1.Time writes them: in UTC with whole seconds."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_ELEMENTS = ("2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "", "Z07:00")
_PATTERNS = {"2006": "[0-9]{4}", "15": "[0-9]{1,2}", "": "(?:[.,][0-9]+)?", "Z07:00": "Z|[+-][0-9]{2}:[0-9]{2}"}
"""The elements that are neither two digits nor literal characters. The empty one is the fraction of a second."""

_LIMITS = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}

SECOND, DAY = 10**9, 86400
MIN_SECONDS, MAX_SECONDS = -62135596800, 253402300799
"""Seconds since 1970 of the start of year 1 and of the end of year 9999."""

EPOCH = datetime(1970, 1, 1)
_CYCLE_DAYS, _CYCLE_YEARS = 146097, 400
"""The calendar repeats after this many days."""


class TimeError(ValueError):
    """A text that is not a time; the message is Go's."""


def normalize_time(text: str) -> str | None:
    """Return an RFC 3339 time as Go writes it: UTC, whole seconds; None (null) for Go's zero time.

    Raises TimeError.
    """
    seconds, nanos, _ = parse_time(text)
    if seconds == MIN_SECONDS and not nanos:
        return None
    year, moment = calendar(seconds)
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{moment:%m-%dT%H:%M:%SZ}"


def parse_time(text: str) -> tuple[int, int, int]:
    """Return an RFC 3339 time as seconds since 1970, nanoseconds, and the seconds of its offset east of UTC.

    Go accepts more: hours of one digit, a comma before the fraction, offsets up to 24:60. Digits after the ninth are
    dropped. Raises TimeError.
    """
    part = _split(text)
    days = day_number(int(part["2006"]), int(part["01"]), int(part["02"]))
    if days is None:
        raise TimeError(f"{_parsing(text)}: day out of range")
    offset = _offset(part["Z07:00"], text)
    seconds = days * DAY + int(part["15"]) * 3600 + int(part["04"]) * 60 + int(part["05"])
    return seconds - offset, int(part[""][1:10].ljust(9, "0")), offset


def day_number(year: int, month: int, day: int) -> int | None:
    """Return the days from 1970-01-01 to a date; None if the date does not exist."""
    try:
        days = date(year or _CYCLE_YEARS, month, day) - EPOCH.date()
    except ValueError:
        return None
    return days.days - (0 if year else _CYCLE_DAYS)


def calendar(seconds: int) -> tuple[int, datetime]:
    """Return the year, which unlike that of a datetime may be any number, and the date and time."""
    # A message of CEL may have any seconds of 64 bits: years up to 292,277,026,596.
    cycles = 0 if MIN_SECONDS <= seconds <= MAX_SECONDS else -((seconds - MIN_SECONDS) // (_CYCLE_DAYS * DAY))
    moment = EPOCH + timedelta(seconds=seconds + cycles * _CYCLE_DAYS * DAY)
    return moment.year - cycles * _CYCLE_YEARS, moment


def _split(text: str) -> dict[str, str]:
    """Return the elements of a time by their name in Go's layout."""
    parts, at = {}, 0
    for element in _ELEMENTS:
        pattern = _PATTERNS.get(element, "[0-9]{2}" if element.isdigit() else element)
        found = re.compile(pattern).match(text, at)
        if found is None:
            rest = f'cannot parse {_quote(text[at:])} as "{element}"'
            raise TimeError(f'{_parsing(text)} as "{_LAYOUT}": {rest}')
        parts[element], at = found.group(), found.end()
        name, low, high = _LIMITS.get(element, ("", 0, 0))
        if name and not low <= int(found.group()) <= high:
            raise TimeError(f"{_parsing(text)}: {name} out of range")
    if at < len(text):
        raise TimeError(f"{_parsing(text)}: extra text: {_quote(text[at:])}")
    return parts


def _offset(zone: str, text: str) -> int:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 24 or minutes > 60:
        raise TimeError(f"{_parsing(text)}: time zone offset {'hour' if hours > 24 else 'minute'} out of range")
    return (hours * 60 + minutes) * (-60 if zone[0] == "-" else 60)


def _parsing(text: str) -> str:
    return f"parsing time {_quote(text)}"


def _quote(text: str) -> str:
    """Quote as Go's package time does: unlike strconv.Quote, every byte outside ASCII is escaped."""
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if " " <= char < "\x80" else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
