"""What names mean: variables, functions with their overloads, and the fields of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import force_setattr

from trainc.cel.types import Kind, Type
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


class Overload(Struct, frozen=True):
    """One signature of a function. ``args`` of a member begin with its receiver; type variables are parameters.

    ``variables``: the names of the type variables, those of the result first, as Go mostly has
    them; found when the overload is made.
    """

    id: str
    member: bool
    args: tuple[Type, ...]
    result: Type
    variables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = dict.fromkeys(name for type_ in (self.result, *self.args) for name in _variables(type_))
        force_setattr(self, "variables", tuple(names))


def _variables(type_: Type) -> Iterator[str]:
    if type_.kind is Kind.PARAMETER:
        yield type_.name
    for parameter in type_.parameters:
        yield from _variables(parameter)


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
