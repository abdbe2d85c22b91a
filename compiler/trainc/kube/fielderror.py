"""The texts of Go's field errors, as an API server and its webhooks print them.

Source: k8s.io/apimachinery v0.36 pkg/util/validation/field, strconv.Quote and encoding/json.
"""

from __future__ import annotations

import unicodedata

from trainc.kube.gojson import go_json, go_number
from trainc.source import Json

NO_FIELD = "<nil>"
"""What Go prints for an absent path."""

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def invalid(field: str, value: Json, detail: str) -> str:
    """Return the text of ``field.Invalid`` for a value that Go has decoded (see goorder.typed)."""
    return f"{field}: Invalid value: {go_value(value, struct=True)}: {detail}"


def forbidden(field: str, detail: str) -> str:
    """Return the text of ``field.Forbidden``."""
    return f"{field}: Forbidden: {detail}"


def internal(field: str, detail: str) -> str:
    """Return the text of ``field.InternalError``."""
    return f"{field}: Internal error: {detail}"


def go_value(value: Json, *, struct: bool = False) -> str:
    """Spell a value as a field error does: strings quoted, numbers plain, the rest as JSON (see go_json)."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return go_number(value)
    return go_json(value, struct=struct)


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
