"""Times as metav1.Time reads and writes them: RFC 3339 in, RFC 3339 in UTC with whole seconds out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_ELEMENTS = ("2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "", "Z07:00")
_PATTERNS = {"2006": "[0-9]{4}", "": "(?:[.,][0-9]+)?", "Z07:00": "Z|[+-][0-9]{2}:[0-9]{2}"}
"""The elements that are neither two digits nor literal characters. The empty one is the fraction of a second."""

_LIMITS = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}
_CYCLE = 400
"""Years after which the calendar repeats; datetime begins at year 1, Go's times earlier."""


class TimeError(ValueError):
    """A text that is not a time; the message is Go's."""


def normalize_time(text: str) -> str | None:
    """Return an RFC 3339 time as Go writes it: UTC, whole seconds; None (null) for Go's zero time.

    Raises TimeError.
    """
    from calendar import monthrange  # few documents contain a time
    from datetime import datetime, timedelta

    part = _split(text)
    years = _CYCLE if int(part["2006"]) < _CYCLE else 0
    moment = datetime(int(part["2006"]) + years, int(part["01"]), 1, int(part["15"]), int(part["04"]), int(part["05"]))
    if not 1 <= int(part["02"]) <= monthrange(2000 + moment.year % _CYCLE, moment.month)[1]:
        raise TimeError(f"{_parsing(text)}: day out of range")
    year_after = moment.year >= 9999
    if year_after:
        moment, years = moment.replace(year=moment.year - _CYCLE), years - _CYCLE
    utc = moment + timedelta(days=int(part["02"]) - 1) - _offset(part["Z07:00"], text)
    year = utc.year - years
    written = f"{'-' if year < 0 else ''}{abs(year):04d}-{utc:%m-%dT%H:%M:%SZ}"
    # A fraction of a second keeps a time from being Go's zero time, though it is not written.
    zero = written == "0001-01-01T00:00:00Z" and not part[""].strip(".,0")
    return None if zero else written


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


def _offset(zone: str, text: str) -> timedelta:
    from datetime import timedelta

    if zone == "Z":
        return timedelta(0)
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 24 or minutes > 60:
        raise TimeError(f"{_parsing(text)}: time zone offset {'hour' if hours > 24 else 'minute'} out of range")
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


def _parsing(text: str) -> str:
    return f"parsing time {_quote(text)}"


def _quote(text: str) -> str:
    """Quote as Go's package time does: unlike strconv.Quote, every byte outside ASCII is escaped."""
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if " " <= char < "\x80" else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
