"""CEL's static types, spelt as cel-go spells them (common/types/types.go, cel-go v0.26.0)."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Kind(Enum):
    """What a type is; the value is cel-go's name of it in messages where it has one."""

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
    STRUCT = "struct"  # a message or a schema's object, told apart by name
    OPAQUE = "opaque"  # optional_type(T), kubernetes.Quantity, net.IP ...
    PARAMETER = "parameter"  # a type variable of a declaration
    WRAPPER = "wrapper"  # wrapper(int) and so on: the primitive or null

    __hash__ = object.__hash__  # that of Enum is Python's, and kinds are looked for in sets all the time


class Type(Struct, frozen=True):
    """A type. ``name`` is set for struct, opaque, parameter and wrapper (the primitive's), else equal to the kind's.

    ``parameters``: of list one, of map two, of type none or one, of opaque types what they declare.
    """

    kind: Kind
    name: str
    parameters: tuple[Type, ...] = ()

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
    """Return the type that is a primitive or null."""
    return Type(Kind.WRAPPER, primitive.name)
