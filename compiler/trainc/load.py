"""Text to Documents, read as kubectl reads it.

A text is cut at lines that begin with ``---``, as kubectl cuts it; a text that begins with ``{`` is tried as
JSON first. Each List is opened. No positions are computed until a finding asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from functools import partial

from trainc.diagnostics import Diagnostic, report
from trainc.kube.decode import MAX_NODES, Problem, Refused, excess
from trainc.kube.yamlcomments import may_have, yaml_comments
from trainc.kube.yamlplain import read_plain
from trainc.kube.yamlread import read_yaml
from trainc.marks import BOM, Lines, Marks, Parts
from trainc.records import dataclass, replace
from trainc.schema.inputs import INPUTS
from trainc.source import START, Document, Json, JsonObject, Mark, Path, Source, dotted, existing

_SEPARATOR = re.compile(r"^---([^\n]*)(?:\n|\Z)", re.M)
_BLANK = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\n)+[ \t]*")
MAX_DOCUMENTS = 100_000
"""Documents of one text; a List is one."""

_SMALL = 2 * MAX_NODES
"""The characters of a text that cannot hold an object that is too large, unless aliases repeat parts of it."""

NAMELESS = {row.kind: row.stage for row in INPUTS if row.stage}
"""Where an API server refuses an object of a custom resource that has no name."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """One document of a text as it stands there: a List is still one.

    ``large`` is where it begins if an object in it may be too large: other marks of such a text take long.
    """

    data: Json
    problems: list[Problem]
    marks: Marks
    large: Mark | None = None


_EMPTY = _Unit(None, [], dict)
"""A document without content."""


def load(source: Source) -> tuple[tuple[Document, ...], tuple[Diagnostic, ...]]:
    """Read every document of a source.

    Returns the documents that are Kubernetes objects, in order, and what is wrong or doubtful: TC001 to TC006
    and TC012; TC005 is a warning, all others are errors. A document with a repeated key is returned (the last
    one counts, as for kubectl); one with any other error is not. Documents without content are skipped.
    """
    one = _only(source)
    return load_any(source) if one is None else ((one,), ())


def load_any(source: Source) -> tuple[tuple[Document, ...], tuple[Diagnostic, ...]]:
    """Read every document of a source as load does, without a shorter way for those that are plain."""
    documents: list[Document] = []
    findings: list[Diagnostic] = []
    index = 0
    for unit in _first(_units(source)):
        if unit is _EMPTY:
            continue
        parts = Parts(unit.marks)
        for prefix, data, problems in _objects(unit):
            marks = unit.marks if not prefix else parts.below(prefix)
            if data is None and unit.large is not None and not prefix:
                marks = partial(dict[Path, Mark], {(): unit.large})
            document = Document(source, data if isinstance(data, dict) else {}, index, marks)
            index += 1
            findings += [_finding(document, problem) for problem in problems]
            if not any(problem.fatal for problem in problems):
                documents.append(document)
    return tuple(documents), tuple(findings)


def _only(source: Source) -> Document | None:
    """Return the one object of a text in which all is plain and well; None for any other text."""
    text = source.text
    if isinstance(text, bytes):
        if not text.isascii():
            return None
        text = text.decode("ascii")
    if "---" in text:
        return None
    chunk = text if text.endswith("\n") else text + "\n"
    data = read_plain(chunk) if len(chunk) <= _SMALL else None
    if data is None or str(data.get("kind")).endswith("List") or _identity(data):
        return None
    return Document(source, data, 0, Lines(text).marks(partial(_plain_offsets, chunk), 0))


def comments(source: Source, word: str) -> tuple[tuple[Mark, str], ...]:
    """Return the comments of a source that begin with word: the place of each ``#``, and what follows word.

    JSON has none, and neither has a document that cannot be read.
    """
    if not may_have(source.decoded(), word):
        return ()
    text = source.text if isinstance(source.text, str) else source.text.decode("utf-8", "surrogateescape")
    lines = Lines(text)
    start = int(text.startswith(BOM))
    if text.lstrip().startswith("{"):
        start = _end(_json_units(text, lines))
    return tuple(
        (lines.mark(begin + offset), rest)
        for begin, end, junk in _chunks(text, start)
        if not junk
        for offset, rest in yaml_comments(text[begin:end], word)
    )


def _end(units: Generator[_Unit, None, int]) -> int:
    while True:
        try:
            next(units)
        except StopIteration as stop:
            return int(stop.value)


def _finding(document: Document, problem: Problem) -> Diagnostic:
    refused = problem.upstream is not None or problem.code in ("TC002", "TC006")
    return report(
        problem.code,
        document,
        existing(document.data, problem.path),  # a repeated key may have taken the rest away
        problem.message,
        found=problem.found,
        hint=problem.hint,
        stage=problem.stage if refused else None,
        upstream=problem.upstream,
    )


def _objects(unit: _Unit) -> Iterator[tuple[Path, Json, list[Problem]]]:
    """Open Lists and share out the problems; those of a List itself come with an object that no one can use."""
    if any(problem.fatal and not problem.path for problem in unit.problems):
        yield (), unit.data, unit.problems
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
        own = shares[prefix]
        if unit.large is not None and (message := excess(data)) is not None:
            yield prefix, None, [*own, Problem("TC012", (), message)]
            continue
        yield prefix, data, own if any(problem.fatal for problem in own) else own + _identity(data)
    if rest:
        yield (), unit.data, rest


def _items(data: Json, prefix: Path) -> Iterator[tuple[Path, Json]]:
    """Open a List, v1 or typed: as for kubectl, an item of a TrainJobList without a kind is a TrainJob."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(kind, str) or not kind.endswith("List"):
        yield prefix, data
        return
    items, version = data.get("items"), data.get("apiVersion")
    if not isinstance(items, list) and not (items is None and (version, kind) == ("v1", "List")):
        yield prefix, data
        return
    inherited: JsonObject = {"apiVersion": version, "kind": kind.removesuffix("List")} if kind != "List" else {}
    for index, item in enumerate(items or ()):
        bare = isinstance(item, dict) and item.get("kind") is None and item.get("apiVersion") is None
        typed: Json = {**item, **inherited} if isinstance(item, dict) and bare else item
        yield from _items(typed, (*prefix, "items", index))


