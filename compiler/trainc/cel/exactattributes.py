"""Attributes as cel-go resolves them: variables, values and conditions, with their qualifiers.

Source: interpreter/attributes.go and the observers of interpreter/interpretable.go, cel-go v0.26.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from trainc.cel import interpretable as plan
from trainc.cel.attributes import check_key, look_up, native, qualify
from trainc.cel.cost import QUALIFIER
from trainc.cel.interpretable import Id
from trainc.cel.maps import MISSING
from trainc.cel.trace import Trace
from trainc.cel.trampoline import Walk
from trainc.cel.values import NONE, EvalError, KeyedMap, Optional, Undecided, Value

Run: TypeAlias = Callable[[Trace], Value]
"""What evaluates a node, or resolves an attribute: to a value or a failure."""

Steps: TypeAlias = Walk[Any, Run]
Qualify: TypeAlias = Callable[[Trace, Value, bool], Value]
"""Of an object, and whether what is absent is no failure: then MISSING stands for it."""

FAILURES: Final = (EvalError, Undecided)


class Absent(EvalError):
    """A variable that is not there; another reading of its name may be."""


class Pending:
    """An accumulator before it is first read."""

    __slots__ = ("_slot", "_start")

    def __init__(self, slot: int, start: Run) -> None:
        self._slot = slot
        self._start = start

    def force(self, trace: Trace) -> Value:
        """Return what the accumulator starts with. An empty list or map is one to be filled in place."""
        value = self._start(trace)
        if value.__class__ in (list, dict) and not value:
            value = [] if value.__class__ is list else KeyedMap({})
            trace.mutable.append(value)
        trace.frame[self._slot] = value
        return value


def attempt(id_: Id, function: Callable[..., Value], *args: Value) -> Value:
    """Return what a function gives, a failure included; one without a position gets that of id_."""
    try:
        value = function(*args)
    except Undecided as undecided:
        return undecided
    except EvalError as error:
        value = error
    if isinstance(value, EvalError) and value.position is None:
        return EvalError(value.message, id_.position)
    return value


def build_attribute(attribute: Any) -> Walk[Any, Any]:
    """Walk an attribute, or a qualifier: return what resolves it."""
    return _BUILDERS[attribute.__class__](attribute)


def _absolute(attribute: plan.AbsoluteAttribute) -> Walk[Any, Run]:
    qualifiers = []
    for qualifier in attribute.qualifiers:
        built = yield qualifier
        qualifiers.append((built, qualifier.optional))
    names, bare = attribute.names, not qualifiers
    id_ = plan.attribute_id(attribute)

    def resolve(trace: Trace) -> Value:
        for name in names:
            value = trace.frame[name.slot]
            if value is MISSING:
                if bare and name.constant is not None:
                    return name.constant
                continue
            if value.__class__ is Pending:
                value = value.force(trace)
            if bare and value.__class__ is not Optional:
                return value
            return _apply(id_, trace, value, qualifiers)
        return Absent(f"no such attribute(s): {', '.join(name.text for name in names)}", id_.position)

    return resolve


def _apply(id_: Id, trace: Trace, value: Value, qualifiers: Sequence[tuple[Qualify, bool]]) -> Value:
    if isinstance(value, EvalError):
        return value
    optional = isinstance(value, Optional)
    if optional:
        if not value.present:
            return value
        value = attempt(id_, native, value.value)
    for qualifier, questioned in qualifiers:
        optional = optional or questioned
        value = qualifier(trace, value, optional)
        if value is MISSING:
            return NONE
        if isinstance(value, EvalError):
            return value
    return Optional(value) if optional and not isinstance(value, Undecided) else value


def _constant(qualifier: plan.ConstantQualifier) -> Walk[Any, Qualify]:
    id_, key, test = qualifier.id, qualifier.value, qualifier.test_only

    def apply(trace: Trace, value: Value, optional: bool) -> Value:
        found: Value = value
        if isinstance(value, EvalError):
            return value  # of native(): nothing is looked up
        if isinstance(value, Undecided):
            pass
        elif optional or test:
            found = attempt(id_, look_up, value, key)
            if optional and (found is MISSING or isinstance(found, EvalError)):
                return found
            if test and not optional and not isinstance(found, FAILURES):
                found = found is not MISSING
        else:
            found = attempt(id_, qualify, value, key)
        trace.cost += QUALIFIER
        trace.push(id_, found)
        return found

    return apply
    yield qualifier


def _computed(qualifier: plan.ComputedQualifier) -> Walk[Any, Qualify]:
    resolve = yield qualifier.attribute
    id_, plain = qualifier.id, qualifier.plain

    def apply(trace: Trace, value: Value, optional: bool) -> Value:
        key = resolve(trace)
        found = key if isinstance(key, FAILURES) else attempt(id_, check_key, key)
        if not isinstance(found, FAILURES):
            found = value
            if not isinstance(value, FAILURES):
                found = attempt(id_, look_up if optional else qualify, value, key)
        if optional and (found is MISSING or isinstance(found, EvalError)):
            return found
        if not plain:
            trace.drop(id_)
        trace.cost += QUALIFIER
        trace.push(id_, found)
        return found

    return apply


def _relative(attribute: plan.RelativeAttribute) -> Walk[Any, Run]:
    operand = yield attribute.operand
    qualifiers = []
    for qualifier in attribute.qualifiers:
        built = yield qualifier
        qualifiers.append((built, qualifier.optional))
    id_ = plan.attribute_id(attribute)

    def resolve(trace: Trace) -> Value:
        value = operand(trace)
        if isinstance(value, FAILURES):
            return value
        return _apply(id_, trace, value, qualifiers)

    return resolve


def _conditional(attribute: plan.ConditionalAttribute) -> Walk[Any, Run]:
    condition = yield attribute.condition
    truthy = yield attribute.truthy
    falsy = yield attribute.falsy
    position = attribute.base.position

    def resolve(trace: Trace) -> Value:
        value = condition(trace)
        if value is True:
            return truthy(trace)
        if value is False:
            return falsy(trace)
        return value if isinstance(value, FAILURES) else EvalError("no such overload", position)

    return resolve


def _maybe(attribute: plan.MaybeAttribute) -> Walk[Any, Run]:
    candidates = []
    for each in attribute.attributes:
        built = yield each
        candidates.append(built)

    def resolve(trace: Trace) -> Value:
        absent: Value = None
        for candidate in candidates:
            value = candidate(trace)
            if not isinstance(value, Absent):
                return value
            absent = absent or value
        return absent

    return resolve


_BUILDERS: Mapping[type, Callable[[Any], Walk[Any, Any]]] = {
    plan.AbsoluteAttribute: _absolute,
    plan.RelativeAttribute: _relative,
    plan.ConditionalAttribute: _conditional,
    plan.MaybeAttribute: _maybe,
    plan.ConstantQualifier: _constant,
    plan.ComputedQualifier: _computed,
}
