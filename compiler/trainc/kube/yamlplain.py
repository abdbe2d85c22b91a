"""The YAML that people write by hand, read line by line: several times as fast as events are made of it.

Only text that every reader of YAML takes in the same way is read here: block mappings and lists, plain words and
numbers, quoted text without escapes, and flow collections of those on one line. Of anything else nothing is said,
and the reader of all YAML (yamltext) decides; it would give the same value, and no problem, for all that is read here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from trainc.kube import scalars
from trainc.regex import lazy
from trainc.source import Json, JsonObject

_KEY = r"[A-Za-z_][A-Za-z0-9_./-]{0,200}"
_DOUBLE = r'"[ !#-\[\]-~]*+"'
_SINGLE = r"'[ -&(-~]*+'"
_START = r"(?:[A-Za-z0-9_/.$+~(]|-(?=[A-Za-z0-9_/.$+~(-]))"
_BLOCK_PLAIN = rf'{_START}(?:[!"$-9;-~]|:(?=[!-~])| ++(?=[!"$-9;-~]))*+'
# In flow collections, where brackets, commas and quotes mean something; a colon stands only inside of a word.
_FLOW_PLAIN = (
    rf"{_START}(?:[!$%&(-+./0-9;<=>@A-Z^_a-z|~-]|:(?=[A-Za-z0-9/_.-])| ++(?=[!$%&(-+./0-9;<=>@A-Z^_a-z|~-]))*+"
)

_LINE = lazy(
    rf"( *+)(- ++)?(?:({_KEY}):(?=[ \n]) *+)?(?:({_DOUBLE}|{_SINGLE})|([\[{{][ -~]*[\]}}])|({_BLOCK_PLAIN}))?"
    r" *+(?:(?<![!-~])#[ -~]*+)?\n|([^\n]*+\n?+)"
)
_FLOW = lazy(rf" *+(?:({_KEY}):(?= ) *+)?(?:({_DOUBLE}|{_SINGLE})|({_FLOW_PLAIN})|([\[{{]))?")
_END = re.compile(r" *+([,\]}])")

_WORDS: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_DEEPEST: Final = 30
"""Collections inside each other; far fewer than are allowed."""


class _Other(Exception):
    """The text is not of the kind that is read here."""


def read_plain(text: str) -> JsonObject | None:
    """Return the mapping that text holds, or None where the reader of all YAML has to decide.

    What several texts hold alike may be the same value.
    """
    if not text.isascii():
        return None
    try:
        return _read(text)
    except _Other:
        return None


def _read(text: str) -> JsonObject:
    root: JsonObject = {}
    # The collections that the line before is in, and where they stand; a list may stand where its key does.
    open_: list[tuple[int, JsonObject | list[Json]]] = [(0, root)]
    waiting: tuple[JsonObject, str] | None = None  # a key whose value begins on the next line
    for line in _LINE.finditer(text):
        indent, dash, key, quoted, flow, plain, other = line.groups()
        if other:
            raise _Other
        has_value = quoted is not None or flow is not None or plain is not None
        if dash is None and key is None:
            if has_value:
                raise _Other
            continue
        column = len(indent)
        if waiting is not None:
            _begin(open_, waiting, column, dash is not None)
            waiting = None
        if dash is not None:
            items = _list_at(open_, column)
            if key is None:
                items.append(_value(quoted, flow, plain))
                continue
            mapping: JsonObject = {}
            items.append(mapping)
            open_.append((column + len(dash), mapping))
        else:
            mapping = _mapping_at(open_, column)
        if key in mapping or key.lower() in _WORDS:
            raise _Other
        if has_value:
            mapping[key] = _value(quoted, flow, plain)
        else:
            waiting = mapping, key
            mapping[key] = None
    if waiting is not None or not root:
        raise _Other
    return root


def _begin(
    open_: list[tuple[int, JsonObject | list[Json]]], waiting: tuple[JsonObject, str], column: int, is_list: bool
) -> None:
    """Open the collection that is the value of the key before, at column."""
    mapping, key = waiting
    outside = open_[-1][0]
    if column < outside or (column == outside and not is_list) or len(open_) > _DEEPEST:
        raise _Other
    made: JsonObject | list[Json] = [] if is_list else {}
    mapping[key] = made
    open_.append((column, made))


def _list_at(open_: list[tuple[int, JsonObject | list[Json]]], column: int) -> list[Json]:
    while open_[-1][0] > column:
        open_.pop()
    at, found = open_[-1]
    if at != column or not isinstance(found, list):
        raise _Other
    return found


def _mapping_at(open_: list[tuple[int, JsonObject | list[Json]]], column: int) -> JsonObject:
    at, found = open_[-1]
    while at > column or (at == column and isinstance(found, list)):
        open_.pop()
        if not open_:
            raise _Other
        at, found = open_[-1]
    if at != column or not isinstance(found, dict):
        raise _Other
    return found


def _value(quoted: str | None, flow: str | None, plain: str | None) -> Json:
    if plain is not None:
        return plain if plain[0] not in scalars.HINTS else _resolved(plain)
    if quoted is not None:
        return quoted[1:-1]
    if flow is None:
        raise _Other
    return _flow(flow)


def _resolved(plain: str) -> Json:
    reading = scalars.kubernetes(plain)
    if reading.other is not None or not reading.finite:
        raise _Other
    return reading.value


@lru_cache(maxsize=2048)
def _flow(text: str) -> Json:
    """Read the one flow collection that text is. The same text is the same value."""
    value, end = _collection(text, 0, 1)
    if end != len(text):
        raise _Other
    return value


def _collection(text: str, at: int, depth: int) -> tuple[Json, int]:
    """Read a collection whose bracket stands at an offset; return it, and where it ends."""
    is_list = text[at] == "["
    closing = "]" if is_list else "}"
    items: list[Json] = []
    mapping: JsonObject = {}
    at += 1
    if (end := _END.match(text, at)) is not None and end[1] == closing:
        return items if is_list else mapping, end.end()
    while True:
        part = _FLOW.match(text, at)
        if part is None or depth > _DEEPEST:
            raise _Other
        key, quoted, plain, bracket = part.groups()
        at = part.end()
        if bracket is None:
            value = _value(quoted, None, plain)
        else:
            value, at = _collection(text, at - 1, depth + 1)
        if is_list and key is None:
            items.append(value)
        elif not is_list and key is not None and key not in mapping and key.lower() not in _WORDS:
            mapping[key] = value
        else:
            raise _Other
        end = _END.match(text, at)
        if end is None or end[1] not in (",", closing):
            raise _Other
        at = end.end()
        if end[1] == closing:
            return items if is_list else mapping, at
