"""Go's spelling of values: numbers as encoding/json writes them, any value as fmt's %v prints it; its integers."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from trainc.basics.jsonvalues import Json

if TYPE_CHECKING:
    from decimal import Context, Decimal

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
INT64 = range(INT64_MIN, INT64_MAX + 1)

# The white space of strings.TrimSpace that a JSON encoder does not escape (as control characters, U+2028, U+2029).
BLANKS = " \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_SPACE = BLANKS + "\t\n\v\f\r\u2028\u2029"


def trim_space(text: str) -> str:
    """Return ``strings.TrimSpace(text)``: unlike str.strip, it leaves U+001C to U+001F."""
    return text.strip(_SPACE)


def as_float(value: float) -> float:
    """Return the number as float64; infinite if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def json_literal(value: Json) -> str:
    """Return the literal of a value other than null, trimmed, as passed to a type that decodes itself from text."""
    if isinstance(value, str):
        return value.strip(BLANKS)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_literal(value)
    return "{}"  # no list or mapping is a quantity


def float_literal(value: float) -> str:
    """Format a finite float as Go's encoding/json does: shortest digits, an exponent below 1e-6 and from 1e21 on."""
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    found = decimal(repr(value)).normalize(exact())
    return f"{found:f}" if 1e-6 <= abs(value) < 1e21 else f"{_mantissa(found)}e{found.adjusted():+d}"


def printed(value: Json) -> str:
    """Print a value as Go's ``%v`` does."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(printed, value))}]"
    return "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def go_number(value: float) -> str:
    """Print a number as ``%v`` does; an integer that int64 cannot hold is a float64."""
    if value.__class__ is int and value in INT64:
        return str(value)
    number = as_float(value)
    if not math.isfinite(number):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(number, "NaN")
    found = decimal(repr(number)).normalize(exact())
    if number == 0 or -4 <= found.adjusted() < 6:
        return f"{found:f}"
    return f"{_mantissa(found)}e{found.adjusted():+03d}"


def _mantissa(number: Decimal) -> str:
    """Return the digits of a number before the exponent, with a point after the first one."""
    return f"{number.scaleb(-number.adjusted(), exact()):f}"


def go_json(value: Json, *, struct: bool = False) -> str:
    """Return value as encoding/json writes it: compact, HTML escaped, whole floats without a point.

    Keys are sorted, as those of a map are; those of a struct (``struct``, see gotypes.typed) keep their order.
    """
    if isinstance(value, dict):
        keys = value if struct else sorted(value, key=lambda key: key.encode("utf-8", "surrogatepass"))
        return "{" + ",".join(f"{_text(key)}:{go_json(value[key], struct=struct)}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(go_json(item, struct=struct) for item in value) + "]"
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value) if value.__class__ is int and value in INT64 else float_literal(as_float(value))


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_TABLE = {
    **{ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"},
    **{code: f"\\u{code:04x}" for code in range(0x20)},
    **{ord(char): text for char, text in _ESCAPES.items()},
}


def _text(text: str) -> str:
    return '"' + text.translate(_TABLE) + '"'


def decimal(value: Any) -> Decimal:
    """Return a number, its digits, or sign, digits and exponent as a Decimal; the library is imported on demand."""
    from decimal import Decimal

    return Decimal(value)


@cache
def exact() -> Context:
    """Return a context for the digits of a float, in place of that of the calling program, which may round them."""
    from decimal import Context

    return Context(prec=28)


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
    """Return whether an int64 holds a number."""
    return INT64_MIN <= number <= INT64_MAX


def int64(number: int) -> int:
    """Wrap a number as a conversion to int64 does."""
    return (number + 2**63) % 2**64 - 2**63


def int32(number: int) -> int:
    """Wrap a number as a conversion to int32 does."""
    return (number + 2**31) % 2**32 - 2**31


def write_digits(number: int) -> str:
    """Write a number; Python's own str() refuses more than 4300 digits."""
    return str(number) if number.bit_length() <= 13000 else _long_digits(number)


@lru_cache(maxsize=1024)  # all of an object: the time is quadratic, and each step of a build writes them again
def _long_digits(number: int) -> str:
    return f"{decimal(number):f}"
