"""Text to Documents, read as kubectl reads it.

A text is cut at lines that begin with ``---``, as kubectl cuts it; a text that begins with ``{`` is tried as JSON
first. Each List is opened. No positions are computed until a finding needs one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, dotted
from trainc.documents.libyaml import hidden_breaks, may_have_comment, yaml_comments
from trainc.documents.positions import BOM, Lines, Marks, divide, unquoted
from trainc.documents.problems import MAX_DOCUMENTS, SMALL_TEXT, Problem, Refused, excess
from trainc.documents.yaml import offsets, read_yaml
from trainc.findings import Finding
from trainc.findings.reporting import report_fault
from trainc.inputs.source import Document, Mark, Source
from trainc.kube.gojson import trim_space
from trainc.schema.inputs import INPUTS
from trainc.schema.wording import QUOTE_IT, show_unquoted

_SEPARATOR = re.compile(r"^---([^\n]*)(?:\n|\Z)", re.M)
_BLANKS = re.compile(r"[^\S\n]*")
_ESCAPE = re.compile(r"\\[xuU\s]")
"""An escape for a letter, or for a line break without effect."""
_PEEKED = 4096
"""The bytes at the start of a text in which kubectl and Argo CD look for the ``{`` of JSON."""

_POINTER = "version https://git-lfs.github.com/spec/"
_FETCH = "Git LFS has the content of this file: fetch it with git lfs pull, or keep the file in git itself"
ELSEWHERE = "keep files for other programs, such as kustomization.yaml, in another folder"

NAMELESS = {row.kind: row.stage for row in INPUTS if row.stage}
"""The stage at which an API server rejects custom resources without a name."""


class _Unit(msgspec.Struct, frozen=True, eq=False):
    """One document of a text: a List counts as one. ``may_be_large``: an object in it may be too large."""

    data: Json
    problems: list[Problem]
    marks: Marks
    may_be_large: bool = False


_EMPTY = _Unit(None, [], dict)
"""A document without content."""


def may_hide_words(source: Source) -> bool:
    """Return whether the documents may have words that a search in the text does not find."""
    return _ESCAPE.search(source.decoded()) is not None


def load(source: Source) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    """Read every document of a source.

    Returns the documents that are Kubernetes objects, in order, and findings: TC001 to TC006 and TC012; TC005 is a
    warning, all others are errors. A document with a repeated key is returned (the last one counts, as for kubectl);
    one with any other error is not. Documents without content are skipped.
    """
    documents: list[Document] = []
    findings: list[Finding] = []
    index = 0
    for number, unit in enumerate(_units(source)):
        if number == MAX_DOCUMENTS:
            problem = Problem("TC012", (), f"more than {MAX_DOCUMENTS} documents in one file")
            findings.append(report_fault(problem, Document(source, {}, index, unit.marks)))
            break
        if unit is _EMPTY:
            continue
        objects = list(_objects(unit))
        whole = len(objects) == 1 and not objects[0][0]
        parts: Mapping[Path, Marks] = (
            {(): unit.marks} if whole else divide(unit.marks, [prefix for prefix, _, _ in objects])
        )
        for prefix, data, problems in objects:
            document = Document(source, data if isinstance(data, dict) else {}, index, parts[prefix])
            index += 1
            for problem in problems:
                refused = problem.upstream is not None or problem.code in ("TC002", "TC006")
                stage, hint = (problem.stage or "decode") if refused else None, problem.hint
                if hint == QUOTE_IT and (text := unquoted(document, problem.path)) is not None:
                    hint = f'{QUOTE_IT}: "{text}"'
                findings.append(report_fault(replace(problem, stage=stage, hint=hint), document))
            if not any(problem.fatal for problem in problems):
                documents.append(document)
    return tuple(documents), (*findings, *(_hidden_breaks(source, documents) if documents else ()))


def _hidden_breaks(source: Source, documents: Sequence[Document]) -> Iterator[Finding]:
    """Yield findings on hidden line breaks; only a comment above all of the document they are in silences them."""
    raw = source.text
    if raw.isascii() and ("\r" not in raw if isinstance(raw, str) else b"\r" not in raw):
        return
    text = source.decoded().replace("\r\r\n", "  \n")  # one line break for kubectl: see _yaml_unit
    if not hidden_breaks(text):
        return
    lines = Lines(text)
    start = _json_units(text, lines)[1]  # JSON has no such line breaks
    roots = [lines.offset(document.locate(())) for document in documents]
    for offset, problem in hidden_breaks(text[start:]):
        at = start + offset
        behind = bisect_right(roots, at)
        begins_here = behind > 0 and roots[behind - 1] > text.rfind("\n---", 0, at)
        nearest = documents[behind - 1 if begins_here else min(behind, len(roots) - 1)]
        marks: dict[Path, Mark] = {(): lines.mark(at)}
        yield report_fault(problem, Document(source, {}, nearest.index, marks.copy))


def _objects(unit: _Unit) -> Iterator[tuple[Path, Json, list[Problem]]]:
    """Open Lists and assign the problems to their objects; those of a List itself come with an unusable object."""
    if any(problem.fatal and not problem.path for problem in unit.problems):
        yield (), unit.data, unit.problems
        return
    if not unit.problems and not unit.may_be_large and not _is_list(unit.data):
        yield (), unit.data, _identity(unit.data)
        return
    items = list(_items(unit.data, ()))
    shares: dict[Path, list[Problem]] = {prefix: [] for prefix, _ in items}
    rest: list[Problem] = []
    for problem in unit.problems:
        path = problem.path
        prefix = next((path[:size] for size in range(len(path) + 1) if path[:size] in shares), None)
        if prefix is None:
            rest.append(replace(problem, fatal=True))
        else:
            shares[prefix].append(replace(problem, path=path[len(prefix) :]))
    for prefix, data in items:
        problems = shares[prefix]
        if unit.may_be_large and (message := excess(data)) is not None:
            yield prefix, None, [*problems, Problem("TC012", (), message)]
            continue
        yield prefix, data, problems if any(problem.fatal for problem in problems) else problems + _identity(data)
    if rest:
        yield (), unit.data, rest


def _items(data: Json, prefix: Path) -> Iterator[tuple[Path, Json]]:
    """Open a List, v1 or typed: as for kubectl, an item of a TrainJobList without a kind is a TrainJob."""
    if not isinstance(data, dict) or not _is_list(data):
        yield prefix, data
        return
    items, version, kind = data.get("items"), data.get("apiVersion"), str(data.get("kind"))
    if not isinstance(items, list) and not (items is None and (version, kind) == ("v1", "List")):
        yield prefix, data
        return
    inherited: JsonObject = {"apiVersion": version, "kind": kind.removesuffix("List")} if kind != "List" else {}
    for index, item in enumerate(items or ()):
        bare = isinstance(item, dict) and item.get("kind") is None and item.get("apiVersion") is None
        typed: Json = {**item, **inherited} if isinstance(item, dict) and bare else item
        yield from _items(typed, (*prefix, "items", index))


def _is_list(data: Json) -> bool:
    kind = data.get("kind") if isinstance(data, dict) else None
    return isinstance(kind, str) and kind.endswith("List")


def _identity(data: Json) -> list[Problem]:
    """Check that data names an object: apiVersion, kind and metadata.name, all of them non-empty strings."""
    if not isinstance(data, dict):
        hint = _FETCH if isinstance(data, str) and data.startswith(_POINTER) else None
        return [Problem("TC006", (), "the document is not a mapping", hint=hint)]
    metadata = data.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return [Problem("TC006", ("metadata",), "metadata is not a mapping")]
    version, kind, name = data.get("apiVersion"), data.get("kind"), (metadata or {}).get("name")
    if isinstance(version, str) and version.startswith("/"):  # for a server, /v1 is v1; policies would see another text
        message = "apiVersion begins with a slash"
        return [Problem("TC006", ("apiVersion",), message, found=version, hint=f"write {version.lstrip('/')}")]
    if all(isinstance(value, str) and value for value in (version, kind, name)):
        return []
    if name == "" and str(kind) in NAMELESS:  # a server sees no difference
        name = None
    values: dict[Path, Json] = {("apiVersion",): version, ("kind",): kind, ("metadata", "name"): name}
    wrong = []
    for where, value in values.items():
        if isinstance(value, bool | int | float):  # such as y, a boolean in YAML 1.1
            message = f"{dotted(where)} is not a string"
            wrong.append(Problem("TC006", where, message, found=show_unquoted(value), hint=QUOTE_IT))
        elif value is not None and not (isinstance(value, str) and value):
            message = f"{dotted(where)} is {'not a string' if value != '' else 'empty'}"
            wrong.append(Problem("TC006", where, message, found=str(value)[:80]))
    missing = [dotted(path) for path, value in values.items() if value is None]
    if not missing:
        return wrong
    hint, stage, is_name = None, "decode", missing == ["metadata.name"]
    upstream = "resource name may not be empty" if is_name else None
    if "generateName" in (metadata or {}) and "metadata.name" in missing:
        hint = "set metadata.name: with generateName, every apply creates another object"
    elif metadata is None and (kind is None or str(version).startswith("kustomize.config.k8s.io/")):
        hint = ELSEWHERE
    elif is_name and str(kind) in NAMELESS:
        upstream = "metadata.name: Required value: name or generateName is required"
        stage = NAMELESS[str(kind)]
    message = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    path: Path = ("metadata",) if is_name and metadata else ()
    return [*wrong, Problem("TC006", path, message, hint=hint, upstream=upstream, stage=stage)]


def _units(source: Source) -> Iterator[_Unit]:
    text = source.text
    if isinstance(text, bytes):
        if text[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in text[:4]:
            yield _refused(Problem("TC001", (), "the file looks like UTF-16 or UTF-32"), Mark(1, 1))
            return
        # Invalid UTF-8 becomes lone surrogates, which the readers report.
        text = text.decode("utf-8", "surrogateescape")
    lines = Lines(text)
    units, start = _json_units(text, lines)
    yield from units
    for first, end, junk in _chunks(text, start):
        begin = first + (first == 0 and text.startswith(BOM))
        if junk:
            message = "kubectl allows only a comment after ---"
            problem = Problem("TC002", (), message, f"invalid Yaml document separator: {junk}", junk)
            yield _refused(problem, lines.mark(begin))
        else:
            yield _yaml_unit(text[begin:end], begin, lines)


def _json_units(text: str, lines: Lines) -> tuple[list[_Unit], int]:
    """Return the JSON values at the start of a text, and the offset where YAML starts."""
    blanks = text[: len(text) - len(text.lstrip())]
    if not text.startswith("{", len(blanks)) or len(blanks.encode()) >= _PEEKED:
        return [], 0
    from trainc.documents.json import read_json, skip_space

    units: list[_Unit] = []
    end = 0
    while (start := skip_space(text, end)) < len(text):
        try:
            value = read_json(text, start)
        except Refused as refusal:
            return [*units, _refused(refusal.problem, lines.mark(refusal.offset))], len(text)
        if value is None:
            break
        data, problems, end, found = value
        units.append(_Unit(data, problems, lines.marks(found.copy, 0), end - start > SMALL_TEXT))
    # After one value, kubectl looks for YAML, but not in less than four bytes.
    is_short = len(units) == 1 and len(_BLANKS.sub("", text[end:], 1).encode(errors="replace")) < 4
    if start < len(text) and (len(units) > 1 or is_short):
        values = "several JSON values" if len(units) > 1 else "a JSON value"
        problem = Problem("TC002", (), f"neither JSON nor the end after {values}")
        return [*units, _refused(problem, lines.mark(start))], len(text)
    newline = text.find("\n", end, start) + 1  # blanks further on are YAML's
    return units, newline if newline and start < len(text) else start


def _yaml_unit(chunk: str, begin: int, lines: Lines) -> _Unit:
    end = "" if chunk.endswith("\n") else "\n"  # as kubectl does: it decides the end of a literal block
    try:
        data, problems = read_yaml(chunk + end)
        if "\r\r\n" in chunk:  # kubectl makes \r\n of it, one line break; positions are those of the text
            data, _ = read_yaml(chunk.replace("\r\n", "\n") + end)
    except Refused as refusal:
        return _refused(refusal.problem, lines.mark(min(begin + refusal.offset, len(lines.text))))
    if data is None and not problems:
        return _EMPTY
    may_be_large = len(chunk) > SMALL_TEXT or "*" in chunk  # aliases make more of a text
    return _Unit(data, problems, lines.marks(partial(offsets, chunk + end), begin), may_be_large)


def _chunks(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Cut text at its ``---`` lines: begin, end, and the text after a ``---`` if that makes the document invalid."""
    begin, junk = start, ""
    for match in _SEPARATOR.finditer(text[start:] if start else text):
        rest = trim_space(match[1])
        at = start + match.start()
        if at > begin or junk:
            yield begin, at, junk
            begin, junk = start + match.end(), ""
        if rest and not rest.startswith("#"):
            begin, junk = at, rest
    if begin < len(text) or junk:
        yield begin, len(text), junk


def _refused(problem: Problem, mark: Mark) -> _Unit:
    return _Unit(None, [replace(problem, path=())], lambda: {(): mark})


def comments(source: Source, word: str) -> tuple[tuple[Mark, str], ...]:
    """Return the comments of a source that begin with word: the position of each ``#``, and what follows word.

    JSON has none, and neither has a document that cannot be read.
    """
    if not may_have_comment(source.decoded(), word):
        return ()
    text = source.text if isinstance(source.text, str) else source.text.decode("utf-8", "surrogateescape")
    lines = Lines(text)
    return tuple(
        (lines.mark(begin + offset), rest)
        for begin, end, junk in _chunks(text, max(_json_units(text, lines)[1], int(text.startswith(BOM))))
        if not junk
        for offset, rest in yaml_comments(text[begin:end], word)
    )
