"""What names mean: variables, functions with their overloads, and the fields of objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trainc.cel.types import Type


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. ``args`` of a member begin with its receiver; type variables are parameters."""

    id: str
    member: bool
    args: tuple[Type, ...]
    result: Type


@dataclass(frozen=True, slots=True)
class Environment:
    """All that an expression may refer to.

    ``functions``: overloads by function name, in cel-go's order of declaration (operators included).
    ``macros``: names of macros with their number of arguments, as written: ``("map", 3)``.
    ``variables``: types by name, dots included. ``objects``: fields and their types by name of a struct type.
    ``container`` resolves unqualified names, as cel-go does.
    """

    functions: Mapping[str, tuple[Overload, ...]]
    macros: frozenset[tuple[str, int]]
    variables: Mapping[str, Type] = field(default_factory=dict)
    objects: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    container: str = ""
