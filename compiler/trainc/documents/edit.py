"""Applies fixes to the text of a file; every byte outside of the edited tokens stays as it is.

The edits replace tokens at the positions that the reader reports. A round trip through ruamel.yaml would not do: it
keeps comments, but writes the indentation of lists, long lines, some quotes and flow collections in its own way, and
a change of one word must not reformat a file. Every edit is verified: the edited text is read again, and must hold
exactly the documents from before with the change of the fix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct

from trainc.basics.differences import same
from trainc.basics.jsonvalues import Json, Path, as_object, copied, get, replaced
from trainc.basics.regex import lazy
from trainc.documents.positions import BOM, Lines, key_of_path, value_of_path
from trainc.documents.scalars import kubernetes
from trainc.findings.fixes import Action, Fix
from trainc.findings.suppression import IGNORE, WORD
from trainc.inputs.source import Document, Mark, Source

Read = Callable[[Source], tuple[Sequence[Document], int]]
"""Returns the documents of a source, and the number of findings on its YAML."""


class Edit(Struct, frozen=True):
    """A fix of the document with an index in its source; ``mark`` is the position of a fix in a comment."""

    index: int
    fix: Fix
    mark: Mark | None = None


class _Span(NamedTuple):
    """Offsets in a text, and the new text between them."""

    begin: int
    end: int
    text: str


_MOST_READ: Final = 5_000_000
"""The most characters that the trials of edits read together, besides the first two."""

_PLAIN = lazy(r"[A-Za-z0-9](?:[A-Za-z0-9_./@-]|:(?=[A-Za-z0-9_]))*")
_EMPTY_VALUE = lazy(r":[ \t]*+(\{\s*+\}|null|~|)[ \t]*+(?:#[^\n]*|\r?\n|\Z|[,}])")
_FLOW = re.compile(r"\s*:\s*\{")
_IGNORED: Final = r"[Tt][Cc][^\W\d]*+\d\w*+"
"""A code in a comment that ignores it, perhaps misspelt."""

_REST = lazy(r"[ \t]*(?:#[^\r\n]*)?(\r?\n|\Z)")


def apply(source: Source, edits: Sequence[Edit], read: Read) -> tuple[Source, tuple[Edit, ...]]:
    """Return the source with as many of the edits as are possible, and those.

    An edit is not possible if its token is not found (an alias, a tag, a block scalar), if the new key exists, or if
    the documents would differ in anything else.
    """
    text = source.decoded()
    if isinstance(source.text, bytes) and text.encode() != source.text:
        return source, ()
    documents, problems = read(source)
    numbered = {document.index: document for document in documents}
    found = [(span, edit) for edit in edits if (span := _span(source, numbered.get(edit.index), edit)) is not None]
    spans: list[_Span] = []
    possible: list[Edit] = []
    names: set[tuple[int, Path, str | None]] = set()
    for span, edit in sorted(found, key=lambda row: row[0]):
        name = (edit.index, edit.fix.path[:-1], edit.fix.value)
        is_second = edit.fix.action is Action.RENAME and name in names  # of two keys that get one name
        if not is_second and (not spans or span.begin >= spans[-1].end):
            names |= {name} if edit.fix.action is Action.RENAME else set()
            spans.append(span)
            possible.append(edit)
    if not possible:
        return source, ()
    kept = _verified(source, list(zip(spans, possible, strict=True)), numbered, problems, read)
    return _replace(source, [span for span, _ in kept]), tuple(edit for _, edit in kept)


_Placed: TypeAlias = list[tuple[_Span, Edit]]
"""Edits in order, with their spans."""


def _verified(source: Source, placed: _Placed, numbered: dict[int, Document], problems: int, read: Read) -> _Placed:
    """Return the edits after which each document has the expected data.

    The edits of documents that have not are tried again in halves, those of all documents at once. What is untried
    when ``_MOST_READ`` characters are read is left out.
    """
    verified: _Placed = []
    of_documents: dict[int, _Placed] = {}
    for each in placed:
        of_documents.setdefault(each[1].index, []).append(each)
    trials = [[*of_documents.values()]]
    left = _MOST_READ + 2 * len(source.text)
    while trials and left > 0:
        left -= len(source.text)
        groups = trials.pop()
        edits = sorted((each for group in (verified, *groups) for each in group), key=itemgetter(0))
        after, remaining = read(_replace(source, [span for span, _ in edits]))
        data = {document.index: document.data for document in after}
        expected = _expected(numbered, [edit for _, edit in edits])
        spoiled = {index for index, each in expected.items() if index not in data or not same(data[index], each)}
        if remaining <= problems and data.keys() == expected.keys() and not spoiled:
            verified = edits
            continue
        if spoiled:
            trials += _halves(group for group in groups if group[0][1].index in spoiled)
            trials.append([group for group in groups if group[0][1].index not in spoiled])
        elif len(groups) > 1:  # one of them has an effect on other documents
            trials += groups[: len(groups) // 2], groups[len(groups) // 2 :]
        else:
            trials += _halves(groups)
        trials = [trial for trial in trials if trial]
    return verified


def _halves(groups: Iterable[_Placed]) -> list[list[_Placed]]:
    """Return the first halves of the groups and the second ones; groups of one edit have none."""
    parts = [(group[: len(group) // 2], group[len(group) // 2 :]) for group in groups if len(group) > 1]
    return [list(half) for half in zip(*parts, strict=True)]


def _span(source: Source, document: Document | None, edit: Edit) -> _Span | None:
    if edit.mark is not None:
        lines = Lines(source.decoded().removeprefix(BOM))
        return _COMMENTS[edit.fix.action](lines.text, lines.offset(edit.mark), edit.fix.value or "")
    return None if document is None else _SPANS[edit.fix.action](document, edit.fix)


def _replace(source: Source, spans: Iterable[_Span]) -> Source:
    text, at, parts = source.decoded(), 0, list[str]()
    shift = int(text.startswith(BOM))
    for begin, end, new in spans:
        parts += (text[at : begin + shift], new)
        at = end + shift
    text = "".join((*parts, text[at:]))
    return Source(source.name, text.encode() if isinstance(source.text, bytes) else text)


# What the documents are after the edits.


def _expected(documents: dict[int, Document], edits: Iterable[Edit]) -> dict[int, Json]:
    data: dict[int, Json] = {index: copied(document.data) for index, document in documents.items()}
    changes = [edit for edit in edits if edit.mark is None]  # a comment may belong to a document that is not read
    for edit in sorted(changes, key=lambda edit: -len(edit.fix.path)):  # a new name of a key changes the paths below it
        _change(documents[edit.index], data[edit.index], edit.fix)
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
            parent[path[-1]] = _raw(document, path)


def _json(text: str | None) -> Json:
    try:
        return json.loads(text or "")  # type: ignore[no-any-return]
    except ValueError:
        return None


def _raw(document: Document, path: Path) -> str | None:
    """Return the text of the value at a path as it is written."""
    return None if (found := value_of_path(document, path)) is None else _text(found)


# Where to edit, and what to write there.


def _text(token: tuple[Lines, Any]) -> str:
    lines, scalar = token
    return lines.text[scalar.begin : scalar.end]


def _rewritten(token: tuple[Lines, Any] | None, new: str) -> _Span | None:
    """Return the span of a token with a new text in the style of the old one; None for a block, a tag or an anchor."""
    if token is None or (scalar := token[1]).style in ("|", ">"):
        return None
    old = _text(token)
    if scalar.style:
        written = json.dumps(new, ensure_ascii=False) if scalar.style == '"' else "'" + new.replace("'", "''") + "'"
        return _Span(scalar.begin, scalar.end, written) if old[:1] == scalar.style else None
    reading = kubernetes(new)
    is_plain = _PLAIN.fullmatch(new) is not None and isinstance(reading.value, str) and reading.agrees
    written = new if is_plain else json.dumps(new, ensure_ascii=False)
    return None if old[:1] in ("", "&", "!") else _Span(scalar.begin, scalar.end, written)


def _rename(document: Document, fix: Fix) -> _Span | None:
    if fix.value is None or fix.value in as_object(get(document.data, *fix.path[:-1])):
        return None
    return _rewritten(key_of_path(document, fix.path), fix.value)


def _replace_value(document: Document, fix: Fix) -> _Span | None:
    return _rewritten(value_of_path(document, fix.path), fix.value or "")


def _quote(document: Document, fix: Fix) -> _Span | None:
    token = value_of_path(document, fix.path)
    if token is None or token[1].style or not (old := _text(token)) or re.search(r'[\s"\\]|\A[&!]', old):
        return None
    return _Span(token[1].begin, token[1].end, f'"{old}"')


def _unquote(document: Document, fix: Fix) -> _Span | None:
    token = value_of_path(document, fix.path)
    if token is None or _json(fix.value) is None or _text(token)[:1] in ("", "&", "!"):
        return None
    return None if token[1].style in ("|", ">") else _Span(token[1].begin, token[1].end, fix.value or "")


def _remove(document: Document, fix: Fix) -> _Span | None:
    """Return the span of the line of a key with a scalar, if there is nothing else but a comment on the line."""
    key, value = key_of_path(document, fix.path), value_of_path(document, fix.path)
    if key is None or value is None:
        return None
    text, start = key[0].text, key[0].text.rfind("\n", 0, key[1].begin) + 1
    rest = _REST.match(text, value[1].end)
    between = text[key[1].end : value[1].begin]
    if rest is None or text[start : key[1].begin].strip() or "\n" in text[key[1].begin : value[1].end]:
        return None
    return _Span(start, rest.end(), "") if between.strip() == ":" else None


def _rename_comment(text: str, at: int, verb: str) -> _Span | None:
    found = re.compile(rf"#\s*{WORD}[ \t]*(\S+)").match(text, at)
    return _Span(found.start(1), found.end(1), verb) if found else None


def _remove_ignore(text: str, at: int, code: str) -> _Span | None:
    """Return the span of a code in a comment; of the whole comment, with its line, if it has no other code."""
    start = text.rfind("\n", 0, at) + 1
    comments = re.compile(rf"#[ \t]*+{WORD}[ \t]*+{IGNORE}(?:[ \t,]++{_IGNORED})++[^\r\n]*")
    found = next((match for match in comments.finditer(text, start) if match.start() < at < match.end()), None)
    if found is None or not text.startswith(code, at):
        return None
    begin, end = found.span()
    after = re.compile(rf"{code}[ \t]*+,?+[ \t]*+(?={_IGNORED})").match(text, at)
    if after is not None:
        return _Span(at, after.end(), "")
    if before := re.compile(rf"(?<!\w){_IGNORED}([ \t,]++)\Z").search(text[begin:at]):
        return _Span(begin + before.start(1), at + len(code), "")
    if text[start:begin].strip():
        return _Span(start + len(text[start:begin].rstrip()), end, "")
    line_end = text.find("\n", end)
    return _Span(start, len(text) if line_end < 0 else line_end + 1, "")


# The annotation with the run number, beside the other annotations or the name.

_ANNOTATIONS: Final = ("metadata", "annotations")


def _set_run(document: Document, fix: Fix) -> _Span | None:
    key, number = str(fix.path[-1]), f'"{fix.value}"'
    annotations = get(document.data, *_ANNOTATIONS)
    if get(document.data, *fix.path) is not None:
        return _replace_value(document, fix)  # a number, so in quotes
    if isinstance(annotations, dict) and annotations:
        children = [key_of_path(document, (*_ANNOTATIONS, name)) for name in annotations]
        first = min((child for child in children if child is not None), key=lambda c: c[1].begin, default=None)
        return _first_entry(document, first, key, number)
    if "annotations" in as_object(document.data["metadata"]):
        return _only_entry(document, key, number)
    return _beside_name(document, key, number)


def _first_entry(document: Document, child: tuple[Lines, Any] | None, key: str, value: str) -> _Span | None:
    """Return the span for a new entry before the first annotation."""
    parent = key_of_path(document, _ANNOTATIONS)
    if parent is None or child is None:
        return None
    text, begin = child[0].text, child[1].begin
    if _FLOW.match(text, parent[1].end):
        return _before(text, begin, f"{_key(child, key)}: {value}")
    indent = text[text.rfind("\n", 0, begin) + 1 : begin]
    return None if indent.strip() else _new_lines(text, parent[1].end, [f"{indent}{_key(child, key)}: {value}"])


def _only_entry(document: Document, key: str, value: str) -> _Span | None:
    """Return the span for the first entry of empty annotations."""
    parent = key_of_path(document, _ANNOTATIONS)
    if parent is None or (empty := _EMPTY_VALUE.match(text := parent[0].text, parent[1].end)) is None:
        return None
    if empty[1] or _text(parent)[:1] == '"':
        return _Span(*empty.span(1), f"{' ' * (not empty[1])}{{{_key(parent, key)}: {value}}}")
    indent = text[text.rfind("\n", 0, parent[1].begin) + 1 : parent[1].begin]
    return None if indent.strip() else _new_lines(text, parent[1].end, [f"{indent}  {key}: {value}"])


def _beside_name(document: Document, key: str, value: str) -> _Span | None:
    """Return the span for annotations at the name."""
    parent, name = key_of_path(document, ("metadata",)), key_of_path(document, ("metadata", "name"))
    token = value_of_path(document, ("metadata", "name"))
    if parent is None or name is None or token is None:
        return None
    text, begin, end = name[0].text, name[1].begin, token[1].end
    indent = text[text.rfind("\n", 0, begin) + 1 : begin]
    if _FLOW.match(text, parent[1].end):
        entry = f"{_key(name, 'annotations')}: {{{_key(name, key)}: {value}}}"
        # A comment after the name stays on its line.
        return _Span(end, end, f", {entry}") if indent.strip() else _before(text, begin, entry)
    step = len(indent) - (parent[1].begin - text.rfind("\n", 0, parent[1].begin) - 1)
    if indent.strip() or step < 1 or _REST.match(text, end) is None:
        return None
    return _new_lines(text, end, [f"{indent}annotations:", f"{indent}{' ' * step}{key}: {value}"])


def _before(text: str, at: int, entry: str) -> _Span:
    """Return the span for an entry of a flow mapping before the key at an offset, on a line of its own as that is."""
    space = text[len(text[:at].rstrip()) : at]
    return _Span(at, at, f"{entry},{space if chr(10) in space else ' '}")


def _key(sibling: tuple[Lines, Any], key: str) -> str:
    """Return a key in quotes if its sibling has quotes."""
    return f'"{key}"' if _text(sibling)[:1] == '"' else key


def _new_lines(text: str, after: int, lines: Iterable[str]) -> _Span:
    """Return the span that adds lines after the line of an offset, with its line ending."""
    end = text.find("\n", after)
    is_dos = text[end - 1 : end] == "\r" if end >= 0 else "\r\n" in text
    at = len(text) if end < 0 else end - is_dos
    return _Span(at, at, "".join(f"{chr(13) * is_dos}\n{line}" for line in lines))


_SPANS: Final[dict[Action, Callable[[Document, Fix], _Span | None]]] = {
    Action.RENAME: _rename,
    Action.REPLACE: _replace_value,
    Action.QUOTE: _quote,
    Action.UNQUOTE: _unquote,
    Action.REMOVE: _remove,
    Action.SET_RUN: _set_run,
}
_COMMENTS: Final[dict[Action, Callable[[str, int, str], _Span | None]]] = {
    Action.RENAME_COMMENT: _rename_comment,
    Action.REMOVE_IGNORE: _remove_ignore,
}
