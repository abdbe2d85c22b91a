"""Writes a plan as a function of Python, for an expression that is evaluated many times.

It means and costs what the closures of fast.py do, node for node, and stops where they would: whatever is unusual
raises, and they evaluate anew. What they add up while they run is added up here before, block by block; values lie in
local variables; and a function of one text is looked up (remembered.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import length_hint
from typing import Any, Final

from trainc.cel import interpretable as plan
from trainc.cel.attributes import check_key, look_up
from trainc.cel.cost import IDENT, LIST, MAP
from trainc.cel.fastcalls import ONE, compare
from trainc.cel.fastframe import UNSET, Function, Unusual
from trainc.cel.fastloops import elements, pairs
from trainc.cel.library import regex
from trainc.cel.maps import MISSING, key_form
from trainc.cel.values import INT_MAX, INT_MIN, NONE, Optional
from trainc.cel.written.attributes import name_of, read
from trainc.cel.written.calls import call, plain
from trainc.cel.written.helpers import total
from trainc.cel.written.loops import fold
from trainc.cel.written.remembered import remembered, sources
from trainc.cel.written.writer import Facts, Term, Writer

_NAMES: Final[Mapping[str, Any]] = {
    "MISSING": MISSING,
    "UNSET": UNSET,
    "UNUSUAL": Unusual,
    "NONE": NONE,
    "Optional": Optional,
    "ONE": ONE,
    "SIZED": frozenset((str, bytes, list, dict)),
    "INT_MIN": INT_MIN,
    "INT_MAX": INT_MAX,
    "look_up": look_up,
    "check_key": check_key,
    "key_form": key_form,
    "compare": compare,
    "elements": elements,
    "pairs": pairs,
    "total": total,
    "matches": regex.matches,
    "length_hint": length_hint,
}
"""All that a function may name, besides its constants and what Python has built in."""


def make(
    root: plan.Interpretable, variables: Mapping[str, int], special: frozenset[type], work: int
) -> Function | None:
    """Return what evaluates a plan; None for a plan that only closures, or exact.py, can evaluate.

    ``variables``: the slots of those of the whole expression; ``special``: kinds of their values that are left to the
    closures. ``work``: the budget of work.
    """
    try:
        writer = Writer(Facts(root, frozenset(variables.values())), _node)
        result = plain(writer, writer.walk(root))
    except (NotImplementedError, RecursionError):
        return None
    writer.put("w += B - f[1]")
    writer.put("if c > L or w > B: raise UNUSUAL")
    writer.put(f"return {result}, c, w")
    text = _text(writer, variables)
    space: dict[str, Any] = {**_NAMES, **writer.constants, "SPECIAL": special, "B": work}
    exec(compile(text, "<expression>", "exec"), space)
    made: Function = space["run"]
    return made


def _text(writer: Writer, variables: Mapping[str, int]) -> str:
    """Return the text of the function whose lines have been written."""
    lines = ["def run(names, L):"]
    for name, slot in variables.items():
        lines.append(f"    {name_of(slot)} = names[{writer.constant(name)}]")
        lines.append(f"    if {name_of(slot)}.__class__ in SPECIAL: raise UNUSUAL")
    lines += [f"    {name} = UNSET" for name in writer.outer.values()]
    body, cost = writer.body()
    return "\n".join([*lines, f"    f = [0, B, L]; w = 0; c = {cost}", *body, ""])


def _node(writer: Writer, node: Any) -> Term:
    standing = writer.standing.get(node)
    if standing is not None:
        return Term(standing)
    return _WRITERS[node.__class__](writer, node)


def _constant(writer: Writer, node: plan.Constant) -> Term:
    return Term(writer.constant(node.value), node.value.__class__)


def _access(writer: Writer, node: plan.Access) -> Term:
    conditional = isinstance(node.attribute, plan.ConditionalAttribute)
    found = read(writer, node.attribute)
    if node.test is not None:
        if found.maybe:
            raise NotImplementedError
        writer.charge(-IDENT if conditional else 0)
    elif not conditional:
        writer.charge(IDENT)
    return found


def _logical(writer: Writer, node: plan.Logical) -> Term:
    name = writer.temporary()
    left = writer.walk(node.terms[0])
    if left.maybe:
        raise NotImplementedError
    writer.put(f"{name} = {left.text}")
    ending, going = ("True", "False") if node.absorbing else ("False", "True")
    with writer.block(f"if {name} is {going}:"):
        right = writer.walk(node.terms[1])
        if right.maybe:
            raise NotImplementedError
        if right.kind is not bool:
            writer.put(f"if {right.text}.__class__ is not bool: raise UNUSUAL")
        writer.put(f"{name} = {right.text}")
    if left.kind is not bool:
        writer.put(f"elif {name} is not {ending}: raise UNUSUAL")
    return Term(name, bool)


def _list(writer: Writer, node: plan.MakeList) -> Term:
    if any(node.optional):
        raise NotImplementedError
    parts = [plain(writer, writer.walk(element)) for element in node.elements]
    name = writer.temporary()
    writer.charge(LIST)
    writer.put(f"{name} = [{', '.join(parts)}]")
    return Term(name, list)


def _map(writer: Writer, node: plan.MakeMap) -> Term:
    if any(node.optional):
        raise NotImplementedError
    entries = []
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, plan.Constant) or key.value.__class__ is not str:
            raise NotImplementedError
        entries.append(f"{writer.walk(key).text}: {plain(writer, writer.walk(value))}")
    name = writer.temporary()
    writer.charge(MAP)
    writer.put(f"{name} = {{{', '.join(entries)}}}")
    return Term(name, dict)


def _or(writer: Writer, node: plan.Or) -> Term:
    left = writer.walk(node.left)
    if left.maybe:  # in a name that nothing else reads
        with writer.block(f"if {left.text} is MISSING:"):
            right = writer.walk(node.right)
            if right.maybe is node.unwraps:
                raise NotImplementedError
            writer.put(f"{left.text} = {right.text}")
        return Term(left.text, maybe=not node.unwraps)
    name = writer.temporary()
    writer.put(f"{name} = {left.text}")
    with writer.block(f"if {name}.__class__ is Optional:"):
        if node.unwraps:
            writer.put(f"if {name}.present: {name} = {name}.value")
        else:
            writer.put(f"if {name}.present: pass")
        with writer.block("else:"):
            writer.put(f"{name} = {plain(writer, writer.walk(node.right))}")
    return Term(name)


def _membership(writer: Writer, node: plan.Membership) -> Term:
    argument, name = plain(writer, writer.walk(node.argument)), writer.temporary()
    form = f"({argument} if {argument}.__class__ is str else key_form({argument}))"
    writer.put(f"{name} = {form} in {writer.constant(node.members)}")
    return Term(name, bool)


def _call(writer: Writer, node: plan.Call) -> Term:
    return _looked_up(writer, node, call)


def _fold(writer: Writer, node: plan.Fold) -> Term:
    return _looked_up(writer, node, fold)


def _looked_up(writer: Writer, node: Any, write: Callable[[Writer, Any], Term]) -> Term:
    varying = sources(node)
    if not varying or any(each in writer.standing for each in varying):
        return write(writer, node)
    return remembered(writer, node, varying, write)


def _unsupported(_: Writer, __: plan.MakeMessage) -> Term:
    raise NotImplementedError


_WRITERS: Final[Mapping[type, Callable[[Writer, Any], Term]]] = {
    plan.Constant: _constant,
    plan.Access: _access,
    plan.Logical: _logical,
    plan.Call: _call,
    plan.MakeList: _list,
    plan.MakeMap: _map,
    plan.MakeMessage: _unsupported,
    plan.Fold: _fold,
    plan.Or: _or,
    plan.Membership: _membership,
}
