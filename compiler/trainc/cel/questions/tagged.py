"""Variables of a question about an expression: plain JSON, with ``{"t": kind, "v": value}`` for what JSON lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from trainc.basics.jsonvalues import Json
from trainc.basics.regex import lazy
from trainc.cel.maps import make_map
from trainc.cel.typetext import parse
from trainc.cel.values import INT_MAX, INT_MIN, NONE, UINT_MAX, Duration, Optional, Timestamp, TypeValue, Uint, Value

_SECOND = 10**9
_SURROGATE = lazy("[\ud800-\udfff]")


class TagError(ValueError):
    """A value that no tag describes."""


def as_read(value: Json) -> Json:
    """Return JSON with texts as Go reads them: half a surrogate pair becomes U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [as_read(item) for item in value]
    if isinstance(value, dict):
        return {str(as_read(key)): as_read(item) for key, item in value.items()}
    return value


def numbers(value: Json) -> Json:
    """Return JSON with numbers as an API server reads them: what is no integer of 64 bits is a double."""
    if isinstance(value, list):
        return [numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if value.__class__ is int and not INT_MIN <= value <= INT_MAX:
        return float(value)
    return value


def untag(value: Json) -> Value:
    """Return the value that tagged JSON stands for. Raises TagError."""
    if isinstance(value, list):
        return [untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value.get("t")
    if not isinstance(tag, str) or len(value) > 2 or (len(value) == 2 and "v" not in value):
        return {key: untag(item) for key, item in value.items()}
    read = _TAGS.get(tag)
    if read is None:
        raise TagError(f"no value is tagged {tag!r}")
    try:
        return read(value.get("v"))
    except (TypeError, ValueError, OverflowError) as error:
        raise TagError(f"no value of type {tag!r} is written {value.get('v')!r}") from error


def _integer(value: Json) -> int:
    number = int(value) if isinstance(value, str | int | float) else None
    if number is None or isinstance(value, bool) or number != (value if isinstance(value, int | float) else number):
        raise ValueError(value)
    return number


def _int(value: Json) -> Value:
    number = _integer(value)
    if not INT_MIN <= number <= INT_MAX:
        raise ValueError(value)
    return number


def _uint(value: Json) -> Value:
    number = _integer(value)
    if not 0 <= number <= UINT_MAX:
        raise ValueError(value)
    return Uint(number)


def _double(value: Json) -> Value:
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        raise ValueError(value)
    return float(value)  # also NaN, Infinity and -Infinity


def _bytes(value: Json) -> Value:
    if not isinstance(value, list):
        raise ValueError(value)
    return bytes(_integer(item) for item in value)


def _nanos(value: Json) -> int:
    if not isinstance(value, list):
        raise ValueError(value)
    seconds, nanos = map(_integer, value)
    return seconds * _SECOND + nanos


def _map(value: Json) -> Value:
    if isinstance(value, dict):
        return {key: untag(item) for key, item in value.items()}
    if not isinstance(value, list):
        raise ValueError(value)
    pairs = []
    for item in value:
        if not isinstance(item, list):
            raise ValueError(value)
        key, inner = item
        pairs.append((untag(key), untag(inner)))
    return make_map(pairs)


def _list(value: Json) -> Value:
    if not isinstance(value, list):
        raise ValueError(value)
    return [untag(item) for item in value]


def _type(value: Json) -> Value:
    return TypeValue(parse(str(value)))


Reader: TypeAlias = Callable[[Json], Value]
_TAGS: dict[str, Reader] = {
    **dict.fromkeys(("null", "null_type"), lambda _: None),
    **dict.fromkeys(("bool", "string", "dyn"), lambda value: value),
    "int": _int,
    "uint": _uint,
    "double": _double,
    "bytes": _bytes,
    **dict.fromkeys(("timestamp", "google.protobuf.Timestamp"), lambda value: Timestamp(_nanos(value))),
    **dict.fromkeys(("duration", "google.protobuf.Duration"), lambda value: Duration(_nanos(value))),
    "list": _list,
    "map": _map,
    "type": _type,
    "optional": lambda value: NONE if value is None else Optional(untag(value)),
}
