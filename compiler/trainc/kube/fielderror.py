"""The texts of Go's field errors, as an API server and its webhooks print them.

Source: k8s.io/apimachinery v0.36 pkg/util/validation/field, strconv.Quote and encoding/json.
"""

from __future__ import annotations

import json
import unicodedata

from trainc.source import Json

NO_FIELD = "<nil>"
"""What Go prints for an absent path."""

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def invalid(field: str, value: Json, detail: str) -> str:
    """Return the text of ``field.Invalid``."""
    return f"{field}: Invalid value: {go_value(value)}: {detail}"


def forbidden(field: str, detail: str) -> str:
    """Return the text of ``field.Forbidden``."""
    return f"{field}: Forbidden: {detail}"


def internal(field: str, detail: str) -> str:
    """Return the text of ``field.InternalError``."""
    return f"{field}: Internal error: {detail}"


def go_value(value: Json) -> str:
    """Spell a value as an error does: scalars plain, strings quoted, the rest as compact JSON."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return go_json(value)


def go_json(value: Json) -> str:
    """Return compact JSON with Go's HTML escapes; keys keep their order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_HTML)


def quote(text: str) -> str:
    """Return ``strconv.Quote(text)``."""
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char == " " or unicodedata.category(char)[0] in "LMNPS":
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
