"""The types of values at run time, and their names there: ``type(null)`` is ``null_type``, not ``null``."""

from __future__ import annotations

from trainc.cel import types
from trainc.cel.types import Kind, Type
from trainc.cel.values import (
    Container,
    Duration,
    EvalError,
    KeyedMap,
    Opaque,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    Value,
)

_NAMES = {
    Kind.NULL: "null_type",
    Kind.TIMESTAMP: "google.protobuf.Timestamp",
    Kind.DURATION: "google.protobuf.Duration",
    Kind.ANY: "google.protobuf.Any",
}
_LIST, _MAP = types.list_of(types.DYN), types.map_of(types.DYN, types.DYN)
_TYPES = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    TypeValue: types.TYPE,
    list: _LIST,
    dict: _MAP,
    KeyedMap: _MAP,
    Optional: types.opaque("optional_type"),
}


def type_name(found: Type) -> str:
    """Return what names a type at run time, parameters left out (types.Type.TypeName of cel-go v0.26.0)."""
    return _NAMES.get(found.kind, found.name)


def type_of(value: Value) -> Type:
    """Return the type of a value at run time. Raises EvalError for what is no value."""
    known = _TYPES.get(value.__class__)
    if known is not None:
        return known
    if isinstance(value, Opaque):
        return value.type
    if isinstance(value, Container):
        return value.celtype()
    raise EvalError("no such overload")
