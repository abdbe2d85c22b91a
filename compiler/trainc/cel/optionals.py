"""The functions of optionals (cel/library.go of cel-go v0.26.0) that are no operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from trainc.cel.equality import length
from trainc.cel.gotext import shown
from trainc.cel.values import NONE, Container, Duration, EvalError, KeyedMap, Optional, Timestamp, Uint, Value

_YEAR_1: Final = -62135596800 * 10**9


def dereference(optional: Optional) -> Value:
    """Return the value of an optional. Raises EvalError if there is none."""
    if isinstance(optional.value, EvalError):
        raise EvalError(optional.value.message, optional.value.position)
    if optional.present:
        return optional.value
    raise EvalError("optional.none() dereference")


def of_non_zero(value: Value) -> Optional:
    """Return an optional of a value, none for the zero value of its type.

    Timestamps count as zero in the year 1 only, as Go's do; schemas' objects and lists and values of libraries never.
    """
    return NONE if _is_zero(value) else Optional(value)


def _is_zero(value: Value) -> bool:
    if isinstance(value, Container):
        return False
    if value is None or isinstance(value, bool | int | float | str | bytes | list | dict):
        return not value and not (isinstance(value, float) and math.isnan(value))
    if isinstance(value, Uint):
        return value.value == 0
    if isinstance(value, KeyedMap):
        return length(value) == 0
    if isinstance(value, Duration):
        return value.nanos == 0
    return isinstance(value, Timestamp) and value.nanos == _YEAR_1


def unwrap(values: Iterable[Value]) -> list[Value]:
    """Return the values of those optionals that have one. Raises EvalError for what is no optional."""
    found = []
    for value in values:
        if not isinstance(value, Optional):
            raise EvalError(f"value {shown(value)} is not optional")
        if value.present:
            found.append(value.value)
    return found


OVERLOADS: Final[Mapping[str, Callable[..., Value]]] = {
    "optional_of": Optional,
    "optional_ofNonZeroValue": of_non_zero,
    "optional_none": lambda: NONE,
    "optional_value": dereference,
    "optional_hasValue": lambda optional: optional.present,
    "optional_unwrap": unwrap,
    "optional_unwrapOpt": unwrap,
}
