"""The tree of an expression, macros expanded, in the shape that cel-go gives it.

Cost, type checking and error places follow from this shape, so it is cel-go's (common/ast/expr.go), node for node.
Nodes compare and hash by identity: tables of types and references are keyed by node.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeAlias, TypeVar, Union

import msgspec
from msgspec.structs import replace

from trainc.cel.values import Uint

Constant: TypeAlias = Union[bool, int, Uint, float, str, bytes, None]  # noqa: UP007 - as the other aliases


class Literal(msgspec.Struct, frozen=True, eq=False):
    """A constant. ``position`` here and below: where cel-go places the node, an offset in code points."""

    position: int
    value: Constant


class Ident(msgspec.Struct, frozen=True, eq=False):
    """A name; with a leading dot it is sought outside of the container only."""

    position: int
    name: str


class Select(msgspec.Struct, frozen=True, eq=False):
    """``operand.field``; ``test_only`` for ``has(operand.field)``. The checker may find a qualified name in it."""

    position: int
    operand: Node
    field: str
    test_only: bool = False


class Call(msgspec.Struct, frozen=True, eq=False):
    """A function, an operator (``_+_``, ``_[_]``, ``_?_:_``, ``_?._`` ...: cel-go's names) or a member call."""

    position: int
    function: str
    target: Node | None
    args: tuple[Node, ...]


class ListLiteral(msgspec.Struct, frozen=True, eq=False):
    """``[a, ?b]``; ``optional`` holds the indexes of elements behind a question mark."""

    position: int
    elements: tuple[Node, ...]
    optional: tuple[int, ...] = ()


class Entry(msgspec.Struct, frozen=True, eq=False):
    """``key: value`` of a map, or a field of a message, whose key is then a Literal with its name."""

    position: int
    key: Node
    value: Node
    optional: bool = False


class MapLiteral(msgspec.Struct, frozen=True, eq=False):
    """``{key: value, ?key: value}``."""

    position: int
    entries: tuple[Entry, ...]


class Message(msgspec.Struct, frozen=True, eq=False):
    """``type.name{field: value}``."""

    position: int
    type_name: str
    entries: tuple[Entry, ...]


class Comprehension(msgspec.Struct, frozen=True, eq=False):
    """A fold, what macros expand to: accu = init; for var[, var2] in range while condition: accu = step; result.

    ``macro`` is the macro's name (``all``, ``map`` ...), a hint for the runner that changes nothing.
    """

    position: int
    iter_range: Node
    iter_var: str
    iter_var2: str  # empty in the one-variable form
    accu_var: str
    accu_init: Node
    condition: Node
    step: Node
    result: Node
    macro: str = ""


Node: TypeAlias = Union[Literal, Ident, Select, Call, ListLiteral, MapLiteral, Message, Comprehension]  # noqa: UP007


# Walks that do not recurse: a tree may be deeper than Python's stack.

Item = TypeVar("Item")
Result = TypeVar("Result")

Walk: TypeAlias = Generator[Item, Any, Result]
"""The walk of one item: it yields items below, is sent what each gave, and returns what the item itself gives."""


def run(visit: Callable[[Item], Walk[Item, Result]], root: Item) -> Result:
    """Return what the walk of root gives."""
    waiting = [visit(root)]
    value: Any = None
    while waiting:
        try:
            waiting.append(visit(waiting[-1].send(value)))
            value = None
        except StopIteration as end:
            value = end.value
            waiting.pop()
    result: Result = value
    return result


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below, in the order of evaluation as written."""
    match node:
        case Select():
            return (node.operand,)
        case Call(target=None):
            return node.args
        case Call(target=target):
            assert target is not None
            return (target, *node.args)
        case ListLiteral():
            return node.elements
        case MapLiteral() | Message():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case Comprehension():
            return (node.iter_range, node.accu_init, node.condition, node.step, node.result)
    return ()


def postorder(root: Node) -> list[Node]:
    """Return all nodes of a tree, each after those below it, from left to right."""
    order: list[Node] = []
    pending = [root]
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(children(node))
    order.reverse()
    return order


def copied(root: Node, entry_position: int) -> Node:
    """Return a tree of new nodes, as cel-go's macros copy: positions stay, but entries of maps and messages move."""
    made: dict[Node, Node] = {}
    for node in postorder(root):
        made[node] = _copy(node, made, entry_position)
    return made[root]


def _copy(node: Node, made: Mapping[Node, Node], entry_position: int) -> Node:
    match node:
        case Select():
            return replace(node, operand=made[node.operand])
        case Call():
            target = None if node.target is None else made[node.target]
            return replace(node, target=target, args=tuple(made[arg] for arg in node.args))
        case ListLiteral():
            return replace(node, elements=tuple(made[element] for element in node.elements))
        case MapLiteral() | Message():
            at = entry_position
            entries = [replace(each, position=at, key=made[each.key], value=made[each.value]) for each in node.entries]
            if isinstance(node, Message):
                entries = [replace(each, key=replace(each.key, position=at)) for each in entries]
            return replace(node, entries=tuple(entries))
        case Comprehension():
            parts = ("iter_range", "accu_init", "condition", "step", "result")
            return replace(node, **{name: made[getattr(node, name)] for name in parts})
    return replace(node)
