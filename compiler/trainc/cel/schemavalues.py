"""Values whose shape a structural schema gives, read from plain JSON when an expression asks for them.

Source: k8s.io/apiserver v0.34 pkg/cel/common/valuesunstructured.go. Where reading changes nothing (strings, integers,
lists of such), the JSON itself is the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from trainc.cel import types
from trainc.cel.equality import equal
from trainc.cel.escaping import escape, unescape
from trainc.cel.schemaformats import FORMATS
from trainc.cel.schematypes import properties
from trainc.cel.types import Type
from trainc.cel.values import Container, EvalError, Value
from trainc.schema import Structural
from trainc.schema.structural import compiled
from trainc.source import Json, JsonObject

Reader: TypeAlias = Callable[[Json], Value]

_LIST, _MAP = Type(types.Kind.LIST, "list"), Type(types.Kind.MAP, "map")
_MISSING = object()
_NO_OVERLOAD = "no such overload"


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


def _refuse(value: Json, expected: str) -> EvalError:
    if value is None:
        return EvalError("invalid data, got null for schema with nullable=false")
    return EvalError(f"invalid data, {expected}")


def _checked(kinds: tuple[type, ...], expected: str) -> Reader:
    def read(value: Json) -> Value:
        if value.__class__ in kinds:
            return value
        raise _refuse(value, expected)

    return read


def _number(value: Json) -> Value:
    if value.__class__ in (int, float):
        return float(value)
    raise _refuse(value, "expected float")


def _string_reader(schema: Structural) -> Reader:
    form = schema.keywords.get("format")
    convert = FORMATS.get(form) if isinstance(form, str) else None
    text = _checked((str,), "expected string")
    return text if convert is None else lambda value: convert(text(value))


def _plain(schema: Structural) -> bool:
    """Tell whether JSON that fits schema is its own value, alone and in lists, for equality, too."""
    return bool(compiled(_is_plain, schema))


def _is_plain(schema: Structural) -> bool:
    if schema.nullable:
        return False
    if schema.int_or_string or schema.type in ("integer", "boolean"):
        return True
    return schema.type == "string" and schema.keywords.get("format") not in FORMATS


def _untyped(schema: Structural) -> bool:
    """Tell whether a value of schema can hold what no schema describes; elsewhere Python's == is JSON's."""
    return bool(compiled(_is_untyped, schema))


def _is_untyped(schema: Structural) -> bool:
    if schema.preserves or not (schema.type or schema.int_or_string):
        return True
    below = (*schema.properties.values(), schema.items, schema.additional)
    open_map = schema.open and schema.additional is None
    return open_map or any(sub is not None and _untyped(sub) for sub in below)


class Shape:
    """What a schema says of the entries of an object: for each key its identifier and its reader.

    ``closed``: properties are declared. Where all is ``typed``, equal JSON is an equal value.
    """

    __slots__ = ("_declared", "_found", "_schema", "closed")

    def __init__(self, schema: Structural, root: bool) -> None:
        self._declared = properties(schema, root)
        self._schema = schema
        self.closed = bool(self._declared) or schema.keywords.get("properties") is not None
        self._found: dict[str, tuple[str, Reader] | None] = {}

    @property
    def typed(self) -> bool:
        """Whether all below is described."""
        return not _untyped(self._schema)

    def entry(self, identifier: Value) -> tuple[str, Reader] | None:
        """Return key and reader of an identifier, or None where the schema knows no such entry."""
        try:
            return self._found[identifier]
        except KeyError:
            return self._found.setdefault(identifier, self._entry(identifier))

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
        raise _refuse(value, "expected a map for the provided schema with type=object")

    return read


class Object(Container):
    """An object with declared properties, or a map whose values have a schema."""

    __slots__ = ("raw", "shape")

    def __init__(self, raw: JsonObject, shape: Shape) -> None:
        self.raw = raw
        self.shape = shape

    def is_list(self) -> bool:
        """Tell that it is none."""
        return False

    def get(self, key: Value, default: Value) -> Value:
        """Return the value of an identifier; null is as good as absent where properties are declared."""
        if key.__class__ is not str:
            raise EvalError(_NO_OVERLOAD)
        found = self.shape.entry(key)
        if found is None:
            return default
        name, read = found
        if name not in self.raw:
            return default
        value = self.raw[name]
        return default if value is None and self.shape.closed else read(value)

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
            raise EvalError(_NO_OVERLOAD)

    def equals(self, other: Value) -> bool:
        """Compare what the schema declares with its meaning, the rest as JSON."""
        if isinstance(other, Object):
            if other.shape is self.shape and (other.raw is self.raw or (other.raw == self.raw and self.shape.typed)):
                return True
        elif not isinstance(other, dict):
            raise EvalError(_NO_OVERLOAD)
        return len(self) == len(other) and all(self._same(key, value, other) for key, value in self.raw.items())

    def _same(self, key: str, value: Json, other: Value) -> bool:
        if self.shape.known(key):
            own = self.get(key, _MISSING)
            theirs = other.get(key, _MISSING)
            if own is _MISSING or theirs is _MISSING:
                return own is theirs
            return equal(own, theirs)
        if not isinstance(other, Object):
            raise EvalError(_NO_OVERLOAD)
        return key not in other.raw or same_json(value, other.raw[key])

    def add(self, other: Value) -> Value:
        """Refuse: maps have no sum."""
        raise EvalError(_NO_OVERLOAD)

    def celtype(self) -> Type:
        """Return map, which objects are at run time."""
        return _MAP


class Unknown(Container):
    """A value that the schema keeps without saying what it is; it can only be compared."""

    __slots__ = ("raw",)

    def __init__(self, raw: Json) -> None:
        if raw is None:
            raise _refuse(raw, "")
        self.raw = raw

    def is_list(self) -> bool:
        """Tell that it is none."""
        return False

    def get(self, key: Value, default: Value) -> Value:
        """Refuse: nothing is known of it."""
        raise EvalError(_NO_OVERLOAD)

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Value]:
        return iter(())

    def equals(self, other: Value) -> bool:
        """Compare as JSON."""
        return same_json(self.raw, raw(other))

    def add(self, other: Value) -> Value:
        """Refuse: nothing is known of it."""
        raise EvalError(_NO_OVERLOAD)

    def celtype(self) -> Type:
        """Return dyn: there is no type for it."""
        return types.DYN


def raw(value: Value) -> Value:
    """Return the JSON behind a value of a schema; other values as they are."""
    return value.raw if isinstance(value, Object | Unknown | List) else value


def same_json(one: Json, two: Json) -> bool:
    """Tell whether two JSON values are the same, true and 1 being two."""
    if one.__class__ is not two.__class__:
        return False
    if isinstance(one, dict):
        assert isinstance(two, dict)
        return one.keys() == two.keys() and all(same_json(value, two[key]) for key, value in one.items())
    if isinstance(one, list):
        assert isinstance(two, list)
        return len(one) == len(two) and all(map(same_json, one, two))
    return one == two


def _list_reader(schema: Structural) -> Reader:
    items = schema.items
    if items is None:
        raise_no_items = EvalError("invalid array type, expected Items with a non-empty Schema")

        def refuse(value: Json) -> Value:
            raise raise_no_items

        return refuse
    kind = str(schema.keywords.get("x-kubernetes-list-type", "atomic"))
    keys = tuple(escape(key) or key for key in schema.keywords.get("x-kubernetes-list-map-keys", ()))
    plain = kind == "atomic" and _plain(items)
    read_item = reader(items, items.embedded)
    make = {"set": SetList, "map": MapList}.get(kind, List)

    def read(value: Json) -> Value:
        if value.__class__ is not list:
            raise _refuse(value, "expected an array for the provided schema with type=array")
        return value if plain else make(value, read_item, keys, items)

    return read


class List(Container):
    """A list whose items have a schema, and whose order counts."""

    __slots__ = ("items", "keys", "raw", "read")

    def __init__(self, raw: list[Json], read: Reader, keys: tuple[str, ...], items: Structural) -> None:
        self.raw = raw
        self.read = read
        self.keys = keys
        self.items = items

    def is_list(self) -> bool:
        """Tell that it is one."""
        return True

    def get(self, key: Value, default: Value) -> Value:
        """Return an item, by integer."""
        if key.__class__ is not int:
            raise EvalError("unsupported index: " + str(key))
        return self.read(self.raw[key]) if 0 <= key < len(self.raw) else default

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[Value]:
        return map(self.read, self.raw)

    def same(self, other: Value) -> bool:
        """Tell, where it is plain to see, that the other is the same list."""
        if not isinstance(other, List) or other.read is not self.read:
            return False
        return other.raw is self.raw or (other.raw == self.raw and not _untyped(self.items))

    def equals(self, other: Value) -> bool:
        """Compare item by item."""
        if self.same(other):
            return True
        items = _items(other)
        return len(self) == len(items) and all(equal(one, two) for one, two in zip(self, items, strict=True))

    def add(self, other: Value) -> Value:
        """Append the other's items."""
        return List([*self.raw, *map(raw, _items(other))], self.read, self.keys, self.items)

    def celtype(self) -> Type:
        """Return list."""
        return _LIST


