"""Selects the implementation of a call: the only overload that fits its static types, else one by the arguments.

Source: planner.go (planCall) of interpreter/ and common/decls/decls.go (Bindings, guards), cel-go v0.26.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from trainc.cel.ast import Node
from trainc.cel.declarations import Environment
from trainc.cel.functions import Overload, Run
from trainc.cel.library import functions
from trainc.cel.maps import is_list, is_map, items
from trainc.cel.plan import Call, Guard, Interpretable
from trainc.cel.types import Kind, Type, type_name
from trainc.cel.values import EvalError, Value, type_of

_SHAPES: Final = {0: "", 1: "arg", 2: "lhs, rhs"}
_CLASSES: Final = {Kind.BOOL: bool, Kind.INT: int, Kind.DOUBLE: float, Kind.STRING: str, Kind.BYTES: bytes}


def find(
    node: Node, function: str, overload: str, args: tuple[Interpretable, ...], environment: Environment
) -> Call | str | None:
    """Return a call, or None if the function is not declared.

    ``overload`` is "" if several fit. Returns a string for cel-go's error if the function does not accept this
    number of arguments.
    """
    overloads = environment.functions.get(function)
    if overloads is None:
        return None
    row, shape = functions()[function], _SHAPES.get(len(args), "...")
    chosen = [each for each in overloads if each.id == overload] or overloads
    cost = row.cost if chosen[0].cost is None or not overload else chosen[0].cost
    call = Call(node, function, args, _nothing, cost, row.work, kind=_result(overloads), terse=row.terse)
    if row.run is not None:
        fits = any(len(each.signature.args) == len(args) for each in overloads)
        return replace(call, run=row.run, metered=row.metered) if fits else shape
    runs = [each for each in chosen if each.run is not None]
    metered = any(each.metered for each in runs)
    if len(runs) > 1:
        return replace(call, run=_several(function, runs), metered=metered)
    if not runs or runs[0].run is None:
        return None
    types = runs[0].signature.args
    return (
        replace(call, run=runs[0].run, guards=tuple(map(guard, types)), metered=metered)
        if len(types) == len(args)
        else shape
    )


def _nothing(*_: Value) -> Value:
    """Placeholder for the implementation."""


def _result(overloads: Sequence[Overload]) -> type | None:
    """Return the Python class of the results, if all overloads have the same."""
    kinds = {each.signature.result.kind for each in overloads}
    return _CLASSES.get(kinds.pop()) if len(kinds) == 1 else None


def mismatch(function: str, args: Sequence[Value]) -> EvalError:
    """Return cel-go's error for arguments that fit no overload."""
    return EvalError(f"no such overload: {function}({', '.join(type_name(type_of(arg)) for arg in args)})")


def fits(check: Guard, value: Value) -> bool:
    """Report whether a value passes a guard."""
    if check is None or isinstance(check, type):
        return check is None or value.__class__ is check
    return check(value)


def _several(function: str, overloads: Sequence[Overload]) -> Run:
    candidates = [(tuple(map(guard, each.signature.args)), each.run, each.metered) for each in overloads]
    metered = any(each.metered for each in overloads)

    def call(*args: Value) -> Value:
        given = args[:-1] if metered else args
        for guards, run, takes_meter in candidates:
            if len(guards) == len(given) and all(map(fits, guards, given)) and run is not None:
                return run(*(args if takes_meter else given))
        raise mismatch(function, given)

    return call


def guard(declared: Type) -> Guard:
    """Return the guard of a declared type; it inspects only the first entry of lists and maps."""
    kind = declared.kind
    if kind in (Kind.DYN, Kind.ANY, Kind.PARAMETER):
        return None
    if kind is Kind.LIST:
        return _list_guard(guard(declared.parameters[0]))
    if kind is Kind.MAP:
        return _map_guard(guard(declared.parameters[0]), guard(declared.parameters[1]))
    name = type_name(declared)
    return _CLASSES.get(kind) or (lambda value: type_name(type_of(value)) == name)


def _list_guard(element: Guard) -> Guard:
    if element is None:
        return is_list
    return lambda value: is_list(value) and (len(value) == 0 or fits(element, next(iter(value))))


def _map_guard(key: Guard, value: Guard) -> Guard:
    if key is None and value is None:
        return is_map

    def check(mapping: Value) -> bool:
        if not is_map(mapping):
            return False
        for one, two in items(mapping):
            return fits(key, one) and fits(value, two)
        return True

    return check
