"""What the names of an expression refer to: variables, functions with their overloads, fields of objects, types.

Source of the lookup: cel-go v0.26.0 checker/env.go, checker/scopes.go and common/containers/container.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TypeVar

from msgspec import Struct, field

from trainc.cel import types
from trainc.cel.ast import Ident, Node, Select
from trainc.cel.functions import Overload
from trainc.cel.types import Type
from trainc.cel.values import Value

T = TypeVar("T")


class Lookup(Mapping[str, T]):
    """A table whose entries ``find`` returns by name, None where there is none; ``names`` are those that it lists."""

    def __init__(self, find: Callable[[str], T | None], names: Iterable[str] = ()) -> None:
        self._find = find
        self._names = tuple(names)

    def __getitem__(self, name: str) -> T:
        found = self._find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Environment(Struct, frozen=True):
    """All that an expression may refer to.

    What a place adds: ``variables``, types by name, dots included; ``objects``, fields and their types by name of a
    struct type (``messages`` count even where they are not among them); ``container`` resolves unqualified names, as
    cel-go does.
    What all share (environments.py): ``functions``, overloads by name in cel-go's order of declaration, operators
    included; ``macros``, names with their number of arguments, as written: ``("map", 3)``; ``names``, identifiers of
    types with the type of each (``type(int)``); ``messages``, as objects, of protobuf; ``constants``, values of
    identifiers: types, and numbers of enums. A type's name without a constant can be checked, but not planned.
    """

    functions: Mapping[str, tuple[Overload, ...]]
    macros: frozenset[tuple[str, int]]
    variables: Mapping[str, Type] = field(default_factory=dict)
    objects: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    container: str = ""
    names: Mapping[str, Type] = field(default_factory=dict)
    messages: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    constants: Mapping[str, Value] = field(default_factory=dict)


class Declared(Struct, frozen=True):
    """A declared name: in full, its type, and its value if it is a type or a constant."""

    name: str
    type: Type
    value: Value = None


@cache
def candidates(container: str, name: str) -> tuple[str, ...]:
    """Return the full names that a name may stand for, the innermost first; a leading dot makes it full already."""
    if name.startswith("."):
        return (name[1:],)
    parts = container.split(".") if container else []
    return tuple(".".join([*parts[:length], name]) for length in range(len(parts), -1, -1))


def qualified(node: Node) -> str | None:
    """Return ``a.b.c`` where the node is nothing but names, else None."""
    fields: list[str] = []
    while isinstance(node, Select):
        if node.test_only:
            return None
        fields.append(node.field)
        node = node.operand
    return ".".join([node.name, *reversed(fields)]) if isinstance(node, Ident) else None


class Names:
    """The names that are known at one place of an expression; scopes nest as comprehensions do."""

    __slots__ = ("_environment", "_scopes")

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._scopes: list[dict[str, Type]] = []

    def enter(self, variables: dict[str, Type]) -> None:
        """Open a scope in which variables hide others of their names."""
        self._scopes.append(variables)

    def leave(self) -> None:
        """Close the innermost scope."""
        self._scopes.pop()

    def find(self, name: str) -> Declared | None:
        """Return what a name refers to, or None."""
        for full in candidates(self._environment.container, name):
            if (found := self._exact(full)) is not None:
                return found
        return None

    def _exact(self, name: str) -> Declared | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return Declared(name, scope[name])
        environment = self._environment
        type_ = environment.variables.get(name)
        if type_ is not None:
            return Declared(name, type_)
        type_ = environment.names.get(name)
        if type_ is not None:
            return Declared(name, type_, environment.constants.get(name))
        if name in environment.objects:
            return Declared(name, types.type_of(types.struct(name)))
        if name in environment.constants:
            return Declared(name, types.INT, environment.constants[name])
        return None

    def function(self, name: str) -> tuple[str, tuple[Overload, ...]] | None:
        """Return a function's full name and its overloads, or None."""
        for full in candidates(self._environment.container, name):
            if (found := self._environment.functions.get(full)) is not None:
                return full, found
        return None


class Reference(Struct, frozen=True):
    """What a node refers to.

    ``name``: the full name of an identifier or of a message's type. ``overloads``: the ids of those overloads of a call
    that its static types allow, in order. ``value``: the constant that an identifier is, a type or an enum's number;
    an identifier of kind type without a value is one that the server cannot plan.
    """

    name: str = ""
    overloads: tuple[str, ...] = ()
    value: Value = None


class Checked(Struct, frozen=True):
    """An expression with its types. In ``root`` names are full, and functions with a namespace have no target.

    ``types`` has every node of ``root``, ``references`` identifiers, calls and messages; both are empty if unchecked.
    """

    root: Node
    type: Type
    types: Mapping[Node, Type] = field(default_factory=dict)
    references: Mapping[Node, Reference] = field(default_factory=dict)
