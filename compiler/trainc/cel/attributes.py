"""Fields, keys and indexes: what a qualifier of an attribute finds in a value.

Source: refQualify and the qualifiers of interpreter/attributes.go, cel-go v0.26.0.
"""

from __future__ import annotations

from typing import Final

from trainc.cel.gotext import shown
from trainc.cel.maps import MISSING, find, is_list, is_map
from trainc.cel.types import type_name
from trainc.cel.values import (
    INT_MAX,
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
    type_of,
)

KEYS: Final = frozenset((str, int, Uint, bool, float))
"""The kinds of values that may qualify an attribute."""


def qualify(value: Value, key: Value) -> Value:
    """Return ``value.key`` or ``value[key]``. Raises EvalError where there is none."""
    found = look_up(value, key)
    if found is not MISSING:
        return found
    if is_list(value):
        raise EvalError(f"index out of bounds: {shown(key)}")
    raise EvalError(f"no such key: {shown(key)}")


def look_up(value: Value, key: Value) -> Value:
    """Return ``value.key`` or ``value[key]``, or MISSING where there is none, as in a scalar.

    Raises EvalError for an index that no list can have.
    """
    if is_map(value):
        return find(value, key)
    if is_list(value):
        return element(value, key)
    return MISSING


def element(value: Value, key: Value) -> Value:
    """Return an element of a list, or MISSING. Raises EvalError for what is no integer."""
    index = _index(key)
    if not 0 <= index < len(value):
        return MISSING
    return value[index] if value.__class__ is list else value.get(key, MISSING)


def _index(key: Value) -> int:
    kind = key.__class__
    if kind is int:
        return int(key)
    if kind is Uint and key.value <= INT_MAX:
        return int(key.value)
    # Go refuses both ends of int64 as doubles: overflow.go, doubleToInt64Checked.
    if kind is float and key.is_integer() and -(2.0**63) < key < 2.0**63:
        return int(key)
    if kind is Uint or kind is float:
        raise EvalError(f"unsupported index value {shown(key)} in list")
    raise EvalError(f"unsupported index type '{type_name(type_of(key))}' in list")


def check_key(key: Value) -> Value:
    """Return what is to qualify an attribute. Raises EvalError if its kind cannot."""
    if key.__class__ in KEYS:
        return key
    raise EvalError(f"invalid qualifier type: {go_type(key)}")


_GO_TYPES: Final = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    Uint: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    list: "*types.baseList",
    dict: "*types.baseMap",
    KeyedMap: "*types.baseMap",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    TypeValue: "*types.Type",
    Optional: "*types.Optional",
}


def go_type(value: Value) -> str:
    """Return what Go's %T prints for a value of cel-go; some of its messages have it."""
    known = _GO_TYPES.get(value.__class__)
    if known is not None:
        return known
    if isinstance(value, EvalError):
        return "*types.Err"
    if isinstance(value, Container):
        return "*common.unstructuredList" if value.is_list() else "*common.unstructuredMap"
    if isinstance(value, Opaque):
        return f"cel.{value.type.name.rpartition('.')[2].removeprefix('Named')}"
    return "types.Object"


def native(value: Value) -> Value:
    """Return a value as it comes back from cel-go's native form, which an optional in a variable passes through.

    A type becomes its name, an optional in an optional is unwrapped. Raises EvalError for values of libraries.
    """
    if isinstance(value, TypeValue):
        return type_name(value.type)
    if isinstance(value, Optional):
        return native(value.value) if value.present else None
    kind = _NATIVE_TYPES.get(value.type.name) if isinstance(value, Opaque) else None
    if kind is not None:
        raise EvalError(f"unsupported conversion to ref.Val: ({kind}){shown(value)}")
    return value


_NATIVE_TYPES: Final = {
    "kubernetes.Quantity": "*resource.Quantity",
    "kubernetes.URL": "*url.URL",
    "kubernetes.Semver": "semver.Version",
    "net.IP": "netip.Addr",
    "net.CIDR": "netip.Prefix",
}
"""What Go's types behind the values of Kubernetes' libraries are; named formats are values themselves."""
