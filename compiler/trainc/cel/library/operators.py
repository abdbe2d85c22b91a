"""Operators, size(), dyn(), type() and the functions of optionals.

Operators are dispatched by the type of their left operand. Source: common/stdlib/standard.go (singleton bindings), the
methods of common/types and cel/library.go, cel-go v0.26.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NoReturn, TypeAlias

from trainc.cel import cost
from trainc.cel.functions import Function, function
from trainc.cel.gotext import shown
from trainc.cel.library.conversions import INT_OVERFLOW, checked_int, in_range, int_to_uint
from trainc.cel.maps import has, is_list, is_map, length, part_equal, same
from trainc.cel.values import (
    INT_MIN,
    NO_OVERLOAD,
    NONE,
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
    type_of,
)
from trainc.cel.work import CHARACTERS, FIXED, Meter, spend
from trainc.kube.gotime import MIN_SECONDS, SECOND

_RECEIVERS: Final = frozenset((str, Timestamp, Duration))
_READ: Final = 3
"""The work of reading an item of a schema list."""

LONG: Final = 256
"""Texts up to this length take the same work to search for in a list."""

STRINGS: Final = 16
"""The number of list elements compared with a string per unit of work."""


def refuse(function: str, operand: Value) -> NoReturn:
    """Raise cel-go's error for an unsupported operand; strings and times have another message."""
    raise EvalError(NO_OVERLOAD if operand.__class__ in _RECEIVERS else f"{NO_OVERLOAD}: {function}")


