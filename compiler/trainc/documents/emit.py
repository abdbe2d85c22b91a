"""Plain JSON to canonical YAML: same data, same bytes, and the same data again for every reader of YAML.

Block style, two spaces, lists at their key's column as kubectl prints them, no folding, no anchors, no tags.
A string stands unquoted only if no reader of YAML 1.1 or 1.2 could take it for anything else.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache, partial
from typing import Any, Final

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.basics.memo import Remembered, known
from trainc.basics.regex import lazy
from trainc.findings.inert import COMMAND, LINE_COMMAND, suspicious
from trainc.kube.fieldorder import DATA_MAPS, field_order
from trainc.kube.gojson import decimal

# Plain scalars are whole families of text that no reader resolves to another type: words, paths, options,
# image references, commands with blanks; quantities with a suffix; versions of three numbers and more.
_PLAIN = lazy(
    r"(?:[A-Za-z/]|--?[A-Za-z]|\.\.?/|\$[({])(?:[!-9;-~]|:(?=[!-~])| (?=[ !\"$-~]))*"
    r"|[0-9]+(?:m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi|Ei)"
    r"|[0-9]+(?:\.[0-9]+){2,}"
)
_PLAIN_KEY = lazy(r"[A-Za-z][A-Za-z0-9/._-]*")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))

# What may stand in a file as it is, besides ASCII. Not here, so escaped: control characters, blanks other than
# the space, line and paragraph separators, byte order marks, invisible and direction-changing characters. A
# fixed list: what Python calls printable changes from version to version.
_HIGH = (
    r"\u00a1-\u00ac\u00ae-\u05ff\u0606-\u061b\u061d-\u06dc\u06de-\u070e\u0710-\u088f\u0892-\u08e1\u08e3-\u167f"
    r"\u1681-\u180d\u180f-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufefe"
    r"\uff00-\uffef\U00010000-\U000110bc\U000110be-\U0001bc9f\U0001bca4-\U0001d172\U0001d17b-\U0001fffd"
    r"\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
_ESCAPED = lazy(rf'[^ -~{_HIGH}]|["\\]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NOT_SINGLE = lazy(rf"[^ -~{_HIGH}]")
# Readers differ, or editors spoil the text: a first line that is empty or indented, blanks at a line's end.
_NOT_LITERAL = lazy(rf"[^\n\t -~{_HIGH}]|\A[ \t\n]|[ \t]$", re.MULTILINE)
_NOT_ASCII_LITERAL = lazy(r"[^\n\t -~]|\A[ \t\n]|[ \t]$", re.MULTILINE)  # compiled in a hundredth of the time
_LINE_START = lazy(r"\n(?=[^\n])")

_LONGEST_KEY = 900  # code points; readers look for a key's colon within 1,024
_SHORT = 200  # code points of a string worth remembering
_SHAPES = 1024  # so many mappings of other keys are remembered for one indentation
_INTEGERS = range(-(2**63), 2**64)  # what go-yaml holds exactly


def emit(data: JsonObject) -> str:
    """Write one object as a YAML document with a newline at its end, fields in order, without ``---``.

    Raises ValueError for null, NaN and infinities, integers beyond 64 bits and text that UTF-8 cannot hold.
    """
    if not data:
        return "{}\n"
    out: list[str] = []
    _mapping(data, _TOP, "", out)
    out.append("\n")
    return "".join(out)


def emit_inert(data: JsonObject) -> str:
    """Write one object for a terminal or a log, as ``emit`` does: data in it that a CI runner obeys is quoted.

    Strings with a command in them stand in double quotes, the command broken up by an escape.
    """
    text = emit(data)
    if not suspicious(text) or not (COMMAND.search(text) or LINE_COMMAND.search(text)):
        return text
    mark = "held"
    while mark in text:
        mark += "x"
    held: list[str] = []
    text = emit(_without_commands(data, mark, held))  # type: ignore[arg-type]  # an object stays one
    text = re.sub(rf"{mark}([0-9]+)-", lambda match: _double(held[int(match[1])]), text)
    return COMMAND.sub(r"#\\x23", text)  # what is left stands in double quotes, keys as well


def _without_commands(value: Json, mark: str, held: list[str]) -> Json:
    """Return a value with a word in place of each string that holds a command; ``held`` gets the string."""
    if isinstance(value, dict):
        return {key: _without_commands(child, mark, held) for key, child in value.items()}
    if isinstance(value, list):
        return [_without_commands(item, mark, held) for item in value]
    if not isinstance(value, str) or not (COMMAND.search(value) or LINE_COMMAND.search(value)):
        return value
    held.append(value)
    return f"{mark}{len(held) - 1}-"


def emit_file(data: JsonObject, header_lines: tuple[str, ...] = ()) -> bytes:
    """Write one object as a file: each header line a comment (its ``#`` is added), then the object; UTF-8.

    Raises ValueError as ``emit`` does, and for a header line that is more than one line.
    """
    for line in header_lines:
        if not _is_visible(line):
            raise ValueError(f"a header line holds more than visible text: {line!r}")
    head = "".join(f"# {line}".rstrip() + "\n" for line in header_lines)
    return (head + emit(data)).encode()


def visible(text: str) -> str:
    """Return text with an escape for each character that may not stand raw in a comment."""
    if _is_visible(text):
        return text
    return _NOT_SINGLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def _is_visible(text: str) -> bool:
    """Tell whether a text may stand in a file as it is."""
    return text.isprintable() if text.isascii() else not _NOT_SINGLE.search(text)


class _Level:
    """A depth of indentation; ``newline`` starts each further line there.

    ``fields`` and ``data`` hold for the keys of a mapping, in order, what stands up to the colon, what the value is
    told to be below, and by what the text of both is remembered of a value that lasts: all but the first start on a
    line of their own. Under ``data`` the keys are no fields. ``item`` is what the text of a list's item is remembered
    by that begins here.
    """

    __slots__ = ("_below", "data", "fields", "item", "newline", "start")

    def __init__(self, newline: str) -> None:
        self.newline = newline
        self.start = f"{newline}- "
        self.item = object()
        self.fields = Remembered(partial(_starts, newline, False), _SHAPES)
        self.data = Remembered(partial(_starts, newline, True), _SHAPES)
        self._below: _Level | None = None

    @property
    def below(self) -> _Level:
        """The next level."""
        if self._below is None:
            self._below = _Level(f"{self.newline}  ")
        return self._below


def _starts(newline: str, free: bool, names: tuple[str, ...]) -> tuple[tuple[str, str, str, object], ...]:
    keys = sorted(names) if free else field_order(names)
    texts = (_key(name) if len(name) <= _SHORT else _long_key(name, newline) for name in keys)
    return tuple(
        (name, f"{newline if index else ''}{text}:", "" if free else name, object())
        for index, (name, text) in enumerate(zip(keys, texts, strict=True))
    )


def _mapping(data: JsonObject, level: _Level, parent: str, out: list[str]) -> None:
    """Write a mapping that is not empty, at the place reached."""
    for name, start, inside, place in (level.data if parent in DATA_MAPS else level.fields)[tuple(data)]:
        value = data[name]
        kind = type(value)
        if kind is str:
            text = _INLINE[value] if len(value) <= _SHORT else None  # type: ignore[arg-type, index]  # kind is str
            out.append(f"{start} {_string(value, level.newline) if text is None else text}")  # type: ignore[arg-type]
        elif value and (kind is dict or kind is list):
            mine = known(value)
            if mine is None:
                _collection(start, value, level, inside, out)
            elif (text := mine.get(place)) is not None:
                out.append(text)
            else:
                own: list[str] = []
                _collection(start, value, level, inside, own)
                mine[place] = "".join(own)
                out += own
        else:
            out.append(f"{start} {_scalar(value)}")


def _collection(start: str, value: Json, level: _Level, parent: str, out: list[str]) -> None:
    """Write a mapping or list that is not empty, behind what stands up to its colon."""
    if isinstance(value, dict):
        out.append(f"{start}{level.newline}  ")
        _mapping(value, level.below, parent, out)
    elif isinstance(value, list):
        out.append(f"{start}{level.newline}")
        _sequence(value, level, out)


def _sequence(items: list[Json], level: _Level, out: list[str]) -> None:
    """Write a list that is not empty, at the place reached, its dashes there."""
    start = "- "
    for value in items:
        kind = type(value)
        if kind is str:
            text: str | None = _INLINE[value] if len(value) <= _SHORT else None  # type: ignore[arg-type, index]
            out.append(f"{start}{_string(value, level.newline) if text is None else text}")  # type: ignore[arg-type]
        elif kind is dict and value:
            if (mine := known(value)) is not None:
                text = _lasting_item(mine, value, level.below)  # type: ignore[arg-type]  # kind is dict
            else:
                text = _variable(value, level)  # type: ignore[arg-type]  # kind is dict
            if text is None:
                out.append(start)
                _mapping(value, level.below, "", out)  # type: ignore[arg-type]  # kind is dict
            else:
                out.append(f"{start}{text}")
        elif kind is list and value:
            out.append(start)
            _sequence(value, level.below, out)  # type: ignore[arg-type]  # kind is list
        else:
            out.append(f"{start}{_scalar(value)}")
        start = level.start


def _lasting_item(mine: dict[Any, Any], data: JsonObject, level: _Level) -> str:
    """Return the text of a list's item that many objects have in common, which is written once for its place."""
    text: str | None = mine.get(level.item)
    if text is None:
        out: list[str] = []
        _mapping(data, level, "", out)
        text = mine[level.item] = "".join(out)
    return text


def _variable(item: JsonObject, level: _Level) -> str | None:
    """Write an environment variable, which most items of lists are; None for any other mapping, and for long texts."""
    if len(item) != 2:
        return None
    name, value = item.get("name"), item.get("value")
    if type(name) is not str or type(value) is not str or len(name) > _SHORT or len(value) > _SHORT:
        return None
    first, second = _INLINE[name], _INLINE[value]
    return None if first is None or second is None else f"name: {first}{level.newline}  value: {second}"


def _scalar(value: Json) -> str:
    """Write anything but a string; of collections only the empty ones come here."""
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        if value not in _INTEGERS:
            raise ValueError(f"an integer beyond 64 bits: {value}")
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, dict | list) and not value:
        return "{}" if isinstance(value, dict) else "[]"
    raise ValueError(f"{type(value).__name__} cannot be emitted" if value is not None else "null cannot be emitted")


