"""JSON values as the API server's validator sees them: types, numbers and their limits, enums, sets and keyed lists.

Sources of the rules: k8s.io/kube-openapi pkg/validation/validate (type.go, validator.go, values.go), go-openapi/swag
v0.23 convert.go and k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/schema/listtype. Numbers are int64 where they
fit, else float64, as Kubernetes' JSON decoder makes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from trainc.basics.jsonvalues import Json
from trainc.kube.gojson import INT64, as_float, go_json, go_number

_INT32 = range(-(2**31), 2**31)
_SAFE = 2.0**53 - 1  # a float beyond is not considered an integer
_RELATIVE = 1e-9
_FLOAT32_LIMIT = (2 - 2**-24) * 2.0**127  # beyond, numbers are rounded to infinity

NUMERIC = ("integer", "number")
CLASSES: Final[dict[str, type]] = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
_NAMES = {cls: name for name, cls in CLASSES.items()}


def json_type(value: Json) -> str:
    """Return the JSON type; an integer that int64 cannot hold is a number."""
    if value.__class__ is int:
        return "integer" if value in INT64 else "number"
    return _NAMES.get(value.__class__, "number")


def is_integral(value: float) -> bool:
    """Return whether a float counts as an integer: if it is whole, or positive and whole up to one part in 10^9."""
    number = as_float(value)
    if math.isnan(number) or abs(number) > _SAFE:
        return False
    whole = float(int(number))
    if number == whole:
        return True
    return whole > 0 and (number - whole) / (number + whole) < _RELATIVE


def count_parts(value: Json) -> int:
    """Return the number of values in a value, with itself."""
    parts: Iterable[Json] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count_parts, parts))


class Mismatch(NamedTuple):
    """A wrong type: the expected type and the found type, as the validator names them."""

    expected: str
    found: str


def mismatch(types: Sequence[str], form: str, value: Any) -> Mismatch | None:
    """Return the mismatch of a value's type with a schema, or None if it fits.

    ``types`` includes null if null is allowed; ``form`` is the schema's format. A format makes two odd exceptions: it
    is what the error names, and a list passes where a formatted string belongs.
    """
    found = json_type(value)
    if found in types or not (types or form):
        return None
    named = ",".join(name for name in types if name != "null") or ",".join(dict.fromkeys(types))
    if value is None:
        return Mismatch(named, found) if named else None
    if found in NUMERIC and ("number" in types if found == "integer" else "integer" in types and is_integral(value)):
        return None
    if form and found in ("string", "array"):
        return Mismatch(named, found) if any(name in types for name in NUMERIC) else None
    width = {"integer": "int64", "number": "float64"}.get(found, "")
    return Mismatch(form, width) if form and form != width else Mismatch(named, found)


def membership(enum: Sequence[Json]) -> Callable[[Json], bool]:
    """Return whether a value is one of enum. Go converts before it compares: 1.5 is a member of [1], 65 of ["A"]."""
    collections = [allowed for allowed in enum if isinstance(allowed, list | dict)]
    scalars = {(allowed.__class__, allowed) for allowed in enum if not isinstance(allowed, list | dict | None)}

    def is_member(value: Json) -> bool:
        if isinstance(value, list | dict):
            return any(_same(value, allowed) for allowed in collections)
        alike = (_converted(value, like) for like in (value, 0, 0.0, ""))
        return any((each.__class__, each) in scalars for each in alike)

    return is_member


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


class NumberError(NamedTuple):
    """An error of a number.

    ``keyword`` is the limit, or ``format`` for a number that its type or format cannot hold; ``expected`` is what Go
    prints after ``should be`` or, where ``cast`` is set, after ``must be of type``. ``value`` is the number compared.
    """

    keyword: str
    expected: str
    value: float
    cast: str = ""


def number_errors(limits: Mapping[str, Any], value: float) -> list[NumberError]:
    """Return the errors of a number by ``limits`` (type, format, multipleOf, minimum, maximum, exclusive...)."""
    errors = []
    if not _fits_type(limits, value):
        errors.append(NumberError("format", _type_name(limits), value, "Checked"))
    if "multipleOf" in limits:
        errors.extend(_multiple_errors(limits, value))
    for keyword in ("minimum", "maximum"):
        if keyword in limits:
            errors.extend(_bound_errors(limits, keyword, value))
    return errors


def _fits_type(limits: Mapping[str, Any], value: float) -> bool:
    """Return whether a number fits the numeric type and format of a schema."""
    if limits["type"] == "integer":
        number = value if value.__class__ is int and value in INT64 else as_float(value)
        if number.__class__ is float and not (math.isfinite(number) and number == int(number)):
            return False
        return int(number) in integers(limits["format"])
    return limits["format"] != "float" or abs(as_float(value)) <= _FLOAT32_LIMIT


def integers(form: str) -> range:
    """Return the integers of a format."""
    return _INT32 if form == "int32" else INT64


def _type_name(limits: Mapping[str, Any]) -> str:
    kind, form = limits["type"], limits["format"]
    return f"{kind} with format {form}" if form else f"{kind} (default format)"


def _boundary_errors(limits: Mapping[str, Any], keyword: str, prefix: str, value: float) -> list[NumberError]:
    """Check the limit against the type: if the type cannot represent it, every number fails."""
    if _fits_type(limits, as_float(limits[keyword])):
        return []
    return [NumberError(keyword, _type_name(limits), value, prefix)]


def _comparable(value: float, limit: float, errors: list[NumberError]) -> tuple[float, float]:
    """Compare as int64 where the value is one and the limit's type allows, else as float64."""
    if not errors and value.__class__ is int and value in INT64:
        return value, int(limit)
    return as_float(value), as_float(limit)


