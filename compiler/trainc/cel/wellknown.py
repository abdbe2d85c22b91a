"""Well-known protobuf messages in expressions, such as ``google.protobuf.Int64Value{value: 1}``.

They become plain CEL values immediately. Source: Registry.NewValue and the ConvertToNative methods of common/types,
cel-go v0.26.0. An Any is always rejected.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeAlias

from trainc.cel import types
from trainc.cel.declarations import Declared
from trainc.cel.gotext import from_utf8
from trainc.cel.library.conversions import INT_OVERFLOW, UINT_OVERFLOW, duration_to_string, timestamp_to_string
from trainc.cel.maps import is_list, is_map, items
from trainc.cel.types import Kind, Type, type_name
from trainc.cel.values import (
    INT_MAX,
    INT_MIN,
    Duration,
    EvalError,
    KeyedMap,
    Opaque,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    number,
    type_of,
)
from trainc.kube.gotime import SECOND

Field: TypeAlias = Callable[[Value], Value]
Fields: TypeAlias = Mapping[str, Value]

_SAFE: Final = 2**53 - 1


class Empty(Opaque, frozen=True, eq=False):
    """``google.protobuf.Empty{}``."""

    type = types.struct("google.protobuf.Empty")

    def text(self) -> str:
        """Return an empty text, like protobuf."""
        return ""

    def equals(self, other: Value) -> bool:
        """Return whether other is Empty, too."""
        return isinstance(other, Empty)


_REFUSALS: Final[Mapping[type, str]] = {
    int: "unsupported type conversion from 'int' to {}",
    Uint: "unsupported type conversion from 'uint' to {}",
    str: "unsupported native conversion from string to '{}'",
    TypeValue: "type conversion not supported for 'type'",
}
_QUOTED: Final = (Opaque, Duration, Timestamp, type(None))


def _refuse(value: Value, wanted: str) -> NoReturn:
    """Raise the error of converting a value to a Go type."""
    name = type_name(type_of(value)).rpartition(".")[2]
    if isinstance(value, _QUOTED):
        name = f"'{name}'"
    elif isinstance(value, float | bytes):
        name = name.capitalize()
    words = _REFUSALS.get(value.__class__, f"type conversion error from {name} to '{{}}'")
    raise EvalError(words.format(wanted))


def _unwrapped(value: Value) -> Value:
    if not isinstance(value, Optional):
        return value
    if not value.present:
        raise EvalError("optional.none() dereference")
    return _unwrapped(value.value)


def _scalar(kind: type, go: str, numbers: range | None = None) -> Field:
    """Return the converter of a scalar to a Go type; ``numbers``: those that fit."""

    def convert(value: Value) -> Value:
        value = _unwrapped(value)
        if value.__class__ is not kind:
            _refuse(value, go)
        if numbers is not None and number(value) not in numbers:
            raise EvalError(INT_OVERFLOW if kind is int else UINT_OVERFLOW)
        return value

    return convert


def _float32(value: Value) -> Value:
    double = _scalar(float, "float32")(value)
    try:
        return struct.unpack("f", struct.pack("f", double))[0]
    except OverflowError:
        return float("inf") if double > 0 else float("-inf")


def to_json(value: Value) -> Value:
    """Convert a value for google.protobuf.Value: numbers become doubles, large integers and other types strings."""
    value = _unwrapped(value)
    kind = value.__class__
    if value is None or kind in (bool, float, str):
        return value
    if kind is int or kind is Uint:
        return float(number(value)) if -_SAFE <= number(value) <= _SAFE else str(number(value))
    if kind is bytes:
        import base64  # rarely needed

        return base64.b64encode(value).decode("ascii")
    if kind is Duration:
        return duration_to_string(value)
    if kind is Timestamp:
        return timestamp_to_string(value)
    if is_list(value):
        return [to_json(each) for each in value]
    if is_map(value):
        return {_string(key): to_json(each) for key, each in items(value)}
    _refuse(value, "*structpb.Value")


_int32, _int64 = _scalar(int, "int32", range(-(2**31), 2**31)), _scalar(int, "int64")
_bool, _double = _scalar(bool, "bool"), _scalar(float, "float64")
_string, _bytes = _scalar(str, "string"), _scalar(bytes, "[]uint8")
_WRAPPERS: Final[Mapping[str, tuple[Field, Value]]] = {
    "BoolValue": (_bool, False),
    "BytesValue": (_bytes, b""),
    "DoubleValue": (_double, 0.0),
    "FloatValue": (_float32, 0.0),
    "Int32Value": (_int32, 0),
    "Int64Value": (_int64, 0),
    "StringValue": (_string, ""),
    "UInt32Value": (_scalar(Uint, "uint32", range(2**32)), Uint(0)),
    "UInt64Value": (_scalar(Uint, "uint64"), Uint(0)),
}
_FIELDS: Final[Mapping[str, Mapping[str, Field]]] = {
    **{name: {"value": convert} for name, (convert, _) in _WRAPPERS.items()},
    "Timestamp": {"seconds": _int64, "nanos": _int32},
    "Duration": {"seconds": _int64, "nanos": _int32},
    "Struct": {"fields": to_json},
    "ListValue": {"values": to_json},
    "Value": {
        "bool_value": _bool,
        "list_value": lambda value: to_json(value) if is_list(value) else _refuse(value, "*structpb.ListValue"),
        "null_value": lambda _: None,
        "number_value": _double,
        "string_value": _string,
        "struct_value": lambda value: to_json(value) if is_map(value) else _refuse(value, "*structpb.Struct"),
    },
    "Any": {"type_url": _string, "value": _bytes},
    "Empty": {},
}
_REPEATED: Final = {("Struct", "fields"): is_map, ("ListValue", "values"): is_list}


def make_message(name: str, given: KeyedMap) -> Value:
    """Return the value of a message with these fields. Raises EvalError."""
    message = name.removeprefix("google.protobuf.")
    known = _FIELDS.get(message)
    if known is None:
        raise EvalError(f"unknown type '{name}'")
    fields = {field: _converted(name, message, field, value) for field, value in items(given)}
    if message in _WRAPPERS:
        return fields.get("value", _WRAPPERS[message][1])
    return _MAKERS[message](fields)


def _converted(name: str, message: str, field: str, value: Value) -> Value:
    convert = _FIELDS[message].get(field)
    if convert is None:
        raise EvalError(f"no such field: {field}")
    fits = _REPEATED.get((message, field))
    if fits is not None and not fits(value):
        raise EvalError(f"unsupported field type for {name}.{field}: {type_name(type_of(value))}")
    try:
        return convert(value)
    except EvalError as error:
        raise EvalError(f"field type conversion error for {name}.{field} value type: {error.message}") from None


def _nanos(fields: Fields) -> int:
    return int(fields.get("seconds", 0) * SECOND + fields.get("nanos", 0))


def _any(fields: Fields) -> Value:
    url = fields.get("type_url", "")
    if "/" in url:
        raise EvalError(f"unknown type: '{url.rpartition('/')[2]}'")
    texts = {field: value if isinstance(value, str) else from_utf8(value) for field, value in fields.items() if value}
    shown = " ".join(f'{field}:"{text}"' for field, text in texts.items())
    raise EvalError(f"unsupported conversion to ref.Val: (*dynamicpb.Message){shown}")


_MAKERS: Final[Mapping[str, Callable[[Fields], Value]]] = {
    "Timestamp": lambda fields: Timestamp(_nanos(fields)),
    "Duration": lambda fields: Duration(min(max(_nanos(fields), INT_MIN), INT_MAX)),
    "Struct": lambda fields: fields.get("fields", {}),
    "ListValue": lambda fields: fields.get("values", []),
    "Value": lambda fields: [None, *fields.values()][-1],
    "Any": _any,
    "Empty": lambda _: Empty(),
}


# Types of messages (checker/checker.go, checkCreateStruct)

_MESSAGES: Final[Mapping[Type, str]] = {
    types.ANY: "Any",
    types.DURATION: "Duration",
    types.DYN: "Value",
    types.NULL: "NullValue",
    types.TIMESTAMP: "Timestamp",
    types.list_of(types.DYN): "ListValue",
    types.map_of(types.STRING, types.DYN): "Struct",
    types.wrapper(types.BOOL): "BoolValue",
    types.wrapper(types.BYTES): "BytesValue",
    types.wrapper(types.DOUBLE): "DoubleValue",
    types.wrapper(types.INT): "Int64Value",
    types.wrapper(types.STRING): "StringValue",
    types.wrapper(types.UINT): "UInt64Value",
}


def constructed(declared: Declared) -> tuple[Type, str, str]:
    """Return the type that a name constructs, the message with its fields, and an error or ""."""
    type_, problem = declared.type, "is not a type"
    if type_.kind is Kind.ERROR:
        return types.ERROR, declared.name, ""
    if type_.kind is Kind.TYPE:
        type_, problem = type_.parameters[0] if type_.parameters else types.TYPE, "is not a message type"
        if type_ in _MESSAGES:
            return type_, f"google.protobuf.{_MESSAGES[type_]}", ""
        if type_.kind is Kind.STRUCT:
            return type_, type_.name, ""
    name = f"wrapper({type_.name})" if type_.kind is Kind.WRAPPER else type_name(type_)
    return types.ERROR, declared.name, f"'{name}' {problem}"
