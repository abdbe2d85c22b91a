"""Values whose shape a structural schema gives, read from plain JSON when an expression asks for them.

Source: k8s.io/apiserver v0.34 pkg/cel/common/valuesunstructured.go. Where reading changes nothing (strings, integers,
lists of such), the JSON itself is the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.cel import types
from trainc.cel.equality import equal
from trainc.cel.escaping import escape, unescape
from trainc.cel.schemaformats import FORMATS
from trainc.cel.schemajson import NO_OVERLOAD, OverJson, Reader, Unknown, is_plain, is_untyped, refuse, same_json
from trainc.cel.schemalists import List, MapList, SetList
from trainc.cel.schematypes import properties
from trainc.cel.types import Type
from trainc.cel.values import EvalError, Value
from trainc.cel.work import Meter, spend
from trainc.schema import Structural
from trainc.schema.structural import compiled

_MAP = Type(types.Kind.MAP, "map")
_MISSING: Any = object()
_READ = 2
"""The work of reading a field."""


def reader(schema: Structural, root: bool = False) -> Reader:
    """Return what turns JSON of schema into a value; ``root``: schema is that of a whole object.

    The reader raises EvalError for JSON that does not fit, as the server does: null where it is not allowed, a string
    that is no time, and so on.
    """
    made: Reader = compiled(_root_reader if root else _reader, schema)
    return made


def _root_reader(schema: Structural) -> Reader:
    return _nullable(_object_reader(schema, True), schema)


def _reader(schema: Structural) -> Reader:
    if schema.int_or_string:
        return _nullable(_checked((int, str), "expected XIntOrString value to be either a string or integer"), schema)
    if schema.type == "object":
        return _nullable(_object_reader(schema, schema.embedded), schema)
    if schema.type == "array":
        return _nullable(_list_reader(schema), schema)
    if schema.type == "string":
        return _nullable(_string_reader(schema), schema)
    if schema.type == "number":
        return _nullable(_number, schema)
    if schema.type == "integer":
        return _nullable(_checked((int,), "expected int"), schema)
    if schema.type == "boolean":
        return _nullable(_checked((bool,), "expected bool"), schema)
    return _nullable(Unknown, schema)


def _nullable(read: Reader, schema: Structural) -> Reader:
    if schema.nullable:
        return lambda value: None if value is None else read(value)
    return read


def _checked(kinds: tuple[type, ...], expected: str) -> Reader:
    def read(value: Json) -> Value:
        if value.__class__ in kinds:
            return value
        raise refuse(value, expected)

    return read


def _number(value: Json) -> Value:
    if value.__class__ in (int, float):
        return float(value)
    raise refuse(value, "expected float")


def _string_reader(schema: Structural) -> Reader:
    form = schema.keywords.get("format")
    convert = FORMATS.get(form) if isinstance(form, str) else None
    text = _checked((str,), "expected string")
    return text if convert is None else lambda value: convert(text(value))


class Shape:
    """What a schema says of the entries of an object: for each key its identifier and its reader.

    ``closed``: properties are declared. Where all is ``typed``, equal JSON is an equal value. ``found``: entries by
    identifier, as far as they have been asked for.
    """

    __slots__ = ("_declared", "_schema", "closed", "found")

    def __init__(self, schema: Structural, root: bool) -> None:
        self._declared = properties(schema, root)
        self._schema = schema
        self.closed = bool(self._declared) or schema.keywords.get("properties") is not None
        self.found: dict[str, tuple[str, Reader] | None] = {}

    @property
    def typed(self) -> bool:
        """Whether all below is described."""
        return not is_untyped(self._schema)

    def entry(self, identifier: Value) -> tuple[str, Reader] | None:
        """Return key and reader of an identifier, or None where the schema knows no such entry."""
        try:
            return self.found[identifier]
        except KeyError:
            return self.found.setdefault(identifier, self._entry(identifier))

    def _entry(self, identifier: str) -> tuple[str, Reader] | None:
        if not self.closed:
            values = self._schema.additional
            return (identifier, reader(values, values.embedded)) if values is not None else None
        key = unescape(identifier)
        found = self._declared.get(key) if key is not None else None
        return (key, reader(found, found.embedded)) if key is not None and found is not None else None

    def known(self, key: str) -> bool:
        """Tell whether the schema says anything of a key."""
        return key in self._declared if self.closed else self._schema.additional is not None


def _object_reader(schema: Structural, root: bool) -> Reader:
    shape = Shape(schema, root)

    def read(value: Json) -> Value:
        if value.__class__ is dict:
            return Object(value, shape)
        raise refuse(value, "expected a map for the provided schema with type=object")

    return read


class Object(OverJson):
    """An object with declared properties, or a map whose values have a schema."""

    __slots__ = ("shape",)

    raw: JsonObject

    def __init__(self, raw: JsonObject, shape: Shape) -> None:
        super().__init__(raw)
        self.shape = shape

    def is_list(self) -> bool:
        """Tell that it is none."""
        return False

    def get(self, key: Value, default: Value) -> Value:
        """Return the value of an identifier; null is as good as absent where properties are declared."""
        if key.__class__ is not str:
            raise EvalError(NO_OVERLOAD)
        shape = self.shape
        try:
            found = shape.found[key]
        except KeyError:
            found = shape.entry(key)
        if found is None:
            return default
        name, read = found
        value = self.raw.get(name, _MISSING)
        if value is _MISSING or (value is None and shape.closed):
            return default
        return read(value)

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[Value]:
        unknown = 0
        for key in self.raw:
            if self.shape.known(key):
                yield (escape(key) or key) if self.shape.closed else key
            else:
                unknown += 1
        if unknown:  # the server goes over as many keys as there are, and has none in their place
            raise EvalError(NO_OVERLOAD)

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Compare what the schema declares with its meaning, the rest as JSON."""
        if isinstance(other, Object):
            if other.shape is self.shape and (other.raw is self.raw or (other.raw == self.raw and self.shape.typed)):
                return True
        elif not isinstance(other, dict):
            raise EvalError(NO_OVERLOAD)
        if meter is not None:
            spend(meter, _READ * (1 + len(self.raw)))
        return len(self) == len(other) and all(self._same(key, value, other, meter) for key, value in self.raw.items())

    def _same(self, key: str, value: Json, other: Value, meter: Meter | None) -> bool:
        if self.shape.known(key):
            own = self.get(key, _MISSING)
            theirs = other.get(key, _MISSING)
            if own is _MISSING or theirs is _MISSING:
                return own is theirs
            return equal(own, theirs, meter)
        if not isinstance(other, Object):
            raise EvalError(NO_OVERLOAD)
        return key not in other.raw or same_json(value, other.raw[key], meter)

    def add(self, other: Value) -> Value:
        """Refuse: maps have no sum."""
        raise EvalError(NO_OVERLOAD)

    def celtype(self) -> Type:
        """Return map, which objects are at run time."""
        return _MAP


def _list_reader(schema: Structural) -> Reader:
    items = schema.items
    if items is None:
        raise_no_items = EvalError("invalid array type, expected Items with a non-empty Schema")

        def no_items(value: Json) -> Value:
            raise raise_no_items

        return no_items
    kind = str(schema.keywords.get("x-kubernetes-list-type", "atomic"))
    keys = tuple(escape(key) or key for key in schema.keywords.get("x-kubernetes-list-map-keys", ()))
    plain = kind == "atomic" and is_plain(items)
    read_item = reader(items, items.embedded)
    make = {"set": SetList, "map": MapList}.get(kind, List)

    def read(value: Json) -> Value:
        if value.__class__ is not list:
            raise refuse(value, "expected an array for the provided schema with type=array")
        return value if plain else make(value, read_item, keys, items)

    return read
