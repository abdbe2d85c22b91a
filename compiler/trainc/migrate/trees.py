"""YAML trees that keep quotes and layout (ruamel.yaml), and their text with comments.

ruamel.yaml attaches a comment to whatever stands before it, which is of no use when parts move to other documents. So
the trees have no comments; they are read from the text, and inserted into the new text, by position.
"""

from __future__ import annotations

import io
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any, Final

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import ReusedAnchorWarning
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, PlainScalarString, SingleQuotedScalarString

from trainc.basics.jsonvalues import Json, Path
from trainc.documents.load import comments, load
from trainc.documents.scalars import kubernetes
from trainc.inputs.source import Document, Mark, Source

_WIDTH: Final = 1 << 30
"""Lines are not folded."""
_BREAK: Final = re.compile("[\r\u0085\u2028\u2029]")
"""The line breaks of YAML besides the line feed: they end a comment, and single quotes do not keep them."""


class Comment(msgspec.Struct):
    """The comments of a node: whole lines above it, and the end of its own line; each begins with ``#``."""

    above: list[str] = msgspec.field(default_factory=list)
    beside: str | None = None


Comments = Mapping[tuple[int, Any], Comment]
"""Comments by the identity of a mapping or list, and the key or index in it; None is its end."""


class _Representer(RoundTripRepresenter):
    """Writes a string in quotes if Kubernetes, which reads YAML 1.1, would take it for something else.

    A quoted string has one line: a comment that is added to its first line must not become a part of it.
    """

    def represent_text(self, text: str) -> ScalarNode:
        """Represent a string without quotes of its own, or in single quotes."""
        if "\n" in text or _BREAK.search(text):
            return self.represent_scalar(_TEXT, text, style='"')
        return self.represent_scalar(_TEXT, text, style=None if type(text) is str and _is_string(text) else "'")


_BITS: Final = 14_000
"""More of them are more than 4,300 decimal digits, at which Python raises ValueError."""
_TEXT: Final = "tag:yaml.org,2002:str"
_Representer.add_representer(str, _Representer.represent_text)
_Representer.add_representer(SingleQuotedScalarString, _Representer.represent_text)


def _is_string(text: str) -> bool:
    """Return whether an unquoted text is a string for Kubernetes and other readers."""
    reading = kubernetes(text)
    return isinstance(reading.value, str) and reading.agrees


def _as_written(scalar: Any) -> Any:
    """Return a scalar of a document so that it is written as it was: ruamel.yaml reads ``yes`` as a text.

    Kubernetes takes a hexadecimal number beyond 64 bits for a text, and Python writes none of thousands of digits.
    """
    if isinstance(scalar, int) and scalar.bit_length() > _BITS:
        return PlainScalarString(hex(scalar))
    return PlainScalarString(scalar) if type(scalar) is str and not _is_string(scalar) else scalar


def mapping(**values: Any) -> CommentedMap:
    """Return a new mapping."""
    return CommentedMap(values)


def sequence(*values: Any) -> CommentedSeq:
    """Return a new list."""
    return CommentedSeq(values)


def in_brackets(*values: Any) -> CommentedSeq:
    """Return a new list that is written in brackets, on one line."""
    found = sequence(*values)
    found.fa.set_flow_style()
    return found


def ordered(tree: CommentedMap, *keys: str) -> CommentedMap:
    """Put some keys first, in this order, and return the mapping."""
    for key in reversed(keys):
        if key in tree:
            tree.move_to_end(key, last=False)
    return tree


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.allow_duplicate_keys = True
    yaml.width = _WIDTH
    yaml.indent(mapping=2, sequence=2, offset=0)
    return yaml


