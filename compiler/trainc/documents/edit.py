"""Edits the text of a file; every byte outside of the edited fields stays as it is.

``apply`` makes the fixes of findings, and rewrites fields for ``trainc import`` (``rewrite.py``). The edits replace
parts of the text at the positions that the reader reports. A round trip through ruamel.yaml would not do: it keeps
comments, but writes the indentation of lists, long lines, some quotes and flow collections in its own way, and a change
of one word must not reformat a file. Every edit is verified: the edited text is read again, and must hold exactly the
documents from before with the change of the edit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from msgspec import Struct

from trainc.basics.differences import same
from trainc.basics.jsonvalues import Json, Path, as_object, copied, get, replaced
from trainc.basics.regex import lazy
from trainc.documents.libyaml import Node
from trainc.documents.load import load
from trainc.documents.positions import BOM, field_of_path, lines_of, text_of_path
from trainc.documents.rewrite import Rewrite, Span, changed, line_break, scalar_text, spans_of
from trainc.findings.fixes import Action, Fix
from trainc.findings.suppression import IGNORE, WORD
from trainc.inputs.source import Document, Mark, Source

Read = Callable[[Source], tuple[Sequence[Document], int]]
"""Returns the documents of a source, and the number of findings on its YAML."""


def _loaded(source: Source) -> tuple[tuple[Document, ...], int]:
    """Return the documents of a source of Kubernetes objects, and the number of findings on its YAML."""
    documents, findings = load(source)
    return documents, len(findings)


class Edit(Struct, frozen=True):
    """A change of the document with an index in its source; ``mark`` is the position of a fix in a comment."""

    index: int
    fix: Fix | Rewrite
    mark: Mark | None = None


class _Unit(NamedTuple):
    """Edits of one document that are made together, with their spans in order."""

    spans: tuple[Span, ...]
    edits: tuple[Edit, ...]

    @property
    def document(self) -> int:
        """The index of the document."""
        return self.edits[0].index


_MOST_READ: Final = 5_000_000
"""The most characters that the trials of edits read together, besides the first two."""

_EMPTY_VALUE = lazy(r":[ \t]*+(\{\s*+\}|null|~|)[ \t]*+(?:#[^\n]*|\r?\n|\Z|[,}])")
_IGNORED: Final = r"[Tt][Cc][^\W\d]*+\d\w*+"
"""A code in a comment that ignores it, perhaps misspelt."""

_REST = lazy(r"[ \t]*(?:#[^\r\n]*)?(\r?\n|\Z)")


def apply(
    source: Source, edits: Sequence[Edit], read: Read = _loaded, *, together: bool = False
) -> tuple[Source, tuple[Edit, ...]]:
    """Return the source with as many of the edits as are possible, and those.

    An edit is not possible if its token is not found (an alias, a tag, a block scalar), if the new key exists, or if
    the documents would differ in anything else. ``together``: all edits of a document are made, or none.
    """
    text = source.decoded()
    if isinstance(source.text, bytes) and text.encode() != source.text:
        return source, ()
    documents, problems = read(source)
    numbered = {document.index: document for document in documents}
    units: list[_Unit] = []
    names: set[tuple[int, Path, str | None]] = set()
    for unit in sorted(_units(source, edits, numbered, together), key=lambda unit: unit.spans):
        edit = unit.edits[0]
        is_rename = isinstance(edit.fix, Fix) and edit.fix.action is Action.RENAME
        name = (edit.index, edit.fix.path[:-1], edit.fix.value) if is_rename else None
        is_second = name in names  # of two keys that get one name
        if not is_second and (not units or unit.spans[0].begin >= units[-1].spans[-1].end):
            names |= {name} if name is not None else set()
            units.append(unit)
    kept = _verified(source, units, numbered, problems, read) if units else []
    if not kept:
        return source, ()
    return _replace(source, kept), tuple(edit for unit in kept for edit in unit.edits)


def _units(source: Source, edits: Sequence[Edit], documents: dict[int, Document], together: bool) -> Iterator[_Unit]:
    """Yield the edits that have a place in the text, those of a document together or one by one."""
    groups: dict[int, list[Edit]] = {}
    for number, edit in enumerate(edits):
        groups.setdefault(edit.index if together else number, []).append(edit)
    for group in groups.values():
        found = [_spans(source, documents.get(edit.index), edit) for edit in group]
        if all(found):
            yield _Unit(tuple(sorted(chain(*found))), tuple(group))


def _verified(
    source: Source, units: list[_Unit], documents: dict[int, Document], problems: int, read: Read
) -> list[_Unit]:
    """Return the edits after which each document has the expected data.

    The edits of documents that have not are tried again in halves, and those of all documents if others have not. What
    is untried when ``_MOST_READ`` characters are read is left out.
    """
    verified: list[_Unit] = []
    of_documents: dict[int, list[_Unit]] = {}
    for unit in units:
        of_documents.setdefault(unit.document, []).append(unit)
    trials = [[*of_documents.values()]]
    left = _MOST_READ + 2 * len(source.text)
    while trials and left > 0:
        left -= len(source.text)
        groups = trials.pop()
        tried = sorted(chain(verified, *groups), key=lambda unit: unit.spans)
        after, remaining = read(_replace(source, tried))
        data = {document.index: document.data for document in after}
        expected = _expected(documents, [edit for unit in tried for edit in unit.edits])
        spoiled = {index for index, each in expected.items() if index not in data or not same(data[index], each)}
        if remaining <= problems and data.keys() == expected.keys() and not spoiled:
            verified = tried
            continue
        if spoiled and spoiled <= {group[0].document for group in groups}:
            trials += _halves(group for group in groups if group[0].document in spoiled)
            trials.append([group for group in groups if group[0].document not in spoiled])
        elif len(groups) > 1:  # one of them has an effect on other documents
            trials += groups[: len(groups) // 2], groups[len(groups) // 2 :]
        else:
            trials += _halves(groups)
        trials = [trial for trial in trials if trial]
    return verified


def _halves(groups: Iterable[list[_Unit]]) -> list[list[list[_Unit]]]:
    """Return the first halves of the groups and the second ones; groups of one unit have none."""
    parts = [(group[: len(group) // 2], group[len(group) // 2 :]) for group in groups if len(group) > 1]
    return [list(half) for half in zip(*parts, strict=True)]


def _spans(source: Source, document: Document | None, edit: Edit) -> tuple[Span, ...]:
    """Return the parts of the text that an edit replaces; none if it is not possible."""
    if isinstance(edit.fix, Rewrite):
        return () if document is None else spans_of(document, edit.fix)
    if edit.mark is not None:
        lines = lines_of(source)
        span = _COMMENTS[edit.fix.action](lines.text, lines.offset(edit.mark), edit.fix.value or "")
    else:
        span = None if document is None else _SPANS[edit.fix.action](document, edit.fix)
    return () if span is None else (span,)


def _replace(source: Source, units: Iterable[_Unit]) -> Source:
    text, at, parts = source.decoded(), 0, list[str]()
    shift = int(text.startswith(BOM))
    for begin, end, new in chain(*(unit.spans for unit in units)):
        parts += (text[at : begin + shift], new)
        at = end + shift
    text = "".join((*parts, text[at:]))
    return Source(source.name, text.encode() if isinstance(source.text, bytes) else text)


# What the documents are after the edits.


def _expected(documents: dict[int, Document], edits: Iterable[Edit]) -> dict[int, Json]:
    data: dict[int, Json] = {index: copied(document.data) for index, document in documents.items()}
    changes = [edit for edit in edits if edit.mark is None]  # a comment may belong to a document that is not read
    for edit in sorted(changes, key=lambda edit: -len(edit.fix.path)):  # a new name of a key changes the paths below it
        document, fix = documents[edit.index], edit.fix
        if isinstance(fix, Rewrite):
            changed(data[edit.index], document.data, fix)
        else:
            _change(document, data[edit.index], fix)
    return data


def _change(document: Document, data: Json, fix: Fix) -> None:
    """Change data, which no one else has, as a fix does."""
    path, new = fix.path, str(fix.value)
    parent: Any = get(data, *path[:-1])
    match fix.action:
        case Action.RENAME:
            parent[new] = parent.pop(path[-1], None)
        case Action.REMOVE:
            parent.pop(path[-1], None)
        case Action.SET_RUN:
            as_object(data)["metadata"] = replaced(get(data, "metadata"), path[1:], new)
        case Action.REPLACE:
            parent[path[-1]] = new
        case Action.UNQUOTE:
            parent[path[-1]] = _json(new)
        case Action.QUOTE:
            parent[path[-1]] = text_of_path(document, path)


def _json(text: str | None) -> Json:
    try:
        return json.loads(text or "")  # type: ignore[no-any-return]
    except ValueError:
        return None


# Where to edit, and what to write there.


def _reworded(document: Document, fix: Fix) -> Span | None:
    """Return the span of a key or a value with a new text; None for a block, a tag, an anchor and an alias."""
    field, new = field_of_path(document, fix.path), fix.value or ""
    token = field and (field.key if fix.action is Action.RENAME else field.value)
    if field is None or token is None or token.kind != "scalar" or token.style in ("|", ">"):
        return None
    if not fix.path or get(document.data, *fix.path[:-1]) is None:  # the text is not a mapping, so it has no data
        return None
    old = field.text[token.begin : token.end]
    if old[:1] in ("", "&", "!"):
        return None
    match fix.action:
        case Action.RENAME if fix.value is None or fix.value in as_object(get(document.data, *fix.path[:-1])):
            return None
        case Action.QUOTE:
            is_word = not token.style and not re.search(r'[\s"\\]', old)
            return Span(token.begin, token.end, f'"{old}"') if is_word else None
        case Action.UNQUOTE:
            return None if _json(new) is None else Span(token.begin, token.end, new)
    written = "'" + new.replace("'", "''") + "'" if token.style == "'" else scalar_text(new, quoted=bool(token.style))
    return Span(token.begin, token.end, written)


def _remove(document: Document, fix: Fix) -> Span | None:
    """Return the span of the line of a key with a scalar, if there is nothing else but a comment on the line."""
    field = field_of_path(document, fix.path)
    if field is None or field.key is None or field.value.kind != "scalar":
        return None
    text, begin, end = field.text, field.key.begin, field.value.end
    start, rest = text.rfind("\n", 0, begin) + 1, _REST.match(text, end)
    between = text[field.key.end : field.value.begin]
    if rest is None or text[start:begin].strip() or "\n" in text[begin:end]:
        return None
    return Span(start, rest.end(), "") if between.strip() == ":" else None


def _rename_comment(text: str, at: int, verb: str) -> Span | None:
    found = re.compile(rf"#\s*{WORD}[ \t]*(\S+)").match(text, at)
    return Span(found.start(1), found.end(1), verb) if found else None


def _remove_ignore(text: str, at: int, code: str) -> Span | None:
    """Return the span of a code in a comment; of the whole comment, with its line, if it has no other code."""
    comment = re.compile(rf"#[ \t]*+{WORD}[ \t]*+{IGNORE}(?:[ \t,]++{_IGNORED})++[^\r\n\x85\u2028\u2029]*")
    found = comment.match(text, text.rfind("#", 0, at))
    if found is None or not text.startswith(code, at):
        return None
    begin, end = found.span()
    after = re.compile(rf"{code}[ \t]*+,?+[ \t]*+(?={_IGNORED})").match(text, at)
    if after is not None:
        return Span(at, after.end(), "")
    if before := re.compile(rf"(?<!\w){_IGNORED}([ \t,]++)\Z").search(text[begin:at]):
        return Span(begin + before.start(1), at + len(code), "")
    blanks = begin
    while blanks and text[blanks - 1].isspace() and text[blanks - 1] != "\n":
        blanks -= 1
    if blanks and text[blanks - 1] != "\n":
        return Span(blanks, end, "")
    size = 2 if text.startswith("\r\n", end) else 1  # of the line break
    return Span(blanks, min(end + size, len(text)), "")


# The annotation with the run number, beside the other annotations or the name.

_ANNOTATIONS: Final = ("metadata", "annotations")


def _set_run(document: Document, fix: Fix) -> Span | None:
    key, number = str(fix.path[-1]), f'"{fix.value}"'
    if get(document.data, *fix.path) is not None:
        return _reworded(document, fix)  # a number, so in quotes
    if "annotations" not in as_object(document.data["metadata"]):
        return _beside_name(document, key, number)
    field = field_of_path(document, _ANNOTATIONS)
    if field is None or field.key is None:
        return None
    text, value = field.text, field.value
    if get(document.data, *_ANNOTATIONS) and value.kind == "mapping":
        first = field.nodes[field.at + 1]
        entry = f"{_key(text, first, key)}: {number}"
        if value.style:
            return _before(text, first.begin, entry)
        indent = _indent(text, first)
        return None if indent.strip() else _new_lines(text, field.key.end, [indent + entry])
    if (empty := _EMPTY_VALUE.match(text, field.key.end)) is None:
        return None
    if empty[1] or text[field.key.begin] == '"':
        entry = f"{_key(text, field.key, key)}: {number}"
        return Span(*empty.span(1), f"{' ' * (not empty[1])}{{{entry}}}")
    indent = _indent(text, field.key)
    return None if indent.strip() else _new_lines(text, field.key.end, [f"{indent}  {key}: {number}"])


def _beside_name(document: Document, key: str, value: str) -> Span | None:
    """Return the span for annotations at the name."""
    parent, field = (field_of_path(document, path) for path in (("metadata",), ("metadata", "name")))
    if parent is None or parent.key is None or field is None or field.key is None:
        return None
    text, name, end = field.text, field.key, field.value.end
    indent = _indent(text, name)
    if parent.value.style:
        entry = f"{_key(text, name, 'annotations')}: {{{_key(text, name, key)}: {value}}}"
        # A comment after the name stays on its line.
        return Span(end, end, f", {entry}") if indent.strip() else _before(text, name.begin, entry)
    step = len(indent) - len(_indent(text, parent.key))
    if indent.strip() or step < 1 or _REST.match(text, end) is None:
        return None
    return _new_lines(text, end, [f"{indent}annotations:", f"{indent}{' ' * step}{key}: {value}"])


def _before(text: str, at: int, entry: str) -> Span:
    """Return the span for an entry of a flow mapping before the key at an offset, on a line of its own as that is."""
    space = text[len(text[:at].rstrip()) : at]
    return Span(at, at, f"{entry},{space if chr(10) in space else ' '}")


def _key(text: str, sibling: Node, key: str) -> str:
    """Return a key in quotes if its sibling has quotes."""
    return f'"{key}"' if text[sibling.begin] == '"' else key


def _indent(text: str, node: Node) -> str:
    """Return what is before a node on its line."""
    return text[text.rfind("\n", 0, node.begin) + 1 : node.begin]


def _new_lines(text: str, after: int, lines: Iterable[str]) -> Span:
    """Return the span that adds lines after the line of an offset, with its line ending."""
    newline = line_break(text, after)
    at = text.find(newline, after)
    at = len(text) if at < 0 else at
    return Span(at, at, "".join(f"{newline}{line}" for line in lines))


_SPANS: Final[dict[Action, Callable[[Document, Fix], Span | None]]] = {
    Action.RENAME: _reworded,
    Action.REPLACE: _reworded,
    Action.QUOTE: _reworded,
    Action.UNQUOTE: _reworded,
    Action.REMOVE: _remove,
    Action.SET_RUN: _set_run,
}
_COMMENTS: Final[dict[Action, Callable[[str, int, str], Span | None]]] = {
    Action.RENAME_COMMENT: _rename_comment,
    Action.REMOVE_IGNORE: _remove_ignore,
}