def _bound_errors(limits: Mapping[str, Any], keyword: str, value: float) -> list[NumberError]:
    errors = _boundary_errors(limits, keyword, f"{keyword.capitalize()} boundary", value)
    number, limit = _comparable(value, limits[keyword], errors)
    lower = keyword == "minimum"
    exclusive = limits.get(f"exclusive{keyword.capitalize()}") is True
    if (number < limit if lower else number > limit) or (exclusive and number == limit):
        side = "greater than" if lower else "less than"
        text = f"{side}{'' if exclusive else ' or equal to'} {go_number(limit)}"
        errors.append(NumberError(keyword, text, number))
    return errors


def _multiple_errors(limits: Mapping[str, Any], value: float) -> list[NumberError]:
    errors = _boundary_errors(limits, "multipleOf", "MultipleOf", value)
    number, factor = _comparable(value, limits["multipleOf"], errors)
    if factor <= 0:
        return [*errors, NumberError("multipleOf", f"positive: {go_number(factor)}", factor)]
    if number.__class__ is int:
        divides = number % factor == 0
    else:
        divides = is_integral(1 / factor * number if factor < 1 else number / factor)
    return errors if divides else [*errors, NumberError("multipleOf", f"a multiple of {go_number(factor)}", number)]


class ListError(NamedTuple):
    """An item that violates the list's type: its index, and the repeated value or key.

    ``duplicate`` is False for an item that is not a mapping in a list of mappings with keys.
    """

    at: int
    value: Json
    duplicate: bool


def list_errors(keywords: Mapping[str, Any], items: Sequence[Json]) -> list[ListError]:
    """Return the violations of x-kubernetes-list-type in items; a repeated value is reported once."""
    if keywords.get("x-kubernetes-list-type") == "set":
        return [ListError(index, items[index], duplicate=True) for index in _repeated(items)]
    keys = keywords.get("x-kubernetes-list-map-keys", ())
    if _are_different(items, keys):
        return []
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            return [ListError(index, item, duplicate=False)]
    entries: list[Json] = [
        {key: item[key] for key in keys if key in item} if isinstance(item, dict) else {} for item in items
    ]
    if len(keys) == 1:  # values are compared by type and value, not by their JSON: 1 and 1.0 differ
        values = [item.get(keys[0], _UNSPECIFIED) if isinstance(item, dict) else _UNSPECIFIED for item in items]
    else:
        values = [*entries]
    return [ListError(index, entries[index], duplicate=True) for index in _repeated(values)]


def _are_different(items: Sequence[Any], keys: Sequence[str]) -> bool:
    """Return whether all items are mappings whose keys are plainly different: the usual case."""
    if not {dict}.issuperset(map(type, items)):
        return False
    if len(items) < 2:
        return True
    try:
        if len(keys) == 1:
            return len({item.get(keys[0]) for item in items}) == len(items)
        return len({tuple(map(item.get, keys)) for item in items}) == len(items)
    except TypeError:
        return False


_UNSPECIFIED: Any = object()


def _repeated(values: Sequence[Json]) -> list[int]:
    """Return the index of the second of each group of equal values."""
    if {str}.issuperset(map(type, values)) and len(set(values)) == len(values):
        return []
    counts: dict[Hashable, int] = {}
    repeated = []
    for index, value in enumerate(values):
        identity = _identity(value)
        counts[identity] = counts.get(identity, 0) + 1
        if counts[identity] == 2:
            repeated.append(index)
    return repeated


def _identity(value: Json) -> Hashable:
    if value is _UNSPECIFIED:
        return ("unspecified",)
    if isinstance(value, dict | list):
        return "json", go_json(value)
    kind = json_type(value)
    return kind, as_float(value) if kind == "number" else value  # type: ignore[arg-type]
