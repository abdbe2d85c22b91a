"""How the API server's validator sees JSON values: their type, whether a number is an integer, what equals what.

Source of the rules: k8s.io/kube-openapi pkg/validation/validate (type.go, validator.go, values.go) and go-openapi/swag
v0.23 convert.go. Numbers are int64 where they fit, else float64, as Kubernetes' JSON decoder makes them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from trainc.kube.gojson import INT64, as_float
from trainc.records import NamedTuple
from trainc.source import Json

INT32 = range(-(2**31), 2**31)
_SAFE = 2.0**53 - 1  # beyond, a float is not taken for an integer
_RELATIVE = 1e-9

NUMERIC = ("integer", "number")
_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


def json_type(value: Json) -> str:
    """Return the JSON type; an integer that int64 cannot hold is a number."""
    if value.__class__ is int:
        return "integer" if value in INT64 else "number"
    return _NAMES.get(value.__class__, "number")


def is_integral(value: float) -> bool:
    """Tell whether a float passes for an integer: whole, or positive and whole but for one part in 10^9."""
    number = as_float(value)
    if math.isnan(number) or abs(number) > _SAFE:
        return False
    whole = float(int(number))
    if number == whole:
        return True
    return whole > 0 and (number - whole) / (number + whole) < _RELATIVE


class Mismatch(NamedTuple):
    """A type that does not fit: what the validator names as expected and as found."""

    expected: str
    found: str


def mismatch(keywords: Mapping[str, Any], value: Json) -> Mismatch | None:
    """Return how value's type fails the schema, or None where it fits.

    ``keywords`` has the types as a list under ``type`` (null among them where null is allowed) and maybe a ``format``.
    A format makes two odd exceptions: it is what the error names, and a list passes where a formatted string belongs.
    """
    types, form = keywords["type"], keywords.get("format", "")
    if not types and not form:
        return None
    found = json_type(value)
    named = ",".join(name for name in types if name != "null") or ",".join(dict.fromkeys(types))
    if value is None:
        return None if "null" in types or not named else Mismatch(named, found)
    fits = found in types or (
        found in NUMERIC and ("number" in types if found == "integer" else "integer" in types and is_integral(value))  # type: ignore[arg-type]
    )
    width = {"integer": "int64", "number": "float64"}.get(found, "")
    if form and found not in ("string", "array") and not fits and form != width:
        return Mismatch(form, width)
    if form and found in ("string", "array") and not any(name in types for name in NUMERIC):
        return None
    return None if fits else Mismatch(named, found)


def is_member(value: Json, enum: Sequence[Json]) -> bool:
    """Tell whether value is one of enum. Go converts before it compares: 1.5 is a member of [1], 65 of ["A"]."""
    return value is not None and any(_same(_converted(value, allowed), allowed) for allowed in enum)


def _same(one: Json, other: Json) -> bool:
    """Compare by type and value: 1 is neither true nor 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one.__class__ is other.__class__ and one == other


def _converted(value: Json, like: Json) -> Json:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(as_float(value)):
        if like.__class__ is int:
            return int(value)
        if like.__class__ is float:
            return as_float(value)
        if like.__class__ is str and json_type(value) == "integer":
            point = int(value)
            valid = 0 <= point < 0x110000 and not 0xD800 <= point < 0xE000
            return chr(point) if valid else "\ufffd"
    return value


def fits_range(value: float, type_name: str, form: str) -> bool:
    """Tell whether a number fits the one numeric type and format that a schema names."""
    if type_name == "integer":
        number = value if value.__class__ is int and value in INT64 else as_float(value)
        if number.__class__ is float and not (math.isfinite(number) and number == int(number)):
            return False
        return int(number) in (INT32 if form == "int32" else INT64)
    if form == "float":
        return _fits_float32(as_float(value))
    return True


def _fits_float32(number: float) -> bool:
    try:
        struct.pack("<f", number)
    except OverflowError:
        return False
    return math.isfinite(number)
