"""The YAML that people write by hand, read line by line: several times as fast as events are made of it.

Only text that every reader of YAML takes in the same way is read here: block mappings and lists, plain words and
numbers, quoted text without escapes, flow collections of those on one line, and blocks of text. Of anything else
nothing is said, and the reader of all YAML (yamltext) decides; it would give the same value, and no problem, for all
that is read here.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from trainc.documents import scalars
from trainc.memo import Remembered
from trainc.regex import lazy
from trainc.source import Json, JsonObject

_KEY = r"[A-Za-z_][A-Za-z0-9_./-]{0,200}"
# A colon inside of a word is no end of a key.
_BLOCK_KEY = r"[A-Za-z_][A-Za-z0-9_./-]{0,200}(?::[A-Za-z0-9_./-]{1,100}){0,3}"
_DOUBLE = r'"[ !#-\[\]-~]*+"'
_SINGLE = r"'[ -&(-~]*+'"
_START = r"(?:[A-Za-z0-9_/.$+~(^]|-(?=[A-Za-z0-9_/.$+~(-]))"
_BLOCK_PLAIN = rf'{_START}(?:[!"$-9;-~]|:(?=[!-~])| ++(?=[!"$-9;-~]))*+'
# In flow collections, where brackets, commas and quotes mean something; a colon stands only inside of a word.
_FLOW_PLAIN = (
    rf"{_START}(?:[!$%&(-+./0-9;<=>@A-Z^_a-z|~-]|:(?=[A-Za-z0-9/_.-])| ++(?=[!$%&(-+./0-9;<=>@A-Z^_a-z|~-]))*+"
)

LINE = lazy(
    rf"( *+)(- ++)?(?:({_BLOCK_KEY}):(?=[ \n]) *+)?"
    rf"(?:({_BLOCK_PLAIN})|({_DOUBLE}|{_SINGLE}|[\[{{][ -~]*[\]}}]|[|>][-+]?))?"
    r" *+(?:(?<![!-~])#[ -~]*+)?\n|([^\n]*+\n?+)"
)
FLOW_PART = lazy(rf" *+(?:({_KEY}):(?= ) *+)?(?:({_DOUBLE}|{_SINGLE})|({_FLOW_PLAIN})|([\[{{]))?")
FLOW_END = re.compile(r" *+([,\]}])")

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
    block: Block | None = None  # a text whose lines are to come
    for line in _lines(text):
        if block is not None:
            if block.takes(line):
                continue
            _close(block)
            block = None
        indent, dash, key, plain, marked, other = _PARTS[line] if len(line) < _SHORT else _parts(line)
        if dash is None and key is None:
            if other or plain is not None or marked is not None:
                raise _Other
            continue
        column = len(indent)
        if waiting is not None:
            _begin(open_, waiting, column, dash is not None)
            waiting = None
        if key is None:
            items = _list_at(open_, column)
            items.append(_value(plain, marked))
            block = _block(marked, column, items, -1)
            continue
        mapping = _mapping_at(open_, column) if dash is None else _item_at(open_, column, len(dash))
        if key in mapping or key.lower() in _WORDS:
            raise _Other
        if plain is None and marked is None:
            waiting, mapping[key] = (mapping, key), None
        else:
            mapping[key] = _value(plain, marked)
            block = _block(marked, open_[-1][0], mapping, key)
    if waiting is not None or not root:
        raise _Other
    _close(block)
    return root


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends, and nothing as the last one, behind all ends."""
    lines = text.split("\n")
    last = lines.pop()
    return [*(f"{line}\n" for line in lines), *((last, "") if last else ("",))]


_Parts: TypeAlias = tuple[str, str | None, str | None, str | None, str | None, str | None]
"""Of a line: the blanks before it, its dash with the blanks behind, key, plain value, any other value; another line."""


def _parts(line: str) -> _Parts:
    found = LINE.match(line)
    assert found is not None, "any line matches"
    indent, dash, key, plain, marked, other = found.groups()
    return indent or "", dash, key, plain, marked, other


_PARTS: Final = Remembered(_parts, 8192)
"""Lines by their text: the jobs of a fleet have most of theirs in common."""

_SHORT: Final = 200
"""Characters of a line worth remembering."""


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