def _moved(time: Timestamp, nanos: int) -> Timestamp:
    moved = time.nanos + nanos
    in_range(moved // SECOND)
    return Timestamp(moved, time.offset)


def _between(later: Timestamp, earlier: Timestamp) -> Duration:
    seconds = checked_int((later.nanos // SECOND - earlier.nanos // SECOND) * SECOND)
    return Duration(checked_int(seconds + later.nanos % SECOND - earlier.nanos % SECOND))


def _quotient(one: int, two: int) -> int:
    """Return the quotient of two integers, truncated."""
    if two == 0:
        raise EvalError("division by zero")
    return abs(one) // abs(two) * (1 if (one < 0) is (two < 0) else -1)


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if math.isnan(left) or left == 0 or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _remainder(one: int, two: int) -> int:
    """Return the remainder of two integers, with the sign of the first."""
    if two == 0:
        raise EvalError("modulus by zero")
    if one == INT_MIN and two == -1:
        raise EvalError(INT_OVERFLOW)
    return abs(one) % abs(two) * (-1 if one < 0 else 1)


_Operations: TypeAlias = Mapping[tuple[type, type], Callable[[Value, Value], Value]]

_ADDITIONS: Final[_Operations] = {
    (int, int): lambda one, two: checked_int(one + two),
    (Uint, Uint): lambda one, two: int_to_uint(one.value + two.value),
    (float, float): lambda one, two: one + two,
    (Duration, Duration): lambda one, two: Duration(checked_int(one.nanos + two.nanos)),
    (Timestamp, Duration): lambda time, span: _moved(time, span.nanos),
    (Duration, Timestamp): lambda span, time: _moved(time, span.nanos),
}
_SUBTRACTIONS: Final[_Operations] = {
    (int, int): lambda one, two: checked_int(one - two),
    (Uint, Uint): lambda one, two: int_to_uint(one.value - two.value),
    (float, float): lambda one, two: one - two,
    (Duration, Duration): lambda one, two: Duration(checked_int(one.nanos - two.nanos)),
    (Timestamp, Timestamp): _between,
    (Timestamp, Duration): lambda time, span: _moved(time, checked_int(-span.nanos)),
}
_MULTIPLICATIONS: Final[_Operations] = {
    (int, int): lambda one, two: checked_int(one * two),
    (Uint, Uint): lambda one, two: int_to_uint(one.value * two.value),
    (float, float): lambda one, two: one * two,
}
_DIVISIONS: Final[_Operations] = {
    (int, int): lambda one, two: checked_int(_quotient(one, two)),
    (Uint, Uint): lambda one, two: Uint(_quotient(one.value, two.value)),
    (float, float): _divide_doubles,
}
_MODULOS: Final[_Operations] = {
    (int, int): _remainder,
    (Uint, Uint): lambda one, two: Uint(_remainder(one.value, two.value)),
}


def _calculate(function: str, operations: _Operations, left: Value, right: Value) -> Value:
    """Apply the operation for the classes of two operands."""
    operation = operations.get((left.__class__, right.__class__))
    if operation is not None:
        return operation(left, right)
    if any(left.__class__ is one for one, _ in operations):
        raise EvalError(NO_OVERLOAD)
    refuse(function, left)


def add(left: Value, right: Value, meter: Meter) -> Value:
    """Return ``left + right``; meter pays for copying texts and lists."""
    if left.__class__ is right.__class__ and left.__class__ in (str, bytes):
        spend(meter, (len(left) + len(right)) // CHARACTERS)
        return left + right
    if is_list(left):
        return _add_lists(left, right, meter)
    if left.__class__ is bytes:
        raise EvalError(NO_OVERLOAD)
    return _calculate("_+_", _ADDITIONS, left, right)


def _add_lists(left: Value, right: Value, meter: Meter) -> Value:
    if not is_list(right):
        raise EvalError(NO_OVERLOAD)
    spend(meter, len(left) + len(right))
    if len(meter) > FIXED and any(left is each for each in meter[FIXED:]):
        left.extend(right)  # cel-go extends the list of a bound name in place
        return left
    if isinstance(left, Container):
        spend(meter, _READ * (len(left) + len(right)))
        return left.add(right)
    return [*left, *right] if len(left) and len(right) else left or right


def _negate(value: Value) -> Value:
    if value.__class__ is float:
        return -value
    if value.__class__ is Duration:
        return Duration(checked_int(-value.nanos))
    if value.__class__ is bool:
        raise EvalError(NO_OVERLOAD)
    return checked_int(-value) if value.__class__ is int else refuse("-_", value)


def _logical_not(value: Value) -> bool:
    if value.__class__ is bool:
        return not value
    raise EvalError(NO_OVERLOAD)


_NUMBERS: Final = frozenset((int, float, Uint))
_ORDERED_KINDS: Final = frozenset((str, bytes, bool, Timestamp, Duration))

ORDERED: Final = _NUMBERS | _ORDERED_KINDS
"""The classes of ordered values."""


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1; left is of one of the ORDERED classes.

    Strings are ordered by code point. Raises EvalError for NaN and for values that are not comparable.
    """
    kind, other = left.__class__, right.__class__
    if kind in _NUMBERS and other in _NUMBERS:
        return _compare_numbers(left, right)
    if kind is other and kind in _ORDERED_KINDS:
        return int(left > right) - int(left < right)
    if kind is float and math.isnan(left):
        raise EvalError("NaN values cannot be ordered")
    raise EvalError(NO_OVERLOAD)


def _compare_numbers(left: Value, right: Value) -> int:
    one, two = number(left), number(right)
    if one.__class__ is float or two.__class__ is float:
        if math.isnan(one) or math.isnan(two):
            raise EvalError("NaN values cannot be ordered")
        one, two = float(one), float(two)  # Go also rounds the integer first
    return int(one > two) - int(one < two)


def _ordered(function: str, holds: Callable[[int], bool]) -> Callable[[Value, Value, Meter], bool]:
    def ordered(left: Value, right: Value, meter: Meter) -> bool:
        kind = left.__class__
        if kind not in ORDERED:
            refuse(function, left)
        if kind is right.__class__ and (kind is str or kind is bytes):
            spend(meter, min(len(left), len(right)) // CHARACTERS)
        return holds(compare(left, right))

    return ordered


def contains(element: Value, container: Value, meter: Meter) -> bool:
    """Return ``element in container``: whether a list has the element, or a map the key."""
    if container.__class__ is list:
        return _in_list(element, container, meter)
    if isinstance(container, Container) and not container.has_size:
        raise EvalError(NO_OVERLOAD)
    if is_map(container):
        return has(container, element)
    if isinstance(container, Container):
        return _in_container(element, container, meter)
    raise EvalError(NO_OVERLOAD)


def _in_list(element: Value, container: list[Value], meter: Meter) -> bool:
    if element.__class__ is str:
        spend(meter, len(container) * (1 + len(element) // LONG) // STRINGS)
        return element in container  # only strings equal a string, also in Python
    at = next((at for at, other in enumerate(container) if same(element, other, meter)), -1)
    spend(meter, len(container) if at < 0 else at)
    return at >= 0


def _in_container(element: Value, container: Container, meter: Meter) -> bool:
    failed: EvalError | None = None
    for at in range(len(container)):
        try:
            if part_equal(container[at], element, meter):
                return True
        except EvalError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return False


def size(value: Value) -> int:
    """Return ``size(value)``."""
    if value.__class__ in (str, list, dict, bytes, KeyedMap) or (isinstance(value, Container) and value.has_size):
        return length(value)
    refuse("size", value)


# Optionals


def _dereference(optional: Optional) -> Value:
    if isinstance(optional.value, EvalError):
        raise EvalError(optional.value.message, optional.value.position)
    if optional.present:
        return optional.value
    raise EvalError("optional.none() dereference")


def of_non_zero(value: Value) -> Optional:
    """Return an optional of a value, empty for the zero value of its type.

    The zero timestamp is in year 1, as in Go; schema values and library values are never zero.
    """
    return NONE if _is_zero(value) else Optional(value)


def _is_zero(value: Value) -> bool:
    if isinstance(value, Container | Opaque | Optional | TypeValue):
        return False
    if isinstance(value, KeyedMap):
        return not value.entries
    return value in (Uint(0), Duration(0), Timestamp(MIN_SECONDS * SECOND)) or not value  # NaN is true


def _unwrap(values: Iterable[Value]) -> list[Value]:
    found = []
    for value in values:
        if not isinstance(value, Optional):
            raise EvalError(f"value {shown(value)} is not optional")
        if value.present:
            found.append(value.value)
    return found


_TYPES: Final = {"int64": "int", "uint64": "uint"}
_COMPARED: Final = (
    *("bool", "int64", "int64_double", "int64_uint64", "uint64", "uint64_double", "uint64_int64"),
    *("double", "double_int64", "double_uint64", "string", "bytes", "timestamp", "duration"),
)


def _order(name: str, word: str, holds: Callable[[int], bool]) -> Function:
    overloads = []
    for kinds in _COMPARED:
        one, _, two = kinds.partition("_")
        left, right = (_TYPES.get(kind, kind) for kind in (one, two or one))
        price = cost.smaller if one in ("string", "bytes") else None
        overloads.append((f"{word}_{kinds}", f"({left}, {right}) bool", None, price))
    return function(name, *overloads, run=_ordered(name, holds), metered=True)


def _arithmetic(name: str, word: str, operations: _Operations, *kinds: str) -> Function:
    """Return the row of an operator; ``kinds``: those whose operands and result have one type."""
    types = ((kind, _TYPES.get(kind, kind)) for kind in kinds)
    rows = ((f"{word}_{kind}", f"({type_}, {type_}) {type_}") for kind, type_ in types)
    return function(name, *rows, run=partial(_calculate, name, operations))


_IN: Final = (
    ("in_list", "(<A>, list(<A>)) bool", None, lambda args, _: cost.actual_size(args[1])),
    ("in_map", "(<A>, map(<A>, <B>)) bool"),
)

FUNCTIONS: Final = (
    function("!_", ("logical_not", "(bool) bool"), run=_logical_not),
    function("-_", ("negate_double", "(double) double"), ("negate_int64", "(int) int"), run=_negate),
    *(function(name, *_IN, run=contains, metered=True) for name in ("@in", "_in_", "in")),
    function("_&&_", ("logical_and", "(bool, bool) bool")),
    function("_||_", ("logical_or", "(bool, bool) bool")),
    function("_?_:_", ("conditional", "(bool, <A>, <A>) <A>")),
    function("@not_strictly_false", ("not_strictly_false", "(bool) bool"), run=_logical_not),
    function("__not_strictly_false__", ("__not_strictly_false__", "(bool) bool")),
    function("_==_", ("equals", "(<A>, <A>) bool")),
    function("_!=_", ("not_equals", "(<A>, <A>) bool")),
    _order("_<_", "less", lambda sign: sign < 0),
    _order("_<=_", "less_equals", lambda sign: sign <= 0),
    _order("_>_", "greater", lambda sign: sign > 0),
    _order("_>=_", "greater_equals", lambda sign: sign >= 0),
    function(
        "_+_",
        ("add_bytes", "(bytes, bytes) bytes", None, cost.both),
        ("add_double", "(double, double) double"),
        ("add_duration_duration", "(duration, duration) duration"),
        ("add_duration_timestamp", "(duration, timestamp) timestamp"),
        ("add_timestamp_duration", "(timestamp, duration) timestamp"),
        ("add_int64", "(int, int) int"),
        ("add_list", "(list(<A>), list(<A>)) list(<A>)"),
        ("add_string", "(string, string) string", None, cost.both),
        ("add_uint64", "(uint, uint) uint"),
        run=add,
        metered=True,
    ),
    function(
        "_-_",
        ("subtract_double", "(double, double) double"),
        ("subtract_duration_duration", "(duration, duration) duration"),
        ("subtract_int64", "(int, int) int"),
        ("subtract_timestamp_duration", "(timestamp, duration) timestamp"),
        ("subtract_timestamp_timestamp", "(timestamp, timestamp) duration"),
        ("subtract_uint64", "(uint, uint) uint"),
        run=partial(_calculate, "_-_", _SUBTRACTIONS),
    ),
    _arithmetic("_*_", "multiply", _MULTIPLICATIONS, "double", "int64", "uint64"),
    _arithmetic("_/_", "divide", _DIVISIONS, "double", "int64", "uint64"),
    _arithmetic("_%_", "modulo", _MODULOS, "int64", "uint64"),
    function("_?._", ("select_optional_field", "(dyn, string) optional_type(<V>)")),
    function(
        "_[_]",
        ("index_list", "(list(<A>), int) <A>"),
        ("index_map", "(map(<A>, <B>), <A>) <B>"),
        ("optional_list_index_int", "(optional_type(list(<V>)), int) optional_type(<V>)"),
        ("optional_map_index_value", "(optional_type(map(<K>, <V>)), <K>) optional_type(<V>)"),
    ),
    function(
        "_[?_]",
        ("list_optindex_optional_int", "(list(<V>), int) optional_type(<V>)"),
        ("optional_list_optindex_optional_int", "(optional_type(list(<V>)), int) optional_type(<V>)"),
        ("map_optindex_optional_value", "(map(<K>, <V>), <K>) optional_type(<V>)"),
        ("optional_map_optindex_optional_value", "(optional_type(map(<K>, <V>)), <K>) optional_type(<V>)"),
    ),
    function("dyn", ("to_dyn", "(<A>) dyn"), run=lambda value: value),
    function("type", ("type", "(<A>) type(<A>)"), run=lambda value: TypeValue(type_of(value))),
    function(
        "size",
        ("size_bytes", "(bytes) int"),
        ("bytes_size", ".(bytes) int"),
        ("size_list", "(list(<A>)) int"),
        ("list_size", ".(list(<A>)) int"),
        ("size_map", "(map(<A>, <B>)) int"),
        ("map_size", ".(map(<A>, <B>)) int"),
        ("size_string", "(string) int"),
        ("string_size", ".(string) int"),
        run=size,
    ),
    function(  # runtime.py implements it
        "cel.@mapInsert",
        ("@mapInsert_map_key_value", "(map(<K>, <V>), <K>, <V>) map(<K>, <V>)"),
        ("@mapInsert_map_map", "(map(<K>, <V>), map(<K>, <V>)) map(<K>, <V>)"),
    ),
    function("optional.none", ("optional_none", "() optional_type(<V>)", lambda: NONE)),
    function("optional.of", ("optional_of", "(<V>) optional_type(<V>)", Optional)),
    function("optional.ofNonZeroValue", ("optional_ofNonZeroValue", "(<V>) optional_type(<V>)", of_non_zero)),
    function(
        "optional.unwrap", ("optional_unwrap", "(list(optional_type(<V>))) list(<V>)", _unwrap), work=cost.no_work
    ),
    function("unwrapOpt", ("optional_unwrapOpt", ".(list(optional_type(<V>))) list(<V>)", _unwrap), work=cost.elements),
    function("hasValue", ("optional_hasValue", ".(optional_type(<V>)) bool", lambda optional: optional.present)),
    function("value", ("optional_value", ".(optional_type(<V>)) <V>", _dereference)),
    function("or", ("optional_or_optional", ".(optional_type(<V>), optional_type(<V>)) optional_type(<V>)")),
    function("orValue", ("optional_orValue_value", ".(optional_type(<V>), <V>) <V>")),
)
