"""Deep equality across types, as in cel-go v0.26.0 (common/types: Equal and the Equal methods).

Numbers of different types are equal as doubles are; NaN equals nothing; null equals null only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from trainc.cel.maps import MISSING, find, is_list, is_map, items
from trainc.cel.types import type_name
from trainc.cel.values import (
    NO_OVERLOAD,
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
from trainc.cel.work import CHARACTERS, Meter, spend

_LONG: Final = 256
"""Comparing texts in a list or map up to this length counts as no work."""

_COMPARED: Final = 4
"""The work of comparing two lists or maps, in addition to their elements."""

_KEYED: Final = 3
"""The work of finding an entry by a key that is not a string."""

_SIMPLE: Final = frozenset((str, int, bool, float, bytes, type(None), Uint, Timestamp, Duration))
"""Classes with the same equality in Python and CEL."""
_NUMBERS: Final = frozenset((int, float, Uint))

Pair: TypeAlias = tuple[Any, Any]


def equal(left: Value, right: Value, meter: Meter | None = None) -> bool:
    """Report whether ``left == right``.

    Raises EvalError("no such overload") if a value of a library or schema cannot be compared with the right side.
    ``meter`` pays for comparing lists and maps (work.py).
    """
    kind, other = left.__class__, right.__class__
    if kind is other:
        if kind in _SIMPLE:
            return bool(left == right)
        compare = _SAME.get(kind)
        if compare is not None:
            return compare(left, right, meter)
    elif kind in _NUMBERS and other in _NUMBERS:
        return _numbers(left, right)
    if left is None or right is None:
        return left is right
    if isinstance(left, Container):
        return left.equals(right, meter)
    if isinstance(left, Opaque):
        if meter is not None:
            spend(meter, left.weight() + (right.weight() if isinstance(right, Opaque) else 0))
        return left.equals(right)
    if kind is list:
        return is_list(right) and _lists(left, right, meter)
    return is_map(left) and is_map(right) and _maps(left, right, meter)


def same(left: Value, right: Value, meter: Meter) -> bool:
    """Report whether ``left == right``; False if they cannot be compared."""
    try:
        return equal(left, right, meter)
    except EvalError:
        return False


def _numbers(left: int | float | Uint, right: int | float | Uint) -> bool:
    one = left.value if isinstance(left, Uint) else left
    two = right.value if isinstance(right, Uint) else right
    if isinstance(one, float) or isinstance(two, float):
        return float(one) == float(two)  # Go also rounds the integer first
    return one == two


def _lists(left: Value, right: Value, meter: Meter | None) -> bool:
    return len(left) == len(right) and _members(zip(left, right, strict=True), len(left) + _COMPARED, meter)


def _maps(left: Value, right: Value, meter: Meter | None) -> bool:
    size = length(left)
    if size != length(right):
        return False
    weight = 1 if left.__class__ is dict else _KEYED
    return _members(((value, find(right, key)) for key, value in items(left)), weight * size + _COMPARED, meter)


def _members(pairs: Iterable[Pair], work: int, meter: Meter | None) -> bool:
    if meter is not None:
        spend(meter, work)
    for one, two in pairs:
        kind = one.__class__
        if kind is two.__class__ and kind in _SIMPLE:
            if kind is str and meter is not None and len(one) > _LONG:
                spend(meter, len(one) // CHARACTERS)
            if one != two:
                return False
            continue
        try:
            if two is MISSING or not equal(one, two, meter):
                return False
        except EvalError:
            continue  # cel-go ignores failures here
    return True


def _optionals(left: Optional, right: Optional, meter: Meter | None) -> bool:
    if not (left.present and right.present):
        return left.present is right.present
    for each in (left.value, right.value):
        if isinstance(each, EvalError):
            raise each
    if right.value is None and isinstance(left.value, Opaque | Container):
        raise EvalError(NO_OVERLOAD)
    return equal(left.value, right.value, meter)


def _types(left: TypeValue, right: TypeValue, _: Meter | None) -> bool:
    return type_name(left.type) == type_name(right.type)


_SAME: Final[Mapping[type, Callable[[Any, Any, Meter | None], bool]]] = {
    dict: _maps,
    list: _lists,
    KeyedMap: _maps,
    Optional: _optionals,
    TypeValue: _types,
}
"""Comparison of two values of the same class."""


def length(value: Value) -> int:
    """Return the number of elements, entries, code points or bytes of a value."""
    return len(value.entries) if value.__class__ is KeyedMap else len(value)
