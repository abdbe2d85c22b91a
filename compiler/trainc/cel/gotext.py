"""Formats CEL's values as Go does: strconv.Quote, %g, shortest decimals, and fmt's %v.

Source: Go's strconv and fmt, cel-go v0.26.0 common/types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from trainc.basics.regex import lazy
from trainc.cel.types import type_name
from trainc.cel.values import (
    Container,
    Duration,
    EvalError,
    KeyedMap,
    Opaque,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    Value,
)
from trainc.kube.fielderror import MOST_QUOTED, cut, quote_cut
from trainc.kube.gojson import decimal, fits, go_number
from trainc.kube.gotime import SECOND, calendar

_INTEGER = lazy("[+-]?[0-9]+")
_HEAVY = 1000
"""Values with more weight than this are not written into errors."""


def utf8(text: str) -> bytes:
    """Encode a string as UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def from_utf8(data: bytes) -> str:
    """Decode UTF-8; invalid bytes become U+FFFD."""
    return data.decode("utf-8", "replace")


def shortest(number: float) -> str:
    """Return ``strconv.FormatFloat(number, 'f', -1, 64)`` of a finite double: no exponent, few digits."""
    text = f"{decimal(repr(number)):f}"
    return text[:-2] if text.endswith(".0") else text


def atoi(text: str) -> int:
    """Return ``strconv.Atoi(text)``. Raises EvalError."""
    problem = "invalid syntax"
    if _INTEGER.fullmatch(text):
        digits = text.lstrip("+-").lstrip("0") or "0"
        number = int(digits[:20]) * (-1 if text.startswith("-") else 1)  # 20 digits exceed 64 bits
        if fits(number):
            return number
        problem = "value out of range"
    raise EvalError(f"strconv.Atoi: parsing {quote_cut(text)}: {problem}")


def shown(value: Value) -> str:
    """Return fmt's ``%v`` of a value of cel-go, shortened, in time independent of its size."""
    parts, size = [], 0
    for part in _pieces(value):
        parts.append(part)
        size += len(part)
        if size > MOST_QUOTED:
            break
    return cut("".join(parts))


def _pieces(value: Value) -> Iterator[str]:
    known = _SHOWN.get(value.__class__)
    if known is not None:
        yield known(value)
    elif value.__class__ is str:
        yield value[: MOST_QUOTED + 1]
    elif isinstance(value, Opaque):
        yield value.text() if value.weight() < _HEAVY else f"{type_name(value.type)}..."
    elif isinstance(value, Optional):
        yield "optional(" if value.present else "optional.none()"
        if value.present:
            yield from _pieces(value.value)
            yield ")"
    elif value.__class__ is list or (isinstance(value, Container) and value.is_list()):
        yield from _enclosed("[", map(_pieces, value), "]")
    else:
        pairs = (
            value.entries.values() if isinstance(value, KeyedMap) else ((key, value.get(key, None)) for key in value)
        )
        yield from _enclosed("{", (chain(_pieces(key), (": ",), _pieces(item)) for key, item in pairs), "}")


def _enclosed(begin: str, members: Iterable[Iterator[str]], end: str) -> Iterator[str]:
    yield begin
    for index, member in enumerate(members):
        if index:
            yield ", "
        yield from member
    yield end


def fraction(part: int, unit: int = SECOND) -> str:
    """Return the fraction part / unit with its point; empty for 0. The unit is a power of ten."""
    return f".{part:0{len(str(unit)) - 1}d}".rstrip("0") if part else ""


class Civil(NamedTuple):
    """A date and time of day. ``year`` may be any number, unlike that of a datetime."""

    year: int
    moment: datetime
    nanosecond: int

    def text(self, separator: str) -> str:
        """Return date and time up to the fraction of a second."""
        sign = "-" if self.year < 0 else ""
        return f"{sign}{abs(self.year):04d}{self.moment:-%m-%d{separator}%H:%M:%S}{fraction(self.nanosecond)}"


def civil(time: Timestamp, offset: int) -> Civil:
    """Return the date and time of day at an offset in seconds east of UTC."""
    seconds, nanos = divmod(time.nanos, SECOND)
    return Civil(*calendar(seconds + offset), nanos)


def _timestamp(value: Timestamp) -> str:
    sign, (hours, minutes) = "-" if value.offset < 0 else "+", divmod(abs(value.offset) // 60, 60)
    zone = f"{sign}{hours:02d}{minutes:02d} {'UTC' if value.offset == 0 else f'{sign}{hours:02d}{minutes:02d}'}"
    return f"{civil(value, value.offset).text(' ')} {zone}"


def _duration(value: Duration) -> str:
    nanos = abs(value.nanos)
    if nanos < 10**9:
        for unit, size in (("ms", 10**6), ("µs", 10**3), ("ns", 1)):
            if nanos >= size:
                return f"{'-' * (value.nanos < 0)}{nanos // size}{fraction(nanos % size, size)}{unit}"
        return "0s"
    minutes, rest = divmod(nanos, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    before = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{'-' * (value.nanos < 0)}{before}{rest // SECOND}{fraction(rest % SECOND)}s"


_SHOWN: Mapping[type, Callable[[Any], str]] = {
    type(None): lambda _: "0",  # cel-go's Null is Go's int32 0
    bool: lambda value: "true" if value else "false",
    int: str,
    float: go_number,
    bytes: lambda value: f"[{' '.join(map(str, value[:MOST_QUOTED]))}]",
    Uint: lambda value: str(value.value),
    Timestamp: _timestamp,
    Duration: _duration,
    TypeValue: lambda value: type_name(value.type),
}
