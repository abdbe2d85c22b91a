"""What implements a call: by the one overload that the checker left, else by the types of the arguments at run time.

Source: planner.go (planCall) of interpreter/ and common/decls/decls.go (Bindings, guards), cel-go v0.26.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from trainc.cel import operators, optionals
from trainc.cel.declarations import Environment, Overload
from trainc.cel.library.table import METERED, OVERLOADS
from trainc.cel.maps import inserted, is_list, is_map, items
from trainc.cel.types import Kind, Type, type_name
from trainc.cel.values import EvalError, Value, type_of

Implementation: TypeAlias = Callable[..., Value]
Guard: TypeAlias = Callable[[Value], bool]


class Target(NamedTuple):
    """What a call is planned to run. ``early`` and ``metered`` are those of interpretable.Call."""

    implementation: Implementation
    early: bool = False
    metered: bool = False


def _insert_all(target: Value, update: Value) -> Value:
    for key, value in items(update):
        target = inserted(target, key, value)
    return target


_BOUND: Final[Mapping[str, Implementation]] = {
    **OVERLOADS,
    **optionals.OVERLOADS,
    "not_strictly_false": lambda value: value if value.__class__ is bool else True,
    "@mapInsert_map_key_value": inserted,
    "@mapInsert_map_map": _insert_all,
}
_SINGLETONS: Final[Mapping[str, Implementation]] = {
    "dyn": OVERLOADS["to_dyn"],
    "type": OVERLOADS["type"],
}
_LISTS_ONLY: Final[Mapping[str, Implementation]] = {
    "sort": OVERLOADS["list_int_sort"],
    "@sortByAssociatedKeys": OVERLOADS["list_int_sortByAssociatedKeys"],
}
_UNGUARDED: Final = frozenset(("contains", "startsWith", "endsWith"))
NOT_STRICTLY_FALSE: Final = "@not_strictly_false"
_EARLY: Final = frozenset(("string_format",))
"""Overloads of two arguments that cel-go binds as functions of any number: what fails first ends the call."""


def find(function: str, overload: str, count: int, environment: Environment) -> Target | str | None:
    """Return what a call with count arguments runs, or None if the environment has no such function.

    ``overload`` is "" where the checker left several, or did not look. Text stands, in cel-go's error, for a number of
    arguments that the function does not take.
    """
    if function not in environment.functions:
        return None
    if function in operators.METERED:
        return Target(operators.METERED[function], metered=True) if count == 2 else _SHAPES.get(count, "...")
    fixed = _fixed(function)
    if fixed is not None:
        return Target(fixed) if count == _arity(function) else _SHAPES.get(count, "...")
    overloads = environment.functions[function]
    if function == "flatten":
        overloads = tuple(each for each in overloads if len(each.args) == count)
    if overload:
        overloads = tuple(each for each in overloads if each.id == overload)
    if not any(each.id in _BOUND for each in overloads):
        return None
    metered = any(each.id in METERED for each in overloads)
    if len(overloads) > 1:
        return Target(_several(function, overloads, metered), early=True, metered=metered)
    if len(overloads[0].args) != count:
        return _SHAPES.get(count, "...")
    early = count > 2 or overloads[0].id in _EARLY
    return Target(_one(function, overloads[0], metered), early, metered)


_SHAPES: Final = {0: "", 1: "arg", 2: "lhs, rhs"}


def _arity(function: str) -> int:
    return 2 if function in operators.BINARY or function in ("matches", "@sortByAssociatedKeys") else 1


def _fixed(function: str) -> Implementation | None:
    """Return what implements all overloads of a function, whatever they are."""
    if function in operators.UNARY:
        return operators.UNARY[function]
    if function in operators.BINARY:
        return operators.BINARY[function]
    if function in _LISTS_ONLY:
        return _list_only(function, _LISTS_ONLY[function])
    return _matches if function == "matches" else _SINGLETONS.get(function)


def _list_only(function: str, implementation: Implementation) -> Implementation:
    def call(*args: Value) -> Value:
        if not all(map(is_list, args)):
            operators.refuse(function, args[0])
        return implementation(*args)

    return call


def _matches(text: Value, pattern: Value) -> Value:
    if text.__class__ is not str:
        operators.refuse("matches", text)
    if pattern.__class__ is not str:
        raise EvalError("no such overload")
    return OVERLOADS["matches_string"](text, pattern)


def mismatch(function: str, args: Sequence[Value]) -> EvalError:
    """Return cel-go's error for arguments that no overload takes."""
    return EvalError(f"no such overload: {function}({', '.join(type_name(type_of(arg)) for arg in args)})")