def _identity(data: Json) -> list[Problem]:
    """Check that data names an object: apiVersion, kind and metadata.name, all of them non-empty strings."""
    if not isinstance(data, dict):
        return [Problem("TC006", (), "the document is not a mapping")]
    metadata = data.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return [Problem("TC006", ("metadata",), "metadata is not a mapping")]
    values = {
        ("apiVersion",): data.get("apiVersion"),
        ("kind",): data.get("kind"),
        ("metadata", "name"): (metadata or {}).get("name"),
    }
    if values["metadata", "name"] == "" and data.get("kind") in NAMELESS:  # a server sees no difference
        values["metadata", "name"] = None
    out = [_not_text(path, value) for path, value in values.items() if value is not None and not _is_text(value)]
    if missing := [".".join(path) for path, value in values.items() if value is None]:
        out.append(_missing(missing, metadata or {}, str(data.get("kind"))))
    return out


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and value != ""


def _not_text(path: Path, value: Json) -> Problem:
    return Problem("TC006", path, f"{dotted(path)} is {'empty' if value == '' else 'not a string'}", str(value)[:80])


def _missing(names: list[str], metadata: JsonObject, kind: str) -> Problem:
    hint = None
    upstream = "resource name may not be empty" if names == ["metadata.name"] else None
    stage = "decode"
    if "generateName" in metadata and "metadata.name" in names:
        hint = "generateName makes another name at every apply; a committed object has one name"
    elif names == ["metadata.name"] and kind in NAMELESS:
        upstream = "metadata.name: Required value: name or generateName is required"
        stage = NAMELESS[kind]
    path: Path = ("metadata",) if names == ["metadata.name"] and metadata else ()
    verb = "is" if len(names) == 1 else "are"
    return Problem("TC006", path, f"{', '.join(names)} {verb} missing", hint=hint, upstream=upstream, stage=stage)


