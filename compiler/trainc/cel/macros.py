"""Expands macros, node for node as cel-go v0.26.0.

Sources: parser/macro.go, cel/library.go (optMap, optFlatMap), ext/comprehensions.go, ext/lists.go (sortBy).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

    def ident(self, name: str) -> Ident:
        """Return a name."""
        return Ident(self.position, name)

    def accumulator(self) -> Ident:
        """Return the accumulator of a fold."""
        return Ident(self.position, ACCUMULATOR)

    def call(self, function: str, *args: Node) -> Call:
        """Return a call of a function or operator."""
        return Call(self.position, function, None, args)

    def member(self, function: str, target: Node, *args: Node) -> Call:
        """Return a call of a member."""
        return Call(self.position, function, target, args)

    def list(self, *elements: Node) -> ListLiteral:
        """Return a list."""
        return ListLiteral(self.position, elements)

    def fold(
        self,
        over: Node,
        variables: tuple[str, str],
        init: Node,
        step: Node,
        *,
        condition: Node | None = None,
        result: Node | None = None,
    ) -> Comprehension:
        """Return a fold into the accumulator; by default over the whole range, with the accumulator as result."""
        condition = condition or self.literal(True)
        names = (*variables, ACCUMULATOR)
        return Comprehension(
            self.position, over, *names, init, condition, step, result or self.accumulator(), self.name
        )

    def bind(self, name: str, value: Node, body: Node, reference: Node | None = None) -> Comprehension:
        """Return ``body`` with a name bound to a value: a fold over an empty list."""
        nothing, reference = self.list(), reference or self.ident(name)
        return Comprehension(
            self.position, nothing, UNUSED, "", name, value, self.literal(False), reference, body, self.name
        )

    def copy(self, node: Node) -> Node:
        """Copy a tree; raises MacroError if too many nodes are copied."""
        self.budget.nodes -= len(postorder(node))
        if self.budget.nodes < 0:
            raise MacroError(self.position, f"expansion of macros copies more than {COPIED_NODES} nodes")
        return copied(node, self.position)


Expander: TypeAlias = Callable[[Maker, Node, tuple[Node, ...]], Node]
"""Expands a macro by its target and arguments; raises MacroError."""


def _variable(node: Node, wanted: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.position, wanted)
    if node.name in RESERVED_ACCUMULATORS:
        raise MacroError(node.position, "iteration variable overwrites accumulator variable")
    return node.name


def _one(args: tuple[Node, ...]) -> tuple[str, str]:
    return _variable(args[0], "argument must be a simple name"), ""


def _two(args: tuple[Node, ...]) -> tuple[str, str]:
    names = []
    for node in args[:2]:
        if not isinstance(node, Ident):
            raise MacroError(node.position, "argument must be a simple name")
        names.append(node.name)
    if names[0] == names[1]:
        raise MacroError(args[1].position, f"duplicate variable name: {names[0]}")
    for node in args[:2]:
        _variable(node, "")
    return names[0], names[1]


Variables: TypeAlias = Callable[[tuple[Node, ...]], tuple[str, str]]


def _search(variables: Variables, ending: bool) -> Expander:
    """Return exists(), which ends when a predicate is true, or all(), which ends when one is false."""

    def expand(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
        names, found = variables(args), make.accumulator()
        going = make.call("@not_strictly_false", make.call("!_", found) if ending else found)
        step = make.call("_||_" if ending else "_&&_", make.accumulator(), args[-1])
        return make.fold(target, names, make.literal(not ending), step, condition=going)

    return expand


def _exists_one(variables: Variables) -> Expander:
    def expand(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
        names = variables(args)
        more = make.call("_+_", make.accumulator(), make.literal(1))
        step = make.call("_?_:_", args[-1], more, make.accumulator())
        result = make.call("_==_", make.accumulator(), make.literal(1))
        return make.fold(target, names, make.literal(0), step, result=result)

    return expand


def _collect(variables: Variables, empty: Callable[[Maker], Node], add: Callable[..., Node]) -> Expander:
    """Return a macro that builds a list or a map. Its last argument is the value, preceded by an optional condition."""

    def expand(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
        names = variables(args)
        step, conditions = add(make, names[0], args[-1]), args[2 if names[1] else 1 : -1]
        return make.fold(target, names, empty(make), _when(make, conditions, step))

    return expand


def _when(make: Maker, conditions: tuple[Node, ...], step: Node) -> Node:
    """Return a step that applies only if the condition, if any, holds."""
    return make.call("_?_:_", conditions[0], step, make.accumulator()) if conditions else step


def _item(args: tuple[Node, ...]) -> tuple[str, str]:
    return _variable(args[0], "argument is not an identifier"), ""


def _append(make: Maker, _: str, value: Node) -> Node:
    return make.call("_+_", make.accumulator(), make.list(value))


def _empty_map(make: Maker) -> Node:
    return MapLiteral(make.position, ())


def _filter(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    names = _item(args)
    return make.fold(target, names, make.list(), _when(make, args[1:], _append(make, "", args[0])))


_map = _collect(_item, Maker.list, _append)
_transform_list = _collect(_two, Maker.list, _append)
_transform_map = _collect(
    _two, _empty_map, lambda make, key, value: make.call(MAP_INSERT, make.accumulator(), make.ident(key), value)
)
_transform_map_entry = _collect(
    _two, _empty_map, lambda make, _, entries: make.call(MAP_INSERT, make.accumulator(), entries)
)


def _opt_map(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    return _optional(make, target, args, lambda bound: make.call("optional.of", bound))


def _opt_flat_map(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    return _optional(make, target, args, lambda bound: bound)


def _optional(make: Maker, target: Node, args: tuple[Node, ...], wrap: Callable[[Node], Node]) -> Node:
    name = args[0]
    if not isinstance(name, Ident):
        raise MacroError(name.position, f"{make.name}() variable name must be a simple identifier")
    bound = make.bind(name.name, make.member("value", make.copy(target)), args[1])
    return make.call("_?_:_", make.member("hasValue", target), wrap(bound), make.call("optional.none"))


def _sort_by(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    if not isinstance(target, ListLiteral | Select | Ident | Comprehension | Call):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.position, message)
    keys = _map(replace(make, name="map"), make.ident(SORT_INPUT), args)
    return make.bind(SORT_INPUT, target, make.member("@sortByAssociatedKeys", make.ident(SORT_INPUT), keys))


RECEIVER_MACROS: Mapping[tuple[str, int], Expander] = {
    ("all", 2): _search(_one, ending=False),
    ("all", 3): _search(_two, ending=False),
    ("exists", 2): _search(_one, ending=True),
    ("exists", 3): _search(_two, ending=True),
    ("exists_one", 2): _exists_one(_one),
    ("exists_one", 3): _exists_one(_two),
    ("existsOne", 3): _exists_one(_two),
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_map_entry,
    ("transformMapEntry", 4): _transform_map_entry,
    ("optMap", 2): _opt_map,
    ("optFlatMap", 2): _opt_flat_map,
    ("sortBy", 2): _sort_by,
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
