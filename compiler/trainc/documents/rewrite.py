"""Rewrites fields of a document as text: they are replaced, removed or added, and values may move.

Values that only move keep their text, with comments, quotes and block scalars, at a new indentation. Comments of
replaced and removed fields stay, above what follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple

from trainc.basics.jsonvalues import Json, Path, as_object, get
from trainc.basics.regex import lazy
from trainc.documents.emit import inline_text
from trainc.documents.libyaml import Node, yaml_comments
from trainc.documents.load import load
from trainc.documents.positions import Field, field_of_path
from trainc.documents.scalars import kubernetes
from trainc.inputs.source import Document, Source

_PLAIN: Final = lazy(r"(?!\d{4}-\d)[A-Za-z0-9](?:[A-Za-z0-9_./@-]|:(?=[A-Za-z0-9_]))*")


class Span(NamedTuple):
    """A part of a text, by offsets without a byte order mark, and what replaces it."""

    begin: int
    end: int
    text: str


class Moved(NamedTuple):
    """Stands in a new value for the text of the value at ``path`` of the document before the edits."""

    path: Path


class Rewrite(NamedTuple):
    """A field to replace. ``key`` is its new name; None removes the field. ``value`` may contain Moved.

    ``also`` lists fields that this one absorbs: they are removed, and their comments go above it. With ``adds``, the
    field is new, and goes to the end of the mapping.
    """

    path: Path
    key: str | None = None
    value: Any = None
    also: tuple[Path, ...] = ()
    adds: bool = False


def changed(data: Json, before: Json, edit: Rewrite) -> None:
    """Change data, which no one else has, as an edit does; ``before`` is the data before all edits."""

    def resolved(value: Any) -> Any:
        if isinstance(value, Moved):
            return get(before, *value.path)
        if isinstance(value, dict):
            return {key: resolved(child) for key, child in value.items()}
        return [resolved(child) for child in value] if isinstance(value, list) else value

    for path in edit.also if edit.adds else (*edit.also, edit.path):
        as_object(get(data, *path[:-1])).pop(str(path[-1]), None)
    if edit.key is not None:
        as_object(get(data, *edit.path[:-1]))[edit.key] = resolved(edit.value)


def spans_of(document: Document, edit: Rewrite) -> tuple[Span, ...]:
    """Return the parts of the text that an edit replaces; none if it is not possible."""
    try:
        return tuple(_Writer(document, edit).spans())
    except _NotFound:
        return ()


def scalar_text(value: Json, *, quoted: bool = False) -> str:
    """Return the text of a scalar: a string has quotes if it needs some, or is to have them."""
    if isinstance(value, str) and not quoted and _PLAIN.fullmatch(value):
        reading = kubernetes(value)
        if isinstance(reading.value, str) and reading.agrees:
            return value
    return json.dumps(value, ensure_ascii=False)


def line_break(text: str, offset: int) -> str:
    """Return the line break at the end of the line of an offset; in the last line, one that the text has."""
    end = text.find("\n", offset)
    return "\r\n" if (text[end - 1 : end] == "\r" if end >= 0 else "\r\n" in text) else "\n"


class _NotFound(Exception):
    """A path that leads to no field, or to no mapping, of the text."""


class _Writer:
    """Writes a field of a document."""

    def __init__(self, document: Document, edit: Rewrite) -> None:
        self.document, self.edit = document, edit
        self.parent, self.root = self._field(edit.path[:-1]), self._field(())
        self.text, self.nodes = self.root.text, self.root.nodes
        self.quoted = self.nodes[self.root.at + 1].style == '"'
        self.moved: list[tuple[int, int]] = []

    @cached_property
    def newline(self) -> str:
        """The line break of the document; flow style needs none, and there a line may be all of the text."""
        return line_break(self.text, self.root.value.begin)

    @cached_property
    def offset(self) -> int:
        """The indentation of the items of a list, as in the rest of the document."""
        return 0 if self._has_flush_lists() else 2

    def spans(self) -> Iterator[Span]:
        """Yield the parts of the text that are replaced."""
        edit, is_flow = self.edit, bool(self.parent.value.style)
        if edit.adds:
            yield self._added(is_flow=is_flow)
            return
        fields = [self._field(path) for path in (*edit.also, edit.path)]
        *others, field = fields
        if is_flow:
            yield from map(self._flow_removed, others)
            yield self._flow_replaced(field, fields)
            return
        yield from (Span(*self._lines_of(each), "") for each in others)
        yield Span(*self._lines_of(field), self._replacement(field, fields))

    # Where things are.

    def _field(self, path: Path) -> Field:
        if (field := field_of_path(self.document, path)) is None:
            raise _NotFound
        return field

    def _start(self, offset: int) -> int:
        """Return the start of the line of an offset."""
        return self.text.rfind("\n", 0, offset) + 1

    def _end(self, offset: int) -> int:
        """Return the end of the line of an offset, after its line break."""
        return self.text.find("\n", offset) + 1 or len(self.text)

    def _last(self, node: Node) -> int:
        """Return the end of the last line with content of a node, such as of a blank line that a block scalar keeps."""
        last = self.nodes[node.after - 1]
        if last.style in ("|", ">") and "+" in self.text[last.begin : self._end(last.begin)].partition("#")[0]:
            return last.end
        return self._end(node.begin + len(self.text[node.begin : node.end].rstrip()))

    def _column(self, node: Node) -> int:
        return node.begin - self._start(node.begin)

    def _lines_of(self, field: Field) -> tuple[int, int]:
        """Return the lines of a field of a block mapping, with the comments directly above it."""
        assert field.key is not None
        begin = self._start(field.key.begin)
        indent = _indent(self.text[begin : field.key.end])
        return _with_comments_above(field, field.at - 1, begin, indent), self._last(field.value)

    def _comments(self, parts: Iterable[tuple[int, int]], opening: str = "", closing: str = "") -> list[str]:
        """Return the comments in parts of the text that do not move; with the brackets, a part can be read alone."""
        found = (
            begin + at - len(opening)
            for begin, end in parts
            for at, _ in yaml_comments(f"{opening}{self.text[begin:end]}{closing}", "")
        )
        own = (at for at in found if not any(first <= at < last for first, last in self.moved))
        return [self.text[at : self._end(at)].rstrip("\r\n") for at in own]

    def _has_flush_lists(self) -> bool:
        """Return whether a block list of the document, outside of other lists, is not indented."""
        at, end = self.root.at + 1, self.root.value.after
        while at < end:
            node = self.nodes[at]
            if node.kind == "sequence":
                if not node.style and self._column(node) == self._column(self.nodes[at - 1]):
                    return True
                at = node.after
            else:
                at += 1
        return False

    # Block style.

    def _replacement(self, field: Field, fields: list[Field]) -> str:
        assert field.key is not None
        if field.value.kind == "sequence" and not field.value.style:
            self.offset = self._column(field.value) - self._column(field.key)
        lines = [] if self.edit.key is None else self._block(f"{scalar_text(self.edit.key)}:", 0, self.edit.value)
        comments = self._comments(map(self._lines_of, fields))
        return self._joined(self._column(field.key), [*comments, *lines])

    def _joined(self, column: int, lines: list[str]) -> str:
        return "".join(f"{' ' * column if line else ''}{line}{self.newline}" for line in lines)

    def _block(self, head: str, column: int, value: Any) -> list[str]:
        """Return the lines of a field; ``head`` is its key, with the indentation, at a column."""
        if isinstance(value, Moved):
            field = self._field(value.path)
            if field.value.kind != "alias":
                return self._moved(head, column, field, is_flow=bool(self._field(value.path[:-1]).value.style))
            value = get(self.document.data, *value.path)
        if isinstance(value, dict) and value:
            return [head, *self._entries(column + 2, value)]
        if not isinstance(value, list) or not value:
            return [f"{head} {self._item(value)}"]
        lines, indent = [head], " " * (column + self.offset)
        for item in value:
            is_mapping = isinstance(item, dict) and item
            first, *rest = self._entries(len(indent) + 2, item) if is_mapping else [self._item(item)]
            lines += [f"{indent}- {first.lstrip()}", *rest]
        return lines

    def _item(self, value: Any) -> str:
        return inline_text(value) if isinstance(value, str) else self._flow(value)

    def _entries(self, column: int, value: dict[str, Any]) -> list[str]:
        entries = (self._block(f"{' ' * column}{scalar_text(key)}:", column, each) for key, each in value.items())
        return [line for lines in entries for line in lines]

    def _moved(self, head: str, column: int, field: Field, *, is_flow: bool) -> list[str]:
        """Return the lines of a field whose value moves."""
        assert field.key is not None
        key, value, end = field.key, field.value, self._end(field.key.end)
        if is_flow:
            self.moved.append((value.begin, value.end))
            return [f"{head} {self.text[value.begin : value.end]}"]
        last = max(end, self._last(value))
        self.moved.append((key.begin, last))
        by = column - self._column(key)
        if value.kind in ("mapping", "sequence") and not value.style:
            child = self.nodes[field.at + 1] if value.kind == "mapping" else value  # a mapping may have an anchor
            by = column + (2 if value.kind == "mapping" else self.offset) - self._column(child)
        rest = self.text[key.end : end].partition(":")[2].rstrip()
        lines = re.findall(r".*\n|.+", self.text[end:last])
        return [head + rest, *(_shifted(line.rstrip("\r\n"), by) for line in lines)]

    # Flow style, as in JSON.

    def _flow(self, value: Any) -> str:
        if isinstance(value, Moved):
            node = self._field(value.path).value
            self.moved.append((node.begin, node.end))
            return self.text[node.begin : node.end]
        if isinstance(value, dict):
            fields = (f"{scalar_text(key, quoted=self.quoted)}: {self._flow(each)}" for key, each in value.items())
            return "{" + ", ".join(fields) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self._flow, value)) + "]"
        return scalar_text(value, quoted=self.quoted)

    def _flow_replaced(self, field: Field, fields: list[Field]) -> Span:
        assert field.key is not None
        begin, end, text = field.key.begin, field.value.end, ""
        if self.edit.key is None:
            begin, end, _ = self._flow_removed(field)
        else:
            text = f"{scalar_text(self.edit.key, quoted=self.quoted)}: {self._flow(self.edit.value)}"
        if comments := self._comments(((each.key.begin, each.value.end) for each in fields if each.key), "{", "}"):
            lines = self._joined(self._column(field.key), comments)
            text = (
                f"{'' if self.text[begin - 1].isspace() else ' '}{lines.lstrip()}{' ' * self._column(field.key)}{text}"
            )
        return Span(begin, end, text)

    def _flow_removed(self, field: Field) -> Span:
        """Remove a field with the comma after it, or before it if it is the last one."""
        assert field.key is not None
        begin, end = field.key.begin, field.value.end
        if after := re.compile(r"\s*,\s*").match(self.text, end):
            return Span(begin, after.end(), "")
        start = self.parent.value.begin
        before = self.text[start:begin].rstrip()
        return Span(start + len(before[:-1].rstrip()) if before.endswith(",") else begin, end, "")

    def _added(self, *, is_flow: bool) -> Span:
        if self.parent.value.kind != "mapping":  # an alias, whose text is also that of another value
            raise _NotFound
        parent, key = self.parent.value, scalar_text(self.edit.key, quoted=is_flow and self.quoted)
        if is_flow:
            end = parent.begin + len(self.text[parent.begin : parent.end - 1].rstrip())
            comma = ", " if parent.after > self.parent.at + 1 else ""
            return Span(end, end, f"{comma}{key}: {self._flow(self.edit.value)}")
        at = self._last(parent)
        lines = self._joined(self._column(self.nodes[self.parent.at + 1]), self._block(f"{key}:", 0, self.edit.value))
        return Span(at, at, lines if self.text.endswith("\n", 0, at) else self.newline + lines)


def text_of(document: Document) -> str | None:
    """Return the text of a document, with the comments around it; of an item of a List alone, without its indentation.

    Returns None if that is not exactly its data, as with an alias of something outside the item.
    """
    field = field_of_path(document, ())
    copy = "" if field is None else _text_of(field)
    return copy if [each.data for each in load(Source("", copy))[0]] == [document.data] else None


def _text_of(root: Field) -> str:
    text, node, nodes = root.text, root.value, root.nodes
    if node.depth and node.style:
        return text[node.begin : node.end] + "\n"
    start = text.rfind("\n", 0, node.begin) + 1
    if not node.depth:
        others = chain(range(root.at), range(node.after, len(nodes)))
        end = text.find("\n---", start) + 1 or len(text)
        if end == len(text) and not any(nodes[other].begin < nodes[other].end for other in others):
            return text
        separator = text.rfind("\n---", 0, start) + 1
        begin = text.find("\n", separator) + 1 if text.startswith("---", separator) else 0
        return text[begin:end]
    indent = node.begin - start
    end = node.begin + len(text[node.begin : node.end].rstrip())
    end = text.find("\n", end) + 1 or len(text)
    start = _with_comments_above(root, root.at, start)
    return "".join(_dedented(line, indent) for line in re.findall(r".*\n|.+", text[start:end]))


def _with_comments_above(field: Field, at: int, start: int, indent: int = 0) -> int:
    """Return where the comments begin that are directly above the line of the node at an index, or the line itself.

    What looks like one may be the last line of the scalar before it.
    """
    text, before = field.text, field.nodes[at - 1]
    first = 0 if before.kind in ("mapping", "sequence") else before.end
    while start > first:
        above = text.rfind("\n", 0, start - 1) + 1
        line = text[above:start]
        if above < first or not line.lstrip().startswith("#") or _indent(line) < indent:
            break
        start = above
    return start


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dedented(line: str, by: int) -> str:
    """Return a line of a list item without the indentation and the dash; comments may be indented less."""
    text = line.lstrip()
    return text if text.startswith("#") and len(line) - len(text) < by else line[by:] if text else line


def _shifted(line: str, by: int) -> str:
    """Return a line with more or less indentation; an empty line stays empty."""
    if not line.strip():
        return line
    return " " * by + line if by >= 0 else line[min(-by, len(line) - len(line.lstrip(" "))) :]
