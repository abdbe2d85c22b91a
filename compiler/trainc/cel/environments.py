"""What expressions may refer to: Kubernetes' base environment, which every place extends.

Source: k8s.io/apiserver v0.34 pkg/cel/environment/base.go, as compiler/tools/celfunctions.py writes it down: names
of types, and the protobuf messages that cel-go itself knows. Functions are the rows of library/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from trainc.cel import types
from trainc.cel.declarations import Environment
from trainc.cel.library import functions
from trainc.cel.macros import MACROS, NOT_NEW
from trainc.cel.types import Type
from trainc.cel.typetext import parse
from trainc.cel.values import TypeValue, Value
from trainc.data import load_json

FILE = "cel_names.json"
_SCALARS = ("bool", "bytes", "double", "duration", "int", "null_type", "string", "timestamp", "uint", "list")


@cache
def base(new: bool) -> Environment:
    """Return the environment of stored expressions, or of ``new`` ones, which know less. It declares no variables."""
    data = load_json(FILE)
    structs = frozenset([*data["structs"], *data["messages"]])
    names = {name: parse(text, structs) for name, text in data["names"].items()}
    messages = Messages(data["messages"], structs)
    return Environment(
        functions={name: row.overloads for name, row in functions().items() if not (new and row.stored)},
        macros=MACROS - NOT_NEW if new else MACROS,
        objects=messages,
        names=names,
        messages=messages,
        constants=_constants(data, names),
    )


def _constants(data: Mapping[str, Any], names: Mapping[str, Type]) -> dict[str, Value]:
    values: dict[str, Value] = {name: TypeValue(_erased(names[name].parameters[0])) for name in data["values"]}
    values.update(data["enums"])
    return values


def _erased(type_: Type) -> Type:
    """Return a type as a value: variables of ``list`` and ``map`` are dyn."""
    return Type(type_.kind, type_.name, tuple(types.DYN for _ in type_.parameters))


def free(names: Mapping[str, Type], *, new: bool = False, container: str = "") -> Environment:
    """Return an environment with variables of given types and a container for unqualified names."""
    return replace(base(new), variables=dict(names), container=container)


def declared(
    variables: Mapping[str, Type],
    objects: Mapping[str, Mapping[str, Type]],
    names: Mapping[str, Type] = MappingProxyType({}),
    *,
    new: bool = False,
) -> Environment:
    """Return an environment of policies and rules: variables, the struct types that they have, more names of types.

    Where struct types are declared, ``duration`` and ``timestamp`` are names of types, too, though of none that could
    be planned, and the names of scalars are messages without fields; map has any field (pkg/cel/types.go, findScalar).
    """
    known = base(new)
    times = {name: types.type_of(parse(name)) for name in ("duration", "timestamp")}
    scalars: dict[str, Mapping[str, Type]] = {"map": AnyField(types.ANY)}
    scalars.update((name, {}) for name in _SCALARS)
    return replace(
        known,
        variables=dict(variables),
        objects=Layered(objects, known.messages),
        names={**known.names, **times, **names},
        messages=Layered(scalars, known.messages),
    )


class Messages(Mapping[str, Mapping[str, Type]]):
    """Fields of protobuf messages, read when a message is looked up."""

    def __init__(self, rows: Mapping[str, Mapping[str, str]], structs: frozenset[str]) -> None:
        self._rows = rows
        self._structs = structs

    def __getitem__(self, name: str) -> Mapping[str, Type]:
        return {field: parse(text, self._structs) for field, text in self._rows[name].items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Layered(Mapping[str, Mapping[str, Type]]):
    """Two tables of struct types as one; the first counts."""

    def __init__(self, first: Mapping[str, Mapping[str, Type]], second: Mapping[str, Mapping[str, Type]]) -> None:
        self._first = first
        self._second = second

    def __getitem__(self, name: str) -> Mapping[str, Type]:
        found = self._first.get(name)
        return self._second[name] if found is None else found

    def __iter__(self) -> Iterator[str]:
        yield from self._first
        yield from (name for name in self._second if name not in self._first)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class AnyField(Mapping[str, Type]):
    """The fields of what has any field, all of one type."""

    def __init__(self, type_: Type) -> None:
        self._type = type_

    def __getitem__(self, name: str) -> Type:
        return self._type

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
