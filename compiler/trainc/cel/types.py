"""CEL's static types, printed as in cel-go (common/types/types.go, cel-go v0.26.0)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache, partial
from operator import is_
from typing import TypeAlias

from msgspec import Struct

from trainc.basics.regex import lazy


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


@cache
def parse_type(text: str, structs: frozenset[str] | None = None) -> Type:
    """Parse a type in either notation.

    Unknown names are structs, or with ``structs`` opaque unless listed there. Raises ValueError.
    """
    tokens = _TOKEN.findall(text)
    type_ = _parse(tokens, structs)
    if type_ is None or tokens:
        raise ValueError(f"{text!r} is not a type")
    return type_


def parse_signature(text: str, structs: frozenset[str]) -> tuple[bool, tuple[Type, ...], Type]:
    """Parse ``.(string, int) string``: whether it is a member's signature, its arguments and its result.

    Raises ValueError.
    """
    tokens = _TOKEN.findall(text.removeprefix("."))
    args, result = _parse_list(tokens, structs), _parse(tokens, structs)
    if args is None or result is None or tokens:
        raise ValueError(f"{text!r} is not a signature")
    return text.startswith("."), args, result


_Tokens: TypeAlias = list[tuple[str, str, str]]


def _parse(tokens: _Tokens, structs: frozenset[str] | None) -> Type | None:
    """Consume a type at the start of tokens; None if there is none."""
    variable, name, _ = tokens.pop(0) if tokens else ("", "", "")
    if variable:
        return parameter(variable)
    if not name:
        return None
    if tokens and tokens[0][2] == "(":
        inner = _parse_list(tokens, structs)
        arity, build = _BUILDERS.get(name, (len(inner or ()), partial(opaque, name)))
        return build(*inner) if inner is not None and len(inner) == arity else None
    return _NAMED.get(name) or (struct(name) if structs is None or name in structs else opaque(name))


def _parse_list(tokens: _Tokens, structs: frozenset[str] | None) -> tuple[Type, ...] | None:
    """Consume types in parentheses at the start of tokens; None if there are none."""
    found: list[Type] = []
    separator = tokens.pop(0)[2] if tokens else ""
    if separator != "(":
        return None
    if tokens and tokens[0][2] == ")":
        tokens.pop(0)
        return ()
    while separator != ")":
        type_ = _parse(tokens, structs)
        separator = tokens.pop(0)[2] if tokens else ""
        if type_ is None or separator not in (",", ")"):
            return None
        found.append(type_)
    return tuple(found)
