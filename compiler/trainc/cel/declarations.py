"""What names mean: variables, functions with their overloads, and the fields of objects."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from trainc.cel.functions import Overload
from trainc.cel.types import Type
from trainc.cel.values import Value


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
