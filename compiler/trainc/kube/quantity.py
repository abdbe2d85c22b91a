"""Resource quantities, exactly as in k8s.io/apimachinery v0.36.2 (pkg/api/resource).

A quantity is ``unscaled * 10**scale`` with the format in which it was written. Go holds small ones in an int64 and
others in an inf.Dec (``wide``), which round and overflow differently.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json
from trainc.basics.regex import lazy
from trainc.kube.gojson import (
    INT64_MAX,
    INT64_MIN,
    fits,
    int32,
    int64,
    json_literal,
    ten,
    without_tens,
    write_digits,
)

FORMAT_ERROR = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"  # ErrFormatWrong
)
NUMBER_ERROR = "unable to parse numeric part of quantity"
SUFFIX_ERROR = "unable to parse quantity's suffix"

NANO, MILLI = -9, -3
_FAST_DIGITS = 18
_MAX_SHIFT = 1000
"""The largest power of ten, and the most digits: they take quadratic time, and Go would run out of memory."""

_SCANNED = lazy(r"([+-]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)", re.ASCII)
_EXPONENT = lazy(r"([+-]?)(?=[0-9])0*+([0-9]{0,19})", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent // 10: suffix for suffix, exponent in _BINARY.items()}


class QuantityError(ValueError):
    """A text that is not a quantity; the message is Go's."""


class Format(StrEnum):
    """How a quantity was written, and will be written again. UNSET is Go's zero value, which prints as an exponent."""

    UNSET = ""
    DECIMAL_SI = "DecimalSI"
    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"