def read_tree(text: str) -> Any:
    """Return the tree of one document, without comments; each alias becomes a copy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReusedAnchorWarning)
        tree = _yaml().load(text)
    return _plain(tree, is_json=text.lstrip().startswith("{"))


def tree_of(data: Json) -> Any:
    """Return the tree of data, with its texts in quotes."""
    if isinstance(data, dict):
        return mapping(**{key: tree_of(value) for key, value in data.items()})
    if isinstance(data, list):
        return sequence(*map(tree_of, data))
    return DoubleQuotedScalarString(data) if isinstance(data, str) else data


def _plain(tree: Any, *, is_json: bool) -> Any:
    """Return a tree without comments, anchors and merge keys, and without the braces of a document in JSON."""
    if not isinstance(tree, CommentedMap | CommentedSeq):
        return _as_written(tree)
    new: Any = CommentedMap() if isinstance(tree, CommentedMap) else CommentedSeq()
    for key, value in tree.items() if isinstance(tree, CommentedMap) else enumerate(tree):
        child = _plain(value, is_json=is_json)
        if isinstance(new, CommentedMap):
            new[str(key) if is_json else _as_written(key)] = child
        else:
            new.append(child)
    if not is_json and tree.fa.flow_style():
        new.fa.set_flow_style()
    new.lc.line, new.lc.col = tree.lc.line, tree.lc.col
    return new


def write_tree(tree: CommentedMap, table: Comments = MappingProxyType({}), head: Iterable[str] = ()) -> str:
    """Return the text of a document with its comments; ``head`` are lines above all others."""
    stream = io.StringIO()
    _yaml().dump(tree, stream)
    text = stream.getvalue()
    found = {path: table[key] for path, key in _keys(tree, ()) if key in table}
    lines = text.removesuffix("\n").split("\n")  # str.splitlines would also split at other characters
    documents = load(Source("", text))[0] if found else ()
    for document in documents:  # none above a limit: nothing reads such an object, with comments or without
        places = sorted(((document.locate(path).line - 1, entry) for path, entry in found.items()), key=itemgetter(0))
        for line, entry in places:
            lines[line] += f"  {entry.beside}" if entry.beside is not None else ""
        above: dict[int, list[str]] = {}
        for line, entry in places:
            indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
            above.setdefault(line, []).extend(indent + each for each in entry.above)
        lines = [each for line, text in enumerate(lines) for each in (*above.get(line, ()), text)]
    end = table.get((id(tree), None))
    return "\n".join([*head, *lines, *(end.above if end else ())]) + "\n"


def containers(tree: Any) -> Iterator[int]:
    """Yield the identity of every mapping and list of a tree."""
    if isinstance(tree, CommentedMap | CommentedSeq):
        yield id(tree)
        for value in tree.values() if isinstance(tree, CommentedMap) else tree:
            yield from containers(value)


def _keys(tree: Any, path: Path) -> Iterator[tuple[Path, tuple[int, Any]]]:
    if isinstance(tree, CommentedMap):
        items: Any = tree.items()
    elif isinstance(tree, CommentedSeq):
        items = enumerate(tree)
    else:
        return
    for key, value in items:
        yield (*path, key), (id(tree), key)
        yield from _keys(value, (*path, key))


@lru_cache(maxsize=4)
def _comments(source: Source) -> tuple[tuple[Mark, ...], list[str]]:
    """Return the comments of a source, and its lines."""
    return tuple(mark for mark, _ in comments(source, "")), source.decoded().split("\n")


def comments_of(document: Document, first: int, last: int) -> tuple[dict[Path, Comment], list[str]]:
    """Return the comments in some lines of a document by path, and those after its last node.

    A comment on a line of its own belongs to the next node, any other to the node before it.
    """
    marks, lines = _comments(document.source)
    found = marks[bisect_left(marks, first, key=attrgetter("line")) : bisect_right(marks, last, key=attrgetter("line"))]
    if not found:
        return {}, []
    nodes = sorted(((mark, len(path), path) for path, mark in document.marks().items()), key=itemgetter(0, 1))
    table: dict[Path, Comment] = {}
    end: list[str] = []
    for mark in found:
        line = lines[mark.line - 1]
        text = _BREAK.split(line[mark.column - 1 :], maxsplit=1)[0].rstrip()
        if line[: mark.column - 1].strip():
            if before := bisect_left(nodes, mark, key=itemgetter(0)):
                entry = table.setdefault(nodes[before - 1][2], Comment())
                entry.beside = text if entry.beside is None else f"{entry.beside} {text}"
            continue
        after = bisect_right(nodes, mark.line, key=lambda node: node[0].line)
        if after == len(nodes):
            end.append(text)
        else:
            table.setdefault(nodes[after][2], Comment()).above.append(text)
    return table, end
