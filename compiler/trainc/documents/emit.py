"""Plain JSON to canonical YAML: same data, same bytes, and the same data again for every reader of YAML.

Block style, two spaces, lists at their key's column as kubectl prints them, no folding, no anchors, no tags. A string
stands unquoted only if no reader of YAML 1.1 or 1.2 could take it for anything else.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any, Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, mapped
from trainc.basics.memo import Remembered, known
from trainc.basics.regex import lazy
from trainc.findings.display import (
    COMMAND,
    HIDDEN,
    HIDDEN_CHARACTERS,
    HIDDEN_MARK,
    LINE_COMMAND,
    OTHER_SPACES,
    escape,
    escaped,
)
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

# What is escaped: characters that messages escape, too, and those for an object or for a character that was not read.
_ODD = rf"{HIDDEN_CHARACTERS}{OTHER_SPACES}\ufffc\ufffd"
_ESCAPED = lazy(rf'{HIDDEN_MARK}|[\t\n{_ODD}"\\]')
_NOT_SINGLE = lazy(rf"{HIDDEN_MARK}|[\t\n{_ODD}]")
# Readers differ, or editors spoil the text: a first line that is empty or indented, blanks at a line's end.
_NOT_LITERAL = lazy(rf"{HIDDEN_MARK}|[{_ODD}]|\A[ \t\n]|[ \t]$", re.MULTILINE)
_NOT_ASCII_LITERAL = lazy(r"[^\n\t -~]|\A[ \t\n]|[ \t]$", re.MULTILINE)  # compiled in a hundredth of the time
_NOT_BLOCK = lazy(rf"{HIDDEN_MARK}|[{_ODD}]|\A[ \t\n]|[ \t]\Z")
_LINE_START = lazy(r"\n(?=[^\n])")

_LONGEST_KEY = 900  # code points; readers look for a key's colon within 1,024
_SHORT = 200  # the most code points of a cached string
_SHAPES = 1024  # the most key sets cached per indentation
_INTEGERS = range(-(2**63), 2**64)  # the range that go-yaml represents exactly


def emit(data: JsonObject) -> str:
    """Write one object as a YAML document with a newline at its end, fields in order, without ``---``.

    Raises ValueError for null, NaN and infinities, integers beyond 64 bits and text that UTF-8 cannot hold.
    """
    if not data:
        return "{}\n"
    out: list[str] = []
    _mapping(data, _TOP, False, out)
    out.append("\n")
    return "".join(out)


def emit_inert(data: JsonObject) -> str:
    """Write one object for a terminal or a log, as ``emit`` does, without hidden characters and commands of CI.

    Strings that contain any are double-quoted, with an escape for each.
    """
    text = emit(data)
    if not acts(text):
        return text
    text = emit(as_object(mapped(data, _quoted)))  # keys are quoted, too
    return COMMAND.sub(r"#\\x23", HIDDEN.sub(_escape, text))


class Quoted(str):
    """A text that is written in double quotes."""

    __slots__ = ()


class Block(str):
    """A text of several lines, an item of a list, that is a literal block although its lines may end in blanks."""

    __slots__ = ()


def acts(text: str) -> bool:
    """Return whether a text has hidden characters, or commands of CI."""
    return any(pattern.search(text) for pattern in (COMMAND, LINE_COMMAND, HIDDEN))


def _quoted(_path: Path, value: Json) -> Json:
    return Quoted(value) if isinstance(value, str) and acts(value) else value


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
    """Return text with an escape for each character that is not allowed in a comment."""
    if text.isascii() and text.isprintable():  # so that the expression is not compiled
        return text
    return _NOT_SINGLE.sub(escape, escaped(text))


def _is_visible(text: str) -> bool:
    """Return whether a text needs no escapes."""
    return text.isprintable() if text.isascii() else not _NOT_SINGLE.search(text)


class _Level:
    """A depth of indentation; ``newline`` starts each further line there.

    ``fields`` and ``data`` hold, for the keys of a mapping, each key in order, the text up to its colon, and whether
    the keys of its value are data; under ``data`` the keys are data themselves.
    """

    __slots__ = ("_below", "data", "fields", "newline", "start")

    def __init__(self, newline: str) -> None:
        self.newline = newline
        self.start = f"{newline}- "
        self.fields = Remembered(partial(_starts, newline, False), _SHAPES)
        self.data = Remembered(partial(_starts, newline, True), _SHAPES)
        self._below: _Level | None = None

    @property
    def below(self) -> _Level:
        """The next level."""
        if self._below is None:
            self._below = _Level(f"{self.newline}  ")
        return self._below


def _starts(newline: str, is_data: bool, names: tuple[str, ...]) -> tuple[tuple[str, str, bool], ...]:
    keys = sorted(names) if is_data else field_order(names)
    texts = (_key(name, newline) for name in keys)
    return tuple(
        (name, f"{newline if index else ''}{text}:", not is_data and name in DATA_MAPS)
        for index, (name, text) in enumerate(zip(keys, texts, strict=True))
    )


def _mapping(data: JsonObject, level: _Level, is_data: bool, out: list[str]) -> None:
    for name, start, holds_data in (level.data if is_data else level.fields)[tuple(data)]:
        value: Any = data[name]
        kind = type(value)
        if kind is str:
            text = _INLINE[value] if len(value) <= _SHORT else None
            out.append(f"{start} {_string(value, level.newline) if text is None else text}")
        elif value and kind is dict:
            out.append(f"{start}{level.newline}  ")
            _collection(value, level.below, holds_data, out)
        elif value and kind is list:
            out.append(f"{start}{level.newline}")
            _collection(value, level, False, out)
        else:
            out.append(f"{start} {_scalar(value)}")


def _sequence(items: list[Any], level: _Level, out: list[str]) -> None:
    start = "- "
    for value in items:
        kind = type(value)
        if kind is str:
            text = _INLINE[value] if len(value) <= _SHORT else None
            out.append(f"{start}{_string(value, level.newline) if text is None else text}")
        elif value and (kind is dict or kind is list):
            out.append(start)
            _collection(value, level.below, False, out)
        elif kind is Block and not _NOT_BLOCK.search(value):
            out.append(f"{start}{_literal(value, level.newline)}")
        else:
            out.append(f"{start}{_scalar(value)}")
        start = level.start


def _collection(value: Any, level: _Level, is_data: bool, out: list[str]) -> None:
    """Write a mapping or list that is not empty. The text of one that many objects share is cached."""
    remembered = known(value)
    key = level.newline if is_data else level
    if remembered is not None and (text := remembered.get(key)) is not None:
        out.append(text)
        return
    written = out if remembered is None else []
    if type(value) is dict:
        _mapping(value, level, is_data, written)
    else:
        _sequence(value, level, written)
    if remembered is not None:
        remembered[key] = "".join(written)
        out += written


def _scalar(value: Json) -> str:
    """Write a scalar other than a string, or an empty collection."""
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        if value not in _INTEGERS:
            raise ValueError(f"an integer beyond 64 bits: {value}")
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Quoted | Block):
        return _double(value)
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
        return inline_text(text)
    if (_NOT_ASCII_LITERAL if text.isascii() else _NOT_LITERAL).search(text):
        return _double(text)
    return _literal(text, newline)


def _literal(text: str, newline: str) -> str:
    body = text.rstrip("\n")
    extra = len(text) - len(body)
    below = _LINE_START.sub(newline + "  ", body)
    return f"|{('-', '', '+')[min(extra, 2)]}{newline}  {below}{chr(10) * (extra - 1)}"


def _key(name: str, newline: str) -> str:
    key = name if _PLAIN_KEY.fullmatch(name) and name.lower() not in _WORDS else _double(name)
    return f"? {key}{newline}" if len(key) > _LONGEST_KEY else key


def inline_text(text: str) -> str:
    """Write a text without line breaks: plain, in single quotes if that saves escapes, or in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if ('"' in text or "\\" in text) and _is_visible(text):
        return "'" + text.replace("'", "''") + "'"
    return _double(text)


_INLINE: Final[Remembered[str, str | None]] = Remembered(
    lambda text: inline_text(text) if "\n" not in text else None, 8192
)
"""The written form of a text; None for one of several lines, whose form depends on its indentation."""

_TOP: Final = _Level("\n")


def _double(text: str) -> str:
    if text.isascii() and text.isprintable():
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    if "\ud800" <= match[0] <= "\udfff":
        raise ValueError("half of a surrogate pair cannot be emitted")
    return escape(match) if match[0] != '"' else '\\"'
