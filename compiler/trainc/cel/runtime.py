"""The globals of generated code (codegen.py, calls.py): its functions, and the values it compares with.

A failure is a Python exception: EvalError for an error of the expression, Undecided for a result that is not available
offline. ``&&``, ``||`` and loops catch both; nothing catches Panic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Final

from trainc.cel.cost import actual_size
from trainc.cel.gotext import shown
from trainc.cel.maps import equal, find, has, is_list, is_map, items, key_form, keys
from trainc.cel.types import type_name
from trainc.cel.values import (
    INT_MAX,
    MISSING,
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
from trainc.cel.work import CHARACTERS, COST, MESSAGE, Exceeded, Meter, Panic, spend

ABSORBED: Final = (EvalError, Undecided)
"""The failures that ``&&`` and ``||`` absorb."""

FAILURES: Final = (*ABSORBED, Panic, RecursionError)

LOOK_UP: Final = (KeyError, TypeError, AttributeError, EvalError, Undecided)
"""Raised for a selection from a value that is not a dict, lacks the key, or has an unknown value there."""

TOO_DEEP: Final = "the expression or its values are nested too deeply"


def exceeded(cost: bool) -> Exceeded:
    """Return the error of an evaluation whose cost, or else whose work, is above its limit."""
    return Exceeded() if cost else Exceeded(MESSAGE)


def no_overload() -> EvalError:
    """Return cel-go's error for arguments that fit no overload, without their types."""
    return EvalError(NO_OVERLOAD)


def mismatch(function: str, args: Sequence[Value]) -> EvalError:
    """Return cel-go's error for arguments that fit no overload, with their types."""
    return EvalError(f"no such overload: {function}({', '.join(type_name(type_of(arg)) for arg in args)})")


# Lookup of fields, keys and indexes (interpreter/attributes.go, cel-go v0.26.0).

KEYS: Final = frozenset((str, int, Uint, bool, float))
"""The classes of keys and indexes."""


def look_up(value: Value, key: Value) -> Value:
    """Return ``value.key`` or ``value[key]``, or MISSING if there is none, as in a scalar.

    Raises EvalError for an invalid key or index.
    """
    if key.__class__ not in KEYS:
        raise EvalError(f"invalid qualifier type: {type_name(type_of(key))}")
    if value.__class__ is EvalError:
        raise again(value)
    if is_map(value):
        return find(value, key)
    return element(value, key) if is_list(value) else MISSING


def element(value: Value, key: Value) -> Value:
    """Return an element of a list, or MISSING. Raises EvalError for an index that is not an integer."""
    kind = key.__class__
    index = key.value if kind is Uint else key
    # Go rejects both ends of int64 as doubles: overflow.go, doubleToInt64Checked.
    if kind is float and key.is_integer() and -(2.0**63) < key < 2.0**63:
        index = int(key)
    elif kind is float or (kind is Uint and index > INT_MAX):
        raise EvalError(f"unsupported index value {shown(key)} in list")
    elif kind is not int and kind is not Uint:
        raise EvalError(f"unsupported index type '{type_name(type_of(key))}' in list")
    if not 0 <= index < len(value):
        return MISSING
    return value[index] if value.__class__ is list else value.get(key, MISSING)


def native(value: Value) -> Value:
    """Return a value after its conversion to Go and back, as cel-go does with the value of an optional variable.

    A type becomes its name, an optional in an optional is unwrapped, a value with a schema becomes plain JSON. Raises
    EvalError for values of libraries, and for such an error in an optional that is converted again.
    """
    if isinstance(value, Container):
        return value.native()
    if isinstance(value, TypeValue):
        return type_name(value.type)
    if isinstance(value, Optional):
        return native(value.value) if value.present else None
    if isinstance(value, EvalError):
        raise EvalError(f"unsupported conversion to ref.Val: (*errors.errorString){value.message}")
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


UNSET: Final = object()
"""The value of a bound name before it is first read."""

UNUSUAL: Final = frozenset((EvalError, Undecided, MISSING.__class__, Optional))
"""The classes of variables that bare has to convert."""


ONE: Final = frozenset((int, bool, type(None)))
"""The classes of values whose size counts as 1, and that Python compares as CEL does."""


def failed(error: BaseException) -> EvalError | Undecided:
    """Return the result of an evaluation that ends with an exception."""
    if isinstance(error, EvalError | Undecided):
        return located(error)
    return EvalError(error.message if isinstance(error, Panic) else TOO_DEEP)


def located(error: EvalError | Undecided) -> EvalError | Undecided:
    """Return a failure with its position, found by the line of generated code that raised it."""
    trace: TracebackType | None = error.__traceback__
    assert trace is not None, "it was raised"
    code, line = trace.tb_frame.f_globals, trace.tb_lineno
    while trace is not None:
        if trace.tb_frame.f_globals is code:
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, Undecided) or error.position is not None:
        return again(error)
    return EvalError(error.message, code["POSITIONS"][line])


