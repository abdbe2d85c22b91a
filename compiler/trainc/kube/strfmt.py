"""String formats of k8s.io/kube-openapi pkg/validation/strfmt that schemas and CEL check alike."""

from __future__ import annotations

import re

from trainc.basics.regex import lazy
from trainc.kube.gotime import day_number

_DATE = lazy("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_CLOCK = lazy(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_BYTE = lazy(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")


def parse_date(text: str) -> int | None:
    """Return the days from 1970-01-01 to a date, ``2006-01-02``; None if it is not one."""
    found = _DATE.fullmatch(text)
    return None if found is None else day_number(*map(int, found.groups()))


def is_date(text: str) -> bool:
    """Return whether a text is a date."""
    return parse_date(text) is not None


def is_date_time(text: str) -> bool:
    """Return whether a text is a date and a time; a second T and everything after it are ignored."""
    day, *times = text.lower().split("t")
    found = _CLOCK.fullmatch(times[0]) if times and is_date(day) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def is_byte(text: str) -> bool:
    """Return whether a text is base64 of at least one byte."""
    return _BYTE.fullmatch(text) is not None


def is_uuid(text: str, third: str = "[0-9a-f]{4}", fourth: str = "[0-9a-f]{4}") -> bool:
    """Return whether a text is a UUID, with patterns for the parts that have version and variant."""
    pattern = f"(?i:[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}})"
    return re.fullmatch(pattern, text, re.ASCII) is not None