def _one(function: str, overload: Overload, metered: bool) -> Implementation:
    implementation = _BOUND[overload.id]
    if function == "flatten":
        return _flattening(implementation)
    guards = tuple(map(guard, overload.args))
    unguarded = function in _UNGUARDED
    if not guards or overload.id == "not_strictly_false":
        return implementation
    if len(guards) == 1 and not metered:
        return _one_of_one(function, guards[0], implementation)

    def call(*args: Value) -> Value:
        for check, arg in zip(guards, args, strict=not metered):
            if not check(arg):
                raise EvalError("no such overload") if unguarded else mismatch(function, args[: len(guards)])
        return implementation(*args)

    return call


def _flattening(implementation: Implementation) -> Implementation:
    """Return flatten(), which looks at its arguments itself and takes flat lists, too (ext/lists.go)."""

    def call(items: Value, *rest: Value) -> Value:
        *depth, meter = rest
        if not is_list(items) or any(each.__class__ is not int for each in depth):
            raise EvalError(f"no such overload: {_type_text(items)}.flatten({''.join(map(_type_text, depth))})")
        return implementation(items, *(depth or (1,)), meter)

    return call


def _type_text(value: Value) -> str:
    """Return a type of run time as cel-go prints it, its parameters dyn."""
    found = type_of(value)
    inner = ", ".join(map(str, found.parameters))
    return f"{type_name(found)}({inner})" if inner else type_name(found)


def _one_of_one(function: str, check: Guard, implementation: Implementation) -> Implementation:
    def call(arg: Value) -> Value:
        if not check(arg):
            raise mismatch(function, (arg,))
        return implementation(arg)

    return call


def _several(function: str, overloads: Sequence[Overload], metered: bool) -> Implementation:
    candidates = [
        (tuple(map(guard, each.args)), _BOUND[each.id], each.id in METERED) for each in overloads if each.id in _BOUND
    ]

    def call(*args: Value) -> Value:
        given = args[:-1] if metered else args
        for guards, implementation, takes_meter in candidates:
            if len(guards) == len(given) and all(check(arg) for check, arg in zip(guards, given, strict=True)):
                return implementation(*(args if takes_meter else given))
        raise mismatch(function, given)

    return call


def _anything(_: Value) -> bool:
    return True


_PYTHON: Final = {Kind.BOOL: bool, Kind.INT: int, Kind.DOUBLE: float, Kind.STRING: str, Kind.BYTES: bytes}


def guard(declared: Type) -> Guard:
    """Return what tells whether a value fits a declared type: of lists and maps only the first entry is looked at."""
    kind = declared.kind
    if kind in (Kind.DYN, Kind.ANY, Kind.PARAMETER):
        return _anything
    if kind is Kind.LIST:
        return _list_guard(guard(declared.parameters[0]))
    if kind is Kind.MAP:
        return _map_guard(guard(declared.parameters[0]), guard(declared.parameters[1]))
    simple = _PYTHON.get(kind)
    if simple is not None:
        return lambda value: value.__class__ is simple
    name = type_name(declared)
    return lambda value: type_name(type_of(value)) == name


def _list_guard(element: Guard) -> Guard:
    if element is _anything:
        return is_list

    def check(value: Value) -> bool:
        return is_list(value) and (len(value) == 0 or element(next(iter(value))))

    return check


def _map_guard(key: Guard, value: Guard) -> Guard:
    if key is _anything and value is _anything:
        return is_map

    def check(mapping: Value) -> bool:
        if not is_map(mapping):
            return False
        for one, two in items(mapping):
            return key(one) and value(two)
        return True

    return check
