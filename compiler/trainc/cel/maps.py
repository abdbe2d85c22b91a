"""Maps, and deep equality across types.

Source: common/types of cel-go v0.26.0 (map.go; Equal and the Equal methods). A key is stored with its type, so
``{dyn(1): a, dyn(1u): b}`` has two entries; a lookup tries the key itself, then the other integer type; for a double
both. Numbers of different types are equal as doubles are; NaN equals nothing; null equals null only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from trainc.cel.types import type_name
from trainc.cel.values import (
    INT_MAX,
    MISSING,
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
    number,
)
from trainc.cel.work import CHARACTERS, Meter, Panic, spend

_SHARED_ZONES: Final = range(-12 * 3600, 15 * 3600, 3600)
"""Offsets for which Go shares one zone object; Go compares other zones by pointer."""

Entries: TypeAlias = dict[object, tuple[Value, Value]]


class _ByIdentity:
    """The form of a key that equals only itself, such as a list or a map."""

    def __init__(self, value: Value) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)


def key_form(key: Value) -> object:
    """Return the hashable form of a key in ``KeyedMap.entries``; lists and the like equal only themselves.

    Raises Panic for bytes and values with slices, which Go cannot hash.
    """
    kind = key.__class__
    if kind is str:
        return key
    if kind is float:
        return object() if math.isnan(key) else (float, key)  # NaN is never found
    if kind is int or kind is bool or key is None:
        return (kind, key)
    if kind is bytes:
        raise Panic("runtime error: hash of unhashable type types.Bytes")
    if kind is TypeValue:
        return (TypeValue, type_name(key.type))
    if kind is Timestamp and key.offset:
        return (key, key.offset) if key.offset in _SHARED_ZONES else _ByIdentity(key)
    if isinstance(key, Opaque):
        if key.unhashable:
            raise Panic(f"runtime error: hash of unhashable type {key.unhashable}")
        form = key.form()
        return _ByIdentity(key) if form is None else (kind, form)
    return key if kind.__hash__ is not None and kind.__eq__ is not object.__eq__ else _ByIdentity(key)


def make_map(pairs: Iterable[tuple[Value, Value]]) -> Value:
    """Return the map of pairs; the last value of a key wins. Raises Panic like key_form."""
    entries: Entries = {}
    for key, value in pairs:
        entries[key_form(key)] = (key, value)
    return KeyedMap(entries)


def find(mapping: Value, key: Value) -> Value:
    """Return the value of key in a map, or MISSING.

    Raises EvalError if a schema's object rejects the key, and Panic like key_form.
    """
    if mapping.__class__ is dict:
        return mapping.get(key, MISSING) if key.__class__ is str else MISSING
    if isinstance(mapping, KeyedMap):
        return _find_keyed(mapping.entries, key)
    return mapping.get(key, MISSING)


def has_key(mapping: Value, key: Value) -> bool:
    """Return whether a map has a key, also one whose value is unknown. Raises like find."""
    if mapping.__class__ is dict:
        return key.__class__ is str and key in mapping
    return mapping.has(key) if isinstance(mapping, Container) else find(mapping, key) is not MISSING


def _find_keyed(entries: Entries, key: Value) -> Value:
    if not entries:
        return MISSING
    for form in (key,) if key.__class__ is str else (key_form(key), *_other_numbers(key)):
        found = entries.get(form)
        if found is not None:
            return found[1]
    return MISSING


def _other_numbers(key: Value) -> tuple[object, ...]:
    """Return the forms of equal integers of other types."""
    if key.__class__ is int:
        return (Uint(key),) if key >= 0 else ()
    if key.__class__ is Uint:
        return ((int, key.value),) if key.value <= INT_MAX else ()
    if key.__class__ is float and key.is_integer():
        # Go rejects both ends of int64 as doubles: overflow.go, doubleToInt64Checked.
        signed = ((int, int(key)),) if -(2.0**63) < key < 2.0**63 else ()
        return (*signed, Uint(int(key))) if 0 <= key < 2.0**64 else signed
    return ()


def items(mapping: Value) -> Iterable[tuple[Value, Value]]:
    """Yield keys and values of a map; null for a key without a name or a value (schemas.Object)."""
    if mapping.__class__ is dict:
        return list(mapping.items())
    if isinstance(mapping, KeyedMap):
        return list(mapping.entries.values())
    return [(key, None if key is None else mapping.get(key, None)) for key in mapping]


def keys(mapping: Value) -> list[Value]:
    """Return the keys of a map."""
    if isinstance(mapping, KeyedMap):
        return [key for key, _ in mapping.entries.values()]
    return list(mapping)


def is_map(value: Value) -> bool:
    """Return whether a value is a map or an object."""
    return (
        value.__class__ is dict or value.__class__ is KeyedMap or (isinstance(value, Container) and not value.is_list())
    )


def is_list(value: Value) -> bool:
    """Return whether a value is a list."""
    return value.__class__ is list or (isinstance(value, Container) and value.is_list())


# Equality

_LONG: Final = 256
"""Comparing texts in a list or map up to this length counts as no work."""

_COMPARED: Final = 4
"""The work of comparing two lists or maps, in addition to their elements."""

_KEYED: Final = 3
"""The work of finding an entry by a key that is not a string."""

_SIMPLE: Final = frozenset((str, int, bool, float, bytes, type(None), Uint, Timestamp, Duration))
"""Classes with the same equality in Python and CEL."""
_NUMBERS: Final = frozenset((int, float, Uint))


def equal(left: Value, right: Value, meter: Meter | None = None) -> bool:
    """Return whether ``left == right``.

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


def part_equal(part: Value, other: Value, meter: Meter | None) -> bool:
    """Return whether an item or a field of a value with a schema equals another value.

    Unlike in ``==``, an object or a list cannot be compared with null. Raises EvalError like equal.
    """
    return part.equals(other, meter) if isinstance(part, Container) else equal(part, other, meter)


def same(left: Value, right: Value, meter: Meter) -> bool:
    """Return whether ``left == right``; False if they cannot be compared."""
    try:
        return equal(left, right, meter)
    except EvalError:
        return False


def _numbers(left: int | float | Uint, right: int | float | Uint) -> bool:
    one, two = number(left), number(right)
    if isinstance(one, float) or isinstance(two, float):
        return float(one) == float(two)  # Go also rounds the integer first
    return bool(one == two)


def _lists(left: Value, right: Value, meter: Meter | None) -> bool:
    return len(left) == len(right) and _members(zip(left, right, strict=True), len(left) + _COMPARED, meter)


def _maps(left: Value, right: Value, meter: Meter | None) -> bool:
    size = length(left)
    if size != length(right):
        return False
    weight = 1 if left.__class__ is dict else _KEYED
    return _members(((value, find(right, key)) for key, value in items(left)), weight * size + _COMPARED, meter)


def _members(pairs: Iterable[tuple[Any, Any]], work: int, meter: Meter | None) -> bool:
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


_SAME: Final[Mapping[type, Callable[[Any, Any, Meter | None], bool]]] = {
    dict: _maps,
    list: _lists,
    KeyedMap: _maps,
    Optional: _optionals,
    TypeValue: lambda left, right, _: type_name(left.type) == type_name(right.type),
}
"""Comparison of two values of the same class."""


def length(value: Value) -> int:
    """Return the number of elements, entries, code points or bytes of a value."""
    return len(value.entries) if value.__class__ is KeyedMap else len(value)
