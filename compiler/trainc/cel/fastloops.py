"""Loops, quickly: see fast.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trainc.cel import interpretable as plan
from trainc.cel.cost import IDENT
from trainc.cel.dispatch import NOT_STRICTLY_FALSE
from trainc.cel.fastframe import UNSET, Builder, Frame, Run, Steps, Unusual, slot_of
from trainc.cel.maps import MISSING, items, keys
from trainc.cel.values import Container, EvalError, KeyedMap, Value
from trainc.cel.work import COST, LIMIT, WORK, Exhausted


def build_fold(builder: Builder, node: plan.Fold) -> Steps:
    """Walk a comprehension."""
    found = searched(node)
    if found is not None:
        return _search(node, *found)
    return _general(builder, node)


def searched(node: plan.Fold) -> tuple[plan.Interpretable, bool] | None:
    """Return the predicate of all() (which ends at False) or exists() (which ends at True), and what ends it."""
    step, accumulator = node.step, node.accumulator
    if not isinstance(step, plan.Logical) or slot_of(step.terms[0]) != accumulator:
        return None
    if slot_of(node.result) != accumulator or not isinstance(node.start, plan.Constant):
        return None
    condition = node.condition
    if not isinstance(condition, plan.Call) or condition.function != NOT_STRICTLY_FALSE:
        return None
    tested = condition.args[0]
    if step.absorbing:
        if not isinstance(tested, plan.Call) or tested.function != "!_":
            return None
        tested = tested.args[0]
    if slot_of(tested) != accumulator or node.start.value is not (not step.absorbing):
        return None
    return step.terms[1], step.absorbing


def _search(node: plan.Fold, predicate: plan.Interpretable, ending: bool) -> Steps:
    ranged, cost = yield node.iter_range
    holds, predicate_cost = yield predicate
    # Before a round the accumulator is looked at, and in it once more: cost.py's 1 for each name and call.
    before = IDENT + (2 if ending else 1)
    per_round = before + IDENT + predicate_cost
    first, second, weight = node.first, node.second, plan.weight(node)

    def evaluate(frame: Frame) -> Value:
        rounds = iter(pairs(ranged(frame)) if second else elements(ranged(frame)))
        for item in rounds:
            if second:
                frame[first], frame[second] = item
            else:
                frame[first] = item
            frame[COST] += per_round
            frame[WORK] -= weight
            value = holds(frame)
            if value is ending:
                if next(rounds, MISSING) is not MISSING:
                    frame[COST] += before
                return ending
            if value.__class__ is not bool:
                raise Unusual
            if frame[COST] > frame[LIMIT]:
                raise Unusual
            if frame[WORK] < 0:
                raise Exhausted
        return not ending

    return evaluate, cost + IDENT


def elements(value: Value) -> Iterable[Value]:
    """Return what the variable of a loop takes on. Raises Unusual for what is no list or map."""
    if value.__class__ is list or value.__class__ is dict:
        return value
    if isinstance(value, KeyedMap):
        return keys(value)
    if isinstance(value, Container):
        return _checked(list(value))
    raise Unusual


def pairs(value: Value) -> Iterable[tuple[Value, Value]]:
    """Return what the two variables of a loop take on. Raises Unusual for what is no list or map."""
    if value.__class__ is list:
        return enumerate(value)
    if value.__class__ is dict or isinstance(value, KeyedMap):
        return items(value)
    if isinstance(value, Container):
        if value.is_list():
            return enumerate(_checked(list(value)))
        return [(key, value.get(key, None)) for key in value]
    raise Unusual


def _checked(values: list[Value]) -> list[Value]:
    if any(isinstance(value, EvalError) for value in values):
        raise Unusual
    return values


def _general(builder: Builder, node: plan.Fold) -> Steps:
    ranged, cost = yield node.iter_range
    start = yield node.start
    slot, fresh = node.accumulator, None
    if isinstance(node.start, plan.Constant):
        fresh = node.start.value
        if fresh.__class__ in (list, dict) and not fresh:
            builder.filled.add(slot)
    else:
        builder.starts[slot] = start
        fresh = UNSET
    condition, condition_cost = yield node.condition
    step, step_cost = yield node.step
    finish, finish_cost = yield node.result
    always = isinstance(node.condition, plan.Constant) and node.condition.value is True
    never = isinstance(node.condition, plan.Constant) and node.condition.value is False
    begin = _beginning(slot, fresh, slot in builder.filled)
    if never and isinstance(node.iter_range, plan.Constant):
        return _bound(begin, finish), cost + finish_cost
    rounds = _always(node, step, step_cost) if always else _while(node, condition, condition_cost, step, step_cost)

    def evaluate(frame: Frame) -> Value:
        value = ranged(frame)
        begin(frame)
        rounds(frame, value)
        return finish(frame)

    return evaluate, cost + finish_cost


def _beginning(slot: int, fresh: Value, filled: bool) -> Run:
    """Return what sets the accumulator: to a value, or to a new list or map that is to be filled."""
    kind = fresh.__class__

    def begin(frame: Frame) -> None:
        frame[slot] = kind() if filled else fresh

    return begin


def _bound(begin: Run, finish: Run) -> Run:
    """Return a loop of no rounds, which only binds its accumulator."""

    def evaluate(frame: Frame) -> Value:
        begin(frame)
        return finish(frame)

    return evaluate


def _always(node: plan.Fold, step: Run, step_cost: int) -> Any:
    first, second, slot, weight = node.first, node.second, node.accumulator, plan.weight(node)

    def rounds(frame: Frame, value: Value) -> None:
        for item in pairs(value) if second else elements(value):
            if second:
                frame[first], frame[second] = item
            else:
                frame[first] = item
            frame[COST] += step_cost
            frame[WORK] -= weight
            if frame[COST] > frame[LIMIT]:
                raise Unusual
            if frame[WORK] < 0:
                raise Exhausted
            frame[slot] = step(frame)

    return rounds


def _while(node: plan.Fold, condition: Run, condition_cost: int, step: Run, step_cost: int) -> Any:
    first, second, slot, weight = node.first, node.second, node.accumulator, plan.weight(node)

    def rounds(frame: Frame, value: Value) -> None:
        for item in pairs(value) if second else elements(value):
            if second:
                frame[first], frame[second] = item
            else:
                frame[first] = item
            frame[COST] += condition_cost
            frame[WORK] -= weight
            if frame[COST] > frame[LIMIT]:
                raise Unusual
            if frame[WORK] < 0:
                raise Exhausted
            if condition(frame) is False:
                return
            frame[COST] += step_cost
            frame[slot] = step(frame)

    return rounds
