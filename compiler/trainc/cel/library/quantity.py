"""Quantities as values. Source: k8s.io/apiserver v0.34.4 pkg/cel/quantity.go and pkg/cel/library/quantity.go."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from trainc.cel.types import struct
from trainc.cel.values import INT_MIN, EvalError, Opaque, Value
from trainc.kube import quantity as kube
from trainc.kube.gojson import as_float, fits, ten
from trainc.kube.quantity import Format, QuantityError

_MOST_SCALE = 18
_MOST_POWER, _LEAST_POWER = 308, -323
"""Go's math.Pow10 is infinite above, 0 below."""


class Quantity(Opaque, frozen=True, eq=False):
    """A quantity. ``summed``: it came out of add() or sub(), which the server cannot find equal to anything given."""

    type = struct("kubernetes.Quantity")
    number: kube.Quantity
    summed: bool = False

    def text(self) -> str:
        """Return the canonical form."""
        return self.number.canonical()

    def weight(self) -> int:
        """Return the work of reading it: digits by the thousand, and the powers of ten that a sum multiplies with."""
        return 1 + (self.number.unscaled.bit_length() + 4 * abs(self.number.scale)) // 1000

    def equals(self, other: Value) -> bool:
        """Compare by value. Raises EvalError for another type, and for what add() or sub() returned."""
        if not isinstance(other, Quantity) or other.summed:
            raise EvalError("no such overload")
        return self.number.compare(other.number) == 0


def parse(text: str) -> Quantity:
    """Return ``quantity(text)``. Raises EvalError."""
    try:
        return Quantity(kube.parse(text))
    except QuantityError as error:
        raise EvalError(str(error)) from None


def is_quantity(text: str) -> bool:
    """Tell whether text is a quantity."""
    try:
        kube.parse(text)
    except QuantityError:
        return False
    return True


def as_int(quantity: Quantity) -> int | None:
    """Return what Go's AsInt64 does: None for a fraction, for what int64 lacks, and for all that Go holds in a Dec."""
    number = quantity.number
    if number.wide or number.scale < 0 or number.scale > _MOST_SCALE:
        return 0 if number.unscaled == 0 and not number.wide and number.scale >= 0 else None
    whole = number.unscaled * ten(number.scale)
    return whole if fits(whole) else None


def as_integer(quantity: Quantity) -> int:
    """Return the value as an int. Raises EvalError."""
    whole = as_int(quantity)
    if whole is None:
        raise EvalError("cannot convert value to integer")
    return whole


def as_approximate_float(quantity: Quantity) -> float:
    """Return the value as a double, with the rounding of two float64 operations."""
    number = quantity.number
    base = as_float(number.unscaled)
    if number.scale == 0:
        return base
    return base * _pow10(number.scale)


def _pow10(power: int) -> float:
    """Return math.Pow10(power): a product of two table entries, so not always the nearest double."""
    if not _LEAST_POWER <= power <= _MOST_POWER:
        return math.inf if power > 0 else 0.0
    large, small = divmod(abs(power), 32)
    return (
        float(f"1e{large * 32}") * float(f"1e{small}")
        if power >= 0
        else float(f"1e-{large * 32}") / float(f"1e{small}")
    )


def _combined(left: Quantity, right: kube.Quantity, sign: int) -> Quantity:
    try:
        return Quantity(left.number.add(right) if sign > 0 else left.number.sub(right), summed=True)
    except QuantityError as error:
        raise EvalError(str(error)) from None


def _minus_int(left: Quantity, right: int) -> Quantity:
    if right == INT_MIN and not left.number.wide:
        # Go adds the negative, which int64 lacks: it wraps to the same number, unless that sum overflows.
        wrapped = _combined(left, _of(right), 1)
        if not wrapped.number.wide:
            return wrapped
    return _combined(left, _of(right), -1)


def _of(number: int) -> kube.Quantity:
    return kube.Quantity(number, 0, Format.DECIMAL_EXPONENT)


def _compare(left: Quantity, right: Quantity) -> int:
    return left.number.compare(right.number)


OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "string_to_quantity": parse,
    "is_quantity_string": is_quantity,
    "quantity_sign": lambda quantity: quantity.number.sign(),
    "quantity_is_integer": lambda quantity: as_int(quantity) is not None,
    "quantity_get_int": as_integer,
    "quantity_get_float": as_approximate_float,
    "quantity_add": lambda left, right: _combined(left, right.number, 1),
    "quantity_add_int": lambda left, right: _combined(left, _of(right), 1),
    "quantity_sub": lambda left, right: _combined(left, right.number, -1),
    "quantity_sub_int": _minus_int,
    "quantity_is_greater_than": lambda left, right: _compare(left, right) > 0,
    "quantity_is_less_than": lambda left, right: _compare(left, right) < 0,
    "quantity_compare_to": _compare,
}
