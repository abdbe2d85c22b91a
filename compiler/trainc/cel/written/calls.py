"""Calls as Python: see program.py, and fastcalls.py for what they cost.

What policies and rules write most is written out for values of the usual kinds, and called for all others; the cost
of a text that is gone over, ceil(size * 0.1), is (size + 9) // 10. Each writer has the plan of the call, and the values
of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from trainc.cel import interpretable as plan
from trainc.cel.cost import IDENT, LIST
from trainc.cel.fastframe import slot_of
from trainc.cel.library import regex
from trainc.cel.metering import STATES
from trainc.cel.operators import LONG, STRINGS
from trainc.cel.values import EvalError, Value
from trainc.cel.work import CHARACTERS, WORK, fresh
from trainc.cel.written.attributes import name_of
from trainc.cel.written.helpers import remembering
from trainc.cel.written.writer import Term, Writer
from trainc.records import NamedTuple, replace

Write: TypeAlias = Callable[[Writer, plan.Call, list[Term]], Term]

_ORDERS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_ARITHMETIC: Final = {"_-_": "-", "_*_": "*"}
_ALWAYS: Final = "True"
_KINDS: Final = {
    **dict.fromkeys(("matches", "startsWith", "endsWith", "contains", "@in", "isQuantity", *_ORDERS), bool),
    **dict.fromkeys(("size", "int"), int),
    **dict.fromkeys(("string", "join", "lowerAscii", "trim"), str),
}
"""The class of what functions give, whatever they are given."""


def call(writer: Writer, node: plan.Call) -> Term:
    """Write a call. Raises NotImplementedError."""
    if node.function in ("_==_", "_!=_"):
        return _equality(writer, node)
    if node.function in ("_+_", "cel.@mapInsert") and slot_of(node.args[0]) in writer.filled:
        return _filling(writer, node)
    args = [writer.walk(arg) for arg in node.args]
    special = _SPECIAL.get(node.function)
    return _general(writer, node, args) if special is None else special(writer, node, args)


def plain(writer: Writer, term: Term) -> str:
    """Return the name of a value, an optional made whole."""
    if not term.maybe:
        return term.text
    name = writer.temporary()
    writer.put(f"{name} = NONE if {term.text} is MISSING else Optional({term.text})")
    return name


def _apply(writer: Writer, node: plan.Call, args: list[str], name: str) -> None:
    """Write the call itself, with a cost that is not constant; a constant one is left to the caller."""
    meter = ["f"] if node.metered else []
    writer.put(f"{name} = {writer.constant(node.implementation)}({', '.join(args + meter)})")
    if not isinstance(node.cost, int):
        given = "".join(f"{arg}, " for arg in args)
        writer.put(f"c += {writer.constant(node.cost)}(({given}), {name})")


def _general(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    name = writer.temporary()
    _apply(writer, node, [plain(writer, arg) for arg in args], name)
    if isinstance(node.cost, int):
        writer.charge(node.cost)
    return Term(name, _KINDS.get(node.function))


class _Usual(NamedTuple):
    """The usual case of a call: when it is one, and the lines that do it, with what they cost."""

    condition: str
    lines: list[str]


def _unless(writer: Writer, node: plan.Call, args: list[str], usual: _Usual, name: str) -> None:
    """Write the usual case of a call, and what it is otherwise."""
    if usual.condition == _ALWAYS:
        for line in usual.lines:
            writer.put(line)
        return
    with writer.block(f"if {usual.condition}:"):
        for line in usual.lines:
            writer.put(line)
    with writer.block("else:"):
        _apply(writer, node, args, name)


def _both(terms: list[Term], kind: type) -> str:
    """Return the condition that values have a class; those known to have it are not asked."""
    found = [f"{term.text}.__class__ is {kind.__name__}" for term in terms if term.kind is not kind]
    return " and ".join(found) or _ALWAYS


def _order(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    if node.cost != 1 or any(arg.maybe for arg in args):
        return _general(writer, node, args)
    name, (left, right) = writer.temporary(), [arg.text for arg in args]
    writer.charge(1)
    usual = [f"{name} = {left} {_ORDERS[node.function]} {right}"]
    _unless(writer, node, [left, right], _Usual(_both(args, int), usual), name)
    return Term(name, bool)


def _arithmetic(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    if node.cost != 1 or node.metered or any(arg.maybe for arg in args):
        return _general(writer, node, args)
    name, (left, right) = writer.temporary(), [arg.text for arg in args]
    writer.charge(1)
    usual = [f"{name} = {left} {_ARITHMETIC[node.function]} {right}", _checked(name)]
    _unless(writer, node, [left, right], _Usual(_both(args, int), usual), name)
    return Term(name)


def _checked(name: str) -> str:
    return f"if not INT_MIN <= {name} <= INT_MAX: raise UNUSUAL"


def _add(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    """Write a sum: it costs 1, but that of texts goes by their size where the checker knew that they are such."""
    texts = node.overload == "add_string"
    if not (texts or node.cost == 1) or any(arg.maybe for arg in args):
        return _general(writer, node, args)
    name, (left, right) = writer.temporary(), [arg.text for arg in args]
    joined = [f"{name} = {left} + {right}", f"n = len({name})", f"w += n // {CHARACTERS}"]
    if texts:
        _unless(writer, node, [left, right], _Usual(_both(args, str), [*joined, "c += (n + 9) // 10"]), name)
        return Term(name, str)
    writer.charge(1)
    with writer.block(f"if {_both(args, str)}:"):
        for line in joined:
            writer.put(line)
    with writer.block(f"elif {_both(args, int)}:"):
        writer.put(f"{name} = {left} + {right}")
        writer.put(_checked(name))
    with writer.block(f"elif {_both(args, list)}:"):
        writer.put(f"{name} = [*{left}, *{right}] if {left} and {right} else {left} or {right}")
        writer.put(f"w += len({left}) + len({right})")
    with writer.block("else:"):
        _apply(writer, node, [left, right], name)
    return Term(name)


def _not(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    [arg] = args
    if arg.maybe or node.cost != 1:
        return _general(writer, node, args)
    name = writer.temporary()
    writer.charge(1)
    writer.put(f"{name} = {arg.text} is False")
    if arg.kind is not bool:
        writer.put(f"if {arg.text}.__class__ is not bool: raise UNUSUAL")
    return Term(name, bool)


def _same(kind: type, work: str) -> Write:
    """Return the writer of a conversion of what has the kind already: ``int(1)``; ``work``: what the meter counts."""

    def write(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
        [arg] = args
        if node.cost != 1 or arg.maybe or not node.metered:
            return _general(writer, node, args)
        name = writer.temporary()
        writer.charge(1)
        usual = [f"{name} = {arg.text}", *([f"w += {work.format(arg.text)}"] if work else [])]
        held = replace(node, implementation=remembering(node.implementation))
        _unless(writer, held, [arg.text], _Usual(_both(args, kind), usual), name)
        return Term(name, kind)

    return write


def _sum(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    """Write the sum of integers, which costs 1 each; that of nothing is known when this is written."""
    nothing = _of_nothing(node)
    if nothing is None or args[0].maybe or isinstance(node.cost, int) or not node.metered:
        return _general(writer, node, args)
    empty, cost, work = nothing
    name, values = writer.temporary(), args[0].text
    writer.put(f"{name} = total({values}) if {values}.__class__ is list else None")
    with writer.block(f"if {name} is None:"):
        _apply(writer, node, [values], name)
    with writer.block(f"elif {values}:"):
        writer.put(f"n = len({values}); c += n; w += n")
    with writer.block("else:"):
        writer.put(f"{name} = {writer.constant(empty)}; c += {cost}; w += {work}")
    return Term(name)


def _of_nothing(node: plan.Call) -> tuple[Value, int, int] | None:
    """Return what a call gives for the empty list, its cost and its work; None if it fails."""
    meter = fresh()
    try:
        value = node.implementation([], meter) if node.metered else node.implementation([])
    except EvalError:
        return None
    return value, node.cost if isinstance(node.cost, int) else node.cost(([],), value), fresh()[WORK] - meter[WORK]


def _has_value(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    [arg] = args
    if not arg.maybe or node.cost != 1:
        return _general(writer, node, args)
    name = writer.temporary()
    writer.charge(1)
    writer.put(f"{name} = {arg.text} is not MISSING")
    return Term(name, bool)


def _affix(method: str) -> Write:
    """Return the writer of startsWith or endsWith."""

    def write(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
        if node.overload not in ("starts_with_string", "ends_with_string") or any(arg.maybe for arg in args):
            return _general(writer, node, args)
        name, (text, part) = writer.temporary(), [arg.text for arg in args]
        usual = [f"{name} = {text}.{method}({part})", f"c += (len({text}) + 9) // 10"]
        _unless(writer, node, [text, part], _Usual(_both(args, str), usual), name)
        return Term(name, bool)

    return write


def _member(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    """Write ``element in list``, of a text that is not long (operators.py counts work by their length)."""
    if any(arg.maybe for arg in args) or not (node.cost == 1 or node.overload == "in_list"):
        return _general(writer, node, args)
    name, (element, container) = writer.temporary(), [arg.text for arg in args]
    condition = f"{_both(args[:1], str)} and {_both(args[1:], list)} and len({element}) < {LONG}"
    usual = [f"{name} = {element} in {container}", f"w += len({container}) // {STRINGS}"]
    if node.overload == "in_list":
        usual.append(f"c += len({container})")
    else:
        writer.charge(1)
    _unless(writer, node, [element, container], _Usual(condition, usual), name)
    return Term(name, bool)


def _matches(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    """Write matches() with a constant pattern (folding.py), of a text."""
    pattern = node.args[1]
    if not isinstance(pattern, plan.Constant) or pattern.value.__class__ is not str or args[0].maybe:
        return _general(writer, node, args)
    name, texts = writer.temporary(), [arg.text for arg in args]
    usual = [f"{name} = matches({texts[0]}, {texts[1]}); n = len({texts[0]})"]
    usual.append(f"w += n * {regex.weight(pattern.value)} // {STATES}")
    if isinstance(node.cost, int):
        writer.charge(node.cost)
    else:
        usual.append(f"c += (n + 10) // 10 * {(len(pattern.value) + 3) // 4}")
    _unless(writer, node, texts, _Usual(_both(args[:1], str), usual), name)
    return Term(name, bool)


def _join(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    """Write join(), mostly of nothing, which costs nothing."""
    if isinstance(node.cost, int) or any(arg.maybe for arg in args):
        return _general(writer, node, args)
    name, texts = writer.temporary(), [arg.text for arg in args]
    wanted = [f"{_both(args[:1], list)} and not {texts[0]}", *(_both([arg], str) for arg in args[1:])]
    wanted = [each for each in wanted if each != _ALWAYS]
    _unless(writer, node, texts, _Usual(" and ".join(wanted), [f"{name} = ''"]), name)
    return Term(name, str)


def _size(writer: Writer, node: plan.Call, args: list[Term]) -> Term:
    [arg] = args
    if node.cost != 1 or node.metered or arg.maybe:
        return _general(writer, node, args)
    name = writer.temporary()
    writer.charge(1)
    _unless(writer, node, [arg.text], _Usual(f"{arg.text}.__class__ in SIZED", [f"{name} = len({arg.text})"]), name)
    return Term(name, int)


def _equality(writer: Writer, node: plan.Call) -> Term:
    terms = [writer.walk(arg) for arg in node.args]
    left, right = [plain(writer, term) for term in terms]
    name, constant = writer.temporary(), node.args[1]
    sign = "!=" if node.negates else "=="
    if isinstance(constant, plan.Constant) and (constant.value is None or constant.value.__class__ is bool):
        # The size of such a value counts as 1, and so does that of whatever it is compared with.
        condition = f"{left} is {right} or {left}.__class__ in ONE"
        usual = [f"{name} = {left} is {'not ' if node.negates else ''}{right}", "c += 1"]
    elif isinstance(constant, plan.Constant) and constant.value.__class__ is str:
        condition, size = _both(terms[:1], str), len(constant.value)
        cost = "" if size == 0 else f"c += ({_smaller(left, size)} + 9) // 10"
        usual = [f"{name} = {left} {sign} {right}", *([cost] if cost else [])]
    else:
        condition = _both(terms, str)
        usual = [f"{name} = {left} {sign} {right}", f"n, m = len({left}), len({right})"]
        usual.append("c += ((n if n < m else m) + 9) // 10")
    with writer.block(f"if {condition}:"):
        for line in usual:
            writer.put(line)
    with writer.block("else:"):
        writer.put(f"{name}, n = compare({left}, {right}, {node.negates}, f)")
        writer.put("c += n")
    return Term(name, bool)


def _smaller(text: str, size: int) -> str:
    return f"(len({text}) if len({text}) < {size} else {size})"


def _filling(writer: Writer, node: plan.Call) -> Term:
    """Write what adds to a list or map that a loop is making: see fastcalls.py."""
    made, added = name_of(slot_of(node.args[0])), node.args[1]
    if node.function == "_+_" and isinstance(added, plan.MakeList) and added.optional == (False,):
        element = plain(writer, writer.walk(added.elements[0]))
        writer.charge(IDENT + LIST + 1)
        writer.put(f"{made}.append({element})")
    elif node.function == "_+_" and isinstance(added, plan.Constant) and added.value.__class__ is list:
        writer.charge(IDENT + 1)
        writer.put(f"{made}.extend({writer.constant(added.value)})")
    elif node.function == "cel.@mapInsert" and len(node.args) == 3:
        key = plain(writer, writer.walk(added))
        value = plain(writer, writer.walk(node.args[2]))
        writer.charge(IDENT + 1)
        writer.put(f"if {key}.__class__ is not str or {key} in {made}: raise UNUSUAL")
        writer.put(f"{made}[{key}] = {value}")
    else:
        raise NotImplementedError
    return Term(made, writer.filled[slot_of(node.args[0])])


_SPECIAL: Final[Mapping[str, Write]] = {
    **dict.fromkeys(_ORDERS, _order),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    "_+_": _add,
    "!_": _not,
    "int": _same(int, ""),
    "string": _same(str, f"len({{0}}) * 2 // {CHARACTERS} + len({{0}}) // {CHARACTERS}"),
    "hasValue": _has_value,
    "startsWith": _affix("startswith"),
    "endsWith": _affix("endswith"),
    "@in": _member,
    "join": _join,
    "matches": _matches,
    "size": _size,
    "sum": _sum,
}
