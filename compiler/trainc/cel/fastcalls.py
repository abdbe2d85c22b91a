"""Calls, quickly: see fast.py. What policies and rules write most has a closure of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from trainc.cel import interpretable as plan
from trainc.cel.cost import IDENT, LIST, actual_size
from trainc.cel.equality import equal
from trainc.cel.fastframe import Builder, Frame, Run, Steps, Unusual, slot_of
from trainc.cel.values import Opaque, Value
from trainc.cel.work import COST, Meter

ONE: Final = frozenset((int, bool, float, type(None)))
"""Kinds of values whose size counts as 1."""


def build_call(builder: Builder, node: plan.Call) -> Steps:
    """Walk a call."""
    if node.function in ("_==_", "_!=_"):
        return _equality(node)
    if node.function in _ORDERS and node.cost == 1:
        return _order(node)
    if node.function in ("_+_", "cel.@mapInsert") and slot_of(node.args[0]) in builder.filled:
        return _filling(node)
    return _plain(node)


def _plain(node: plan.Call) -> Steps:
    args, total = [], 0
    for arg in node.args:
        built, cost = yield arg
        args.append(built)
        total += cost
    run = _NULLARY_TO_BINARY[len(args)](node, *args) if len(args) < 3 and not node.metered else _general(node, args)
    return run, total + (node.cost if isinstance(node.cost, int) else 0)


def _nullary(node: plan.Call) -> Run:
    implementation = node.implementation
    return lambda frame: implementation()


def _unary(node: plan.Call, arg: Run) -> Run:
    implementation, cost = node.implementation, node.cost
    if node.function == "!_":
        return _not(arg)
    if isinstance(cost, int):
        return lambda frame: implementation(arg(frame))

    def call(frame: Frame) -> Value:
        value = arg(frame)
        result = implementation(value)
        frame[COST] += cost((value,), result)
        return result

    return call


def _not(arg: Run) -> Run:
    def call(frame: Frame) -> Value:
        value = arg(frame)
        if value is True:
            return False
        if value is False:
            return True
        raise Unusual

    return call


def _binary(node: plan.Call, left: Run, right: Run) -> Run:
    implementation, cost = node.implementation, node.cost
    if isinstance(cost, int):
        return lambda frame: implementation(left(frame), right(frame))

    def call(frame: Frame) -> Value:
        one, two = left(frame), right(frame)
        result = implementation(one, two)
        frame[COST] += cost((one, two), result)
        return result

    return call


_NULLARY_TO_BINARY: Final[tuple[Callable[..., Run], ...]] = (_nullary, _unary, _binary)


def _general(node: plan.Call, args: list[Run]) -> Run:
    implementation, cost, metered = node.implementation, node.cost, node.metered

    def call(frame: Frame) -> Value:
        values = [arg(frame) for arg in args]
        result = implementation(*values, frame) if metered else implementation(*values)
        if not isinstance(cost, int):
            frame[COST] += cost(values, result)
        return result

    return call


def _equality(node: plan.Call) -> Steps:
    left, left_cost = yield node.args[0]
    right, right_cost = yield node.args[1]
    negates = node.negates
    if isinstance(node.args[1], plan.Constant):
        run = _equal_to_constant(left, node.args[1].value, negates)
        if run is not None:
            return run, left_cost

    def call(frame: Frame) -> Value:
        one, two = left(frame), right(frame)
        result = equal(one, two, frame)
        if one.__class__ in ONE and two.__class__ in ONE:
            frame[COST] += 1
        else:
            frame[COST] += _equality_cost(one, two, negates)
        return result is not negates

    return call, left_cost + right_cost


def compare(one: Value, two: Value, negates: bool, meter: Meter) -> tuple[bool, int]:
    """Return ``one == two``, or ``one != two``, and its cost. Raises EvalError where they cannot be compared."""
    return equal(one, two, meter) is not negates, _equality_cost(one, two, negates)


def _equality_cost(one: Value, two: Value, negates: bool) -> int:
    if isinstance(one, Opaque) and not negates:
        return 1
    return (min(actual_size(one), actual_size(two)) + 9) // 10


def _equal_to_constant(left: Run, constant: Value, negates: bool) -> Run | None:
    """Return ``left == constant`` for a text, a bool or null, which no other kind of value equals."""
    if constant.__class__ is str:
        return _equal_to_text(left, constant, negates)
    if constant.__class__ is not bool and constant is not None:
        return None

    def call(frame: Frame) -> Value:
        value = left(frame)
        if value is constant:
            frame[COST] += 1
            return not negates
        if value.__class__ in ONE:
            frame[COST] += 1
            return negates
        result = equal(value, constant, frame)
        frame[COST] += _equality_cost(value, constant, negates)
        return result is not negates

    return call


def _equal_to_text(left: Run, constant: str, negates: bool) -> Run:
    size = len(constant)

    def call(frame: Frame) -> Value:
        value = left(frame)
        if value.__class__ is str:
            length = len(value)
            frame[COST] += ((length if length < size else size) + 9) // 10
            return (value == constant) is not negates
        result = equal(value, constant, frame)
        frame[COST] += _equality_cost(value, constant, negates)
        return result is not negates

    return call


def _order(node: plan.Call) -> Steps:
    left, left_cost = yield node.args[0]
    right, right_cost = yield node.args[1]
    make = _ORDERS[node.function]
    return make(left, right, node.implementation), left_cost + right_cost + 1


def _make_less(left: Run, right: Run, implementation: Callable[..., Value]) -> Run:
    def call(frame: Frame) -> Value:
        one, two = left(frame), right(frame)
        return one < two if one.__class__ is int and two.__class__ is int else implementation(one, two, frame)

    return call


def _make_at_most(left: Run, right: Run, implementation: Callable[..., Value]) -> Run:
    def call(frame: Frame) -> Value:
        one, two = left(frame), right(frame)
        return one <= two if one.__class__ is int and two.__class__ is int else implementation(one, two, frame)

    return call


def _make_greater(left: Run, right: Run, implementation: Callable[..., Value]) -> Run:
    def call(frame: Frame) -> Value:
        one, two = left(frame), right(frame)
        return one > two if one.__class__ is int and two.__class__ is int else implementation(one, two, frame)

    return call


def _make_at_least(left: Run, right: Run, implementation: Callable[..., Value]) -> Run:
    def call(frame: Frame) -> Value:
        one, two = left(frame), right(frame)
        return one >= two if one.__class__ is int and two.__class__ is int else implementation(one, two, frame)

    return call


_ORDERS: Final[Mapping[str, Callable[[Run, Run, Callable[..., Value]], Run]]] = {
    "_<_": _make_less,
    "_<=_": _make_at_most,
    "_>_": _make_greater,
    "_>=_": _make_at_least,
}


def _filling(node: plan.Call) -> Steps:
    """Walk what adds to a list or map that a loop is making: it is changed in place, as in cel-go."""
    slot = slot_of(node.args[0])
    added = node.args[1]
    if node.function == "_+_" and isinstance(added, plan.MakeList) and added.optional == (False,):
        element, cost = yield added.elements[0]
        return _append(slot, element), cost + IDENT + LIST + 1
    if node.function == "_+_" and isinstance(added, plan.Constant) and added.value.__class__ is list:
        return _extend(slot, added.value), IDENT + 1
        yield added
    if node.function == "cel.@mapInsert" and len(node.args) == 3:
        key, key_cost = yield added
        value, value_cost = yield node.args[2]
        return _insert(slot, key, value), key_cost + value_cost + IDENT + 1
    raise NotImplementedError


def _append(slot: int, element: Run) -> Run:
    def call(frame: Frame) -> Value:
        made = frame[slot]
        made.append(element(frame))
        return made

    return call


def _extend(slot: int, values: list[Value]) -> Run:
    def call(frame: Frame) -> Value:
        made = frame[slot]
        made.extend(values)
        return made

    return call


def _insert(slot: int, read_key: Run, read_value: Run) -> Run:
    def call(frame: Frame) -> Value:
        key, made = read_key(frame), frame[slot]
        if key.__class__ is not str or key in made:
            raise Unusual
        made[key] = read_value(frame)
        return made

    return call
