"""Expands macros, node for node as cel-go v0.26.0.

Sources: parser/macro.go, cel/library.go (optMap, optFlatMap), ext/comprehensions.go, ext/lists.go (sortBy).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from trainc.cel.ast import (
    Call,
    Comprehension,
    Constant,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    copied,
    postorder,
)

ACCUMULATOR = "@result"
RESERVED_ACCUMULATORS = (ACCUMULATOR, "__result__")
UNUSED, SORT_INPUT = "#unused", "@__sortBy_input__"
MAP_INSERT = "cel.@mapInsert"

COPIED_NODES = 50_000
"""The limit of nodes that optMap and optFlatMap copy in one expression: in a chain each doubles its receiver."""


Names: TypeAlias = tuple[str, str]
"""The variables of a macro; the second is empty if there is only one."""


class MacroError(Exception):
    """A macro with invalid arguments."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position
        self.message = message


class Budget(msgspec.Struct):
    """The number of nodes that may still be copied."""

    nodes: int = COPIED_NODES


class Maker(msgspec.Struct, frozen=True):
    """Creates nodes at the position of a macro's parenthesis."""

    position: int
    name: str
    budget: Budget

    def literal(self, value: Constant) -> Literal:
        """Return a constant."""
        return Literal(self.position, value)

    def ident(self, name: str = ACCUMULATOR) -> Ident:
        """Return a name, by default that of the accumulator of a fold."""
        return Ident(self.position, name)

    def call(self, function: str, *args: Node, target: Node | None = None) -> Call:
        """Return a call of a function, an operator or a member."""
        return Call(self.position, function, target, args)

    def list(self, *elements: Node) -> ListLiteral:
        """Return a list."""
        return ListLiteral(self.position, elements)

    def fold(
        self, over: Node, names: Names, init: Node, step: Node, *, going: Node | None = None, result: Node | None = None
    ) -> Comprehension:
        """Return a fold into the accumulator; by default over the whole range, with the accumulator as result."""
        going, result = going or self.literal(True), result or self.ident()
        return Comprehension(self.position, over, *names, ACCUMULATOR, init, going, step, result, self.name)

    def bind(self, name: str, value: Node, body: Node) -> Comprehension:
        """Return ``body`` with a name bound to a value: a fold over an empty list."""
        nothing, never, bound = self.list(), self.literal(False), self.ident(name)
        return Comprehension(self.position, nothing, UNUSED, "", name, value, never, bound, body, self.name)

    def copy(self, node: Node) -> Node:
        """Copy a tree; raises MacroError if too many nodes are copied."""
        self.budget.nodes -= len(postorder(node))
        if self.budget.nodes < 0:
            raise MacroError(self.position, f"expansion of macros copies more than {COPIED_NODES} nodes")
        return copied(node, self.position)


Expander: TypeAlias = Callable[[Maker, Node, tuple[Node, ...]], Node]
"""Expands a macro by its target and arguments; raises MacroError."""


def _names(args: tuple[Node, ...], wanted: str = "argument must be a simple name") -> Names:
    """Return the names of one or two variables; the second is empty if there is only one."""
    found = []
    for node in args:
        if not isinstance(node, Ident):
            raise MacroError(node.position, wanted)
        found.append(node.name)
    if len(found) == 2 and found[0] == found[1]:
        raise MacroError(args[1].position, f"duplicate variable name: {found[0]}")
    for node, name in zip(args, found, strict=True):
        if name in RESERVED_ACCUMULATORS:
            raise MacroError(node.position, "iteration variable overwrites accumulator variable")
    return found[0], found[1] if len(found) == 2 else ""


def _search(make: Maker, target: Node, args: tuple[Node, ...], ending: bool) -> Node:
    """Expand exists(), which ends when a predicate is true, or all(), which ends when one is false."""
    names, found = _names(args[:-1]), make.ident()
    going = make.call("@not_strictly_false", make.call("!_", found) if ending else found)
    step = make.call("_||_" if ending else "_&&_", make.ident(), args[-1])
    return make.fold(target, names, make.literal(not ending), step, going=going)


