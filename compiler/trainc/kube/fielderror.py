"""The texts of Go's field errors, as an API server and its webhooks print them.

Source: k8s.io/apimachinery v0.36 pkg/util/validation/field, strconv.Quote and encoding/json.
"""

from __future__ import annotations

import re
from functools import cache

from trainc.basics.jsonvalues import Json
from trainc.data import load_json
from trainc.kube.gojson import go_json, go_number

NO_FIELD = "<nil>"
"""What Go prints for an absent path."""

MOST_QUOTED = 120
"""The most characters of a value that an error about an expression or a URL quotes."""

_ESCAPES = {char: f"\\{letter}" for char, letter in zip('"\\\a\b\f\n\r\t\v', '"\\abfnrtv', strict=True)}


def invalid(field: str, value: Json, detail: str) -> str:
    """Return the text of ``field.Invalid`` for a value that Go has decoded (see gotypes.typed)."""
    return f"{field}: Invalid value: {go_value(value, struct=True)}: {detail}"


def forbidden(field: str, detail: str) -> str:
    """Return the text of ``field.Forbidden``."""
    return f"{field}: Forbidden: {detail}"


def go_value(value: Json, *, struct: bool = False) -> str:
    """Format a value as a field error does: strings quoted, numbers plain, the rest as JSON (see go_json)."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return go_number(value)
    return go_json(value, struct=struct)


def quote(text: str) -> str:
    """Return ``strconv.Quote(text)``."""
    return f'"{_escaped().sub(_escape, text)}"'


def cut(text: str) -> str:
    """Shorten a text for an error: an input may be megabytes long, or contain secrets."""
    return text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 3]}..."


def quote_cut(text: str) -> str:
    """Return ``strconv.Quote`` of a text, cut."""
    return quote(cut(text))


@cache
def _escaped() -> re.Pattern[str]:
    """Return the pattern of the characters that ``strconv.Quote`` escapes.

    The file has the code points above ASCII for which ``strconv.IsPrint`` of Go 1.26 holds: what Python takes for
    printable changes from version to version. ``go run ./printable`` in tests/oracle prints it.
    """
    ranges = (part.partition("-") for part in load_json("go_printable.json"))
    printable = "".join(f"\\U{int(first, 16):08x}-\\U{int(last or first, 16):08x}" for first, _, last in ranges)
    return re.compile(rf'[^ -~{printable}]|["\\]')


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
