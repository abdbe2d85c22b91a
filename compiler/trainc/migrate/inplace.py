"""Edits of single fields in the text of a YAML document: everything else keeps its bytes.

ruamel.yaml composes the document, so that its nodes tell where each field begins and ends. A field can be replaced,
removed or added. Values that only move keep their text, with comments, quoting and block scalars, at a new indentation.
Comments of replaced and removed fields stay, above what follows.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from io import StringIO
from itertools import accumulate
from typing import Any, Final, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, copied, get
from trainc.documents.load import load
from trainc.documents.positions import BOM
from trainc.inputs.source import Source

_COMMENT: Final = re.compile(r"(?:^|(?<=\s))#.*$")
_PLACEHOLDER: Final = re.compile(r"(?P<head>.*?)MOVED-(?P<number>\d+)-$")
_MOST_READ: Final = 10_000_000
"""The most characters that the trials of edits read together, besides the first one."""
_WIDE: Final = 1_000_000
"""A width at which ruamel.yaml does not fold lines."""


class Moved(NamedTuple):
    """Stands in a new value for the text of the value at ``path`` of the document before the edits."""

    path: Path


class Edit(NamedTuple):
    """A field to replace. ``key`` is its new name; None removes the field. ``value`` may contain Moved.

    ``also`` lists fields that this one absorbs: they are removed, and their comments go above it.
    """

    path: Path
    key: str | None = None
    value: Any = None
    also: tuple[Path, ...] = ()


class Addition(NamedTuple):
    """A field to add at the end of the mapping at ``path``."""

    path: Path
    key: str
    value: Any


Wanted = Mapping[int, tuple[JsonObject, tuple[Edit | Addition, ...]]]
"""The data and the edits of documents, by their number in a source."""


class _Span(NamedTuple):
    """A part of the text, by offsets, and what replaces it."""

    start: int
    end: int
    text: str


_Spans = dict[int, list[_Span]]
"""The spans of documents, by their number."""


def edited(text: str, wanted: Wanted) -> tuple[str, dict[int, JsonObject]]:
    """Return the text of a source after edits of its documents, and the new data of those that are edited, by number.

    A document is not edited if it would not have exactly the new values, as with tabs or some anchors.
    """
    new = text.removeprefix(BOM).replace("\r\n", "\n")
    spans: dict[int, list[_Span]] = {}
    with suppress(YAMLError):
        layout = _Layout(new)
        for index, (data, edits) in wanted.items():
            with suppress(YAMLError, KeyError, IndexError):
                spans[index] = list(_Editor(layout, index, data).spans(edits))
    values = {index: _applied(*wanted[index]) for index in spans}
    spans = _correct(new, spans, values, _data(new))
    new = _replaced(new, spans)
    return BOM * text.startswith(BOM) + (new.replace("\n", "\r\n") if "\r\n" in text else new), {
        index: values[index] for index in spans
    }


def _correct(text: str, spans: _Spans, values: Mapping[int, JsonObject], before: Mapping[int, JsonObject]) -> _Spans:
    """Return the edits after which the edited documents have their values, and all others the same as before.

    Where an edit changes another document, such as the value of an alias, or makes its own unreadable, all are tried
    again in halves. What is untried when ``_MOST_READ`` characters are read is left out.
    """
    correct: _Spans = {}
    trials, left = [spans], _MOST_READ + len(text)
    while trials and left > 0:
        tried = trials.pop()
        edits = {**correct, **tried}
        left -= len(text)
        found = _data(_replaced(text, edits))
        wanted = {**before, **{index: values[index] for index in edits}}
        wrong = {index for index, data in wanted.items() if found.get(index) != data}
        if found.keys() == before.keys() and not wrong:
            correct = edits
        elif found.keys() == before.keys() and wrong <= tried.keys():
            trials.append({index: each for index, each in tried.items() if index not in wrong})
        elif len(tried) > 1:
            indexes = sorted(tried)
            halves = indexes[len(indexes) // 2 :], indexes[: len(indexes) // 2]
            trials += ({index: tried[index] for index in half} for half in halves)
    return correct


def _data(text: str) -> dict[int, JsonObject]:
    """Return the data of the documents of a text, by number."""
    return {document.index: document.data for document in load(Source("", text))[0]}


def _replaced(text: str, spans: _Spans) -> str:
    """Return the text with all spans replaced."""
    parts, end = [], 0
    for span in sorted(span for each in spans.values() for span in each):
        parts += [text[end : span.start], span.text]
        end = span.end
    return "".join((*parts, text[end:]))


def _applied(data: JsonObject, edits: Iterable[Edit | Addition]) -> JsonObject:
    """Return the data of a document after edits."""

    def resolved(value: Any) -> Any:
        if isinstance(value, Moved):
            return get(data, *value.path)
        if isinstance(value, dict):
            return {key: resolved(child) for key, child in value.items()}
        return [resolved(child) for child in value] if isinstance(value, list) else value

    new = copied(data)
    for edit in edits:
        removed = () if isinstance(edit, Addition) else (edit.path, *edit.also)
        for path in removed:
            as_object(get(new, *path[:-1])).pop(str(path[-1]))
        if edit.key is not None:
            as_object(get(new, *(edit.path if isinstance(edit, Addition) else edit.path[:-1])))[edit.key] = resolved(
                edit.value
            )
    return as_object(new)


def text_of(text: str, index: int, data: JsonObject) -> str | None:
    """Return the text of document number ``index`` of a source, with the comments around it; of an item of a List
    alone, without its indentation.

    Returns None if that is not exactly ``data``, as with an alias of something outside the item.
    """
    copy = _text_of(text, index)
    return copy if [document.data for document in load(Source("", copy))[0]] == [data] else None


def _text_of(text: str, index: int) -> str:
    layout = _layout(text.removeprefix(BOM))
    node, text = layout.objects[index], layout.text
    if layout.objects == [node] and not layout.is_item(node):
        return text
    lines, at = layout.kept_lines, node.start_mark.line
    if layout.is_item(node):
        if node.flow_style:
            return text[node.start_mark.index : node.end_mark.index] + "\n"
        last = _last_line(text, *node.value[-1])
        indent = node.start_mark.column
        while lines[at - 1].lstrip().startswith("#"):
            at -= 1
        return "".join(_dedented(line, indent) for line in lines[at : last + 1])
    place = bisect_left(layout.separators, at)
    first = layout.separators[place - 1] + 1 if place else 0
    later = layout.separators[bisect_right(layout.separators, at) :][:1]
    return "".join(lines[first : later[0] if later else len(lines)])


def _objects(documents: Iterable[MappingNode]) -> list[MappingNode]:
    """Return the objects of a source: its documents, and in place of a List its items."""
    found: list[MappingNode] = []
    for document in documents:
        fields = {key.value: value for key, value in document.value}
        items = fields.get("items")
        if isinstance(items, SequenceNode) and str(getattr(fields.get("kind"), "value", "")).endswith("List"):
            found += _objects(item for item in items.value if isinstance(item, MappingNode) and item.value)
        else:
            found.append(document)
    return found


def _last_line(text: str, key: Node, value: Node) -> int:
    """Return the last line with content of a value; that of the key if the value is an alias or empty."""
    if value.start_mark.index < key.start_mark.index:
        return int(key.end_mark.line)
    if isinstance(value, MappingNode | SequenceNode) and not value.flow_style and value.value:
        last = value.value[-1]
        return _last_line(text, *(last if isinstance(last, tuple) else (last, last)))
    content = text[value.start_mark.index : value.end_mark.index].rstrip()
    while isinstance(value, ScalarNode) and value.style in ("|", ">") and "\n" in content:
        final = content[content.rfind("\n") + 1 :]
        if final.strip() and not final.startswith("#"):
            break
        content = content[: content.rfind("\n")].rstrip()
    return max(int(key.end_mark.line), int(value.start_mark.line) + content.count("\n"))


class _Layout:
    """A source, composed: its objects, and its lines without line end; ``starts`` are their offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        yaml = YAML(pure=True)
        yaml.composer.warn_double_anchors = False
        documents = [node for node in yaml.compose_all(text) if isinstance(node, MappingNode) and node.value]
        self.objects = _objects(documents)
        self._documents = set(map(id, documents))
        self.kept_lines = text.splitlines(keepends=True)
        self.separators = [number for number, line in enumerate(self.kept_lines) if line.startswith("---")]

    def is_item(self, node: MappingNode) -> bool:
        """Return whether an object is an item of a List."""
        return id(node) not in self._documents


