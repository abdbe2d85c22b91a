"""The functions that the generated code of an expression calls (codegen.py).

A failure is a Python exception: EvalError for an error of the expression, Undecided for a result that is
not available offline. ``&&``, ``||`` and loops catch both; nothing catches Panic and Exhausted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import length_hint
from types import TracebackType
from typing import Any, Final, TypeAlias

from trainc.cel.cost import actual_size
from trainc.cel.dispatch import mismatch
from trainc.cel.gotext import shown
from trainc.cel.maps import MISSING, equal, find, from_entries, inserted, is_list, is_map, items, key_form, keys
from trainc.cel.types import type_name
from trainc.cel.values import (
    INT_MAX,
    NO_OVERLOAD,
    NONE,
    Container,
    EvalError,
    KeyedMap,
    Opaque,
    Optional,
    TypeValue,
    Uint,
    Undecided,
    Value,
    type_of,
)
from trainc.cel.work import CHARACTERS, COST, MESSAGE, TOO_EXPENSIVE, Exceeded, Exhausted, Meter, Panic, spend

ABSORBED: Final = (EvalError, Undecided)
"""The failures that ``&&`` and ``||`` absorb."""

FAILURES: Final = (*ABSORBED, Panic, Exhausted, RecursionError)

LOOK_UP: Final = (KeyError, TypeError, AttributeError, EvalError)
"""Raised by Python for a selection from a value that is not a dict or lacks the key."""

TOO_DEEP: Final = "the expression or its values are nested too deeply"


# Lookup of fields, keys and indexes (interpreter/attributes.go, cel-go v0.26.0).

KEYS: Final = frozenset((str, int, Uint, bool, float))
"""The classes of keys and indexes."""


def look_up(value: Value, key: Value) -> Value:
    """Return ``value.key`` or ``value[key]``, or MISSING if there is none, as in a scalar.

    Raises EvalError for an invalid index.
    """
    if is_map(value):
        return find(value, key)
    if is_list(value):
        return element(value, key)
    return MISSING


def element(value: Value, key: Value) -> Value:
    """Return an element of a list, or MISSING. Raises EvalError for an index that is not an integer."""
    index = _index(key)
    if not 0 <= index < len(value):
        return MISSING
    return value[index] if value.__class__ is list else value.get(key, MISSING)


def _index(key: Value) -> int:
    kind = key.__class__
    if kind is int:
        return int(key)
    if kind is Uint and key.value <= INT_MAX:
        return int(key.value)
    # Go rejects both ends of int64 as doubles: overflow.go, doubleToInt64Checked.
    if kind is float and key.is_integer() and -(2.0**63) < key < 2.0**63:
        return int(key)
    if kind is Uint or kind is float:
        raise EvalError(f"unsupported index value {shown(key)} in list")
    raise EvalError(f"unsupported index type '{type_name(type_of(key))}' in list")


def check_key(key: Value) -> Value:
    """Return a key or index. Raises EvalError for an invalid class."""
    if key.__class__ in KEYS:
        return key
    raise EvalError(f"invalid qualifier type: {type_name(type_of(key))}")


def native(value: Value) -> Value:
    """Return a value after its conversion to Go and back, as cel-go does with the value of an optional variable.

    A type becomes its name, an optional in an optional is unwrapped. Raises EvalError for values of libraries.
    """
    if isinstance(value, TypeValue):
        return type_name(value.type)
    if isinstance(value, Optional):
        return native(value.value) if value.present else None
    kind = _NATIVE_TYPES.get(value.type.name) if isinstance(value, Opaque) else None
    if kind is not None:
        raise EvalError(f"unsupported conversion to ref.Val: ({kind}){shown(value)}")
    return value


_NATIVE_TYPES: Final = {
    "kubernetes.Quantity": "*resource.Quantity",
    "kubernetes.URL": "*url.URL",
    "kubernetes.Semver": "semver.Version",
    "net.IP": "netip.Addr",
    "net.CIDR": "netip.Prefix",
}
"""Go's types of the values of Kubernetes' libraries; named formats are not converted."""


class _Unset:
    __slots__ = ()


UNSET: Final = _Unset()
"""The value of a bound name before it is first read."""

UNUSUAL: Final = frozenset((EvalError, Undecided, MISSING.__class__, Optional))
"""The classes of variables that bare has to convert."""

ONE: Final = frozenset((int, bool, float, type(None)))
"""The classes of values whose size counts as 1."""

Step: TypeAlias = tuple[Value, int]
"""A key, and the position of the selection."""


def exceeded(cost: int, limit: int) -> Exceeded:
    """Return the failure of exceeding the cost limit, or else the work budget."""
    return Exceeded(TOO_EXPENSIVE if cost > limit else MESSAGE)


def failed(error: BaseException) -> EvalError | Undecided:
    """Return the result of an evaluation that ends with an exception."""
    if isinstance(error, ABSORBED):
        return located(error)
    if isinstance(error, Panic):
        return EvalError(error.message)
    return EvalError(MESSAGE if isinstance(error, Exhausted) else TOO_DEEP)


def located(error: EvalError | Undecided, meter: Meter | None = None) -> EvalError | Undecided:
    """Return a failure with its position, found by the line of generated code that raised it.

    ``meter``: the failure is absorbed; calls that it interrupted before they were charged cost 1 each.
    """
    trace: TracebackType | None = error.__traceback__
    assert trace is not None, "it was raised"
    code, line = trace.tb_frame.f_globals, trace.tb_lineno
    while trace is not None:
        if trace.tb_frame.f_globals is code:
            line = trace.tb_lineno
        trace = trace.tb_next
    position, pending = code["MARKS"][line]
    if meter is not None:
        meter[COST] += pending
    if isinstance(error, Undecided) or error.position is not None:
        return again(error)
    return EvalError(error.message, position)


def worse(before: EvalError | Undecided | None, error: EvalError | Undecided, meter: Meter) -> EvalError | Undecided:
    """Return the failure to report: the first Undecided, else the first error."""
    found = located(error, meter)
    if before is None or (isinstance(error, Undecided) and not isinstance(before, Undecided)):
        return found
    return before


def again(error: EvalError | Undecided) -> EvalError | Undecided:
    """Copy a failure without its traceback."""
    return EvalError(error.message, error.position) if isinstance(error, EvalError) else Undecided(error.reason)


def bare(value: Value, name: str, position: int) -> Value:
    """Return the value of a variable of an unusual class. Raises its failure."""
    if value.__class__ is Optional:
        return rewrapped(value, position)
    if value is MISSING:
        raise EvalError(f"no such attribute(s): {name}", position)
    raise again(value)


def rewrapped(value: Optional, position: int) -> Optional:
    """Return an optional after the conversion to Go and back."""
    if not value.present:
        return value
    try:
        return Optional(native(value.value))
    except EvalError as error:
        return Optional(EvalError(error.message, position))


def unwrapped(value: Optional) -> Value:
    """Return the value of an optional for a selection; MISSING if it is empty."""
    return native(value.value) if value.present else MISSING


def select(meter: Meter, value: Value, start: Step, path: Sequence[Step]) -> Value:
    """Return the result of selecting a chain of fields from a variable. Raises EvalError.

    ``start``: the variable's name and position. The code has charged the whole path; the unreached rest is refunded.
    """
    if value.__class__ in UNUSUAL and value.__class__ is not Optional:
        meter[COST] -= len(path)
        return bare(value, *start)
    optional = value.__class__ is Optional
    if optional:
        value = unwrapped(value)
    for at, (key, position) in enumerate(path):
        try:
            found = look_up(value, key) if value is not MISSING else MISSING
        except EvalError as error:
            raise EvalError(error.message, position) from None
        if found is MISSING:
            meter[COST] -= len(path) - at - (not optional)
            if optional:
                return NONE
            raise EvalError(_absent(value, key), position)
        value = found
    return Optional(value) if optional else value


def present(meter: Meter, value: Value, start: Step, key: str) -> bool:
    """Report whether a value has a field, as has() does."""
    if value.__class__ is Optional:
        value = unwrapped(value)
        if value is MISSING or look_up(value, key) is MISSING:
            meter[COST] -= 1
            return False
        return True
    if value.__class__ in UNUSUAL:
        bare(value, *start)
    return look_up(value, key) is not MISSING


def _absent(value: Value, key: Value) -> str:
    return f"{'index out of bounds' if is_list(value) else 'no such key'}: {shown(key)}"


def absent(value: Value, key: Value) -> EvalError:
    """Return the error of a missing key or index."""
    return EvalError(_absent(value, key))


def elements(value: Value) -> Iterable[Value]:
    """Return the values of a loop variable. Raises EvalError unless value is a list or map."""
    if value.__class__ is list or value.__class__ is dict:
        return value
    if isinstance(value, KeyedMap):
        return keys(value)
    if isinstance(value, Container):
        return list(value)
    raise EvalError(f"got '{type_name(type_of(value))}', expected iterable type")


def pairs(value: Value) -> list[tuple[Value, Value]]:
    """Return the values of two loop variables. Raises EvalError unless value is a list or map."""
    if is_list(value):
        return list(enumerate(value))
    if is_map(value):
        return list(items(value))
    raise EvalError(f"unsupported comprehension range type: {type_name(type_of(value))}")


def pay(result: Value, meter: Meter) -> None:
    """Spend the work of creating a list or a text."""
    if result.__class__ is list:
        spend(meter, len(result))
    elif result.__class__ is str:
        spend(meter, len(result) // CHARACTERS)


def compare(one: Value, two: Value, negates: bool, meter: Meter) -> bool:
    """Return ``one == two``, or with ``negates`` ``one != two``, which is true if they cannot be compared."""
    try:
        return equal(one, two, meter) is not negates
    except EvalError:
        if negates:
            return True
        raise


def equality_cost(one: Value, two: Value, negates: bool) -> int:
    """Return the cost of a comparison."""
    if isinstance(one, Opaque) and not negates:
        return 1
    return (min(actual_size(one), actual_size(two)) + 9) // 10


def member(value: Value, forms: frozenset[Any]) -> bool:
    """Report whether a value is one of the constants with these forms (maps.key_form)."""
    return (value if value.__class__ is str else key_form(value)) in forms


def inside(optional: Optional) -> Value:
    """Return the value of an optional. Raises it if it is an EvalError."""
    if isinstance(optional.value, EvalError):
        raise again(optional.value)
    return optional.value


def list_of(values: Sequence[Value], optional: Sequence[bool]) -> list[Value]:
    """Return ``[a, ?b]``."""
    found = []
    for value, questioned in zip(values, optional, strict=True):
        if questioned:
            if not isinstance(value, Optional):
                words = "cannot initialize optional list element from non-optional value"
                raise EvalError(f"{words} {shown(value)}")
            found += [value.value] if value.present else []
        else:
            found.append(value)
    return found


def map_of(names: Sequence[Value], values: Sequence[Value], optional: Sequence[bool]) -> Value:
    """Return ``{a: b, ?c: d}``, or the fields of a message."""
    entries: dict[object, tuple[Value, Value]] = {}
    for key, value, questioned in zip(names, values, optional, strict=True):
        form = key_form(key)
        found = _entry(key, value) if questioned else value
        if found is MISSING:
            entries.pop(form, None)
        else:
            entries[form] = (key, found)
    return from_entries(entries)


def _entry(key: Value, value: Value) -> Value:
    """Return the value of an optional entry, MISSING if it is empty. Raises EvalError."""
    if isinstance(value, Optional):
        return value.value if value.present else MISSING
    raise EvalError(f"cannot initialize optional entry '{shown(key)}' from non-optional value {shown(value)}")


def insert(entries: dict[object, tuple[Value, Value]], key: Value, value: Value) -> None:
    """Add an entry to a new map. Raises EvalError for a duplicate key."""
    form = key_form(key)
    if form in entries:
        inserted(from_entries(entries), key, value)
    entries[form] = (key, value)


def insert_all(entries: dict[object, tuple[Value, Value]], update: Value, meter: Meter) -> None:
    """Add the entries of a map to a new map. Raises EvalError."""
    if not is_map(update):
        raise EvalError(f"no such overload: cel.@mapInsert(map, {type_name(type_of(update))})")
    for key, value in items(update):
        spend(meter, 1)
        insert(entries, key, value)


NAMES: Final[Mapping[str, Any]] = {
    **{each.__name__: each for each in (exceeded, Optional, EvalError, check_key, from_entries, length_hint, look_up)},
    **{each.__name__: each for each in (failed, located, worse, bare, rewrapped, unwrapped, inside, select, present)},
    **{each.__name__: each for each in (absent, elements, pairs, compare, mismatch, pay, equality_cost, member)},
    **{each.__name__: each for each in (list_of, map_of, insert, insert_all)},
    "ABSORBED": ABSORBED,
    "FAILURES": FAILURES,
    "LOOK_UP": LOOK_UP,
    "MISSING": MISSING,
    "NONE": NONE,
    "NO_OVERLOAD": NO_OVERLOAD,
    "ONE": ONE,
    "UNSET": UNSET,
    "UNUSUAL": UNUSUAL,
}
"""The globals of generated functions, besides their constants."""