def _float(value: float) -> str:
    """Write a float as Go writes it in JSON, but so that YAML 1.1 readers see a float, too: 1.0e+21."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be emitted")
    if value.is_integer() and abs(value) < 2**63:
        return str(int(decimal(repr(value))))
    digits = repr(value)
    mantissa, exponent, power = digits.partition("e")
    if not exponent:
        return digits
    if 1e-6 <= abs(value) < 1e-4:
        return format(decimal(digits), "f")
    sign, number = ("-", power[1:]) if power[0] == "-" else ("+", power.lstrip("+"))
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{sign}{number.lstrip('0')}"


def _string(text: str, newline: str) -> str:
    if "\n" not in text:
        return _quote(text)
    if (_NOT_ASCII_LITERAL if text.isascii() else _NOT_LITERAL).search(text):
        return _double(text)
    body = text.rstrip("\n")
    extra = len(text) - len(body)
    below = _LINE_START.sub(newline + "  ", body)
    return f"|{('-', '', '+')[min(extra, 2)]}{newline}  {below}{chr(10) * (extra - 1)}"


@lru_cache(maxsize=8192)
def _key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) and name.lower() not in _WORDS else _double(name)


def _long_key(name: str, newline: str) -> str:
    key = _key.__wrapped__(name)
    return f"? {key}{newline}" if len(key) > _LONGEST_KEY else key


def _quote(text: str) -> str:
    """Write a text without line breaks: plain, in single quotes if that saves escapes, or in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if ('"' in text or "\\" in text) and _is_visible(text):
        return "'" + text.replace("'", "''") + "'"
    return _double(text)


def _one_line(text: str) -> str | None:
    return _quote(text) if "\n" not in text else None


_INLINE: Final = Remembered(_one_line, 8192)
"""How a text is written; None for one of several lines, whose look depends on its place."""

_TOP: Final = _Level("\n")


def _double(text: str) -> str:
    if text.isascii() and text.isprintable():
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if (known := _ESCAPES.get(character)) is not None:
        return known
    number = ord(character)
    if 0xD800 <= number <= 0xDFFF:
        raise ValueError("half of a surrogate pair cannot be emitted")
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
