"""What ``name{field: value}`` constructs: cel-go v0.26.0 checker/checker.go, checkCreateStruct."""

from __future__ import annotations

from trainc.cel import types
from trainc.cel.declarations import Declared
from trainc.cel.types import Kind, Type, type_name

_BY_KIND = {
    Kind.ANY: "google.protobuf.Any",
    Kind.DURATION: "google.protobuf.Duration",
    Kind.DYN: "google.protobuf.Value",
    Kind.NULL: "google.protobuf.NullValue",
    Kind.TIMESTAMP: "google.protobuf.Timestamp",
}
_BY_PRIMITIVE = {
    "bool": "google.protobuf.BoolValue",
    "bytes": "google.protobuf.BytesValue",
    "double": "google.protobuf.DoubleValue",
    "int": "google.protobuf.Int64Value",
    "string": "google.protobuf.StringValue",
    "uint": "google.protobuf.UInt64Value",
}
_BY_TYPE = {
    types.list_of(types.DYN): "google.protobuf.ListValue",
    types.map_of(types.STRING, types.DYN): "google.protobuf.Struct",
}


def constructed(declared: Declared) -> tuple[Type, str, str]:
    """Return the type that a name constructs, the message whose fields it takes, and what is wrong, or ""."""
    if declared.type.kind is Kind.ERROR:
        return types.ERROR, declared.name, ""
    if declared.type.kind is not Kind.TYPE:
        return types.ERROR, declared.name, f"'{_declared_name(declared.type)}' is not a type"
    type_ = declared.type.parameters[0] if declared.type.parameters else types.TYPE
    if (message := _well_known(type_)) is not None:
        return type_, message, ""
    if type_.kind is Kind.STRUCT:
        return type_, type_.name, ""
    return types.ERROR, declared.name, f"'{_declared_name(type_)}' is not a message type"


def _well_known(type_: Type) -> str | None:
    """Return the protobuf message that stands behind a type of CEL, if one does."""
    if type_.kind is Kind.WRAPPER:
        return _BY_PRIMITIVE[type_.name]
    return _BY_KIND.get(type_.kind) or _BY_TYPE.get(type_)


def _declared_name(type_: Type) -> str:
    return f"wrapper({type_.name})" if type_.kind is Kind.WRAPPER else type_name(type_)
