"""Arithmetic, negation, ``in`` and size(): the functions that cel-go dispatches by its left operand's type alone.

Source: common/stdlib/standard.go (singleton bindings) and the methods of common/types, cel-go v0.26.0. Each takes
evaluated operands and raises EvalError with cel-go's message.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from trainc.cel.equality import equal, length
from trainc.cel.maps import MISSING, find, is_list, is_map
from trainc.cel.ordering import ORDERED, compare
from trainc.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Container,
    Duration,
    EvalError,
    KeyedMap,
    Timestamp,
    Uint,
    Value,
)
from trainc.cel.work import CHARACTERS, FIXED, Meter, spend

_SECOND: Final = 10**9
_FIRST_SECOND, _LAST_SECOND = -62135596800, 253402300799
_RECEIVERS: Final = frozenset((str, Timestamp, Duration))
_READ: Final = 3
"""The work of reading an item of a list with a schema."""

LONG: Final = 256
"""How long a text is looked for in a list for the work of a short one."""

STRINGS: Final = 16
"""How many elements of a list are compared with a string for one unit of work."""

_NO_OVERLOAD = "no such overload"


def refuse(function: str, operand: Value) -> NoReturn:
    """Raise cel-go's error for an operand that does not know a function: strings and times word it otherwise."""
    raise EvalError(_NO_OVERLOAD if operand.__class__ in _RECEIVERS else f"{_NO_OVERLOAD}: {function}")


def _mismatch() -> NoReturn:
    raise EvalError(_NO_OVERLOAD)


def _int(number: int) -> int:
    if INT_MIN <= number <= INT_MAX:
        return number
    raise EvalError("integer overflow")


def _uint(number: int) -> Uint:
    if 0 <= number <= UINT_MAX:
        return Uint(number)
    raise EvalError("unsigned integer overflow")


def _numbers(left: Value, right: Value) -> tuple[int, int]:
    """Return two integers, both signed or both unsigned, as Python's."""
    return (left, right) if left.__class__ is int else (left.value, right.value)


def _moved(time: Timestamp, nanos: int) -> Timestamp:
    moved = time.nanos + nanos
    if _FIRST_SECOND <= moved // _SECOND <= _LAST_SECOND:
        return Timestamp(moved, time.offset)
    raise EvalError("timestamp overflow")