class Quantity(msgspec.Struct, frozen=True, eq=False):
    """An exact number with a format. Equality and hash ignore the format.

    ``text`` is the original text if Go reuses it to write the quantity; empty if Go writes the canonical form.
    """

    unscaled: int = 0
    scale: int = 0
    format: Format = Format.UNSET
    wide: bool = False
    text: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __ne__(self, other: object) -> bool:  # that of msgspec does not use __eq__
        return not self == other

    def __hash__(self) -> int:
        return hash(without_tens(self.unscaled, self.scale) if self.unscaled else (0, 0))

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __str__(self) -> str:
        return self.canonical()

    def canonical(self) -> str:
        """Return the text that MarshalJSON writes: the reused text if there is one, else the canonical form."""
        return self.text or _canonical(self)

    def is_zero(self) -> bool:
        """Return whether the value is 0."""
        return self.unscaled == 0

    def sign(self) -> int:
        """Return -1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1 where self is less than, equal to or greater than other, by value."""
        if self.sign() != other.sign():
            return (self.sign() > other.sign()) - (self.sign() < other.sign())
        # Equal signs: far apart in magnitude, digits alone decide and no huge power is computed.
        mine, theirs = _magnitude(self), _magnitude(other)
        if abs(mine - theirs) > 1:
            return self.sign() if mine > theirs else -self.sign()
        low = min(self.scale, other.scale)
        left = self.unscaled * ten(self.scale - low)
        right = other.unscaled * ten(other.scale - low)
        return (left > right) - (left < right)

    def add(self, other: Quantity) -> Quantity:
        """Return the sum in the format of self, or of other if self is 0. Raises QuantityError if it is too large."""
        return _sum(self, other, 1)

    def sub(self, other: Quantity) -> Quantity:
        """Return the difference in the format of self, or of other where self is 0. Raises as add does."""
        return _sum(self, other, -1)

    def mul(self, factor: int) -> Quantity:
        """Return the product with an int64."""
        if not self.wide:
            if self.unscaled == 0:
                return replace(self, text="")
            if factor == 0:
                return Quantity(0, 0, self.format)
            product = self.unscaled * factor
            if self.scale < 0:
                narrow = fits(product) and product % ten(-self.scale) == 0
            else:
                narrow = self.scale <= _FAST_DIGITS and fits(product * ten(self.scale))
            if narrow:
                return replace(self, unscaled=product, text="")
        return replace(self, unscaled=self.unscaled * factor, wide=True, text="")

    def value(self) -> int:
        """Return Go's Value(): rounded up to an int64 (a narrow one away from zero); 0 or wrapped on overflow."""
        return _scaled(self, 0)

    def milli_value(self) -> int:
        """Return Go's MilliValue(): thousandths, rounded and overflowing as value does."""
        return _scaled(self, MILLI)

    def in_thousandths(self) -> Quantity:
        """Return the amount rounded to thousandths, away from zero: a default of resource lists."""
        if self.scale >= MILLI:
            return self
        step = 10 ** (MILLI - self.scale)
        rounded = -(-abs(self.unscaled) // step)
        return replace(self, unscaled=rounded * self.sign(), scale=MILLI, text="")


def parse(text: str) -> Quantity:
    """Read a quantity as ParseQuantity does.

    Raises QuantityError with Go's message. Also raises it where Go needs much time and memory: for exponents beyond
    1,000 with more digits than an int64 has, and for more than 1,000 digits, also in the canonical form.
    """
    scanned = _SCANNED.fullmatch(text)
    if not text or scanned is None:
        raise QuantityError(FORMAT_ERROR)
    sign, zeros, digits, decimals, suffix = scanned.groups(default="")
    exponent, style = _suffix(suffix)
    spelt = _Spelt(text, -1 if sign == "-" else 1, digits or "0", decimals, exponent, style)
    if (narrow := _narrow(spelt)) is not None:
        return narrow
    # The exponent of a canonical form is a multiple of 3, and not below nano.
    added = 0 if style is Format.BINARY_SI else max(exponent - len(decimals), NANO) % 3
    if not zeros + digits + decimals or len(digits + decimals) + added > _MAX_SHIFT:
        raise QuantityError(NUMBER_ERROR)
    return _widen(spelt)


_read = lru_cache(maxsize=4096)(parse)


def from_json(value: Json) -> Quantity:
    """Read a JSON value as Quantity.UnmarshalJSON does: strings and the literal text of numbers; null is zero.

    Raises QuantityError.
    """
    return Quantity() if value is None else _read(json_literal(value))


def _suffix(suffix: str) -> tuple[int, Format]:
    """Return the exponent (of 2 for BINARY_SI, else of 10) and the format of a suffix."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], Format.DECIMAL_SI
    if suffix in _BINARY:
        return _BINARY[suffix], Format.BINARY_SI
    if suffix[0] in "eE" and (found := _EXPONENT.fullmatch(suffix, 1)):
        exponent = int(found[1] + (found[2] or "0"))
        if fits(exponent):
            return int32(exponent), Format.DECIMAL_EXPONENT
    raise QuantityError(SUFFIX_ERROR)


class _Spelt(NamedTuple):
    """The parts of a text; ``exponent`` is one of 2 if the style is BINARY_SI, else one of 10."""

    text: str
    sign: int
    digits: str
    decimals: str
    exponent: int
    style: Format


def _narrow(spelt: _Spelt) -> Quantity | None:
    """Return the quantity that Go holds in an int64, or None if Go uses its slow path."""
    _, sign, digits, decimals, exponent, style = spelt
    if style is Format.BINARY_SI:
        room = -1 if decimals else 15 - len(digits) - exponent * 3 // 10 - 1
        scale, factor = 0, 1 << exponent
    else:
        room = _FAST_DIGITS - len(digits) - len(decimals)
        scale, factor = int32(exponent - len(decimals)), 1
    if room < 0 or scale < NANO:
        return None
    shifted = digits + decimals
    number = int(shifted)
    if style is Format.BINARY_SI:
        reuse = number % 8 != 0
    else:
        reuse = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
    return Quantity(sign * number * factor, scale, style, text=spelt.text if reuse else "")


def _widen(spelt: _Spelt) -> Quantity:
    """Return the quantity that Go holds in an inf.Dec: no finer than nano, binary ones at most 2**63 - 1."""
    _, sign, digits, decimals, exponent, style = spelt
    number, places = int(digits + decimals), len(decimals)
    if style is Format.BINARY_SI:
        number <<= exponent
    else:
        places -= exponent
    if number:
        shift = -NANO - places
        if abs(shift) > _MAX_SHIFT:
            raise QuantityError(NUMBER_ERROR)
        number = number * ten(shift) if shift >= 0 else -(-number // ten(-shift))
        places = -NANO
        if style is Format.BINARY_SI:
            if number > INT64_MAX * ten(places):
                number, places = INT64_MAX, 0
            elif number < ten(places):
                style = Format.DECIMAL_SI
    return Quantity(sign * number, -places, style, wide=True)


def _canonical(quantity: Quantity) -> str:
    if quantity.unscaled == 0:
        return "0"
    style = quantity.format
    if style is Format.BINARY_SI:
        whole, rest = divmod(quantity.unscaled, ten(-quantity.scale))  # no binary one has a positive scale
        if not rest and abs(whole) >= 1024:
            if whole == INT64_MIN and not quantity.wide:  # Go negates it, which overflows
                return str(whole)
            times = 0
            while whole % 1024 == 0:
                whole, times = whole // 1024, times + 1
            return write_digits(whole) + _BINARY_SUFFIX.get(times, "")
        style = Format.DECIMAL_SI
    number, exponent = without_tens(quantity.unscaled, quantity.scale)
    number *= ten(exponent % 3)
    exponent -= exponent % 3
    if style is Format.DECIMAL_SI:
        # Go drops an exponent that has no suffix: "1000E" is written "1".
        return write_digits(number) + _DECIMAL_SUFFIX.get(exponent, "")
    return write_digits(number) + (f"e{exponent}" if exponent else "")


def _scaled(quantity: Quantity, scale: int) -> int:
    """Return Go's ScaledValue(scale)."""
    return (_scaled_wide if quantity.wide else _scaled_narrow)(quantity.unscaled, quantity.scale - scale)


def _scaled_narrow(number: int, up: int) -> int:
    if up < 0:
        rounded = -(-abs(number) // ten(-up))
        return -rounded if number < 0 else rounded
    if up > _FAST_DIGITS:
        return 0
    product = number * ten(up)
    # On overflow Go's shortcuts for these powers give the wrapped product, its loop for all others gives 0.
    return product if fits(product) else int64(product) if up in (1, 2, 3, 6, 9) else 0


def _scaled_wide(number: int, up: int) -> int:
    if up >= 0:
        # Go multiplies by int64(math.Pow10(up)); beyond 1e18 that conversion gives the least int64 on amd64.
        return int64(int64(number) * (ten(up) if up <= _FAST_DIGITS else INT64_MIN))
    if number < INT64_MAX and -up <= _FAST_DIGITS:
        # Go's shortcut truncates negative numbers towards zero, and still adds the one that rounds up.
        short = int64(number)
        whole, rest = divmod(abs(short), ten(-up))
        whole = -whole if short < 0 else whole
    else:
        whole, rest = divmod(number, ten(-up))
    return int64(whole + 1 if rest else whole)


def _sum(left: Quantity, right: Quantity, sign: int) -> Quantity:
    style = right.format if left.unscaled == 0 else left.format
    if not left.wide and not right.wide:
        if right.unscaled == 0:
            return replace(left, format=style, text="")
        if left.unscaled == 0:
            return Quantity(sign * right.unscaled, right.scale, style)
    low = min(left.scale, right.scale)
    if max(left.scale, right.scale) - low > _MAX_SHIFT:
        if left.unscaled and right.unscaled:
            raise QuantityError(NUMBER_ERROR)
        known = left if left.unscaled else replace(right, unscaled=sign * right.unscaled)
        return replace(known, format=style, wide=True, text="")
    one, other = left.unscaled * ten(left.scale - low), right.unscaled * ten(right.scale - low) * sign
    narrow = not left.wide and not right.wide and fits(one) and fits(other) and fits(one + other)
    return Quantity(one + other, low, style, wide=not narrow)


def _magnitude(quantity: Quantity) -> int:
    """Return the exponent of the first digit, at most one too high (by digits of the number, without printing it)."""
    bits = abs(quantity.unscaled).bit_length()
    return quantity.scale + bits * 30103 // 100000
