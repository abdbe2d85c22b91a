"""Generates the Python code of calls and loops: see codegen.py.

The most frequent calls are inlined for values of the usual classes, and call the implementation for others. The cost
of traversing a string, ceil(size * 0.1), is (size + 9) // 10.

A loop is the expansion of a macro (macros.py), and its shape decides the code. Where every iteration runs, their fixed
cost is added before the first. Iterations also count as work (work.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from trainc.cel import plan
from trainc.cel.ast import Walk
from trainc.cel.cost import IDENT, LIST
from trainc.cel.writer import Steps, Term, Writer, plain, require_bool

Write: TypeAlias = Callable[[Writer, plan.Call, list[Term]], Term]

_ORDERS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_SMALL: Final = (bool, int, float)
"""Classes of results that take no work to create."""


def call(writer: Writer, node: plan.Call) -> Steps:
    """Write a call."""
    computed = not isinstance(node.cost, int)
    writer.pending += computed
    args = []
    for arg in node.args:
        term = yield arg
        args.append(term)
    special = _SPECIAL.get(node.function)
    term = _general(writer, node, args) if special is None else special(writer, node, args)
    writer.pending -= computed
    return term


def _general(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    name = writer.temporary()
    _apply(writer, node, args, name)
    if isinstance(node.cost, int):
        writer.charge(node.cost)
    return Term(name, node.kind)


def _apply(writer: Writer, node: plan.Call, args: list[Term], name: str) -> None:
    """Write the call itself with its computed cost; the caller charges a constant one."""
    texts = [plain(writer, arg) for arg in args]
    given = f"({''.join(f'{text}, ' for text in texts)})"
    checks = [_check(writer, guard, arg, text) for guard, arg, text in zip(node.guards, args, texts, strict=False)]
    if any(checks):
        error = "EvalError(NO_OVERLOAD)" if node.terse else f"mismatch({writer.constant(node.function)}, {given})"
        writer.put(f"if not ({' and '.join(filter(None, checks))}): raise {error}")
    if node.work is not None:
        writer.put(f"{writer.constant(node.work)}({given}, f)")
    meter = ["f"] if node.metered else []
    writer.put(f"{name} = {writer.constant(node.run)}({', '.join(texts + meter)})")
    if node.work is not None and node.kind not in _SMALL:
        writer.put(f"pay({name}, f)")
    if not isinstance(node.cost, int):
        writer.put(f"c += {writer.constant(node.cost)}({given}, {name})")


def _check(writer: Writer, guard: plan.Guard, arg: Term, text: str) -> str:
    """Return the condition under which an argument fits; empty where it always does."""
    if guard is None or (arg.kind is guard and not arg.maybe):
        return ""
    if isinstance(guard, type):
        return f"{text}.__class__ is {guard.__name__}"
    return f"{writer.constant(guard)}({text})"


def _order(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    if node.cost != 1:
        return _general(writer, node, args)
    name, (left, right) = writer.temporary(), [plain(writer, arg) for arg in args]
    writer.charge(1)
    writer.put(
        f"if {left}.__class__ is int and {right}.__class__ is int: {name} = {left} {_ORDERS[node.function]} {right}"
    )
    with writer.block("else:"):
        _apply(writer, node, args, name)
    return Term(name, bool)


def _not(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    [arg] = args
    if arg.kind is not bool or node.cost != 1:
        return _general(writer, node, args)
    name = writer.temporary()
    writer.charge(1)
    writer.put(f"{name} = not {arg.text}")
    return Term(name, bool)


def _equality(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    left, right = [plain(writer, arg) for arg in args]
    name, constant = writer.temporary(), node.args[1]
    sign = "!=" if node.negates else "=="
    if isinstance(constant, plan.Constant) and (constant.value is None or constant.value.__class__ is bool):
        # The size of such a value, and so the cost of the comparison, is 1.
        header = f"if {left} is {right} or {left}.__class__ in ONE:"
        usual = f"{name} = {left} is {'not ' if node.negates else ''}{right}; c += 1"
    elif isinstance(constant, plan.Constant) and constant.value.__class__ is str:
        header, size = f"if {left}.__class__ is str:", len(constant.value)
        usual = f"{name} = {left} {sign} {right}; c += (min(len({left}), {size}) + 9) // 10"
    else:
        header = f"if {left}.__class__ is str and {right}.__class__ is str:"
        usual = f"{name} = {left} {sign} {right}; c += (min(len({left}), len({right})) + 9) // 10"
    with writer.block(header):
        writer.put(usual)
    with writer.block("else:"):
        writer.put(f"{name} = compare({left}, {right}, {node.negates}, f)")
        writer.put(f"c += equality_cost({left}, {right}, {node.negates})")
    return Term(name, bool)


_SPECIAL: Final[Mapping[str, Write]] = {
    **dict.fromkeys(_ORDERS, _order),
    **dict.fromkeys(("_==_", "_!=_"), _equality),
    "!_": _not,
}


# Loops

_CHECK: Final = "if c > L or w > B: raise exceeded(c, L)"
_FRESH: Final[Mapping[type, str]] = {list: "[]", dict: "{}", int: "0"}


def fold(writer: Writer, node: plan.Fold) -> Steps:
    """Write a comprehension."""
    if isinstance(node.condition, plan.Constant):
        return _collected(writer, node) if node.condition.value else _bound(writer, node)
    return _searched(writer, node)


def _range(writer: Writer, node: plan.Fold, range_: Term) -> str:
    """Write the range of a loop; the returned name holds a list, or a map to iterate by key."""
    text = plain(writer, range_)
    if range_.kind is list and not node.second and not range_.maybe:
        return text
    name = writer.temporary()
    if node.second:
        writer.put(f"{name} = pairs({text})")
    else:
        writer.put(f"{name} = {text} if {text}.__class__ is list else elements({text})")
    return name


def _over(writer: Writer, node: plan.Fold, iterated: str) -> str:
    names = [writer.slot(slot) for slot in (node.first, node.second) if slot]
    return f"for {', '.join(names)} in {iterated}:"


def _searched(writer: Writer, node: plan.Fold) -> Steps:
    """Write all() or exists(), which end early, and absorb failures as their ``&&`` or ``||`` does."""
    step = node.step
    assert isinstance(step, plan.Logical), "what all() and exists() expand to"
    ending, predicate = step.absorbing, step.terms[1]
    iterated = _range(writer, node, (yield node.iter_range))
    name, failure, source = writer.temporary(), writer.temporary(), writer.temporary()
    # The condition and the step of an iteration read the accumulator: 1 per name and call.
    before = IDENT + (2 if ending else 1)
    writer.charge(IDENT)
    writer.put(f"{name} = {not ending}; {failure} = None; {source} = iter({iterated})")
    with writer.block(_over(writer, node, source)):
        writer.charge(before + IDENT)
        writer.put(f"w += {plan.weight(node)}")
        writer.put(_CHECK)
        with writer.attempt():
            holds = require_bool(writer, (yield predicate))
            with writer.block(f"if {holds}:" if ending else f"if not {holds}:"):
                writer.put(f"if length_hint({source}): c += {before}")
                writer.put(f"{name} = {ending}")
                writer.put("break")
        writer.put(f"except ABSORBED as e: {failure} = worse({failure}, e, f)")
    writer.put(f"if {failure} is not None and {name} is not {ending}: raise {failure}")
    return Term(name, bool)


def _collected(writer: Writer, node: plan.Fold) -> Steps:
    """Write a loop that builds a list or a map, or counts.

    If a condition fails, those of the remaining elements are still evaluated, and the last failure counts.
    """
    assert isinstance(node.start, plan.Constant), "what macros begin with"
    iterated = _range(writer, node, (yield node.iter_range))
    collected, kind = writer.slot(node.accumulator), node.start.value.__class__
    writer.filled[node.accumulator] = kind
    condition, step = _parts(node.step)
    failure = writer.temporary()
    writer.put(f"{collected} = {_FRESH[kind]}" + (f"; {failure} = None" if condition is not None else ""))
    counted = writer.reserve()
    writer.put(_CHECK)
    with writer.unpaid(_over(writer, node, iterated)) as opened:
        if condition is None:
            yield from _added(writer, step, collected)
        else:
            with writer.unpaid("try:") as tried:
                holds = require_bool(writer, (yield condition))
                with writer.block(f"if {holds} and {failure} is None:"):
                    yield from _added(writer, step, collected)
            writer.put(f"except ABSORBED as e: {failure} = located(e)")
            opened.cost += tried.cost
    cost, weight = opened.cost, plan.weight(node)
    writer.fill(counted, f"n = len({iterated}); c += n * {cost}; w += n * {weight}")
    if condition is not None:
        writer.put(f"if {failure} is not None: raise {failure}")
    if kind is dict:
        writer.put(f"{collected} = from_entries({collected})")
        writer.filled[node.accumulator] = object
    return (yield node.result)


def _parts(step: plan.Interpretable) -> tuple[plan.Interpretable | None, plan.Call]:
    """Return the condition of a step, if any, and the call that extends the accumulator."""
    condition = None
    if isinstance(step, plan.Access):
        choice = step.attribute
        assert isinstance(choice, plan.ConditionalAttribute), "what macros expand to"
        assert isinstance(choice.truthy, plan.RelativeAttribute), "what macros expand to"
        condition, step = choice.condition, choice.truthy.operand
    assert isinstance(step, plan.Call), "what macros expand to"
    return condition, step


def _added(writer: Writer, step: plan.Call, collected: str) -> Walk[plan.Interpretable, None]:
    """Write what an iteration adds."""
    added = step.args[1]
    writer.charge(IDENT + 1)
    if step.function == "_+_" and isinstance(added, plan.MakeList):
        writer.charge(LIST)
        writer.put(f"{collected}.append({plain(writer, (yield added.elements[0]))})")
    elif step.function == "_+_" and isinstance(added, plan.Constant) and added.value.__class__ is list:
        writer.put(f"{collected}.extend({writer.constant(added.value)})")
    elif step.function == "_+_":
        writer.put(f"{collected} += 1")
    elif len(step.args) == 3:
        key = plain(writer, (yield added))
        value = plain(writer, (yield step.args[2]))
        writer.put(f"insert({collected}, {key}, {value})")
    else:
        writer.put(f"insert_all({collected}, {plain(writer, (yield added))}, f)")


def _bound(writer: Writer, node: plan.Fold) -> Steps:
    """Write the expansion of optMap() and sortBy(): a name for a value, which is evaluated at its first use.

    An empty list is changed in place by ``+``, as in cel-go.
    """
    text, name = writer.slot(node.accumulator), f"p{writer.temporary()}"
    writer.put(f"{text} = UNSET")
    with writer.function(name):
        with writer.block("try:"):
            writer.put(f"{text} = {plain(writer, (yield node.start))}")
        writer.put(f"except ABSORBED as e: {text} = located(e)")
        with writer.block(f"if {text}.__class__ is list and not {text}:"):
            writer.put(f"{text} = []; f.append({text})")
    writer.lazy[node.accumulator] = name
    return (yield node.result)
