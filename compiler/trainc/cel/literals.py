"""Parses literals like cel-go v0.26.0 (parser/parser.go and parser/unescape.go)."""

from __future__ import annotations

import math
import re

from trainc.basics.regex import lazy
from trainc.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

CONTROL_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
ONE_CHARACTER_ESCAPES = frozenset((*CONTROL_ESCAPES, *"\"'\\?`"))
ESCAPE = lazy(r"\\([xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|[\s\S])")


def integer(text: str) -> int:
    """Return the value of a signed decimal or hexadecimal number; raises ValueError beyond 64 bits."""
    value = _number(text)
    if not INT_MIN <= value <= INT_MAX:
        raise ValueError("invalid int literal")
    return value


def unsigned(text: str) -> Uint:
    """Return the value of a number that ends in u; raises ValueError beyond 64 bits."""
    value = _number(text[:-1])
    if value > UINT_MAX:
        raise ValueError("invalid uint literal")
    return Uint(value)


def _number(text: str) -> int:
    digits = text.lstrip("-")
    base = 16 if digits.startswith("0x") else 10
    significant = digits.removeprefix("0x").lstrip("0") or "0"
    # Python rejects thousands of decimal digits, and more than 20 never fit anyway.
    value = int(significant, base) if len(significant) <= 20 else UINT_MAX + 1
    return -value if text.startswith("-") else value


def double(text: str) -> float:
    """Return the value of a number with a fraction or an exponent; raises ValueError if it is too large."""
    value = float(text)
    if math.isinf(value):
        raise ValueError("invalid double literal")
    return value


def string(text: str) -> str:
    """Return the string of a quoted literal; raises ValueError for an invalid code point."""
    body, raw = _body(text)
    return body if raw else ESCAPE.sub(_character, body)


def byte_string(text: str) -> bytes:
    """Return the bytes of a literal that starts with b; raises ValueError for an escape that bytes do not support."""
    body, raw = _body(text[1:])
    parts = [body] if raw else ESCAPE.split(body)  # texts and escapes in turn
    plain = (part.encode("utf-8", "surrogatepass") for part in parts[::2])
    return next(plain) + b"".join(_octets(code) + text for code, text in zip(parts[1::2], plain, strict=True))


def _body(text: str) -> tuple[str, bool]:
    """Return the text between the quotes, with line ends as ``\\n``, and whether it is raw."""
    raw = text[0] in "rR"
    quoted = text[1:] if raw else text
    width = 3 if len(quoted) >= 6 and quoted[:3] in ("'''", '"""') else 1
    return quoted[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 1:
        return CONTROL_ESCAPES.get(code, code)
    value = int(code, 8) if code[0] in "0123" else int(code[1:], 16)
    if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(value)


def _octets(code: str) -> bytes:
    if len(code) == 1:
        return CONTROL_ESCAPES.get(code, code).encode()
    if code[0] in "uU":
        raise ValueError("unable to unescape string")
    return bytes((int(code, 8) if code[0] in "0123" else int(code[1:], 16),))
