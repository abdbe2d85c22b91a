"""Structural schemas: what the API server holds of a CustomResourceDefinition.

Package data keeps every distinct sub-schema of the four CRDs once, in one table (data/schemas/nodes.json, written by
tools/schemas.py); ``Structural`` is a row of such a table. Equal sub-schemas are one object, so what a pass compiles
for a container of a runtime also serves the containers of a JobSet. Passes keep what they compile in ``compiled``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from trainc.data import load_json
from trainc.records import dataclass, field
from trainc.source import Json, JsonObject, Path

KINDS: Final = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "JobSet")
"""The kinds whose schemas travel in the package."""

_PROSE = frozenset({"description", "title", "example", "externalDocs"})
_LISTS = ("allOf", "anyOf", "oneOf")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Structural:
    """One schema or sub-schema. ``keywords`` is the CRD's JSON, in which sub-schemas are numbers of ``table``.

    Compared by identity. ``compiled`` belongs to the passes of this package.
    """

    keywords: Mapping[str, Any]
    table: _Table
    number: int
    compiled: dict[Callable[..., Any], Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Structural({self.number}: {self.keywords!r})"

    @property
    def type(self) -> str:
        """The type, or '' where the schema says none (always so for int-or-string)."""
        return str(self.keywords.get("type", ""))

    @property
    def properties(self) -> Mapping[str, Structural]:
        """The declared properties, by name."""
        return _children(self)

    @property
    def items(self) -> Structural | None:
        """The schema of the items of a list."""
        return self._sub("items")

    @property
    def additional(self) -> Structural | None:
        """The schema of the values of a map; None for additionalProperties: true, too."""
        return self._sub("additionalProperties")

    @property
    def open(self) -> bool:
        """Whether any key is kept."""
        return bool(self.keywords.get("additionalProperties")) or "additionalProperties" in self.keywords

    @property
    def preserves(self) -> bool:
        """Whether unknown fields are kept."""
        return bool(self.keywords.get("x-kubernetes-preserve-unknown-fields"))

    @property
    def embedded(self) -> bool:
        """Whether the value is a whole Kubernetes object."""
        return bool(self.keywords.get("x-kubernetes-embedded-resource"))

    @property
    def int_or_string(self) -> bool:
        """Whether integers and strings are both allowed."""
        return bool(self.keywords.get("x-kubernetes-int-or-string"))

    @property
    def nullable(self) -> bool:
        """Whether null is a value."""
        return bool(self.keywords.get("nullable"))

    @property
    def default(self) -> Json:
        """The default; None where there is none (a default of null is none, as in the API server)."""
        default: Json = self.keywords.get("default")
        return default

    @property
    def rules(self) -> tuple[JsonObject, ...]:
        """The x-kubernetes-validations, in their order."""
        return tuple(self.keywords.get("x-kubernetes-validations", ()))

    def alternatives(self, keyword: str) -> tuple[Structural, ...]:
        """Return the sub-schemas of allOf, anyOf or oneOf."""
        return tuple(self.table.node(number) for number in self.keywords.get(keyword, ()))

    def negated(self) -> Structural | None:
        """Return the sub-schema of ``not``."""
        return self._sub("not")

    def child(self, step: str | int) -> Structural | None:
        """Return the schema of the field or item that step leads to, or None where the schema knows none."""
        if isinstance(step, int):
            return self.items
        return self.properties.get(step) or self.additional

    def at(self, path: Path) -> Structural | None:
        """Return the schema of the value at path, or None where the schema knows none."""
        found: Structural | None = self
        for step in path:
            if found is None:
                return None
            found = found.child(step)
        return found

    def _sub(self, keyword: str) -> Structural | None:
        number = self.keywords.get(keyword)
        return self.table.node(number) if number.__class__ is int else None


class _Table:
    """Rows of JSON, each made a Structural when first asked for."""

    __slots__ = ("_nodes", "_rows")

    def __init__(self, rows: list[JsonObject]) -> None:
        self._rows = rows
        self._nodes: dict[int, Structural] = {}

    def node(self, number: int) -> Structural:
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes.setdefault(number, Structural(self._rows[number], self, number))
        return node


def compiled(make: Callable[[Structural], Any], schema: Structural) -> Any:
    """Return what make gives for schema, made at the first call."""
    try:
        return schema.compiled[make]
    except KeyError:
        return schema.compiled.setdefault(make, make(schema))


def _children(schema: Structural) -> Mapping[str, Structural]:
    children: Mapping[str, Structural] = compiled(_make_children, schema)
    return children


def _make_children(schema: Structural) -> Mapping[str, Structural]:
    node = schema.table.node
    return {name: node(number) for name, number in schema.keywords.get("properties", {}).items()}


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A kind in one of its versions: its identity and its schema.

    ``status``: the status subresource is served, so whoever creates an object cannot set its status.
    ``plural`` is the resource's name, as in URLs and policies. ``native``: no CRD defines it but Kubernetes itself,
    which decodes it into Go's structs; native.py then says what a schema means.
    """

    group: str
    version: str
    kind: str
    namespaced: bool
    status: bool
    schema: Structural = field(repr=False)
    plural: str = ""
    native: bool = False

    @property
    def api_version(self) -> str:
        """Group and version, as in an object's apiVersion."""
        return f"{self.group}/{self.version}" if self.group else self.version


@cache
def table(name: str) -> _Table:
    """Return the table ``data/schemas/<name>.json``."""
    return _Table(load_json(f"schemas/{name}.json"))


@cache
def resource(kind: str) -> Resource:
    """Return the CRD of one of KINDS; raises KeyError for another kind."""
    if kind not in KINDS:
        raise KeyError(kind)
    head = load_json(f"schemas/{kind.lower()}.json")
    return Resource(
        head["group"],
        head["version"],
        head["kind"],
        head["scope"] == "Namespaced",
        head["status"],
        table("nodes").node(head["root"]),
        head["plural"],
    )


def schema_for(kind: str) -> Structural:
    """Return the structural schema of one of KINDS; raises KeyError for another kind."""
    return resource(kind).schema


OF_DEFAULTS: Final = "x-of-defaults"
"""Not a keyword of Kubernetes: formats that it otherwise ignores count, and int-or-string does not."""


def parse(schema: JsonObject, *, of_defaults: bool = False) -> Structural:
    """Return the structural schema that an openAPIV3Schema of a CRD spells; prose is dropped.

    ``of_defaults``: as the server sees a schema when it looks at the defaults in it.
    """
    rows: list[JsonObject] = []
    root = _add(rows, schema)
    if of_defaults:
        rows = [{**row, OF_DEFAULTS: True} for row in rows]
    return _Table(rows).node(root)


def _add(rows: list[JsonObject], schema: JsonObject) -> int:
    row: JsonObject = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            row[key] = {name: _add(rows, _object(sub)) for name, sub in value.items()}
        elif key in _LISTS and isinstance(value, list):
            row[key] = [_add(rows, _object(sub)) for sub in value]
        elif key in ("items", "not", "additionalProperties") and isinstance(value, dict):
            row[key] = _add(rows, value)
        elif key not in _PROSE:
            row[key] = value
    rows.append(row)
    return len(rows) - 1


def _object(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError("a schema is a mapping")
    return value
