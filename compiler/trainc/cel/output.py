"""Converts values to plain JSON, as answers are printed.

Bytes are a list of ints; times and durations ``[seconds, nanoseconds]``, both of one sign in a duration; NaN and the
infinities strings; a type its name; a map with other than string keys a list of pairs by the JSON of the key; an
optional its value or null; a value of a library its text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from trainc.basics.jsonvalues import Json
from trainc.cel.gotext import general
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
from trainc.cel.work import Exceeded, Meter, spend

_MOST = 500_000
"""The limit of written list elements and map entries."""

_CHARACTERS = 16
"""The number of characters that count as one element."""


def plain(value: Value) -> Json:
    """Return a value as JSON. Raises EvalError for one too large or too deep to be written."""
    try:
        return _write(value, [0, _MOST, 0])
    except Exceeded:
        raise EvalError("the value is too large to be written") from None
    except RecursionError:
        raise EvalError("the value is nested too deeply to be written") from None


def _write(value: Value, meter: Meter) -> Json:
    kind = value.__class__
    if kind is list:
        return _list(value, meter)
    if kind is dict:
        return _pairs(list(value.items()), meter)
    if kind is str or kind is bytes:
        spend(meter, len(value) // (_CHARACTERS if kind is str else 1))
    write = _WRITERS.get(kind)
    if write is not None:
        return write(value)
    if isinstance(value, KeyedMap):
        pairs = list(value.entries.values())
        if any(key.__class__ is float and math.isnan(key) for key, _ in pairs):
            raise EvalError("no such key: NaN")  # the server looks up each key of a map
        return _pairs(pairs, meter)
    if isinstance(value, Optional):
        return _write(value.value, meter) if value.present else None
    if isinstance(value, Opaque):
        spend(meter, value.weight())
        return value.text()
    if isinstance(value, Container):
        if value.is_list():
            return _list(list(value), meter)
        return _pairs([(key, value.get(key, None)) for key in value], meter)
    if isinstance(value, EvalError):
        raise value  # inside an optional
    raise TypeError(f"no value of CEL: {value.__class__.__name__}")


def _same(value: Any) -> Json:
    return value  # type: ignore[no-any-return]  # null, a bool or an int


def _double(value: float) -> Json:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _list(value: list[Value], meter: Meter) -> Json:
    spend(meter, len(value))
    return [_write(item, meter) for item in value]


def _pairs(pairs: list[tuple[Value, Value]], meter: Meter) -> Json:
    spend(meter, len(pairs))
    if all(isinstance(key, str) for key, _ in pairs):
        return {key: _write(item, meter) for key, item in pairs}
    rows = sorted(((_write(key, meter), _write(item, meter)) for key, item in pairs), key=lambda row: _key_text(row[0]))
    return [list(row) for row in rows]


def _key_text(key: Json) -> str:
    """Return the sort key of a pair: the JSON of its key, doubles with a point."""
    if isinstance(key, float):
        text = general(key)
        return text if "." in text or "e" in text else f"{text}.0"
    return json.dumps(key, ensure_ascii=False)


def _duration(value: Duration) -> Json:
    seconds, nanos = divmod(abs(value.nanos), 10**9)
    return [-seconds, -nanos] if value.nanos < 0 else [seconds, nanos]


_WRITERS: Mapping[type, Callable[[Any], Json]] = {
    type(None): _same,
    bool: _same,
    int: _same,
    float: _double,
    str: str,
    bytes: list,
    Uint: lambda value: value.value,
    Timestamp: lambda value: list(divmod(value.nanos, 10**9)),
    Duration: _duration,
    TypeValue: lambda value: type_name(value.type),
}