def _item_at(open_: list[tuple[int, JsonObject | list[Json]]], column: int, width: int) -> JsonObject:
    """Begin a mapping as the next item of the list whose dashes stand at column."""
    mapping: JsonObject = {}
    _list_at(open_, column).append(mapping)
    open_.append((column + width, mapping))
    return mapping


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


class Block:
    """A text behind ``|`` or ``>``: lines farther right than ``column``; of folded ones only plain paragraphs."""

    __slots__ = ("blank", "chomping", "column", "folded", "holder", "indent", "lines", "place")

    def __init__(self, style: str, column: int, holder: JsonObject | list[Json], place: str | int) -> None:
        self.folded, self.chomping = style[0] == ">", style[1:]
        self.column, self.holder, self.place = column, holder, place
        self.lines: list[str] = []
        self.indent = self.blank = 0

    def takes(self, raw: str) -> bool:
        """Take a line, with its end, if it belongs to the text."""
        line = raw[:-1]
        text = line.lstrip(" ")
        if not text:
            if not self.lines or len(line) > self.indent:
                raise _Other
            self.blank += bool(raw)  # there is nothing behind the last line
            return True
        indent = len(line) - len(text)
        if not self.lines:
            if indent <= self.column:
                raise _Other
            self.indent = indent
        elif indent < self.indent:
            if indent > self.column:
                raise _Other
            return False
        line = line[self.indent :]
        if not line.isprintable() or (self.folded and (self.blank or line[0] == " " or line[-1] == " ")):
            raise _Other
        self.lines += [""] * self.blank
        self.lines.append(line)
        self.blank = 0
        return True


def _close(block: Block | None) -> None:
    """Put a text where it belongs, now that no line of it is to come."""
    if block is None:
        return
    if not block.lines:
        raise _Other
    end = {"": 1, "-": 0, "+": 1 + block.blank}[block.chomping]
    text = (" " if block.folded else "\n").join(block.lines) + "\n" * end
    block.holder[block.place] = text  # type: ignore[index]  # a key of a mapping, or the last of a list


def _block(marked: str | None, column: int, holder: JsonObject | list[Json], place: str | int) -> Block | None:
    return Block(marked, column, holder, place) if marked is not None and marked[0] in "|>" else None


def _value(plain: str | None, marked: str | None) -> Json:
    """Return what one line holds; nothing for the head of a block of text."""
    if plain is not None:
        return plain if plain[0] not in scalars.HINTS else _resolved(plain)
    if marked is None:
        raise _Other
    mark = marked[0]
    if mark in "{[":
        return _FLOWS[marked]
    return marked[1:-1] if mark in "\"'" else None


def _resolved(plain: str) -> Json:
    reading = scalars.kubernetes(plain)
    if reading.other is not None or not reading.finite:
        raise _Other
    return reading.value


def _flow(text: str) -> Json:
    """Read the one flow collection that text is."""
    value, end = _collection(text, 0, 1)
    if end != len(text):
        raise _Other
    return value


_FLOWS: Final = Remembered(_flow, 2048)
"""Flow collections by their text; the jobs of a fleet have many in common."""


def _collection(text: str, at: int, depth: int) -> tuple[Json, int]:
    """Read a collection whose bracket stands at an offset; return it, and where it ends."""
    is_list = text[at] == "["
    closing = "]" if is_list else "}"
    items: list[Json] = []
    mapping: JsonObject = {}
    at += 1
    if (end := FLOW_END.match(text, at)) is not None and end[1] == closing:
        return items if is_list else mapping, end.end()
    while True:
        part = FLOW_PART.match(text, at)
        if part is None or depth > _DEEPEST:
            raise _Other
        key, quoted, plain, bracket = part.groups()
        at = part.end()
        if bracket is None:
            value = _value(plain, quoted)
        else:
            value, at = _collection(text, at - 1, depth + 1)
        if is_list and key is None:
            items.append(value)
        elif not is_list and key is not None and key not in mapping and key.lower() not in _WORDS:
            mapping[key] = value
        else:
            raise _Other
        end = FLOW_END.match(text, at)
        if end is None or end[1] not in (",", closing):
            raise _Other
        at = end.end()
        if end[1] == closing:
            return items if is_list else mapping, at