def worse(before: EvalError | Undecided | None, error: EvalError | Undecided) -> EvalError | Undecided:
    """Return the failure to report: the first Undecided, else the first error."""
    if before is None or (isinstance(error, Undecided) and not isinstance(before, Undecided)):
        return located(error)
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


def unwrapped(value: Value, start: tuple[str, int] = ("", 0)) -> Value:
    """Return the value to select from: that of an optional, MISSING if it is empty.

    ``start``: the name and position of a variable. Raises the variable's failure. For an optional whose value cannot be
    converted, returns the EvalError, which the first selection raises after its key is evaluated.
    """
    if value.__class__ is Optional:
        if not value.present:
            return MISSING
        try:
            return native(value.value)
        except EvalError as error:
            return error
    return bare(value, *start) if value.__class__ in UNUSUAL else value


def select(meter: Meter, value: Value, start: tuple[str, int], path: Sequence[tuple[str, int]], test: bool) -> Value:
    """Return the result of selecting fields from a variable; ``test``: whether the last one exists. Raises EvalError.

    ``start``: the variable's name and position; ``path``: fields and their positions, which the code has charged.
    """
    meter[COST] -= len(path)
    optional = value.__class__ is Optional
    value = unwrapped(value, start)
    for at, (field, position) in enumerate(path, 1):
        try:
            value = step(meter, value, field, optional, test and at == len(path))
        except EvalError as error:
            raise EvalError(error.message, position) from None
    if not optional:
        return value
    if test:
        return value is not MISSING
    return NONE if value is MISSING else Optional(value)


def step(meter: Meter, value: Value, key: Value, optional: bool, test: bool = False) -> Value:
    """Return the result of one selection, MISSING if it is optional and there is none; ``test``: whether there is one.

    Raises EvalError.
    """
    if value is MISSING:
        return MISSING
    meter[COST] += 1
    if test and not optional and is_map(value):
        return has(value, key)
    found = value.get(key, MISSING) if value.__class__ is dict and key.__class__ is str else look_up(value, key)
    if test and not optional:
        return found is not MISSING
    if found is MISSING:
        if not optional:
            raise EvalError(f"{'index out of bounds' if is_list(value) else 'no such key'}: {shown(key)}")
        meter[COST] -= 1
    return found


def elements(value: Value) -> Iterable[Value]:
    """Return the values of a loop variable. Raises EvalError unless value is a list or map."""
    if value.__class__ is dict:
        return value
    if isinstance(value, KeyedMap):
        return keys(value)
    if isinstance(value, Container):
        return value.elements()
    raise EvalError(f"got '{type_name(type_of(value))}', expected iterable type")


def pairs(value: Value) -> list[tuple[Value, Value]]:
    """Return the values of two loop variables; the second may be a failure, which counts where it is read.

    Raises EvalError unless value is a list or map.
    """
    if is_list(value):
        return list(enumerate(value))
    if isinstance(value, Container):
        return [(key, _entry(value, key)) for key in value]
    if is_map(value):
        return list(items(value))
    raise EvalError(f"unsupported comprehension range type: {type_name(type_of(value))}")


def _entry(mapping: Container, key: Value) -> Value:
    try:
        found = mapping.get(key, MISSING)
    except Undecided as error:
        return again(error)
    return EvalError(f"no such key: {shown(key)}") if found is MISSING else found  # null in a schema's object


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
    """Return whether a value is one of the constants with these forms (maps.key_form)."""
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
        if questioned and not isinstance(value, Optional):
            raise EvalError(f"cannot initialize optional list element from non-optional value {shown(value)}")
        if not questioned or value.present:
            found.append(value.value if questioned else value)
    return found


def map_of(names: Sequence[Value], values: Sequence[Value], optional: Sequence[bool]) -> Value:
    """Return ``{a: b, ?c: d}``, or the fields of a message."""
    entries: dict[object, tuple[Value, Value]] = {}
    for key, value, questioned in zip(names, values, optional, strict=True):
        form = key_form(key)
        if questioned and not isinstance(value, Optional):
            raise EvalError(f"cannot initialize optional entry '{shown(key)}' from non-optional value {shown(value)}")
        if not questioned:
            entries[form] = (key, value)
        elif value.present:
            entries[form] = (key, value.value)
        else:
            entries.pop(form, None)
    return KeyedMap(entries)


def insert(entries: dict[object, tuple[Value, Value]], key: Value, value: Value) -> None:
    """Add an entry to a new map. Raises EvalError for a duplicate key."""
    form = key_form(key)
    if form in entries:
        raise EvalError(f"insert failed: key {shown(key)} already exists")
    entries[form] = (key, value)


def insert_all(entries: dict[object, tuple[Value, Value]], update: Value, meter: Meter) -> None:
    """Add the entries of a map to a new map. Raises EvalError."""
    if not is_map(update):
        raise EvalError(f"no such overload: cel.@mapInsert(map, {type_name(type_of(update))})")
    for key, value in items(update):
        spend(meter, 1)
        insert(entries, key, value)