def _units(source: Source) -> Iterator[_Unit]:
    text = source.text
    if isinstance(text, bytes):
        if text[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in text[:4]:
            yield _refused(Problem("TC001", (), "the file looks like UTF-16 or UTF-32"), Mark(1, 1))
            return
        # What is not UTF-8 becomes lone surrogates, which the readers find and place.
        text = text.decode("utf-8", "surrogateescape")
    lines = Lines(text)
    start = 0
    if text.lstrip().startswith("{"):
        start = yield from _json_units(text, lines)
    if start < len(text):
        yield from _yaml_units(text, start, lines)


def _json_units(text: str, lines: Lines) -> Generator[_Unit, None, int]:
    """Yield JSON values that stand one after the other; return where YAML has to go on."""
    from trainc.kube.jsontext import json_offsets, read_json, skip_space

    end = count = 0
    while (start := skip_space(text, end)) < len(text):
        try:
            value = read_json(text, start)
        except Refused as refusal:
            yield _refused(refusal.problem, lines.mark(refusal.offset))
            return len(text)
        if value is None:
            break
        marks = lines.marks(partial(json_offsets, text, start), 0)
        large = lines.mark(start) if value.end - start > _SMALL else None
        yield _Unit(value.data, value.problems, marks, large)
        end = value.end
        count += 1
    if start < len(text) and count > 1:
        yield _refused(Problem("TC002", (), "neither JSON nor the end after several JSON values"), lines.mark(start))
        return len(text)
    newline = text.find("\n", end, start) + 1  # blanks further on are YAML's
    return newline if newline and start < len(text) else start


def _yaml_units(text: str, start: int, lines: Lines) -> Iterator[_Unit]:
    for first, end, junk in _chunks(text, start):
        begin = first + (first == 0 and text.startswith(BOM))
        if junk:
            message = "only a comment may stand behind --- for kubectl"
            problem = Problem("TC002", (), message, junk, upstream=f"invalid Yaml document separator: {junk}")
            yield _refused(problem, lines.mark(begin))
            continue
        chunk = text[begin:end]
        if not chunk.endswith("\n"):
            chunk += "\n"  # as kubectl does: it decides the end of a literal block
        try:
            data, problems = read_yaml(chunk)
        except Refused as refusal:
            yield _refused(refusal.problem, lines.mark(begin + refusal.offset))
            continue
        if data is None and not problems:
            yield _EMPTY
        else:
            large = None
            if len(chunk) > _SMALL or "*" in chunk:  # aliases make more of a text
                large = lines.mark(begin + len(chunk) - len(_BLANK.sub("", chunk, 1)))
            yield _Unit(data, problems, lines.marks(partial(_offsets, chunk), begin), large)


def _offsets(text: str) -> Mapping[Path, int]:
    from trainc.kube.yamlplaces import offsets  # only to place a finding

    return offsets(text)


def _plain_offsets(text: str) -> Mapping[Path, int]:
    from trainc.kube.yamlplaces import plain_offsets

    return plain_offsets(text)


def _chunks(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Cut text at its ``---`` lines: begin, end, and what stands behind a ``---`` where that spoils the document."""
    begin, junk = start, ""
    for match in _SEPARATOR.finditer(text[start:] if start else text):
        rest = match[1].strip()
        at = start + match.start()
        if at > begin or junk:
            yield begin, at, junk
            begin, junk = start + match.end(), ""
        if rest and not rest.startswith("#"):
            begin, junk = at, rest
    if begin < len(text) or junk:
        yield begin, len(text), junk


def _first(units: Iterator[_Unit]) -> Iterator[_Unit]:
    """Yield the units of a text up to MAX_DOCUMENTS, then a refusal of the next one."""
    for number, unit in enumerate(units):
        if number == MAX_DOCUMENTS:
            mark = unit.marks().get((), START)
            yield _refused(Problem("TC012", (), f"more than {MAX_DOCUMENTS} documents in one file"), mark)
            return
        yield unit


def _refused(problem: Problem, mark: Mark) -> _Unit:
    return _Unit(None, [replace(problem, path=())], lambda: {(): mark})
