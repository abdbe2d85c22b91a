"""Calls as Python: see codegen.py.

What policies and rules use most is written out for values of the usual classes, and called for all others. The cost of
a text that is gone over, ceil(size * 0.1), is (size + 9) // 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from trainc.cel import plan
from trainc.cel.codegen import Steps, Term, Writer, plain

Write: TypeAlias = Callable[[Writer, plan.Call, list[Term]], Term]

_ORDERS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_SMALL: Final = (bool, int, float)
"""Classes of results that are no work to make."""


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
    """Write the call itself, with a cost that is computed; a constant one is left to the caller."""
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
    """Return the condition that a guard lets an argument pass; empty where that is certain."""
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


def _has_value(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    [arg] = args
    if not arg.maybe or node.cost != 1:
        return _general(writer, node, args)
    name = writer.temporary()
    writer.charge(1)
    writer.put(f"{name} = {arg.text} is not MISSING")
    return Term(name, bool)


def _same(kind: type) -> Write:
    """Return the writer of a conversion of what has the class already: ``int(1)``."""

    def write(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
        if node.cost != 1:
            return _general(writer, node, args)
        name, text = writer.temporary(), plain(writer, args[0])
        writer.charge(1)
        writer.put(f"if {text}.__class__ is {kind.__name__}: {name} = {text}")
        with writer.block("else:"):
            _apply(writer, node, args, name)
        return Term(name, kind)

    return write


def _size(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    if node.cost != 1:
        return _general(writer, node, args)
    name, text = writer.temporary(), plain(writer, args[0])
    writer.charge(1)
    writer.put(f"if {text}.__class__ in SIZED: {name} = len({text})")
    with writer.block("else:"):
        _apply(writer, node, args, name)
    return Term(name, int)


def _equality(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    left, right = [plain(writer, arg) for arg in args]
    name, constant = writer.temporary(), node.args[1]
    sign = "!=" if node.negates else "=="
    if isinstance(constant, plan.Constant) and (constant.value is None or constant.value.__class__ is bool):
        # The size of such a value counts as 1, and so does that of whatever it is compared with.
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
    "hasValue": _has_value,
    "int": _same(int),
    "string": _same(str),
    "size": _size,
}
