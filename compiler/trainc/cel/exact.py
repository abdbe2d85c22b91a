"""Runs a plan just as cel-go does, node for node, failures being values (interpreter/interpretable.go, v0.26.0).

It is what decides: fast.py leaves to it every evaluation in which anything fails. Failures are EvalError and Undecided;
the latter is cel-go's unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from trainc.cel import interpretable as plan
from trainc.cel.attributes import go_type
from trainc.cel.cost import IDENT
from trainc.cel.exactattributes import FAILURES, Pending, Run, Steps, attempt, build_attribute
from trainc.cel.exactmake import make_list, make_map, make_message
from trainc.cel.interpretable import Id, Interpretable, attribute_id
from trainc.cel.maps import from_entries, inserted, is_list, is_map, items, key_form, keys
from trainc.cel.operators import add
from trainc.cel.trace import EXCEEDED, Exceeded, Trace
from trainc.cel.trampoline import run
from trainc.cel.values import Container, EvalError, KeyedMap, Optional, Undecided, Value
from trainc.cel.work import MESSAGE, Exhausted, Panic, spend

_NO_OVERLOAD: Final = "no such overload"
_TOO_DEEP: Final = "the expression or its values are nested too deeply"


def build(root: Interpretable) -> Run:
    """Return what evaluates a plan with a Trace: to a value, or to a failure. Raises Exceeded and Exhausted."""
    return run(_visit, root)


def evaluate(built: Run, frame: list[Any], limit: int) -> tuple[Value, int]:
    """Return what a plan comes to, a failure included, and its cost, given the frame with the values of variables."""
    trace = Trace(frame, limit)
    try:
        value = built(trace)
    except Exceeded:
        value = EvalError(EXCEEDED)
    except Panic as panic:
        value = EvalError(panic.message)
    except Exhausted:
        value = EvalError(MESSAGE)
    except RecursionError:
        value = EvalError(_TOO_DEEP)
    return value, trace.cost if trace.cost < 2**63 else trace.cost - 2**64  # as the server prints it


def _visit(item: Any) -> Steps:
    builder = _BUILDERS.get(item.__class__)
    return build_attribute(item) if builder is None else builder(item)


def _constant(node: plan.Constant) -> Steps:
    id_, value = node.id, node.value

    def evaluate(trace: Trace) -> Value:
        trace.push(id_, value)
        return value

    return evaluate
    yield node


def _access(node: plan.Access) -> Steps:
    resolve = yield node.attribute
    attribute, id_ = node.attribute, node.id
    conditional = isinstance(attribute, plan.ConditionalAttribute)
    consumed: tuple[Id, ...] = (attribute_id(attribute),)
    if isinstance(attribute, plan.ConditionalAttribute):
        consumed = (attribute_id(attribute.falsy), attribute_id(attribute.truthy), attribute.condition.id)
    test = node.test is not None
    cost = (0 if conditional else IDENT) - (IDENT if test else 0)

    def evaluate(trace: Trace) -> Value:
        value = resolve(trace)
        if test and value.__class__ is Optional:
            value = value.present
        for each in consumed:
            trace.drop(each)
        trace.cost += cost
        trace.push(id_, value)
        return value

    return evaluate


def _logical(node: plan.Logical) -> Steps:
    terms = []
    for term in node.terms:
        built = yield term
        terms.append(built)
    id_, absorbing, consumed = node.id, node.absorbing, tuple(term.id for term in node.terms)

    def evaluate(trace: Trace) -> Value:
        result: Value = not absorbing
        for term in terms:
            value = term(trace)
            if value is absorbing:
                result = absorbing
                break
            if value.__class__ is not bool and _outranks(value, result):
                result = value if isinstance(value, FAILURES) else EvalError(_NO_OVERLOAD, id_.position)
        for each in consumed:
            trace.drop(each)
        trace.push(id_, result)
        return result

    return evaluate


def _outranks(value: Value, result: Value) -> bool:
    """Tell whether a term that is no bool decides: the first unknown does, else the first error."""
    return result.__class__ is bool or (isinstance(value, Undecided) and not isinstance(result, Undecided))


def _call(node: plan.Call) -> Steps:
    args = []
    for arg in node.args:
        built = yield arg
        args.append(built)
    id_, cost, consumed = node.id, node.cost, tuple(arg.id for arg in node.args)
    strict, early, negates, perform = node.strict, node.early, node.negates, _performed(node)

    def evaluate(trace: Trace) -> Value:
        values = []
        failure: Value = None
        for arg in args:
            value = arg(trace)
            values.append(value)
            if failure is None and isinstance(value, FAILURES) and strict:
                failure = value
                if early:
                    break
        result = failure
        if failure is None:
            result = attempt(id_, perform, trace, *values)
            if negates and not isinstance(result, Undecided):
                result = result is not True
        taken = trace.take(consumed)
        if taken is not None:
            trace.cost += cost if cost.__class__ is int else cost(taken, result)  # type: ignore[operator]
        trace.push(id_, result)
        return result

    return evaluate


def _performed(node: plan.Call) -> Callable[..., Value]:
    """Return what a call does with a trace and its arguments."""
    implementation = node.implementation
    if node.function == "_+_":
        return _add
    if node.function == "cel.@mapInsert":
        return lambda trace, *args: _insert(trace, implementation, *args)
    if node.metered:
        return lambda trace, *args: implementation(*args, trace.frame)
    return lambda trace, *args: implementation(*args)


def _add(trace: Trace, left: Value, right: Value) -> Value:
    if is_list(right) and any(left is each for each in trace.mutable):
        spend(trace.frame, len(right))
        left.extend(right)
        return left
    return add(left, right, trace.frame)


def _insert(trace: Trace, implementation: Callable[..., Value], target: Value, *rest: Value) -> Value:
    if not any(target is each for each in trace.mutable):
        return implementation(target, *rest)
    pairs = items(rest[0]) if len(rest) == 1 and is_map(rest[0]) else (rest,)
    for key, value in pairs if len(rest) == 2 or is_map(rest[0]) else ():
        spend(trace.frame, 1)
        if key_form(key) in target.entries:
            return inserted(target, key, value)
        target.entries[key_form(key)] = (key, value)
    return target if len(rest) == 2 or is_map(rest[0]) else implementation(target, *rest)


def _fold(node: plan.Fold) -> Steps:
    ranged = yield node.iter_range
    start = yield node.start
    condition = yield node.condition
    step = yield node.step
    finish = yield node.result
    id_, range_id, accumulator, first, second = node.id, node.iter_range.id, node.accumulator, node.first, node.second
    weight = plan.weight(node)

    def evaluate(trace: Trace) -> Value:
        value = ranged(trace)
        found = value if isinstance(value, FAILURES) else attempt(id_, _iterated, id_, value, second > 0)
        if isinstance(found, FAILURES):
            result: Value = found
        else:
            frame, depth = trace.frame, len(trace.mutable)
            frame[accumulator] = Pending(accumulator, start)
            for one, two in found:
                spend(frame, weight)
                frame[first] = one
                if second:
                    frame[second] = two
                if condition(trace) is False:
                    break
                frame[accumulator] = step(trace)
            result = finish(trace)
            if result.__class__ is KeyedMap and any(result is each for each in trace.mutable):
                result = from_entries(result.entries)
            del trace.mutable[depth:]
        trace.drop(range_id)
        trace.push(id_, result)
        return result

    return evaluate


def _iterated(id_: Id, value: Value, two: bool) -> list[tuple[Value, Value]]:
    """Return what the variables of a loop take on, in pairs. Raises EvalError for what is no list or map."""
    if is_list(value):
        found = value if value.__class__ is list else [attempt(id_, value.get, i, None) for i in range(len(value))]
        return list(enumerate(found)) if two else [(each, None) for each in found]
    if is_map(value):
        if isinstance(value, Container):
            return [(key, attempt(id_, value.get, key, None) if two else None) for key in value]
        return list(items(value)) if two else [(key, None) for key in keys(value)]
    if two:
        raise EvalError(f"unsupported comprehension range type: {go_type(value)}")
    raise EvalError(f"got '{go_type(value)}', expected iterable type")


def _or(node: plan.Or) -> Steps:
    left = yield node.left
    right = yield node.right
    id_, unwraps = node.id, node.unwraps

    def evaluate(trace: Trace) -> Value:
        value = left(trace)
        if isinstance(value, Optional):
            if not value.present:
                value = right(trace)
            elif unwraps:
                value = value.value
        trace.push(id_, value)
        return value

    return evaluate


def _membership(node: plan.Membership) -> Steps:
    argument = yield node.argument
    id_, members = node.id, node.members

    def evaluate(trace: Trace) -> Value:
        value = argument(trace)
        if not isinstance(value, FAILURES):
            form = attempt(id_, key_form, value)
            value = form if isinstance(form, FAILURES) else form in members
        trace.push(id_, value)
        return value

    return evaluate


_BUILDERS: Mapping[type, Callable[[Any], Steps]] = {
    plan.Constant: _constant,
    plan.Access: _access,
    plan.Logical: _logical,
    plan.Call: _call,
    plan.MakeList: make_list,
    plan.MakeMap: make_map,
    plan.MakeMessage: make_message,
    plan.Fold: _fold,
    plan.Or: _or,
    plan.Membership: _membership,
}
