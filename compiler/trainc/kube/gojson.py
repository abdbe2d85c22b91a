"""How Go spells values: numbers as encoding/json writes them, anything as fmt's %v prints it."""

from __future__ import annotations

import math
from decimal import Decimal

from trainc.source import Json

# What strings.TrimSpace still sees as blanks once a JSON encoder has escaped control characters and U+2028, U+2029.
BLANKS = " \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_SPACE = BLANKS + "\t\n\v\f\r\u2028\u2029"


def trim_space(text: str) -> str:
    """Return ``strings.TrimSpace(text)``: unlike str.strip, it leaves U+001C to U+001F."""
    return text.strip(_SPACE)


def json_literal(value: Json) -> str:
    """Return the literal of a value other than null, trimmed, as a type that decodes itself from text sees it."""
    if isinstance(value, str):
        return value.strip(BLANKS)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_literal(value)
    return "{}"  # no list and no mapping is a quantity, whatever it holds


def float_literal(value: float) -> str:
    """Spell a finite float as Go's encoding/json does: shortest digits, an exponent below 1e-6 and from 1e21 on."""
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "finite floats only"
    text = "".join(map(str, digits))
    if 1e-6 <= abs(value) < 1e21:
        return f"{Decimal((sign, digits, exponent)):f}"
    mantissa = text[0] + (f".{text[1:]}" if len(text) > 1 else "")
    power = exponent + len(text) - 1
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power)}"


def printed(value: Json) -> str:
    """Print a value as Go's ``%v`` does."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(printed, value))}]"
    return "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
