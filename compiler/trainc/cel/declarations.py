"""Declarations of variables, functions, fields and types; name resolution and its results.

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
    """A mapping whose entries ``find`` returns by name (None: no entry); ``names`` are the keys that it lists."""

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
    """Everything that an expression may refer to.

    ``variables``: types by name, dots included; ``objects``: fields and their types by name of the struct type (besides
    ``messages``); ``container`` resolves unqualified names, as in cel-go.

    Common to all environments (environments.py): ``functions``, overloads by name in cel-go's order of declaration,
    operators included; ``macros``, names with their number of arguments, ``("map", 3)``; ``names``, identifiers of
    types with the type of each (``type(int)``); ``messages``, as objects, of protobuf; ``constants``, values of
    identifiers: types, and numbers of enums. The name of a type without a constant passes the check, but cannot be
    evaluated.
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
    """A declaration: its full name, its type, and its value if it is a type or a constant."""

    name: str
    type: Type
    value: Value = None


@cache
def candidates(container: str, name: str) -> tuple[str, ...]:
    """Return the possible full names of a name, innermost first; a name with a leading dot is already full."""
    if name.startswith("."):
        return (name[1:],)
    parts = container.split(".") if container else []
    return tuple(".".join([*parts[:length], name]) for length in range(len(parts), -1, -1))


def qualified(node: Node) -> str | None:
    """Return ``a.b.c`` if the node consists of names only, else None."""
    fields: list[str] = []
    while isinstance(node, Select):
        if node.test_only:
            return None
        fields.append(node.field)
        node = node.operand
    return ".".join([node.name, *reversed(fields)]) if isinstance(node, Ident) else None


class Names:
    """The names in scope; scopes nest like comprehensions."""

    __slots__ = ("_environment", "_scopes")

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._scopes: list[dict[str, Type]] = []

    def enter(self, variables: dict[str, Type]) -> None:
        """Open a scope whose variables shadow others."""
        self._scopes.append(variables)

    def leave(self) -> None:
        """Close the innermost scope."""
        self._scopes.pop()

    def find(self, name: str) -> Declared | None:
        """Return the declaration of a name, or None."""
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
    """The declaration that a node refers to.

    ``name``: the full name of an identifier or of a message's type. ``overloads``: the ids of the overloads of a call
    that fit its static types, in order. ``value``: the value of a constant, a type or an enum's number; the server
    cannot evaluate the name of a type without a value.
    """

    name: str = ""
    overloads: tuple[str, ...] = ()
    value: Value = None


class Checked(Struct, frozen=True):
    """An expression with its types. Names in ``root`` are full, and functions of a namespace have no target.

    ``types`` has every node of ``root``, ``references`` identifiers, calls and messages.
    """

    root: Node
    type: Type
    types: Mapping[Node, Type] = field(default_factory=dict)
    references: Mapping[Node, Reference] = field(default_factory=dict)
