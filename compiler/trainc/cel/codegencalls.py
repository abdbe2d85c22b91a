"""Calls as Python: see codegen.py.

What policies and rules use most is written out for values of the usual classes, and called for all others. The cost of
a text that is gone over, ceil(size * 0.1), is (size + 9) // 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from trainc.cel import interpretable as plan
from trainc.cel.codegen import Steps, Term, Writer, plain
from trainc.cel.cost import COMPARED

Write: TypeAlias = Callable[[Writer, plan.Call, list[Term]], Term]

_ORDERS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_KINDS: Final = {
    **dict.fromkeys(("matches", "startsWith", "endsWith", "contains", "@in", "isQuantity", *_ORDERS), bool),
    **dict.fromkeys(("size", "int"), int),
    **dict.fromkeys(("string", "join", "lowerAscii", "trim"), str),
}
"""The class of what functions return, whatever their arguments."""


def call(writer: Writer, node: plan.Call) -> Steps:
    """Write a call."""
    computed = not isinstance(node.cost, int)
    writer.pending += computed
    if node.cost in COMPARED:
        return (yield from _compared(writer, node))
    args = []
    for arg in node.args:
        term = yield arg
        args.append(term)
    special = _SPECIAL.get(node.function)
    term = _general(writer, node, args) if special is None else special(writer, node, args)
    writer.pending -= computed
    return term


def _compared(writer: Writer, node: plan.Call) -> Steps:
    """Write a call that panics where it fails and an argument is not a list."""
    name, given, args = writer.temporary(), writer.temporary(), []
    writer.put(f"{given} = UNSET")
    with writer.block("try:"):
        for at, arg in enumerate(node.args):
            args.append(plain(writer, (yield arg)))
            if at == COMPARED[node.cost]:  # type: ignore[index]  # it is one of them
                writer.put(f"{given} = {args[-1]}")
        _apply(writer, node, args, name)
    writer.put(f"except EvalError as e: raise unlisted(e, {given})")
    writer.pending -= 1
    return Term(name, list)


def _general(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    name, texts = writer.temporary(), [plain(writer, arg) for arg in args]
    _apply(writer, node, texts, name)
    if isinstance(node.cost, int):
        writer.charge(node.cost)
    return Term(name, _KINDS.get(node.function))


def _apply(writer: Writer, node: plan.Call, args: list[str], name: str) -> None:
    """Write the call itself, with a cost that is computed; a constant one is left to the caller."""
    meter = ["f"] if node.metered else []
    writer.put(f"{name} = {writer.constant(node.implementation)}({', '.join(args + meter)})")
    if not isinstance(node.cost, int):
        given = "".join(f"{arg}, " for arg in args)
        writer.put(f"c += {writer.constant(node.cost)}(({given}), {name})")


def _order(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    if node.cost != 1:
        return _general(writer, node, args)
    name, (left, right) = writer.temporary(), [plain(writer, arg) for arg in args]
    writer.charge(1)
    writer.put(
        f"if {left}.__class__ is int and {right}.__class__ is int: {name} = {left} {_ORDERS[node.function]} {right}"
    )
    with writer.block("else:"):
        _apply(writer, node, [left, right], name)
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
            _apply(writer, node, [text], name)
        return Term(name, kind)

    return write


def _size(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    if node.cost != 1 or node.metered:
        return _general(writer, node, args)
    name, text = writer.temporary(), plain(writer, args[0])
    writer.charge(1)
    writer.put(f"if {text}.__class__ in SIZED: {name} = len({text})")
    with writer.block("else:"):
        _apply(writer, node, [text], name)
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
