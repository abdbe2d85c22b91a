"""Structural schemas: the form in which the API server keeps the schemas of CustomResourceDefinitions.

The package's data has every distinct sub-schema of the four CRDs once, in one table (data/schemas/nodes.json, written
by tools/schemas.py); ``Structural`` is a row of such a table. Equal sub-schemas are one object, so what is compiled for
a container of a runtime also serves the containers of a JobSet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject, Path
from trainc.schema.formats import known_format

PROSE = frozenset({"description", "title", "example", "externalDocs"})
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("items", "additionalProperties", "not")
_BELOW = frozenset(("properties", *_SINGLE, *_LISTS))
_WITH_RULES = ("properties", "items", "additionalProperties", "allOf")


class Structural(msgspec.Struct, frozen=True, eq=False, repr_omit_defaults=True, dict=True):
    """One schema or sub-schema. ``keywords`` is the CRD's JSON, in which sub-schemas are numbers of ``table``.

    Compared by identity. ``compiled`` caches what other modules derive from the schema.
    """

    keywords: Mapping[str, Any]
    table: Table
    compiled: dict[Any, Any] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Structural({self.keywords!r})"

    @cached_property
    def type(self) -> str:
        """The type, or '' if the schema has none (as for int-or-string)."""
        return str(self.keywords.get("type", ""))

    @cached_property
    def properties(self) -> Mapping[str, Structural]:
        """The declared properties, by name."""
        return {name: self.table.node(number) for name, number in self.keywords.get("properties", {}).items()}

    @cached_property
    def items(self) -> Structural | None:
        """The schema of the items of a list."""
        return self._sub("items")

    @cached_property
    def additional(self) -> Structural | None:
        """The schema of the values of a map; None also for additionalProperties: true."""
        return self._sub("additionalProperties")

    @property
    def open(self) -> bool:
        """Whether any key is kept."""
        return "additionalProperties" in self.keywords

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
        """Whether null is allowed."""
        return bool(self.keywords.get("nullable"))

    @property
    def default(self) -> Json:
        """The default; None if there is none (as in the API server, null is not a default)."""
        default: Json = self.keywords.get("default")
        return default

    @property
    def rules(self) -> tuple[JsonObject, ...]:
        """The x-kubernetes-validations, in their order."""
        return tuple(self.keywords.get("x-kubernetes-validations", ()))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The JSON types that are allowed; empty if the schema names none."""
        names = ("integer", "string") if self.int_or_string else (self.type,) if self.type else ()
        return (*names, "null") if names and self.nullable else names

    @cached_property
    def format(self) -> str:
        """The format that the API server checks, or ''."""
        return known_format(self.type, str(self.keywords.get("format", "")))

    def alternatives(self, keyword: str) -> tuple[Structural, ...]:
        """Return the sub-schemas of allOf, anyOf, oneOf or not."""
        found = self.keywords.get(keyword, ())
        return tuple(self.table.node(number) for number in ([found] if found.__class__ is int else found))

    def below(self) -> Iterator[tuple[Path, Structural]]:
        """Yield the sub-schemas, with their paths of keywords and names."""
        yield from ((("properties", name), sub) for name, sub in self.properties.items())
        for keyword in _SINGLE:
            if (sub := self._sub(keyword)) is not None:
                yield (keyword,), sub
        for keyword in _LISTS:
            yield from (((keyword, index), sub) for index, sub in enumerate(self.alternatives(keyword)))

    def child(self, step: str | int) -> Structural | None:
        """Return the schema of a field or item, or None if there is none."""
        if isinstance(step, int):
            return self.items
        return self.properties.get(step) or self.additional

    def at(self, path: Path) -> Structural | None:
        """Return the schema of the value at path, or None if there is none."""
        found: Structural | None = self
        for step in path:
            if found is None:
                return None
            found = found.child(step)
        return found

    def with_keyword(self, keyword: str, value: Json) -> Structural:
        """Return the schema with another value of a keyword."""
        return Structural({**self.keywords, keyword: value}, self.table)

    def _sub(self, keyword: str) -> Structural | None:
        number = self.keywords.get(keyword)
        return self.table.node(number) if number.__class__ is int else None


class Table:
    """Rows of JSON, each parsed into a Structural on first use."""

    __slots__ = ("_nodes", "_rows")

    def __init__(self, rows: list[JsonObject]) -> None:
        self._rows = rows
        self._nodes: dict[int, Structural] = {}

    def node(self, number: int) -> Structural:
        """Return the schema of a row."""
        node = self._nodes.get(number)
        if node is None:
            node = self._nodes[number] = Structural(self._rows[number], self)
        return node


def compiled(make: Callable[[Structural], Any], schema: Structural) -> Any:
    """Return ``make(schema)``, computed on the first call."""
    try:
        return schema.compiled[make]
    except KeyError:
        return schema.compiled.setdefault(make, make(schema))


def has_rules(schema: Structural) -> bool:
    """Return whether a schema has x-kubernetes-validations at any depth."""
    return bool(compiled(_has_rules, schema))