def add(left: Value, right: Value, meter: Meter | None = None) -> Value:
    """Return ``left + right``; the work of copying texts and lists is taken from meter."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is int:
            return _int(left + right)
        if kind is float:
            return left + right
        if kind is str or kind is bytes:
            if meter is not None:
                spend(meter, (len(left) + len(right)) // CHARACTERS)
            return left + right
        if kind is Uint:
            return _uint(left.value + right.value)
        if kind is Duration:
            return Duration(_int(left.nanos + right.nanos))
    if kind is Timestamp and right.__class__ is Duration:
        return _moved(left, right.nanos)
    if kind is Duration and right.__class__ is Timestamp:
        return _moved(right, left.nanos)
    if is_list(left):
        return _add_lists(left, right, meter)
    if kind not in (int, float, str, bytes, Uint, Duration, Timestamp):
        refuse("_+_", left)
    _mismatch()


def _add_lists(left: Value, right: Value, meter: Meter | None) -> Value:
    if not is_list(right):
        _mismatch()
    if meter is not None:
        spend(meter, len(left) + len(right))
        if len(meter) > FIXED and any(left is each for each in meter[FIXED:]):
            left.extend(right)  # cel-go fills the list of a bound name in place
            return left
    if isinstance(left, Container):
        if meter is not None:
            spend(meter, _READ * (len(left) + len(right)))
        return left.add(right)
    if len(left) == 0 or len(right) == 0:
        return left if len(right) == 0 and len(left) else right
    return [*left, *right]


def subtract(left: Value, right: Value) -> Value:
    """Return ``left - right``."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is int:
            return _int(left - right)
        if kind is float:
            return left - right
        if kind is Uint:
            return _uint(left.value - right.value)
        if kind is Duration:
            return Duration(_int(left.nanos - right.nanos))
        if kind is Timestamp:
            seconds = _int((left.nanos // _SECOND - right.nanos // _SECOND) * _SECOND)
            return Duration(_int(seconds + left.nanos % _SECOND - right.nanos % _SECOND))
    if kind is Timestamp and right.__class__ is Duration:
        return _moved(left, _int(-right.nanos))
    if kind not in (int, float, Uint, Duration, Timestamp):
        refuse("_-_", left)
    _mismatch()


def multiply(left: Value, right: Value) -> Value:
    """Return ``left * right``."""
    kind = left.__class__
    if kind not in (int, float, Uint):
        refuse("_*_", left)
    if kind is not right.__class__:
        _mismatch()
    if kind is Uint:
        return _uint(left.value * right.value)
    return _int(left * right) if kind is int else left * right


def divide(left: Value, right: Value) -> Value:
    """Return ``left / right``, cut towards zero for integers."""
    kind = left.__class__
    if kind not in (int, float, Uint):
        refuse("_/_", left)
    if kind is not right.__class__:
        _mismatch()
    if kind is float:
        return _divide_doubles(left, right)
    one, two = _numbers(left, right)
    if two == 0:
        raise EvalError("division by zero")
    if kind is Uint:
        return Uint(one // two)
    return _int(abs(one) // abs(two) * (1 if (one < 0) is (two < 0) else -1))


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if math.isnan(left) or left == 0 or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def modulo(left: Value, right: Value) -> Value:
    """Return ``left % right``, whose sign is left's."""
    kind = left.__class__
    if kind is not int and kind is not Uint:
        refuse("_%_", left)
    if kind is not right.__class__:
        _mismatch()
    one, two = _numbers(left, right)
    if two == 0:
        raise EvalError("modulus by zero")
    if kind is Uint:
        return Uint(one % two)
    if one == INT_MIN and two == -1:
        raise EvalError("integer overflow")
    return abs(one) % abs(two) * (-1 if one < 0 else 1)


def negate(value: Value) -> Value:
    """Return ``-value``."""
    kind = value.__class__
    if kind is int:
        return _int(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return Duration(_int(-value.nanos))
    if kind is bool:
        _mismatch()
    refuse("-_", value)


def logical_not(value: Value) -> bool:
    """Return ``!value``."""
    if value is True:
        return False
    if value is False:
        return True
    _mismatch()


def _ordered(function: str, holds: Callable[[int], bool]) -> Callable[[Value, Value, Meter], bool]:
    def ordered(left: Value, right: Value, meter: Meter) -> bool:
        kind = left.__class__
        if kind not in ORDERED:
            refuse(function, left)
        if kind is right.__class__ and (kind is str or kind is bytes):
            spend(meter, min(len(left), len(right)) // CHARACTERS)
        return holds(compare(left, right))

    return ordered


def contains(element: Value, container: Value, meter: Meter | None = None) -> bool:
    """Return ``element in container``: whether a list has an equal element, a map the key."""
    if container.__class__ is list:
        return _in_list(element, container, meter)
    if is_map(container):
        return find(container, element) is not MISSING
    if isinstance(container, Container):
        return _in_container(element, container, meter)
    _mismatch()


def _in_list(element: Value, container: list[Value], meter: Meter | None) -> bool:
    if element.__class__ is str:
        if meter is not None:
            spend(meter, len(container) * (1 + len(element) // LONG) // STRINGS)
        return element in container  # nothing else equals a string, in Python neither
    at = next((at for at, other in enumerate(container) if _same(element, other, meter)), -1)
    if meter is not None:
        spend(meter, len(container) if at < 0 else at)
    return at >= 0


def _same(element: Value, other: Value, meter: Meter | None) -> bool:
    try:
        return equal(element, other, meter)
    except EvalError:
        return False


def _in_container(element: Value, container: Container, meter: Meter | None) -> bool:
    failed: EvalError | None = None
    for other in container:
        try:
            if equal(other, element, meter):
                return True
        except EvalError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return False


def size(value: Value) -> int:
    """Return ``size(value)``."""
    if value.__class__ in (str, list, dict, bytes, KeyedMap) or isinstance(value, Container):
        return length(value)
    refuse("size", value)


UNARY: Final[Mapping[str, Callable[[Value], Value]]] = {"!_": logical_not, "-_": negate, "size": size}
BINARY: Final[Mapping[str, Callable[[Value, Value], Value]]] = {
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
}
METERED: Final[Mapping[str, Callable[[Value, Value, Meter], Value]]] = {
    "_+_": add,
    "_<_": _ordered("_<_", lambda sign: sign < 0),
    "_<=_": _ordered("_<=_", lambda sign: sign <= 0),
    "_>_": _ordered("_>_", lambda sign: sign > 0),
    "_>=_": _ordered("_>=_", lambda sign: sign >= 0),
    "@in": contains,
    "_in_": contains,
    "in": contains,
}
"""Of two operands and the meter."""
