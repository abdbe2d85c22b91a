"""Attributes, quickly: see fast.py.

Objects of JSON and of schemas both have ``get``, so a chain of fields is a chain of that; what has none is looked at
more closely, and what is not there is left to exact.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from trainc.cel import interpretable as plan
from trainc.cel.attributes import check_key, look_up, native
from trainc.cel.cost import QUALIFIER
from trainc.cel.fastframe import UNSET, Builder, Built, Frame, Run, Steps, Unusual
from trainc.cel.maps import MISSING
from trainc.cel.trampoline import Walk
from trainc.cel.values import NONE, Optional, Value
from trainc.cel.work import COST

Fetch: TypeAlias = Callable[[Frame, Value], Value]
"""What a qualifier finds in a value, or MISSING."""


def build_attribute(builder: Builder, attribute: Any) -> Walk[Any, Any]:
    """Walk an attribute or a qualifier. The cost of a variable's or value's own name is not in what is returned."""
    return _BUILDERS[attribute.__class__](builder, attribute)


def _read(builder: Builder, attribute: plan.AbsoluteAttribute) -> Run:
    """Return what reads the variable itself."""
    slot = attribute.names[0].slot
    start = builder.starts.get(slot)
    if start is not None:
        return _started(slot, start)
    if attribute.qualifiers or not (attribute.optional or attribute.dynamic):
        return lambda frame: frame[slot]

    return _rewrapped(lambda frame: frame[slot])


def _rewrapped(read: Run) -> Run:
    """Return what reads a value as an attribute of cel-go does, through which optionals do not come unscathed."""

    def resolve(frame: Frame) -> Value:
        value = read(frame)
        if value.__class__ is Optional and value.present:
            return Optional(native(value.value))
        return value

    return resolve


def _started(slot: int, start: Built) -> Run:
    make, cost = start

    def read(frame: Frame) -> Value:
        value = frame[slot]
        if value is UNSET:
            frame[COST] += cost
            value = make(frame)
            if value.__class__ in (list, dict) and not value:
                raise Unusual  # cel-go fills such an accumulator in place
            frame[slot] = value
        return value

    return _rewrapped(read)


def _absolute(builder: Builder, attribute: plan.AbsoluteAttribute) -> Steps:
    read = _read(builder, attribute)
    if not attribute.qualifiers:
        return read, 0
    keys = fields(attribute.qualifiers)
    if keys is not None and not attribute.optional and attribute.names[0].slot not in builder.starts:
        test = attribute.qualifiers[-1].test_only  # type: ignore[union-attr]  # they are all constant
        slot = attribute.names[0].slot
        return (_tested if test else _chained)(slot, keys), QUALIFIER * len(keys)
    return (yield from _qualified(read, attribute.qualifiers, attribute.optional))


def fields(qualifiers: tuple[plan.Qualifier, ...]) -> tuple[str, ...] | None:
    """Return the names if all qualifiers are fields, none behind a question mark."""
    found = [q.value for q in qualifiers if isinstance(q, plan.ConstantQualifier) and not q.optional]
    if len(found) == len(qualifiers) and all(key.__class__ is str for key in found):
        return tuple(found)
    return None


def _field(value: Value, key: str) -> Value:
    """Return a field of a value that has no ``get``. Raises EvalError or Unusual."""
    found = look_up(value, key)
    if found is MISSING:
        raise Unusual
    return found


def _walked(value: Value, keys: tuple[str, ...]) -> Value:
    for key in keys:
        value = _field(value, key)
    return value


def _chained(slot: int, keys: tuple[str, ...]) -> Run:
    if len(keys) == 1:
        return _chain_of_1(slot, keys)
    if len(keys) == 2:
        return _chain_of_2(slot, keys)
    if len(keys) == 3:
        return _chain_of_3(slot, keys)
    before, (first, second, third) = _chained(slot, keys[:-3]) if len(keys) > 3 else None, keys[-3:]
    assert before is not None

    def resolve(frame: Frame) -> Value:
        value = before(frame)
        try:
            found = value.get(first, MISSING).get(second, MISSING).get(third, MISSING)
        except AttributeError:
            return _walked(value, (first, second, third))
        if found is MISSING:
            raise Unusual
        return found

    return resolve


def _chain_of_1(slot: int, keys: tuple[str, ...]) -> Run:
    [first] = keys

    def resolve(frame: Frame) -> Value:
        try:
            found = frame[slot].get(first, MISSING)
        except AttributeError:
            return _field(frame[slot], first)
        if found is MISSING:
            raise Unusual
        return found

    return resolve


def _chain_of_2(slot: int, keys: tuple[str, ...]) -> Run:
    first, second = keys

    def resolve(frame: Frame) -> Value:
        try:
            found = frame[slot].get(first, MISSING).get(second, MISSING)
        except AttributeError:
            return _walked(frame[slot], keys)
        if found is MISSING:
            raise Unusual
        return found

    return resolve


def _chain_of_3(slot: int, keys: tuple[str, ...]) -> Run:
    first, second, third = keys

    def resolve(frame: Frame) -> Value:
        try:
            found = frame[slot].get(first, MISSING).get(second, MISSING).get(third, MISSING)
        except AttributeError:
            return _walked(frame[slot], keys)
        if found is MISSING:
            raise Unusual
        return found

    return resolve


def _tested(slot: int, keys: tuple[str, ...]) -> Run:
    last = keys[-1]
    if len(keys) == 1:

        def bare(frame: Frame) -> Value:
            try:
                return frame[slot].get(last, MISSING) is not MISSING
            except AttributeError:
                return look_up(frame[slot], last) is not MISSING

        return bare
    before = _chained(slot, keys[:-1])

    def resolve(frame: Frame) -> Value:
        value = before(frame)
        try:
            return value.get(last, MISSING) is not MISSING
        except AttributeError:
            return look_up(value, last) is not MISSING

    return resolve


def _qualified(read: Run, qualifiers: tuple[plan.Qualifier, ...], optional: bool) -> Steps:
    """Walk the qualifiers of a value, whatever they are."""
    steps, total = [], 0
    for qualifier in qualifiers:
        fetch, cost = yield qualifier
        steps.append((fetch, cost + QUALIFIER, cost, qualifier.optional))
        total += cost + QUALIFIER
    test = any(isinstance(q, plan.ConstantQualifier) and q.test_only for q in qualifiers)
    if optional or any(qualifier.optional for qualifier in qualifiers):
        return _optional_chain(read, tuple(steps), test), 0
    fetches = tuple(step[0] for step in steps)
    if test:
        return _test_chain(read, fetches), total

    def resolve(frame: Frame) -> Value:
        value = read(frame)
        for fetch in fetches:
            value = fetch(frame, value)
            if value is MISSING:
                raise Unusual
        return value

    return resolve, total


def _test_chain(read: Run, fetches: tuple[Fetch, ...]) -> Run:
    def resolve(frame: Frame) -> Value:
        value = read(frame)
        for fetch in fetches[:-1]:
            value = fetch(frame, value)
            if value is MISSING:
                raise Unusual
        return fetches[-1](frame, value) is not MISSING

    return resolve


def _optional_chain(read: Run, steps: tuple[tuple[Fetch, int, int, bool], ...], test: bool) -> Run:
    """Return what resolves qualifiers of which one, or the value itself, may be optional; the last may be a test.

    A qualifier of an optional costs only if what it names is there; its key is paid for in any case.
    """
    last = steps[-1][0]

    def resolve(frame: Frame) -> Value:
        value = read(frame)
        optional = value.__class__ is Optional
        if optional:
            if not value.present:
                return value
            value = native(value.value)
        for fetch, cost, key_cost, questioned in steps:
            optional = optional or questioned
            value = fetch(frame, value)
            if test and fetch is last and not optional:
                frame[COST] += cost
                return value is not MISSING
            if value is MISSING:
                if not optional:
                    raise Unusual
                frame[COST] += key_cost
                return NONE
            frame[COST] += cost
        return Optional(value) if optional else value

    return resolve


def _constant(_: Builder, qualifier: plan.ConstantQualifier) -> Walk[Any, tuple[Fetch, int]]:
    key = qualifier.value
    if key.__class__ is int and key >= 0:

        def fetch(_: Frame, value: Value) -> Value:
            if value.__class__ is list:
                return value[key] if key < len(value) else MISSING
            return look_up(value, key)

        return fetch, 0
    return lambda frame, value: look_up(value, key), 0
    yield qualifier


def _computed(_: Builder, qualifier: plan.ComputedQualifier) -> Walk[Any, tuple[Fetch, int]]:
    read, cost = yield qualifier.attribute

    def fetch(frame: Frame, value: Value) -> Value:
        key = read(frame)
        if value.__class__ is list and key.__class__ is int:
            return value[key] if 0 <= key < len(value) else MISSING
        if value.__class__ is dict and key.__class__ is str:
            return value.get(key, MISSING)
        return look_up(value, check_key(key))

    return fetch, cost


def _relative(_: Builder, attribute: plan.RelativeAttribute) -> Steps:
    read, cost = yield attribute.operand
    if not attribute.qualifiers:
        return _rewrapped(read), cost
    resolve, total = yield from _qualified(read, attribute.qualifiers, True)
    return resolve, cost + total


def _conditional(_: Builder, attribute: plan.ConditionalAttribute) -> Steps:
    condition, cost = yield attribute.condition
    truthy, truthy_cost = yield attribute.truthy
    falsy, falsy_cost = yield attribute.falsy

    def resolve(frame: Frame) -> Value:
        value = condition(frame)
        if value is True:
            frame[COST] += truthy_cost
            return truthy(frame)
        if value is False:
            frame[COST] += falsy_cost
            return falsy(frame)
        raise Unusual

    return resolve, cost


def _maybe(_: Builder, attribute: plan.MaybeAttribute) -> Steps:
    raise NotImplementedError
    yield attribute


_BUILDERS: Final[Mapping[type, Callable[[Builder, Any], Walk[Any, Any]]]] = {
    plan.AbsoluteAttribute: _absolute,
    plan.RelativeAttribute: _relative,
    plan.ConditionalAttribute: _conditional,
    plan.MaybeAttribute: _maybe,
    plan.ConstantQualifier: _constant,
    plan.ComputedQualifier: _computed,
}