def _has_rules(schema: Structural) -> bool:
    return bool(schema.rules) or any(has_rules(sub) for path, sub in schema.below() if path[0] in _WITH_RULES)


def has_embedded(schema: Structural) -> bool:
    """Return whether a schema has embedded objects at any depth."""
    return bool(compiled(_has_embedded, schema))


def _has_embedded(schema: Structural) -> bool:
    below = (*schema.properties.values(), schema.items, schema.additional)
    return schema.embedded or any(sub is not None and has_embedded(sub) for sub in below)


class SchemaError(ValueError):
    """A schema that cannot be read. ``path`` leads to the invalid keyword."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


_TEXTS = ("type", "format", "pattern", "x-kubernetes-list-type", "x-kubernetes-map-type")
_FLAGS = (
    *("nullable", "uniqueItems", "exclusiveMaximum", "exclusiveMinimum", "x-kubernetes-int-or-string"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"),
)
_SIZES = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_OF_LISTS = (*_LISTS, "enum", "required", "x-kubernetes-list-map-keys", "x-kubernetes-validations")
KEYWORDS: Final[dict[str, tuple[str, tuple[type, ...]]]] = {
    **dict.fromkeys(_TEXTS, ("a string", (str,))),
    **dict.fromkeys(_FLAGS, ("true or false", (bool,))),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), ("a number", (int, float))),
    **dict.fromkeys(_SIZES, ("an integer", (int,))),
    **dict.fromkeys(_OF_LISTS, ("a list", (list,))),
    **dict.fromkeys(("items", "not", "properties"), ("a mapping", (dict,))),
    "additionalProperties": ("a mapping, true or false", (dict, bool)),
    "default": ("a value", (str, bool, int, float, list, dict)),
}
"""The keywords of a structural schema, and the types of their values."""

_ITEMS: Final[dict[str, tuple[str, type]]] = {
    **dict.fromkeys(("required", "x-kubernetes-list-map-keys"), ("strings", str)),
    "x-kubernetes-validations": ("mappings", dict),
}
"""The keywords with lists of one type; sub-schemas are checked one by one."""


def parse(schema: JsonObject) -> Structural:
    """Return the structural schema of an openAPIV3Schema of a CRD, without descriptions.

    Raises SchemaError for one that cannot be read.
    """
    rows: list[JsonObject] = []
    root = _add(rows, schema, ())
    return Table(rows).node(root)


def _add(rows: list[JsonObject], schema: Json, path: Path) -> int:
    """Add the row of a schema after those of its sub-schemas, and return its number."""
    if not isinstance(schema, dict):
        raise SchemaError(path, "a schema must be a mapping")
    row: JsonObject = {}
    for key, value in schema.items():
        if value is None or key in PROSE:
            continue
        here = (*path, key)
        if key == "$ref":
            raise SchemaError(here, "$ref is not supported")
        wanted, classes = KEYWORDS.get(key, ("", (object,)))
        if not isinstance(value, classes) or (value.__class__ is bool and classes in ((int,), (int, float))):
            raise SchemaError(here, f"{key} must be {wanted}")
        items, item = _ITEMS.get(key, ("", object))
        if isinstance(value, list) and not all(isinstance(each, item) for each in value):
            raise SchemaError(here, f"{key} must be a list of {items}")
        if key == "properties" and isinstance(value, dict):
            row[key] = {name: _add(rows, sub, (*here, name)) for name, sub in value.items()}
        elif key in _LISTS and isinstance(value, list):
            row[key] = [_add(rows, sub, (*here, index)) for index, sub in enumerate(value)]
        elif key in _SINGLE and isinstance(value, dict):
            row[key] = _add(rows, value, here)
        else:
            row[key] = value
    rows.append(row)
    return len(rows) - 1


def subschemas(schema: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    """Yield the schemas directly inside a schema of a CRD that ``parse`` can read, with their paths."""
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            found: list[tuple[Path, Json]] = [((key, name), sub) for name, sub in value.items()]
        elif key in _LISTS and isinstance(value, list):
            found = [((key, index), sub) for index, sub in enumerate(value)]
        else:
            found = [((key,), value)] if key in _SINGLE else []
        yield from ((path, sub) for path, sub in found if isinstance(sub, dict))


def difference(one: Structural | None, other: Structural | None) -> Path | None:
    """Return the path of keywords and names where two schemas first differ; None if they are equal."""
    if one is None or other is None:
        return None if one is other else ()
    for keyword in sorted({*one.keywords, *other.keywords} - _BELOW):
        if one.keywords.get(keyword) != other.keywords.get(keyword):
            return (keyword,)
    # false, like no additionalProperties, allows no other fields; the number of a sub-schema may be 0
    is_closed, was_closed = (schema.keywords.get("additionalProperties", False) is False for schema in (one, other))
    if is_closed != was_closed:
        return ("additionalProperties",)
    left, right = dict(one.below()), dict(other.below())
    for path in sorted({*left, *right}, key=lambda path: (path[0] != "properties", path)):
        if (found := difference(left.get(path), right.get(path))) is not None:
            return (*path, *found)
    return None
