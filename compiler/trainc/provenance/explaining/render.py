"""What `trainc explain NAMESPACE/JOB` prints: the object as a file has it, origins beside it; or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from trainc.documents.emit import emit
from trainc.findings.display import one_line, width
from trainc.provenance.explaining.origins import Provenance
from trainc.provenance.explaining.rows import Row, Table
from trainc.source import Json, Path, as_object

WIDEST: Final = 68
"""The most columns of a line of the object; what is longer is cut."""

GAP: Final = "  "


class _Line(NamedTuple):
    text: str
    row: Row | None = None


def as_text(tables: Iterable[Table]) -> str:
    """Return the tables as text: for one field its value and all its origins, else a line a field, aligned."""
    return "\n".join(_one(table) if _is_one(table) else _many(table) for table in tables)


def _is_one(table: Table) -> bool:
    return len(table.rows) == 1 and table.fields == (table.rows[0].path,)


def _one(table: Table) -> str:
    (row,) = table.rows
    first, *more = _scalar(row.value).splitlines()
    lines = [f"{table.title}: {row.field}", f"  value   {first}", *(f"          {line}" for line in more)]
    columns = max((width(origin.word) for origin in row.origins), default=0)
    for number, origin in enumerate(row.origins):
        word = "before" if number else "origin"
        lines.append(f"  {word}  {_padded(origin.word, columns)}{GAP}{origin.place}".rstrip())
    return "".join(f"{one_line(line)}\n" for line in lines)


def _many(table: Table) -> str:
    lines = [_Line(one_line(line.text, WIDEST), line.row) for line in _lines(table)]
    first = max((width(line.text) for line in lines), default=0)
    second = max((width(_said(line.row)[0]) for line in lines), default=0)
    out = [one_line(table.title)]
    for line in lines:
        word, place = _said(line.row)
        out.append(f"{_padded(line.text, first)}{GAP}{_padded(word, second)}{GAP}{place}".rstrip())
    return "".join(f"{line}\n" for line in out)


def _padded(text: str, columns: int) -> str:
    return text + " " * max(columns - width(text), 0)


def _said(row: Row | None) -> tuple[str, str]:
    """Return what is said of a row: its last origin, and the place of that."""
    if row is None or not row.origins:
        return "", ""
    return one_line(row.origins[0].word), one_line(row.origins[0].place)


def _lines(table: Table) -> Iterator[_Line]:
    """Yield the lines of an object as its file has them: one a row, before it one for each mapping on the way to it.

    The first key of a mapping in a list stands behind its dash; a text of several lines is told by their number.
    """
    before: Path = ()
    for row in table.rows:
        dashes, start = "", 0
        for depth in range(_shared(before, row.path), len(row.path)):
            step, is_last = row.path[depth], depth == len(row.path) - 1
            start = start if dashes else _column(row.path, depth)
            value = f" {_short(row.value)}" if is_last else ""
            if isinstance(step, str):
                yield _Line(f"{' ' * start}{dashes}{_key(step)}:{value}", row if is_last else None)
                dashes = ""
            elif is_last:
                yield _Line(f"{' ' * start}{dashes}-{value}", row)
            else:
                dashes += "- "
        before = row.path


def _column(path: Path, depth: int) -> int:
    """Return the column from 0 at which a step of a path stands: a list moves what it holds by none."""
    return 2 * sum(1 for at in range(depth) if isinstance(path[at], int) or isinstance(path[at + 1], str))


def _shared(one: Path, two: Path) -> int:
    """Return how many steps two paths share."""
    return next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _key(name: str) -> str:
    return emit({name: 0}).rstrip("\n").removesuffix(": 0")


def _scalar(value: Json) -> str:
    """Return a value as a file has it, a text of several lines as it is."""
    return value if isinstance(value, str) and "\n" in value else _inline(value)


def _inline(value: Json) -> str:
    return emit({"x": value}).removeprefix("x: ").rstrip("\n")


def _short(value: Json) -> str:
    if isinstance(value, str) and "\n" in value:
        return f"| {value.count(chr(10)) + (not value.endswith(chr(10)))} lines"
    return _inline(value)


def as_json(tables: Iterable[Table]) -> str:
    """Return the tables as a JSON array, an object a field."""
    found = [_entry(table, row) for table in tables for row in table.rows]
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _entry(table: Table, row: Row) -> Mapping[str, Json]:
    made = table.made
    names = {"apiVersion": made.data["apiVersion"], "kind": made.kind, "name": made.name}
    origin, *earlier = [_origin(each) for each in row.origins] or [None]
    return {
        "object": {**names, "namespace": as_object(made.data["metadata"]).get("namespace")},
        "field": row.field,
        "path": [*row.path],
        "value": row.value,
        "origin": origin,
        "replaced": [*earlier],
    }


def _origin(each: Provenance) -> Json:
    return {"kind": each.kind, "name": each.name, "file": each.file, "line": each.line, "column": each.column}
