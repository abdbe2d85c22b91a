"""The tree of an expression, macros expanded, in the shape that cel-go gives it.

Cost, type checking and error positions depend on this shape, so it matches cel-go
(common/ast/expr.go) node for node.
Nodes compare and hash by identity: tables of types and references are keyed by node.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar, Union

import msgspec
from msgspec.structs import replace

from trainc.cel.values import Uint

Constant: TypeAlias = Union[bool, int, Uint, float, str, bytes, None]  # noqa: UP007 - as the other aliases


class Literal(msgspec.Struct, frozen=True, eq=False):
    """A constant. ``position``, here and below: cel-go's position of the node, an offset in code points."""

    position: int
    value: Constant


class Ident(msgspec.Struct, frozen=True, eq=False):
    """A name. With a leading dot it is looked up outside the container only."""

    position: int
    name: str


class Select(msgspec.Struct, frozen=True, eq=False):
    """``operand.field``; ``test_only`` for ``has(operand.field)``. The checker may find a qualified name in it."""

    position: int
    operand: Node
    field: str
    test_only: bool = False


class Call(msgspec.Struct, frozen=True, eq=False):
    """A call of a function, an operator (by cel-go's names: ``_+_``, ``_[_]``, ``_?_:_``, ``_?._``) or a member."""

    position: int
    function: str
    target: Node | None
    args: tuple[Node, ...]


class ListLiteral(msgspec.Struct, frozen=True, eq=False):
    """``[a, ?b]``; ``optional`` holds the indexes of the optional elements."""

    position: int
    elements: tuple[Node, ...]
    optional: tuple[int, ...] = ()


class Entry(msgspec.Struct, frozen=True, eq=False):
    """``key: value`` of a map, or a field of a message, whose key is a Literal with the field's name."""

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
    """The expansion of a macro: accu = init; for var[, var2] in range while condition: accu = step; result.

    ``macro`` is the macro's name (``all``, ``map`` ...), for explanations.
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


# Iterative walks: a tree may be deeper than Python's stack.

Item = TypeVar("Item")
Result = TypeVar("Result")

Walk: TypeAlias = Generator[Item, Any, Result]
"""The walk of one item: yields the items below it, receives the result of each, and returns the item's own result."""


def run(visit: Callable[[Item], Walk[Item, Result]], root: Item) -> Result:
    """Return the result of the walk of root."""
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
    """Return the direct children, in the order of evaluation."""
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
    """Return all nodes of a tree in postorder, from left to right."""
    order: list[Node] = []
    pending = [root]
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(children(node))
    order.reverse()
    return order


def copied(root: Node, entry_position: int) -> Node:
    """Copy a tree as cel-go's macros do: positions are kept, but entries of maps and messages move."""
    copies: dict[Node, Node] = {}

    def copy(part: Any, moved: bool) -> Any:
        if isinstance(part, tuple):
            return tuple(copy(each, moved) for each in part)
        if not isinstance(part, Entry):
            return copies.get(part, part)
        key = replace(part.key, position=entry_position) if moved else copies[part.key]
        return Entry(entry_position, key, copies[part.value], part.optional)

    for node in postorder(root):
        fields = (getattr(node, name) for name in node.__struct_fields__)
        copies[node] = type(node)(*(copy(part, isinstance(node, Message)) for part in fields))
    return copies[root]
