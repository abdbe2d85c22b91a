"""String formats that the API server checks.

Source of the rules: k8s.io/kube-openapi pkg/validation/strfmt and the list of formats in
k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/validation/formats.go; formats beyond that list are ignored there.
The CRDs of this package use date-time alone; what hardly any CRD asks for is rareformats.py's.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from typing import Final

RARE_NAMES: Final = frozenset(
    {"bsonobjectid", "uri", "email", "hostname", "isbn", "isbn10", "isbn13", "creditcard", "ssn", "rgbcolor"}
)
"""Formats that rareformats.py checks."""

_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))"
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SCALA = r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)"
_GO_DURATION = r"[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)"
_UNITS = ("ns", "us", "µs", "ms", "s", "sec", "m", "min", "h", "hr", "d", "w", "wk")
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_BYTE = r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
_MAC = r"[0-9a-f]{2}(([:-])[0-9a-f]{2}(\2[0-9a-f]{2}){4,18})|[0-9a-f]{4}(\.[0-9a-f]{4}){2,9}"
_MAC_OCTETS = (6, 8, 20)


def is_date(text: str) -> bool:
    """Tell whether text is a day of the calendar, as in 2006-01-02."""
    found = re.fullmatch(_DATE, text)
    if not found:
        return False
    year, month, day = (int(part) for part in found.groups())
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + leap


def is_date_time(text: str) -> bool:
    """Tell whether text passes for a date-time: a second T and all behind it are not looked at."""
    parts = text.lower().split("t")
    if len(parts) < 2 or not is_date(parts[0]):
        return False
    found = re.fullmatch(_TIME, parts[1])
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def is_duration(text: str) -> bool:
    """Tell whether text is a duration of Go, or holds a number with a unit of Scala's anywhere."""
    if re.fullmatch(_GO_DURATION, text) and not re.search("[0-9]{19}", text):
        return True
    found = re.findall(_SCALA, text)
    if any(int(number[-20:]) >= 2**63 or len(number.lstrip("0")) > 19 for number, _ in found):
        return False  # no int64
    return any(unit.lower() in _UNITS or unit.lower().startswith(_LONG_UNITS) for _, unit in found)


def is_byte(text: str) -> bool:
    """Tell whether text is base64 of at least one byte."""
    if not re.fullmatch(_BYTE, text):
        return False
    import base64  # few values are bytes

    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True


def is_ipv4(text: str) -> bool:
    """Tell whether text is an IPv4 address (leading zeros are tolerated) or an IPv6 address with a point in it."""
    return "." in text and _is_address(text)


def is_ipv6(text: str) -> bool:
    """Tell whether text is an IPv6 address without a zone."""
    return ":" in text and _is_address(text)


def is_ip(text: str) -> bool:
    """Tell whether text is an address of either version, as Go's ParseIP reads it, without leading zeros."""
    return _is_address(text) and not re.search(r"(^|[.:])0[0-9]+(\.|$)", text)


def is_cidr(text: str) -> bool:
    """Tell whether text is an address and the length of a prefix."""
    address, slash, length = text.partition("/")
    if not slash or not re.fullmatch("[0-9]{1,3}", length) or not _is_address(address):
        return False
    return int(length) <= (128 if ":" in address else 32)


def _is_address(text: str) -> bool:
    if ":" not in text:
        return _is_dotted(text)
    head, gap, tail = text.partition("::")
    if gap and "::" in tail:
        return False
    groups = [group for part in (head, tail) if part for group in part.split(":")]
    count = len(groups)
    if groups and "." in groups[-1] and (tail or not gap):
        if not _is_dotted(groups.pop()):
            return False
        count += 1
    whole = count < 8 if gap else count == 8
    return whole and all(re.fullmatch("[0-9a-fA-F]{1,4}", group) for group in groups)


def _is_dotted(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(
        re.fullmatch("[0-9]+", part) and int(part[-6:]) <= 255 and len(part) < 7 for part in parts
    )


def _is_mac(text: str) -> bool:
    return bool(re.fullmatch(_MAC, text, re.I | re.A)) and len(re.findall("[0-9a-fA-F]", text)) in {
        2 * size for size in _MAC_OCTETS
    }


def _matches(pattern: str, *, limit: int | None = None) -> Callable[[str], bool]:
    return lambda text: (limit is None or len(text) <= limit) and re.fullmatch(pattern, text, re.ASCII) is not None


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    return _matches(f"(?i:[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}})")


_HEX4, _VARIANT = "[0-9a-f]{4}", "[89ab][0-9a-f]{3}"
FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "byte": is_byte,
    "cidr": is_cidr,
    "date": is_date,
    "datetime": is_date_time,
    "duration": is_duration,
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "k8slongname": _matches(rf"{_LABEL}(\.{_LABEL})*", limit=253),
    "k8sshortname": _matches(_LABEL, limit=63),
    "mac": _is_mac,
    "password": lambda _text: True,
    "uuid": _uuid(_HEX4, _HEX4),
    "uuid3": _uuid("3[0-9a-f]{3}", _HEX4),
    "uuid4": _uuid("4[0-9a-f]{3}", _VARIANT),
    "uuid5": _uuid("5[0-9a-f]{3}", _VARIANT),
}
"""Checks by the format's name without dashes."""


def known_format(type_name: str, form: str) -> str:
    """Return the format as the API server takes it for a schema of that type ('' for none): '' where it ignores it."""
    if type_name in ("", "string"):
        name = form.replace("-", "")
        return form if name in FORMATS or name in RARE_NAMES else ""
    return form if form in {"integer": ("int32", "int64"), "number": ("float", "double")}.get(type_name, ()) else ""


def format_check(form: str) -> Callable[[str], bool] | None:
    """Return the check of a string format, or None where there is nothing to check."""
    name = form.replace("-", "")
    if name in RARE_NAMES:
        from trainc.schema.rareformats import RARE

        return RARE[name]
    return FORMATS.get(name)
