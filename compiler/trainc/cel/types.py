"""CEL's static types, printed as in cel-go (common/types/types.go, cel-go v0.26.0)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from operator import is_
from typing import TypeAlias, TypeVar

from msgspec import Struct

from trainc.basics.regex import lazy

T = TypeVar("T")


class Kind(Enum):
    """The kind of a type; the value is its name in cel-go's messages, if any."""

    DYN = "dyn"
    ANY = "any"
    ERROR = "!error!"
    NULL = "null"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    TYPE = "type"
    LIST = "list"
    MAP = "map"
    STRUCT = "struct"  # a message or a schema's object, by name
    OPAQUE = "opaque"  # optional_type(T), kubernetes.Quantity, net.IP ...
    PARAMETER = "parameter"  # a type variable of a declaration
    WRAPPER = "wrapper"  # wrapper(int) and so on: the primitive or null

    __hash__ = object.__hash__  # faster than Enum's


class Type(Struct, frozen=True):
    """A type. ``name`` is set for struct, opaque, parameter and wrapper (the primitive's), else it is the kind's.

    ``parameters``: one of list, two of map, none or one of type, any number of opaque types.
    """

    kind: Kind
    name: str
    parameters: tuple[Type, ...] = ()

    def mapped(self, change: Callable[[Type], Type]) -> Type:
        """Return the type with other parameters, or the type itself if they stay the same."""
        parameters = tuple(map(change, self.parameters))
        return self if all(map(is_, parameters, self.parameters)) else Type(self.kind, self.name, parameters)

    def __str__(self) -> str:
        if self.kind is Kind.WRAPPER:
            return f"wrapper({self.name})"
        inner = ", ".join(map(str, self.parameters))
        return f"{self.name}({inner})" if inner else self.name


def _simple(kind: Kind) -> Type:
    return Type(kind, kind.value)


DYN, ANY, ERROR, NULL = map(_simple, (Kind.DYN, Kind.ANY, Kind.ERROR, Kind.NULL))
BOOL, INT, UINT, DOUBLE = map(_simple, (Kind.BOOL, Kind.INT, Kind.UINT, Kind.DOUBLE))
STRING, BYTES, TIMESTAMP, DURATION = map(_simple, (Kind.STRING, Kind.BYTES, Kind.TIMESTAMP, Kind.DURATION))
TYPE = _simple(Kind.TYPE)


def list_of(element: Type) -> Type:
    """Return list(element)."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return map(key, value)."""
    return Type(Kind.MAP, "map", (key, value))


def type_of(inner: Type) -> Type:
    """Return type(inner), the type of a type."""
    return Type(Kind.TYPE, "type", (inner,))


def struct(name: str) -> Type:
    """Return the type of a message, or of a schema's object."""
    return Type(Kind.STRUCT, name)


def opaque(name: str, *parameters: Type) -> Type:
    """Return a type that a library defines."""
    return Type(Kind.OPAQUE, name, parameters)


def optional_of(inner: Type) -> Type:
    """Return optional_type(inner)."""
    return opaque("optional_type", inner)


def parameter(name: str) -> Type:
    """Return a type variable of a declaration."""
    return Type(Kind.PARAMETER, name)


def wrapper(primitive: Type) -> Type:
    """Return the type of a primitive or null."""
    return Type(Kind.WRAPPER, primitive.name)


def type_name(found: Type) -> str:
    """Return the name of a type at run time, without parameters (types.Type.TypeName of cel-go v0.26.0)."""
    return _RUNTIME_NAMES.get(found.kind, found.name)


_RUNTIME_NAMES = {
    Kind.NULL: "null_type",
    Kind.TIMESTAMP: "google.protobuf.Timestamp",
    Kind.DURATION: "google.protobuf.Duration",
    Kind.ANY: "google.protobuf.Any",
}


# Types as text. cel-go has two notations: that of Type.String(), as in "must evaluate to bool but got dyn", and that of
# the checker's messages, which is str(type).


def spell(type_: Type) -> str:
    """Return a type as cel-go's ``String()`` does: ``map(string, <A>)``, ``google.protobuf.Duration``."""
    if type_.kind is Kind.PARAMETER:
        return f"<{type_.name}>"
    if type_.kind is Kind.WRAPPER:
        return f"wrapper({type_.name})"
    if type_.kind is Kind.ERROR:
        return "error"
    inner = ", ".join(map(spell, type_.parameters))
    return f"{type_name(type_)}({inner})" if inner else type_name(type_)


_NAMED = {
    **{type_.name: type_ for type_ in (DYN, ANY, NULL, BOOL, INT, UINT, DOUBLE, STRING, BYTES)},
    **{type_.name: type_ for type_ in (TIMESTAMP, DURATION, TYPE)},
    **{type_name(type_): type_ for type_ in (NULL, TIMESTAMP, DURATION, ANY)},
    **{name: opaque(name) for name in ("net.CIDR", "net.IP", "optional_type")},
    "error": ERROR,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
}
_BUILDERS: dict[str, tuple[int, Callable[..., Type]]] = {
    "list": (1, list_of),
    "map": (2, map_of),
    "type": (1, type_of),
    "wrapper": (1, wrapper),
}
"""The number of parameters of a type, and its constructor."""

_TOKEN = lazy(r"\s*(?:<([^<>(), ]+)>|([^<>(), ]+)|(.))\s*")
_END = ("", "", "")

_Tokens: TypeAlias = list[tuple[str, str, str]]
"""The tokens of a text, the last one first: each is a type variable, a name or another character."""


@cache
def parse_type(text: str) -> Type:
    """Parse a type in either notation; unknown names are structs. Raises ValueError."""
    return _parse(text, _type)


def parse_signature(text: str) -> tuple[bool, tuple[Type, ...], Type]:
    """Parse ``.(string, int) string``: whether it is a member's signature, its arguments and its result."""
    args, result = _parse(text.removeprefix("."), lambda tokens: (_types(tokens), _type(tokens)))
    return text.startswith("."), args, result


def _parse(text: str, parse: Callable[[_Tokens], T]) -> T:
    tokens = [_END, *reversed(_TOKEN.findall(text))]
    with suppress(ValueError):
        found = parse(tokens)
        if tokens == [_END]:
            return found
    raise ValueError(f"{text!r} is not a type")


def _type(tokens: _Tokens) -> Type:
    variable, name, _ = tokens.pop()
    if variable:
        return parameter(variable)
    if not name:
        raise ValueError
    if tokens[-1][2] != "(":
        return _NAMED.get(name) or struct(name)
    inner = _types(tokens)
    arity, build = _BUILDERS.get(name, (len(inner), partial(opaque, name)))
    if len(inner) != arity:
        raise ValueError
    return build(*inner)


def _types(tokens: _Tokens) -> tuple[Type, ...]:
    """Parse types in parentheses."""
    found: list[Type] = []
    before = tokens.pop()[2]
    if before == "(" and tokens[-1][2] == ")":
        tokens.pop()
        return ()
    while before == ("," if found else "("):
        found.append(_type(tokens))
        before = tokens.pop()[2]
    if before != ")" or not found:
        raise ValueError
    return tuple(found)
