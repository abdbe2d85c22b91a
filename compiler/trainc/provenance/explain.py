"""The output of `trainc explain NAMESPACE/JOB`: the origins of the fields of a job's objects. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from trainc.basics.differences import common_start
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, get, paths
from trainc.documents.classify import RUNTIMES, TRAINJOB
from trainc.documents.emit import emit
from trainc.documents.load import load
from trainc.findings import suggest
from trainc.findings.display import aligned, one_line, shown_name
from trainc.findings.redaction import masked_object
from trainc.inputs.options import Options
from trainc.inputs.source import Document, Source
from trainc.kube.fieldorder import ordered
from trainc.plugins.model import Object, Objects, Origin
from trainc.plugins.origins import nearest

# The syntax of fields: dotted, with items of lists by index or by name.
#
# spec.replicatedJobs[0].template          as findings show it
# spec.replicatedJobs[name=node].replicas  an item by one of its fields; [node] is short for [name=node]
# spec.replicatedJobs[*].replicas          every item
# metadata.labels['a.b/c'], metadata.labels.a.b/c
# env[name=PATH].value                     at any depth, if there is no such field at the top level
# PATH                                     an item of a list by its name, if no field has this name

_QUOTED: Final = re.compile(r"\[(['\"])(.*?)\1\]")
_ITEM: Final = re.compile(r"\[([^\]]*)\]")
_NUMBER: Final = re.compile(r"[0-9]+")
_STEP: Final = re.compile(r"\.?([^.\[]*)")
_NAME: Final = "name"


class Miss(NamedTuple):
    """A field that was not found: the path that exists, the next step, and the steps that exist there."""

    at: Path
    step: str
    known: tuple[str, ...]


def find(root: JsonObject, text: str) -> tuple[Path, ...] | Miss:
    """Return the paths in an object that match a field, at least one; the whole object for an empty text."""
    found = _walk(root, (), text)
    if not isinstance(found, Miss) or found.at:
        return found
    inside: dict[Path, None] = {}
    for start in paths(root):
        value = get(root, *start)
        below = _walk(value, start, text) if start and isinstance(value, dict) else found
        inside |= dict.fromkeys(() if isinstance(below, Miss) else below)
    if not inside:  # it may be the name of a list item, such as of a variable
        named = (path for path in paths(root) if path[-1:] == (_NAME,) and get(root, *path) == text)
        inside = dict.fromkeys(path[:-1] for path in named if len(path) > 1 and isinstance(path[-2], int))
    if inside:
        return tuple(inside)
    anywhere = {str(path[-1]): None for path in paths(root) if path and isinstance(path[-1], str)}
    return found._replace(known=(*found.known, *(key for key in anywhere if key not in found.known)))


def _walk(value: Json, path: Path, rest: str) -> tuple[Path, ...] | Miss:
    if not rest:
        return (path,)
    found: list[Path] = []
    misses: list[Miss] = []
    for key, end in _children(value, rest, 1 if path and rest.startswith(".") else 0):
        below = _walk(get(value, key), (*path, key), rest[end:])
        if isinstance(below, Miss):
            misses.append(below)
            continue
        found += below
        if isinstance(value, dict):
            break  # keys may contain dots: the longest match
    if found:
        return tuple(found)
    return misses[0] if misses else _miss(value, path, rest)


def _children(value: Json, rest: str, start: int) -> list[tuple[str | int, int]]:
    """Return the keys or indexes with which the text may start, each with its end in the text."""
    if isinstance(value, dict):
        if quoted := _QUOTED.match(rest):
            return [(quoted[2], quoted.end())] if quoted[2] in value else []
        # A key ends where the text does, or before the next step.
        fitting = [
            key
            for key in value
            if key and rest.startswith(key, start) and rest[start + len(key) :][:1] in ("", ".", "[")
        ]
        return [(key, start + len(key)) for key in sorted(fitting, key=len, reverse=True)]
    matched = _ITEM.match(rest) if isinstance(value, list) else None
    return [(index, matched.end()) for index in _indexes(as_list(value), matched[1])] if matched else []


def _miss(value: Json, path: Path, rest: str) -> Miss:
    step = rest.removeprefix(".")
    if isinstance(value, dict):
        quoted, matched = _QUOTED.match(rest), _STEP.match(rest)
        return Miss(path, quoted[2] if quoted else (matched[1] if matched else "") or rest, tuple(value))
    item = _ITEM.match(rest) if isinstance(value, list) else None
    named = enumerate(get(each, _NAME) for each in as_list(value))
    items = (f"[{_NAME}={name}]" if isinstance(name, str) else f"[{index}]" for index, name in named)
    return Miss(path, item[0] if item else step, tuple(items))


def _indexes(value: list[Json], text: str) -> list[int]:
    """Return the indexes of the items that brackets select."""
    if text == "*":
        return list(range(len(value)))
    if _NUMBER.fullmatch(text):
        return [int(text)] if len(text) < len(str(2**63)) and int(text) < len(value) else []
    key, equals, wanted = text.partition("=")
    if not equals:
        key, wanted = _NAME, text
    wanted = wanted.strip("'\"")
    return [index for index, item in enumerate(value) if isinstance(item, dict) and str(item.get(key)) == wanted]


# Names and positions of origins.

_NAMESPACE: Final[Path] = ("metadata", "namespace")


class Provenance(msgspec.Struct, frozen=True):
    """The origin of a value, as it is shown.

    ``kind`` is trainjob, runtime, companion, folder (below jobs/), patch, default, plugin, fix, environment or lock.
    ``name`` is the name of the document, the patch's manager, the schema or webhook of a default, the plugin, the fix,
    or the option of trainc.yaml. ``file``, ``line`` and ``column`` are the position of the value or of its cause; None
    if it has none. Lines and columns count from 1.
    """

    kind: str
    name: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None

    @property
    def label(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}".rstrip()

    @property
    def position(self) -> str:
        """File and line; empty if there is none."""
        name = "" if self.file is None else shown_name(Source(self.file, ""))
        return name if self.line is None else f"{name}:{self.line}"


def provenances(origin: Origin, options: Options) -> tuple[Provenance, ...]:
    """Return the origin of a value, then those of the values that it replaced, latest first."""
    found: dict[Provenance, None] = {}
    earlier: Origin | None = origin
    while earlier is not None:
        found[_provenance(earlier, options)] = None
        earlier = earlier.earlier
    return tuple(found)


def _provenance(origin: Origin, options: Options) -> Provenance:
    if origin.kind == "input" and origin.document is not None:
        return _input(origin.document, origin.path)
    document, path = options.config_document, options.path_of("fixes")
    if origin.kind == "fix" and document is not None and path is not None:
        enabled = as_list(get(document.data, *path))
        where = (*path, enabled.index(origin.name)) if origin.name in enabled else path
        return _at_position("fix", origin.name, document, where)
    if origin.document is None:
        return Provenance(origin.kind, origin.name)
    return _at_position(origin.kind, origin.name, origin.document, origin.path)


def _input(document: Document, path: Path) -> Provenance:
    kind, name = str(document.data["kind"]), str(get(document.data, "metadata", "name"))
    ours = kind == TRAINJOB or kind in RUNTIMES
    written = get(_written(document.source).get(document.index), *path) is not None
    if not written and (not ours or get(document.data, *path) is not None):
        if kind == TRAINJOB and path == _NAMESPACE:
            return Provenance("folder", str(get(document.data, *path)), document.source.name.rpartition("/")[0] or None)
        return Provenance("default", f"{kind} CRD" if ours else "API server")
    if kind == TRAINJOB:
        return _at_position("trainjob", name, document, path)
    if kind in RUNTIMES:
        return _at_position("runtime", name, document, path)
    return _at_position("companion", f"{kind} {name}", document, path)


@lru_cache(maxsize=16)
def _written(source: Source) -> Mapping[int, JsonObject]:
    """Return the documents of a file as written, without defaults."""
    return {document.index: document.data for document in load(source)[0]}


def _at_position(kind: str, name: str, document: Document, path: Path) -> Provenance:
    mark = document.locate(path)
    return Provenance(kind, name, document.source.name, mark.line, mark.column)


# The values of an object with their origins, in the order of its file. Secrets are masked.


class Row(msgspec.Struct, frozen=True):
    """A scalar, or an empty mapping or list, with its path and its origins, latest first."""

    path: Path
    value: Json
    origins: tuple[Provenance, ...]

    @property
    def field(self) -> str:
        """The path as findings show it."""
        return dotted(self.path)


class Table(msgspec.Struct, frozen=True, eq=False):
    """The rows of an object, or of some of its fields. ``data`` is the object without secrets."""

    obj: Object
    data: JsonObject
    fields: tuple[Path, ...]
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """Kind, namespace and name."""
        return f"{self.obj.kind} {get(self.data, 'metadata', 'namespace')}/{self.obj.name}"


def table(obj: Object, fields: Iterable[Path], options: Options) -> Table:
    """Return the rows of an object at and below the given fields, each once."""
    fields = tuple(fields)
    chosen = frozenset(fields)
    data = masked_object(as_object(ordered(obj.data)))
    origins, rows = obj.origins(), []
    for path in paths(data):
        value = get(data, *path)
        leaf = not isinstance(value, dict | list) or not value
        if leaf and any(path[:end] in chosen for end in range(len(path) + 1)):
            origin = nearest(origins, path)
            rows.append(Row(path, value, () if origin is None else provenances(origin, options)))
    return Table(obj, data, fields, tuple(rows))


# Selection of an object: ``KIND/NAME:FIELD``; ``KIND:FIELD`` if it is the only one of its kind; default: the JobSet.

JOBSET = "JobSet"


class Unknown(NamedTuple):
    """An object that was not found: the message, and a hint."""

    message: str
    hint: str | None


def choose(objects: Objects, text: str) -> tuple[Objects, str] | Unknown:
    """Return the objects that a text selects, and the rest of the text, the field in them.

    An empty text selects all objects. Names may omit run number and hash.
    """
    if not text:
        return objects, ""
    kinds = {obj.kind.lower() for obj in objects}
    start, colon, field = text.partition(":")
    kind, slash, name = start.partition("/")
    if not colon and not (slash and kind.partition(".")[0].lower() in kinds):
        jobsets = tuple(obj for obj in objects if obj.kind == JOBSET)
        return (jobsets or objects), text
    if "[" in kind:
        return Unknown(f"{start!r} is not an object", _forms(objects))
    found = tuple(obj for obj in objects if _is(obj, kind, name))
    if len(found) == 1 or (found and not slash and not field):
        return found, field
    if found:
        names = ", ".join(_object_name(obj) for obj in found)
        return Unknown(f"{start!r} matches several objects: {names}", "select one of them")
    hint = suggest(start, map(_object_name, objects)) or _forms(objects)
    return Unknown(f"the job has no object {start!r}", hint)


def _object_name(obj: Object) -> str:
    return f"{obj.kind.lower()}/{obj.plain}"


def _is(obj: Object, kind: str, name: str) -> bool:
    word, dot, group = kind.partition(".")
    fits = obj.kind.lower() == word.lower()
    if dot:
        fits = fits and group == str(get(obj.data, "apiVersion")).rpartition("/")[0]
    return fits and (not name or name in (obj.name, obj.plain))


def _forms(objects: Iterable[Object]) -> str:
    return f"it has {', '.join(_object_name(obj) for obj in objects)}"


# Output as text, the object as in its file with origins beside it, or as JSON.

WIDEST: Final = 68
"""The most columns of a line of the object; longer lines are truncated."""

GAP: Final = "  "


def as_text(tables: Iterable[Table]) -> str:
    """Return the tables as text: one field with all its origins, or a line per field, aligned."""
    return "\n".join(
        _one(table, *table.rows) if table.fields == (table.rows[0].path,) and len(table.rows) == 1 else _many(table)
        for table in tables
    )


def _one(table: Table, row: Row) -> str:
    value = row.value
    first, *more = (value if isinstance(value, str) and "\n" in value else _inline(value)).splitlines()
    lines = [f"{table.title}: {row.field}", f"  value   {first}", *(f"          {line}" for line in more)]
    origins = enumerate(row.origins)
    lines += aligned([(f"  {'before' if n else 'origin'}  {each.label}", each.position) for n, each in origins], GAP)
    return "".join(f"{one_line(line)}\n" for line in lines)


def _many(table: Table) -> str:
    lines = []
    for text, row in _lines(table):
        label, position = (row.origins[0].label, row.origins[0].position) if row and row.origins else ("", "")
        lines.append((one_line(text, WIDEST), one_line(label), one_line(position)))
    return "".join(f"{line}\n" for line in (one_line(table.title), *aligned(lines, GAP)))


def _lines(table: Table) -> Iterator[tuple[str, Row | None]]:
    """Yield the lines of an object as in its file: one per row, after one for each mapping above it.

    The first key of a mapping in a list follows its dash; a text of several lines shows how many.
    """
    before: Path = ()
    for row in table.rows:
        dashes, start = "", 0
        for depth in range(common_start(before, row.path), len(row.path)):
            step, is_last = row.path[depth], depth == len(row.path) - 1
            start = start if dashes else _column(row.path, depth)
            value = ""
            if is_last and isinstance(row.value, str) and "\n" in row.value:
                value = f" | {len(row.value.removesuffix(chr(10)).split(chr(10)))} lines"
            elif is_last:
                value = f" {_inline(row.value)}"
            if isinstance(step, str):
                key = emit({step: 0}).removesuffix(": 0\n")
                yield f"{' ' * start}{dashes}{key}:{value}", row if is_last else None
                dashes = ""
            elif is_last:
                yield f"{' ' * start}{dashes}-{value}", row
            else:
                dashes += "- "
        before = row.path


def _column(path: Path, depth: int) -> int:
    """Return the column, from 0, of a step of a path: lists are not indented."""
    return 2 * sum(1 for at in range(depth) if isinstance(path[at], int) or isinstance(path[at + 1], str))


def _inline(value: Json) -> str:
    return emit({"x": value}).removeprefix("x: ").rstrip("\n")


def as_json(tables: Iterable[Table]) -> str:
    """Return the tables as a JSON array with one object per field."""
    found = []
    for table in tables:
        obj, namespace = table.obj, get(table.obj.data, "metadata", "namespace")
        names = {"apiVersion": obj.data["apiVersion"], "kind": obj.kind, "name": obj.name, "namespace": namespace}
        for row in table.rows:
            origins = [msgspec.structs.asdict(each) for each in row.origins]
            entry = {"object": names, "field": row.field, "path": row.path, "value": row.value}
            found.append({**entry, "origin": origins[0] if origins else None, "replaced": origins[1:]})
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