def _exists_one(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    names = _names(args[:-1])
    step = _when(make, args[-1:], make.call("_+_", make.ident(), make.literal(1)))
    result = make.call("_==_", make.ident(), make.literal(1))
    return make.fold(target, names, make.literal(0), step, result=result)


def _when(make: Maker, conditions: tuple[Node, ...], step: Node) -> Node:
    """Return a step that applies only if the condition, if any, holds."""
    return make.call("_?_:_", conditions[0], step, make.ident()) if conditions else step


def _map(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    """Expand a macro of one variable that builds a list; its last argument may follow a condition."""
    names = _names(args[:1], "argument is not an identifier")
    step = make.call("_+_", make.ident(), make.list(args[-1]))
    return make.fold(target, names, make.list(), _when(make, args[1:-1], step))


def _filter(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    return _map(make, target, (*args, args[0]))


def _transform(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    """Expand a macro of two variables that builds a list or a map; its last argument may follow a condition."""
    names, value = _names(args[:2]), args[-1]
    empty: Node = MapLiteral(make.position, ())
    if make.name == "transformList":
        empty, step = make.list(), make.call("_+_", make.ident(), make.list(value))
    elif make.name == "transformMap":
        step = make.call(MAP_INSERT, make.ident(), make.ident(names[0]), value)
    else:
        step = make.call(MAP_INSERT, make.ident(), value)
    return make.fold(target, names, empty, _when(make, args[2:-1], step))


def _optional(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    """Expand optMap(), or optFlatMap(), whose result is an optional already."""
    name = args[0]
    if not isinstance(name, Ident):
        raise MacroError(name.position, f"{make.name}() variable name must be a simple identifier")
    bound: Node = make.bind(name.name, make.call("value", target=make.copy(target)), args[1])
    if make.name == "optMap":
        bound = make.call("optional.of", bound)
    return make.call("_?_:_", make.call("hasValue", target=target), bound, make.call("optional.none"))


def _sort_by(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    if not isinstance(target, ListLiteral | Select | Ident | Comprehension | Call):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.position, message)
    keys = _map(replace(make, name="map"), make.ident(SORT_INPUT), args)
    sorted_ = make.call("@sortByAssociatedKeys", keys, target=make.ident(SORT_INPUT))
    return make.bind(SORT_INPUT, target, sorted_)


_EXPANDERS: Mapping[Expander, tuple[tuple[str, int], ...]] = {
    partial(_search, ending=False): (("all", 2), ("all", 3)),
    partial(_search, ending=True): (("exists", 2), ("exists", 3)),
    _exists_one: (("exists_one", 2), ("exists_one", 3), ("existsOne", 3)),
    _map: (("map", 2), ("map", 3)),
    _filter: (("filter", 2),),
    _transform: tuple((f"transform{made}", count) for made in ("List", "Map", "MapEntry") for count in (3, 4)),
    _optional: (("optMap", 2), ("optFlatMap", 2)),
    _sort_by: (("sortBy", 2),),
}
RECEIVER_MACROS: Mapping[tuple[str, int], Expander] = {
    macro: expand for expand, macros in _EXPANDERS.items() for macro in macros
}
"""By name and number of arguments; ``has``, the only macro that is not a member, is separate."""

MACROS = frozenset((*RECEIVER_MACROS, ("has", 1)))
"""The macros of stored expressions, and those of them that new ones lack."""

NOT_NEW = frozenset((("sortBy", 2),))


def has(position: int, argument: Node) -> Node:
    """Return the presence test of ``has(argument)``; raises MacroError if argument is not a selection."""
    # A nested has() is a selection, too: cel-go checks the kind of node only.
    if not isinstance(argument, Select):
        raise MacroError(argument.position, "invalid argument to has() macro")
    return Select(position, argument.operand, argument.field, test_only=True)
