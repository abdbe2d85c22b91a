"""The tree of an expression, macros expanded, in the shape that cel-go gives it.

Cost, type checking and error places follow from this shape, so it is cel-go's (common/ast/expr.go), node for node.
Nodes compare and hash by identity: tables of types and references are keyed by node.
"""

from __future__ import annotations

from typing import TypeAlias, Union

import msgspec

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