def _items(value: Value) -> list[Value]:
    if isinstance(value, list) or (isinstance(value, Container) and value.is_list()):
        return list(value)
    raise EvalError(_NO_OVERLOAD)


def _key(item: Value) -> tuple[type, Value]:
    found = raw(item)
    return found.__class__, found  # as Go: a number of another type is another key


class SetList(List):
    """A list of distinct scalars whose order does not count."""

    __slots__ = ()

    def equals(self, other: Value) -> bool:
        """Compare as sets."""
        items = _items(other)
        own = {_key(item) for item in self.raw}
        return len(self) == len(items) and all(_key(item) in own for item in items)

    def add(self, other: Value) -> Value:
        """Append those of the other's items that are not there."""
        own = {_key(item): item for item in self.raw}
        for item in _items(other):
            own.setdefault(_key(item), raw(item))
        return SetList(list(own.values()), self.read, self.keys, self.items)


class MapList(List):
    """A list of objects told apart by their keys, whose order does not count."""

    __slots__ = ()

    def equals(self, other: Value) -> bool:
        """Compare items of the same keys."""
        if self.same(other):
            return True
        items = _items(other)
        if len(self) != len(items):
            return False
        own = {self._name(item): item for item in self.raw}
        for item in items:
            name = self._name(raw(item))
            if name not in own or not equal(self.read(own[name]), item):
                return False
        return True

    def add(self, other: Value) -> Value:
        """Replace items of the same keys by the other's, and append the rest."""
        own = {self._name(item): item for item in self.raw}
        for item in _items(other):
            own[self._name(raw(item))] = raw(item)
        return MapList(list(own.values()), self.read, self.keys, self.items)

    def _name(self, item: Json) -> tuple[tuple[type, Json], ...]:
        if not isinstance(item, dict):
            raise EvalError("unexpected data format for element of array with x-kubernetes-list-type=map")
        return tuple(_key(item.get(key)) for key in self.keys)
