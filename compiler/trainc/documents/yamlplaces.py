"""Where keys and items stand in a YAML text; without its events where the text is plain, as most files are.

It follows yamlplain line by line, and says nothing of text that is not read there.
"""

from __future__ import annotations

from re import Match, Pattern

from trainc.documents.yamlplain import FLOW_END, FLOW_PART, LINE, Block, read_plain
from trainc.source import Path


def offsets(text: str) -> dict[Path, int]:
    """Map each path in text to the code point where its key, or list item, starts; as far as text can be read."""
    if read_plain(text) is not None:
        return plain_offsets(text)
    from trainc.documents.yaml import yaml_offsets

    return yaml_offsets(text)


def plain_offsets(text: str) -> dict[Path, int]:
    """Map each path in a text that read_plain reads."""
    return _Places().of(text)


class _Collection:
    """A list or a mapping that a line may continue: its column, and the number of items of a list so far."""

    __slots__ = ("column", "count", "is_list", "path")

    def __init__(self, column: int, path: Path, *, is_list: bool) -> None:
        self.column, self.path, self.is_list = column, path, is_list
        self.count = 0

    def next(self) -> Path:
        """Return the path of the next item of a list."""
        self.count += 1
        return (*self.path, self.count - 1)


class _Places:
    """The places of a text that is known to be plain."""

    __slots__ = ("found", "open")

    def __init__(self) -> None:
        self.found: dict[Path, int] = {}
        self.open = [_Collection(0, (), is_list=False)]

    def of(self, text: str) -> dict[Path, int]:
        """Return the places, in the order of the text."""
        waiting: Path | None = None  # of a key whose value begins on the next line
        block: Block | None = None  # a text whose lines are to come
        for line in LINE.finditer(text):
            if block is not None and block.takes(line[0]):
                continue
            block = None
            indent, dash, key, plain, marked, _ = line.groups()
            if dash is None and key is None:
                continue
            if waiting is not None:
                self.open.append(_Collection(len(indent), waiting, is_list=dash is not None))
            path = self._path(line)
            value = line.start(4 if marked is None else 5)
            self.found[path] = line.start(3) if key is not None else value
            waiting = path if plain is None and marked is None else None
            if marked is not None:
                if marked[0] in "[{":
                    self._flow(marked, 0, path, value)
                elif marked[0] in "|>":
                    block = Block(marked, len(indent) if key is None else self.open[-1].column, [], 0)
        return self.found

    def _path(self, line: Match[str]) -> Path:
        """Return the path of the key on a line, or of the item without one; end what the line is not in."""
        indent, dash, key, *_ = line.groups()
        column, open_ = len(indent), self.open
        while open_[-1].column > column or (dash is None and open_[-1].column == column and open_[-1].is_list):
            open_.pop()
        if dash is None:
            path = open_[-1].path
        else:
            path = open_[-1].next()
            if key is None:
                return path
            open_.append(_Collection(column + len(dash), path, is_list=False))
        self.found.setdefault(path, line.start(3))  # an item, or the text as a whole
        return (*path, key)

    def _flow(self, text: str, at: int, path: Path, begin: int) -> int:
        """Find the places of a collection whose bracket stands at an offset of text; return where it ends."""
        closing = "]" if text[at] == "[" else "}"
        items = _Collection(0, path, is_list=True)
        at += 1
        end = FLOW_END.match(text, at)
        while end is None or end[1] != closing:
            part = _matched(FLOW_PART, text, at)
            key, kind = part[1], part.lastindex or 0
            inner = items.next() if key is None else (*path, key)
            self.found[inner] = begin + part.start(kind if key is None else 1)
            at = part.end() if part[4] is None else self._flow(text, part.start(4), inner, begin)
            end = _matched(FLOW_END, text, at)
            at = end.end()
        return end.end()


def _matched(pattern: Pattern[str], text: str, at: int) -> Match[str]:
    match = pattern.match(text, at)
    if match is None:
        raise ValueError(f"not plain: {text[at:]}")
    return match
