"""Range, bounds and multiples of numbers, as the API server checks them.

Source of the rules: k8s.io/kube-openapi pkg/validation/validate (validator.go, values.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.kube.gojson import INT64, as_float, go_number
from trainc.records import NamedTuple
from trainc.schema.values import fits_range, is_integral


class NumberError(NamedTuple):
    """One way in which a number fails.

    ``keyword`` is the limit, or ``format`` for a number that its type or format cannot hold; ``expected`` is what Go
    prints after ``should be`` or, where ``cast`` is set, after ``must be of type``. ``value`` is the number compared.
    """

    keyword: str
    expected: str
    value: float
    cast: str = ""


def number_errors(limits: Mapping[str, Any], value: float) -> list[NumberError]:
    """Return how a number fails ``limits`` (type, format, multipleOf, minimum, maximum, exclusive...)."""
    errors = []
    if not fits_range(value, limits["type"], limits["format"]):
        errors.append(NumberError("format", _type_name(limits), value, "Checked"))
    if "multipleOf" in limits:
        errors.extend(_multiple_errors(limits, value))
    for keyword in ("minimum", "maximum"):
        if keyword in limits:
            errors.extend(_bound_errors(limits, keyword, value))
    return errors


def _type_name(limits: Mapping[str, Any]) -> str:
    kind, form = limits["type"], limits["format"]
    return f"{kind} with format {form}" if form else f"{kind} (default format)"


def _boundary_errors(limits: Mapping[str, Any], keyword: str, prefix: str, value: float) -> list[NumberError]:
    """Check the limit itself against the type: one that the type cannot hold fails every number."""
    if fits_range(as_float(limits[keyword]), limits["type"], limits["format"]):
        return []
    return [NumberError(keyword, _type_name(limits), value, prefix)]


def _native(value: float, limit: float, errors: list[NumberError]) -> tuple[float, float]:
    """Compare as int64 where the value is one and the limit's type allows, else as float64."""
    if not errors and value.__class__ is int and value in INT64:
        return value, int(limit)
    return as_float(value), as_float(limit)


def _bound_errors(limits: Mapping[str, Any], keyword: str, value: float) -> list[NumberError]:
    errors = _boundary_errors(limits, keyword, f"{keyword.capitalize()} boundary", value)
    number, limit = _native(value, limits[keyword], errors)
    lower = keyword == "minimum"
    exclusive = limits.get(f"exclusive{keyword.capitalize()}") is True
    if (number < limit if lower else number > limit) or (exclusive and number == limit):
        side = "greater than" if lower else "less than"
        text = f"{side}{'' if exclusive else ' or equal to'} {go_number(limit)}"
        errors.append(NumberError(keyword, text, number))
    return errors


def _multiple_errors(limits: Mapping[str, Any], value: float) -> list[NumberError]:
    errors = _boundary_errors(limits, "multipleOf", "MultipleOf", value)
    number, factor = _native(value, limits["multipleOf"], errors)
    if factor <= 0:
        return [*errors, NumberError("multipleOf", f"positive: {go_number(factor)}", factor)]
    if number.__class__ is int:
        divides = number % factor == 0
    else:
        divides = is_integral(1 / factor * number if factor < 1 else number / factor)
    return errors if divides else [*errors, NumberError("multipleOf", f"a multiple of {go_number(factor)}", number)]
