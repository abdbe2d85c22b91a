"""Whole numbers of any size: digits, powers of ten, and what Go's integers make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)


def decimal(value: Any) -> Decimal:
    """Return a number, its digits, or sign, digits and exponent as a Decimal: hardly any run needs the library."""
    from decimal import Decimal

    return Decimal(value)


def ten(power: int) -> int:
    """Return a power of ten; the power is not negative."""
    return int(10**power)


def without_tens(number: int, exponent: int) -> tuple[int, int]:
    """Move the zeros at the end of a number other than 0 into the exponent."""
    # A number with n such zeros ends in as many zero bits. Halving strides keep 100,000 of them cheap.
    zero_bits = (number & -number).bit_length() - 1
    for shift in range(zero_bits.bit_length() - 1, -1, -1):
        if number % (tens := ten(1 << shift)) == 0:
            number, exponent = number // tens, exponent + (1 << shift)
    return number, exponent


def fits(number: int) -> bool:
    """Tell whether an int64 holds a number."""
    return INT64_MIN <= number <= INT64_MAX


def int64(number: int) -> int:
    """Wrap a number as a conversion to int64 does."""
    return (number + 2**63) % 2**64 - 2**63


def int32(number: int) -> int:
    """Wrap a number as a conversion to int32 does."""
    return (number + 2**31) % 2**32 - 2**31


def read_digits(text: str) -> int:
    """Read digits, with or without a sign; Python's own int() refuses more than 4300 of them."""
    return int(text) if len(text) <= 4000 else int(decimal(text))


def write_digits(number: int) -> str:
    """Write a number; Python's own str() refuses more than 4300 digits."""
    return str(number) if number.bit_length() <= 13000 else f"{decimal(number):f}"
