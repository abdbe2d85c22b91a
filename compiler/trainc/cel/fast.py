"""Runs a plan quickly as long as nothing fails: closures over a frame, without a stack of values.

Whatever is out of the ordinary raises; the runner then evaluates anew with exact.py, which decides. So nothing here
makes an error of its own, and the cost only has to be right where all goes well: then it is a sum (trace.py says why),
most of which is known beforehand. Each builder returns what evaluates a node and that part of the cost; whoever runs it
adds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from trainc.cel import interpretable as plan
from trainc.cel.cost import IDENT, LIST, MAP
from trainc.cel.fastattributes import build_attribute
from trainc.cel.fastcalls import build_call
from trainc.cel.fastframe import Builder, Built, Frame, Steps, Unusual
from trainc.cel.fastloops import build_fold
from trainc.cel.interpretable import Interpretable
from trainc.cel.maps import from_entries, key_form
from trainc.cel.trampoline import run
from trainc.cel.values import Optional, Value
from trainc.cel.work import COST


def build(root: Interpretable) -> Built | None:
    """Return what evaluates a plan and the constant part of its cost; None for a plan that only exact.py can run.

    Evaluating raises Unusual, EvalError, Undecided or Panic where exact.py is to decide, and Exhausted.
    """
    builder = Builder()
    try:
        return run(lambda item: _visit(builder, item), root)
    except NotImplementedError:
        return None


def _visit(builder: Builder, item: Any) -> Steps:
    visit = _BUILDERS.get(item.__class__)
    return build_attribute(builder, item) if visit is None else visit(builder, item)


def _constant(_: Builder, node: plan.Constant) -> Steps:
    value = node.value
    return lambda frame: value, 0
    yield node


def _access(builder: Builder, node: plan.Access) -> Steps:
    resolve, cost = yield node.attribute
    own = 0 if isinstance(node.attribute, plan.ConditionalAttribute) else IDENT
    if node.test is None:
        return resolve, cost + own
    if not builder.may_be_optional(node.attribute):
        return resolve, cost + own - IDENT

    def test(frame: Frame) -> Value:
        value = resolve(frame)
        return value.present if value.__class__ is Optional else value

    return test, cost + own - IDENT


def _logical(_: Builder, node: plan.Logical) -> Steps:
    left, left_cost = yield node.terms[0]
    right, right_cost = yield node.terms[1]
    absorbing = node.absorbing

    def evaluate(frame: Frame) -> Value:
        value = left(frame)
        if value is absorbing:
            return value
        if value.__class__ is not bool:
            raise Unusual
        frame[COST] += right_cost
        value = right(frame)
        if value.__class__ is not bool:
            raise Unusual
        return value

    return evaluate, left_cost


def _list(_: Builder, node: plan.MakeList) -> Steps:
    parts, total = [], LIST
    for element, optional in zip(node.elements, node.optional, strict=True):
        built, cost = yield element
        parts.append((built, optional))
        total += cost
    if not any(node.optional):
        elements = tuple(built for built, _ in parts)
        return lambda frame: [element(frame) for element in elements], total

    def make(frame: Frame) -> Value:
        values = []
        for element, optional in parts:
            value = element(frame)
            if optional:
                if value.__class__ is not Optional:
                    raise Unusual
                if not value.present:
                    continue
                value = value.value
            values.append(value)
        return values

    return make, total


def _map(_: Builder, node: plan.MakeMap) -> Steps:
    parts, total = [], MAP
    for key, value, optional in zip(node.keys, node.values, node.optional, strict=True):
        one, key_cost = yield key
        two, value_cost = yield value
        parts.append((one, two, optional))
        total += key_cost + value_cost

    def make(frame: Frame) -> Value:
        entries: dict[object, tuple[Value, Value]] = {}
        for read_key, read_value, optional in parts:
            key, value = read_key(frame), read_value(frame)
            if optional:
                if value.__class__ is not Optional:
                    raise Unusual
                if not value.present:
                    entries.pop(key_form(key), None)
                    continue
                value = value.value
            entries[key_form(key)] = (key, value)
        return from_entries(entries)

    return make, total


def _or(_: Builder, node: plan.Or) -> Steps:
    left, left_cost = yield node.left
    right, right_cost = yield node.right
    unwraps = node.unwraps

    def evaluate(frame: Frame) -> Value:
        value = left(frame)
        if value.__class__ is not Optional:
            return value
        if value.present:
            return value.value if unwraps else value
        frame[COST] += right_cost
        return right(frame)

    return evaluate, left_cost


def _membership(_: Builder, node: plan.Membership) -> Steps:
    argument, cost = yield node.argument
    members = node.members

    def evaluate(frame: Frame) -> Value:
        value = argument(frame)
        return (value if value.__class__ is str else key_form(value)) in members

    return evaluate, cost


def _unsupported(_: Builder, node: plan.MakeMessage) -> Steps:
    raise NotImplementedError
    yield node


_BUILDERS: Final[Mapping[type, Callable[[Builder, Any], Steps]]] = {
    plan.Constant: _constant,
    plan.Access: _access,
    plan.Logical: _logical,
    plan.Call: build_call,
    plan.MakeList: _list,
    plan.MakeMap: _map,
    plan.MakeMessage: _unsupported,
    plan.Fold: build_fold,
    plan.Or: _or,
    plan.Membership: _membership,
}