_layout = lru_cache(maxsize=1)(_Layout)


class _Editor:
    """One document of a source."""

    def __init__(self, layout: _Layout, index: int, data: JsonObject) -> None:
        self.text, self.lines, self.starts = layout.text, layout.lines, layout.starts
        self.data = data
        self.root = layout.objects[index]
        self.begin = self.root.start_mark.index
        self.offset = 0 if self._has_flush_lists(self.root) else 2

    def spans(self, edits: tuple[Edit | Addition, ...]) -> Iterator[_Span]:
        for edit in edits:
            if isinstance(edit, Addition):
                yield self._added(edit)
            elif self._parent(edit.path).flow_style:
                yield from (self._flow_removed(path) for path in edit.also)
                yield self._flow_removed(edit.path) if edit.key is None else self._flow_replaced(edit)
            else:
                yield from (self._span(*self._entry_lines(path), []) for path in edit.also)
                first, last = self._entry_lines(edit.path)
                yield self._span(first, last, self._replacement(edit, first, last))

    # Where things are.

    def _entry(self, path: Path) -> tuple[Node, Node]:
        """Return the nodes of the key and the value of a field."""
        parent = self._parent(path)
        for key, value in parent.value:
            if key.value == path[-1]:
                return key, value
        raise KeyError(path)

    def _parent(self, path: Path) -> MappingNode:
        node: Node = self.root
        for step in path[:-1]:
            node = node.value[step] if isinstance(step, int) else {key.value: value for key, value in node.value}[step]
        assert isinstance(node, MappingNode)
        return node

    def _entry_lines(self, path: Path) -> tuple[int, int]:
        """Return the first and last line of a field of a block mapping, with the comments directly above it."""
        key, value = self._entry(path)
        first = key.start_mark.line
        while (
            first and self.lines[first - 1].strip().startswith("#") and self._column(first - 1) >= self._column(first)
        ):
            first -= 1
        return first, _last_line(self.text, key, value)

    def _column(self, line: int) -> int:
        return len(self.lines[line]) - len(self.lines[line].lstrip())

    def _has_flush_lists(self, node: Node, column: int = -1) -> bool:
        """Return whether the document's first block list is not indented."""
        if isinstance(node, SequenceNode):
            if not node.flow_style and node.value:
                return bool(node.start_mark.column == column)
            return False
        children = node.value if isinstance(node, MappingNode) else ()
        return any(self._has_flush_lists(value, key.start_mark.column) for key, value in children)

    # New text.

    def _span(self, first: int, last: int, lines: list[str]) -> _Span:
        end = min(self.starts[last + 1], len(self.text))
        return _Span(self.starts[first], end, "".join(f"{line}\n" for line in lines))

    def _replacement(self, edit: Edit, first: int, last: int) -> list[str]:
        key, value = self._entry(edit.path)
        if isinstance(value, SequenceNode) and not value.flow_style and value.value:
            self.offset = value.start_mark.column - key.start_mark.column
        indent = " " * key.start_mark.column
        moved: list[Path] = []
        dumped = [] if edit.key is None else self._dumped(edit.key, edit.value, moved)
        kept = [span for path in moved if (span := self._moved_lines(path))]
        comments = []
        for one in (*(self._entry_lines(path) for path in edit.also), (first, last)):
            comments += [
                found[0]
                for line in range(one[0], one[1] + 1)
                if not any(start <= line <= end for start, end in kept)
                and (found := _COMMENT.search(self.lines[line])) is not None
                and not self._is_moved_inline(line, moved)
            ]
        return [indent + comment for comment in comments] + [indent + line if line else line for line in dumped]

    def _is_moved_inline(self, line: int, moved: list[Path]) -> bool:
        """Return whether the line is the one of a key whose value moves: its comment moves, too."""
        return any(self._entry(path)[0].start_mark.line == line for path in moved)

    def _moved_lines(self, path: Path) -> tuple[int, int] | None:
        """Return the lines of a value that moves, without that of its key; None if it has none of its own."""
        if self._parent(path).flow_style:
            return None
        key, value = self._entry(path)
        first, last = key.end_mark.line + 1, _last_line(self.text, key, value)
        return (first, last) if first <= last else None

    def _dumped(self, key: str, value: Any, moved: list[Path]) -> list[str]:
        """Return the lines of a field; ``moved`` gets the paths of the values that it takes over."""
        yaml = YAML(pure=True)
        yaml.width = _WIDE
        yaml.indent(mapping=2, sequence=self.offset + 2, offset=self.offset)
        out = StringIO()
        yaml.dump({key: self._marked(value, moved)}, out)
        lines: list[str] = []
        for line in out.getvalue().splitlines():
            placeholder = _PLACEHOLDER.match(line)
            lines += (
                [line]
                if placeholder is None
                else self._moved_text(placeholder["head"], moved[int(placeholder["number"])])
            )
        return lines

    def _marked(self, value: Any, moved: list[Path]) -> Any:
        """Return a value with placeholders for what moves; aliases are spelt out."""
        if isinstance(value, Moved):
            key, node = self._entry(value.path)
            if node.start_mark.index < key.start_mark.index:
                return get(self.data, *value.path)
            moved.append(value.path)
            return f"MOVED-{len(moved) - 1}-"
        if isinstance(value, dict):
            return {key: self._marked(child, moved) for key, child in value.items()}
        return [self._marked(child, moved) for child in value] if isinstance(value, list) else value

    def _moved_text(self, head: str, path: Path) -> list[str]:
        """Return the lines of a field whose value moves; ``head`` is its new key, with the indentation."""
        key, node = self._entry(path)
        column = len(head) - len(head.lstrip(" -"))
        line = key.end_mark.line
        if self._parent(path).flow_style:
            return [f"{head.rstrip()} {self._flow_text(Moved(path))}"]
        rest = self.lines[line][key.end_mark.column :].partition(":")[2]
        span = self._moved_lines(path)
        if isinstance(node, (MappingNode, SequenceNode)) and not node.flow_style:
            first = node.value[0][0] if isinstance(node, MappingNode) else node  # a mapping may begin with an anchor
            shift = column + (self.offset if isinstance(node, SequenceNode) else 2) - first.start_mark.column
        else:
            shift = column - key.start_mark.column
        following = self.lines[span[0] : span[1] + 1] if span else []
        return [head.rstrip() + rest.rstrip(), *(_shifted(each, shift) for each in following)]

    # Flow style, as in JSON.

    def _flow_text(self, value: Any) -> str:
        if isinstance(value, Moved):
            _, node = self._entry(value.path)
            return self.text[node.start_mark.index : node.end_mark.index]
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self._quoted(k)}: {self._flow_text(v)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(self._flow_text(item) for item in value) + "]"
        return self._quoted(value)

    def _quoted(self, value: Json) -> str:
        """Return a scalar in double quotes if the document writes its keys so, as JSON does."""
        key = self.root.value[0][0]
        yaml = YAML(pure=True, typ="safe")
        yaml.default_style = '"' if key.style == '"' and isinstance(value, str) else None  # type: ignore[assignment]
        out = StringIO()
        yaml.dump(value, out)
        return out.getvalue().removesuffix("\n...\n").strip()

    def _flow_replaced(self, edit: Edit) -> _Span:
        key, value = self._entry(edit.path)
        text = f"{self._quoted(edit.key)}: {self._flow_text(edit.value)}"
        return _Span(key.start_mark.index, value.end_mark.index, text)

    def _flow_removed(self, path: Path) -> _Span:
        """Remove a field with the comma after it, or before it if it is the last one."""
        key, value = self._entry(path)
        start, end = key.start_mark.index, value.end_mark.index
        if after := re.compile(r"\s*,\s*").match(self.text, end):
            return _Span(start, after.end(), "")
        before = self.text[self.begin : start].rstrip()
        return _Span(self.begin + len(before[:-1].rstrip()) if before.endswith(",") else start, end, "")

    def _added(self, edit: Addition) -> _Span:
        parent = self._parent((*edit.path, edit.key))
        if parent.flow_style:
            end = parent.end_mark.index - 1
            end = self.begin + len(self.text[self.begin : end].rstrip())
            comma = ", " if parent.value else ""
            return _Span(end, end, f"{comma}{self._quoted(edit.key)}: {self._flow_text(edit.value)}")
        key, value = parent.value[-1]
        last = _last_line(self.text, key, value)
        at = min(self.starts[last + 1], len(self.text))
        newline = "" if self.text.endswith("\n", 0, at) else "\n"
        indent = " " * key.start_mark.column
        lines = [indent + line for line in self._dumped(edit.key, edit.value, [])]
        return _Span(at, at, newline + "".join(f"{line}\n" for line in lines))


def _dedented(line: str, by: int) -> str:
    """Return a line of a list item without the indentation and the dash; comments may be indented less."""
    text = line.lstrip()
    return text if text.startswith("#") and len(line) - len(text) < by else line[by:] if text else line


def _shifted(line: str, by: int) -> str:
    """Return a line with more or less indentation; an empty line stays empty."""
    if not line.strip():
        return line
    return " " * by + line if by >= 0 else line[min(-by, len(line) - len(line.lstrip(" "))) :]
