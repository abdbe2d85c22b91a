"""What is evaluated while an expression is planned: constant literals, conversions, patterns, lists to look in.

Source: interpreter/decorators.go and optimizations.go of cel-go v0.26.0, pkg/cel/library/regex.go of k8s.io/apiserver
v0.34. What fails here is refused before it ever runs, whatever the expression makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from trainc.cel.ast import Literal, Node
from trainc.cel.conversions import double_to_int, double_to_uint, int_to_uint, uint_to_int
from trainc.cel.equality import equal
from trainc.cel.interpretable import Call, Constant, Interpretable, MakeList, MakeMap, Membership, Or
from trainc.cel.issues import CompileError, Issue
from trainc.cel.library import regex
from trainc.cel.maps import key_form, make_map
from trainc.cel.metering import matched, prepared
from trainc.cel.types import type_name
from trainc.cel.values import EvalError, Optional, TypeValue, Uint, Value
from trainc.cel.work import Panic, fresh

CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
_HASHED: Final = frozenset((str, bool, int, float, Uint))


class PlanError(CompileError):
    """An expression that checks but that the server cannot make a program of; ``message`` is cel-go's."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__((Issue(position, message),))
        self.message = message


def fold_list(node: MakeList) -> Interpretable:
    """Return the constant that a list is, if it is one."""
    values = [each.value for each in node.elements if isinstance(each, Constant)]
    if len(values) < len(node.elements) or any(node.optional):
        return node
    return Constant(node.id, values)


def fold_map(node: MakeMap) -> Interpretable:
    """Return the constant that a map is, if it is one. Raises PlanError for a key that Go cannot hash."""
    keys = [each.value for each in node.keys if isinstance(each, Constant)]
    values = [each.value for each in node.values if isinstance(each, Constant)]
    if len(keys) + len(values) < 2 * len(node.keys) or any(node.optional):
        return node
    try:
        return Constant(node.id, make_map(zip(keys, values, strict=True)))
    except Panic as panic:
        raise PlanError(node.id.position, panic.message) from None


def fold_call(call: Call, parts: tuple[Node, ...], checked: bool) -> Interpretable:
    """Return what a call becomes; ``parts`` are the nodes of its arguments. Raises PlanError."""
    args = call.args
    if len(args) == 1 and call.function in CONVERSIONS and isinstance(args[0], Constant):
        return _converted(call, args[0].value)
    if len(args) == 2 and call.function in ("or", "orValue"):
        return Or(call.id, args[0], args[1], unwraps=call.function == "orValue")
    if call.overload == "in_list" and isinstance(args[1], Constant):
        return _membership(call, args[0], args[1].value)
    if call.function in _PATTERNS and len(args) > 1 and isinstance(args[1], Constant):
        known = checked and call.overload == "matches_string" and isinstance(parts[1], Literal)
        return _patterned(call, args[1].value, known)
    return call


def _converted(call: Call, value: Value) -> Constant:
    try:
        return Constant(call.id, call.implementation(value, *((fresh(),) if call.metered else ())))
    except EvalError as error:
        raise PlanError(call.id.position, error.message) from None


def _membership(call: Call, argument: Interpretable, values: list[Value]) -> Interpretable:
    if not values:
        return Constant(call.id, False)
    if not all(value.__class__ in _HASHED for value in values):
        return call
    return Membership(call.id, argument, frozenset(form for value in values for form in _forms(value)))


def _forms(value: Value) -> list[object]:
    """Return the forms of a value and of its equals among numbers of other types."""
    found = [key_form(value)]
    for convert in _OTHERS.get(value.__class__, ()):
        try:
            other = convert(value)
        except EvalError:
            continue
        if value.__class__ is not float or equal(value, other):
            found.append(key_form(other))
    return found


_OTHERS: Final[Mapping[type, tuple[Callable[..., Value], ...]]] = {
    int: (float, int_to_uint),
    Uint: (lambda number: float(number.value), uint_to_int),
    float: (double_to_int, double_to_uint),
}


def _text(value: Value) -> str:
    """Return a string, that in an optional, or the name of a type: what cel-go takes for text before a pattern."""
    if isinstance(value, Optional):
        return _text(value.value)
    if value.__class__ is str:
        return str(value)
    if isinstance(value, TypeValue):
        return type_name(value.type)
    raise EvalError("no such overload")


def _matches(pattern: str) -> Callable[..., Value]:
    return lambda text, _: regex.matches(_text(text), pattern)


def _find(pattern: str) -> Callable[..., Value]:
    return lambda text, _: regex.find(_text(text), pattern)


def _find_all(pattern: str) -> Callable[..., Value]:
    def find_all(text: Value, _: Value, *rest: Value) -> list[str]:
        *limit, meter = rest
        if any(each.__class__ is not int for each in limit):
            raise EvalError("no such overload")
        return regex.find_all(_text(text), pattern, limit[0] if limit else -1, meter)

    return find_all


_PATTERNS: Final[Mapping[str, Callable[[str], Callable[..., Value]]]] = {
    "matches": _matches,
    "find": _find,
    "findAll": _find_all,
}


def _patterned(call: Call, pattern: Value, known: bool) -> Interpretable:
    """Return a call with a constant pattern; ``known``: the checker has seen that it is right."""
    if pattern.__class__ is not str:
        return call
    if not known:
        try:
            regex.check(pattern)
        except EvalError as error:
            raise PlanError(call.id.position, error.message) from None
    implementation = _PATTERNS[call.function](pattern)
    measured = prepared(matched(pattern), implementation, taken=call.function == "findAll")
    return replace(call, implementation=measured, metered=True, early=True)
