"""Converts schemas to CEL types, for ``self`` in a CRD's rules, and plain JSON to values.

Source: k8s.io/apiserver v0.34 pkg/cel/common (schemas.go, values.go, valuesunstructured.go) and pkg/cel/types.go. Types
and values are created on access: a rule uses a few fields of a schema with thousands.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, partial
from typing import Any, Protocol, TypeAlias

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.basics.regex import lazy
from trainc.cel import types
from trainc.cel.declarations import Lookup
from trainc.cel.escaping import RESERVED, escape, unescape
from trainc.cel.gotext import atoi, shown
from trainc.cel.library.conversions import duration_nanos, parse_timestamp
from trainc.cel.maps import find, length, part_equal
from trainc.cel.types import Kind, Type
from trainc.cel.values import MISSING, NO_OVERLOAD, Container, Duration, EvalError, KeyedMap, Timestamp, Value
from trainc.cel.work import Meter, Panic, spend
from trainc.kube.fielderror import cut
from trainc.kube.gojson import int64
from trainc.kube.gotime import DAY, SECOND
from trainc.kube.strfmt import parse_date


class Schema(Protocol):
    """The part of a structural schema that CEL needs; implemented by trainc.schema."""

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The keywords of the CRD, without subschemas."""

    @property
    def properties(self) -> Mapping[str, Schema]:
        """The declared properties."""

    @property
    def items(self) -> Schema | None:
        """The schema of the items of a list."""

    @property
    def additional(self) -> Schema | None:
        """The schema of the values of a map."""

    @property
    def compiled(self) -> dict[Any, Any]:
        """A cache of readers."""


class _Known(msgspec.Struct, frozen=True, eq=False):
    """The schema of a field of every whole object."""

    keywords: Mapping[str, Any]
    properties: Mapping[str, Schema] = msgspec.field(default_factory=dict)
    items: Schema | None = None
    additional: Schema | None = None
    compiled: dict[Any, Any] = msgspec.field(default_factory=dict)


_TEXT = _Known({"type": "string"})
_META: Mapping[str, Schema] = {
    "kind": _TEXT,
    "apiVersion": _TEXT,
    "metadata": _Known({"type": "object", "properties": {}}, {"name": _TEXT, "generateName": _TEXT}),
}


def _type(schema: Schema) -> str:
    return str(schema.keywords.get("type", ""))


def _embedded(schema: Schema) -> bool:
    return bool(schema.keywords.get("x-kubernetes-embedded-resource"))


def _properties(schema: Schema, root: bool) -> Mapping[str, Schema]:
    """Return the properties visible to rules; ``root``: of a whole object, which always has a type and a name."""
    found = schema.properties
    if not root:
        return found
    metadata = found.get("metadata")
    inner = metadata.properties if metadata is not None and _type(metadata) == "object" else {}
    texts = (found.get("kind"), found.get("apiVersion"), inner.get("name"), inner.get("generateName"))
    known = all(text is not None and _type(text) == "string" for text in texts)
    return found if known else {**found, **_META}


# Types

_FORMATS = {"byte": types.BYTES, "duration": types.DURATION, "date": types.TIMESTAMP, "date-time": types.TIMESTAMP}
_SCALARS = {"boolean": types.BOOL, "number": types.DOUBLE, "integer": types.INT}


class Declared(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A schema as a type. ``type`` names objects by their path: ``self.spec.jobs.@idx``."""

    schema: Schema
    root: bool
    name: str
    type: Type

    @cached_property
    def fields(self) -> Mapping[str, Declared]:
        """The fields of an object by identifier, except those without a CEL type."""
        found: dict[str, Declared] = {}
        for name, schema in _properties(self.schema, self.root).items():
            identifier = escape(name)
            if identifier is not None and (field := declare(schema, _embedded(schema), f"{self.name}.{identifier}")):
                found[identifier] = field
        return found

    @cached_property
    def element(self) -> Declared | None:
        """The declaration of list items or map values; None for other types."""
        if self.type.kind is Kind.LIST and self.schema.items is not None:
            return declare(self.schema.items, _embedded(self.schema.items), f"{self.name}.@idx")
        if self.type.kind is Kind.MAP and self.schema.additional is not None:
            return declare(self.schema.additional, _embedded(self.schema.additional), f"{self.name}.@elem")
        return None

    def objects(self) -> Mapping[str, Mapping[str, Type]]:
        """Return the fields of every object type below, for an Environment."""

        def find(name: str) -> Mapping[str, Type] | None:
            found: Declared | None = self
            if name != self.name and not name.startswith(f"{self.name}."):
                return None
            for step in name[len(self.name) :].split(".")[1:]:
                if found is not None:
                    found = found.element if step in ("@idx", "@elem") else found.fields.get(step)
            return Lookup(found._field) if found is not None and found.type.kind is Kind.STRUCT else None

        return Lookup(cache(find))

    def _field(self, identifier: str) -> Type | None:
        """Return the type of a field; reserved words are also found unescaped."""
        found = self.fields.get(identifier)
        if found is None and identifier in RESERVED:
            found = self.fields.get(f"__{identifier}__")
        return found.type if found is not None else None


def declare(schema: Schema, root: bool, name: str) -> Declared | None:
    """Return the declaration of ``schema``, or None if CEL has no type for it.

    ``root``: ``schema`` describes a whole object. ``name``: the name of its type.
    """
    type_ = _declared_type(schema, name)
    return None if type_ is None else Declared(schema, root, name, type_)


def _declared_type(schema: Schema, name: str) -> Type | None:
    if schema.keywords.get("x-kubernetes-int-or-string"):
        return types.DYN
    kind = _type(schema)
    if kind == "array":
        element = _declared_type(schema.items, f"{name}.@idx") if schema.items is not None else None
        return None if element is None else types.list_of(element)
    if kind == "object":
        if schema.additional is None:
            return types.struct(name)
        element = _declared_type(schema.additional, f"{name}.@elem")
        return None if element is None else types.map_of(types.STRING, element)
    if kind == "string":
        return _FORMATS.get(str(schema.keywords.get("format", "")), types.STRING)
    return _SCALARS.get(kind)


# Strings by format: those of k8s.io/kube-openapi pkg/validation/strfmt, which accepts more than RFC 3339 and Go's
# durations

_LOCAL = lazy(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?")
_NUMBER_AND_UNIT = lazy(r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]+)")
_NO_BASE64 = lazy(r"[^A-Za-z0-9_=\r\n-]|=(?=[^=\r\n])")
_SCALA_UNITS = (
    (1, ("ns",), "nano"),
    (10**3, ("us", "µs"), "micro"),
    (10**6, ("ms",), "milli"),
    (10**9, ("s",), "sec"),
    (60 * 10**9, ("m",), "min"),
    (3600 * 10**9, ("h", "hr"), "hour"),
    (86400 * 10**9, ("d",), "day"),
    (7 * 86400 * 10**9, ("w", "wk"), "week"),
)
"""Nanoseconds, short names, and the prefix of long names."""


def to_duration(text: str) -> Duration:
    """Parse a duration: in Go's form, else the sum of all numbers with a unit of Scala. Raises EvalError."""
    nanos = duration_nanos(text)
    if nanos is not None:
        return Duration(nanos)
    total, known = 0, False
    for number, unit in _NUMBER_AND_UNIT.findall(text):
        try:
            count = atoi(number)
        except EvalError as error:
            raise EvalError(f"Invalid duration {cut(text)}: {error.message}") from None
        for size, names, long in _SCALA_UNITS:
            if unit.lower() in names or unit.lower().startswith(long):
                total, known = total + count * size, True
    if not known:
        raise EvalError(f"Invalid duration {cut(text)}: unable to parse {cut(text)} as duration")
    return Duration(int64(total))


def to_date(text: str) -> Timestamp:
    """Parse a day as its midnight UTC, ``2006-01-02``. Raises EvalError."""
    days = parse_date(text)
    if days is None:
        raise EvalError(f"Invalid date formatted string {cut(text)}: no such day")
    return Timestamp(days * DAY * SECOND)


def to_date_time(text: str) -> Timestamp:
    """Parse an RFC 3339 time, in UTC if it has no zone; an empty text is 1970. Raises EvalError."""
    if not text:
        return Timestamp(0)
    try:
        return parse_timestamp(f"{text}Z" if _LOCAL.fullmatch(text) else text)
    except EvalError as error:
        raise EvalError(f"Invalid date-time formatted string {cut(text)}: {error.message}") from None


def to_bytes(text: str) -> bytes:
    """Decode URL-safe base64; line breaks are ignored. Raises EvalError."""
    invalid = _NO_BASE64.search(text)
    at = invalid.start() if invalid is not None else len(text)
    if invalid is None:
        import base64  # few values are bytes

        try:
            return base64.urlsafe_b64decode(text.replace("\r", "").replace("\n", ""))
        except binascii.Error:
            at = max(at - 1, 0)
    raise EvalError(f"Invalid byte formatted string {cut(text)}: illegal base64 data at input byte {at}")


_PARSERS: Mapping[str, Callable[[str], Value]] = {
    "duration": to_duration,
    "date": to_date,
    "date-time": to_date_time,
    "byte": to_bytes,
}
"""Parsers by format; strings of other formats stay strings."""


# Values

Reader: TypeAlias = Callable[[Any], Value]
"""Converts JSON to a value. Raises EvalError if it does not fit the schema, such as null."""

_LIST = types.list_of(types.DYN)
_READ = 2
"""The work of reading a field or an item, or of comparing it."""


def reader(schema: Schema, root: bool = False) -> Reader:
    """Return the reader of a schema; ``root``: it describes a whole object."""
    read: Reader | None = schema.compiled.get((reader, root))
    if read is None:
        read = schema.compiled[reader, root] = _reader(schema, root)
    return read


_CHECKED: Mapping[str, tuple[tuple[type, ...], str, Reader]] = {
    "int-or-string": ((int, str), "expected XIntOrString value to be either a string or integer", lambda value: value),
    "string": ((str,), "expected string", lambda value: value),
    "number": ((int, float), "expected float", float),
    "integer": ((int,), "expected int", lambda value: value),
    "boolean": ((bool,), "expected bool", lambda value: value),
}
"""Classes of scalars, the error for others, and the conversion."""


def _reader(schema: Schema, root: bool) -> Reader:
    kind = "int-or-string" if schema.keywords.get("x-kubernetes-int-or-string") else _type(schema)
    classes: tuple[type, ...]
    make: Reader
    if kind == "object" or root:
        classes, expected = (dict,), "expected a map for the provided schema with type=object"
        make = partial(Object, _Shape(schema, root or _embedded(schema)))
    elif kind == "array":
        classes, expected = (list,), "expected an array for the provided schema with type=array"
        make = _list_maker(schema)
    elif kind in _CHECKED:
        classes, expected, make = _CHECKED[kind]
        make = _PARSERS.get(str(schema.keywords.get("format")), make) if kind == "string" else make
    else:
        classes, expected, make = (dict, list, str, int, float, bool), "", Unknown
    nullable = bool(schema.keywords.get("nullable"))

    def read(value: Any) -> Value:
        if type(value) in classes:
            return make(value)
        if value is None:
            if nullable:
                return None
            raise EvalError("invalid data, got null for schema with nullable=false")
        raise EvalError(f"invalid data, {expected}")

    return read


class SchemaValue(Container):
    """A value that keeps its JSON."""

    __slots__ = ("raw",)

    def __init__(self, raw: Json) -> None:
        self.raw = raw

    def native(self) -> Json:
        """Return the JSON: names are not escaped, and nothing has a format."""
        return self.raw


class Unknown(SchemaValue):
    """A value without a described type; it can only be compared."""

    __slots__ = ()

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Compare as JSON."""
        return _same_json(self.raw, _raw(other), meter)

    def celtype(self) -> Type:
        """Return dyn."""
        return types.DYN


def _raw(value: Value) -> Value:
    """Return the JSON of a schema value; other values unchanged."""
    return value.raw if isinstance(value, SchemaValue) else value


def _same_json(one: Json, two: Json, meter: Meter | None = None) -> bool:
    """Return whether two JSON values are the same; unlike in Python, true differs from 1."""
    if one.__class__ is not two.__class__:
        return False
    if meter is not None and isinstance(one, dict | list):
        spend(meter, _READ * (1 + len(one)))
    if isinstance(one, dict):
        assert isinstance(two, dict)
        return one.keys() == two.keys() and all(_same_json(value, two[key], meter) for key, value in one.items())
    if isinstance(one, list):
        assert isinstance(two, list)
        return len(one) == len(two) and all(_same_json(*pair, meter) for pair in zip(one, two, strict=True))
    return one == two


class _Shape:
    """The entries of an object: key and reader by identifier. ``closed``: properties are declared."""

    __slots__ = ("_found", "_properties", "_values", "closed")

    def __init__(self, schema: Schema, root: bool) -> None:
        self._properties = _properties(schema, root)
        self._values = schema.additional
        self.closed = bool(self._properties) or schema.keywords.get("properties") is not None
        self._found: dict[str, tuple[str, Reader] | None] = {}

    def entry(self, identifier: str) -> tuple[str, Reader] | None:
        """Return key and reader of an identifier, or None if it is not in the schema."""
        if identifier not in self._found:
            key = unescape(identifier) if self.closed else identifier
            schema = self._values if not self.closed else self._properties.get(key) if key is not None else None
            found = (key, reader(schema, _embedded(schema))) if key is not None and schema is not None else None
            self._found[identifier] = found
        return self._found[identifier]

    def knows(self, key: str) -> bool:
        """Return whether the schema has an entry for a key."""
        return key in self._properties if self.closed else self._values is not None


class Object(SchemaValue):
    """An object with declared properties, or a map whose values have a schema."""

    __slots__ = ("shape",)

    raw: JsonObject

    def __init__(self, shape: _Shape, raw: JsonObject) -> None:
        super().__init__(raw)
        self.shape = shape

    def get(self, key: Value, default: Value) -> Value:
        """Return the value of an identifier; null counts as absent if properties are declared."""
        if key.__class__ is not str:
            raise EvalError(NO_OVERLOAD)
        found = self.shape.entry(key)
        value = self.raw.get(found[0], MISSING) if found is not None else MISSING
        if found is None or value is MISSING or (value is None and self.shape.closed):
            return default
        return found[1](value)

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[Value]:
        known = [key for key in self.raw if self.shape.knows(key)]
        yield from ((escape(key) or key) if self.shape.closed else key for key in known)
        yield from [None] * (len(self.raw) - len(known))  # the server counts unknown keys, but does not name them

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Compare declared fields by their types, others as JSON."""
        if not isinstance(other, Object | dict | KeyedMap):
            raise EvalError(NO_OVERLOAD)
        if meter is not None:
            spend(meter, _READ * (1 + len(self.raw)))
        return len(self) == length(other) and all(
            self._same(key, value, other, meter) for key, value in self.raw.items()
        )

    def _same(self, key: str, value: Json, other: Value, meter: Meter | None) -> bool:
        if self.shape.knows(key):
            one, two = self.get(key, MISSING), find(other, key)
            return one is two if one is MISSING or two is MISSING else part_equal(one, two, meter)
        if not isinstance(other, Object):
            raise EvalError(NO_OVERLOAD)
        return key not in other.raw or _same_json(value, other.raw[key], meter)


def _list_maker(schema: Schema) -> Reader:
    items = schema.items
    if items is None:
        return _refuse_items
    read = reader(items, _embedded(items))
    kind = schema.keywords.get("x-kubernetes-list-type")
    keys = tuple(escape(key) or key for key in schema.keywords.get("x-kubernetes-list-map-keys", ()))

    def by_keys(item: Json) -> object:
        if not isinstance(item, dict):
            return object()  # in Go a new error, which equals only itself; reading the item fails
        # As on the server, keys whose names are escaped, such as namespace, are not found.
        return tuple(_by_value(item.get(key)) for key in keys)

    if kind == "set":
        return lambda value: Set(value, read, _by_value)
    if kind == "map":
        return lambda value: ListMap(value, read, by_keys)
    return lambda value: List(value, read)


def _refuse_items(_: Json) -> Value:
    raise EvalError("invalid array type, expected Items with a non-empty Schema")


_UNHASHABLE = {bytes: "[]uint8", dict: "map[string]interface {}", list: "[]interface {}"}
"""The classes of items that Go cannot hash, and their names in Go."""


def _by_value(item: Json) -> object:
    if item.__class__ in _UNHASHABLE:
        raise Panic(f"runtime error: hash of unhashable type {_UNHASHABLE[item.__class__]}")
    return item.__class__, item  # as in Go, numbers of different types are different keys


class List(SchemaValue):
    """A list whose items have a schema."""

    __slots__ = ("read",)

    raw: list[Json]

    def __init__(self, raw: list[Json], read: Reader) -> None:
        super().__init__(raw)
        self.read = read

    def is_list(self) -> bool:
        """Return True."""
        return True

    def get(self, key: Value, default: Value) -> Value:
        """Return an item, by integer."""
        if key.__class__ is not int:
            raise EvalError(f"unsupported index: {shown(key)}")
        return self.read(self.raw[key]) if 0 <= key < len(self.raw) else default

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[Value]:
        return map(self.read, self.raw)

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Compare item by item."""
        items = self._compared(other, meter)
        return len(self) == len(items) and all(
            part_equal(one, two, meter) for one, two in zip(self, items, strict=True)
        )

    def _compared(self, other: Value, meter: Meter | None) -> list[Value]:
        """Return the items of the other list."""
        items = _items(other)
        if meter is not None:
            spend(meter, _READ * (1 + len(self) + len(items)))
        return items

    def add(self, other: Value) -> Value:
        """Append the other's items."""
        return List([*self.raw, *map(_raw, _items(other))], self.read)

    def celtype(self) -> Type:
        """Return list."""
        return _LIST


class _Unordered(List):
    """A list whose items have an identity, by which two lists are compared; ``known`` has the items by identity."""

    __slots__ = ("_known", "identify")

    def __init__(self, raw: list[Json], read: Reader, identify: Callable[[Json], object]) -> None:
        super().__init__(raw, read)
        self.identify = identify
        self._known: dict[object, Json] | None = None

    @property
    def known(self) -> dict[object, Json]:
        """The items by identity."""
        if self._known is None:
            self._known = {self.identify(item): item for item in self.raw}
        return self._known

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Return whether both have the same items, in any order."""
        items = self._compared(other, meter)
        return len(self) == len(items) and all(self._has(item, meter) for item in items)

    def _has(self, item: Value, meter: Meter | None) -> bool:
        """Return whether it has an item."""
        return self.identify(_raw(item)) in self.known


class Set(_Unordered):
    """A list of type set."""

    __slots__ = ()

    def add(self, other: Value) -> Value:
        """Append the other's items that it lacks. As on the server, it then counts them as its own in comparisons."""
        known, more = self.known, []
        for item in map(_raw, _items(other)):
            if (name := self.identify(item)) not in known:
                known[name] = item
                more.append(item)
        return Set([*self.raw, *more], self.read, self.identify)


class ListMap(_Unordered):
    """A list of type map."""

    __slots__ = ()

    def _has(self, item: Value, meter: Meter | None) -> bool:
        """Return whether it has an item of the same identity that is equal."""
        found = self.known.get(self.identify(_raw(item)), MISSING)
        return found is not MISSING and part_equal(self.read(found), item, meter)

    def add(self, other: Value) -> Value:
        """Replace items by the other's of the same identity, and append the rest, in which two may have the same."""
        items, places = [*self.raw], {self.identify(item): at for at, item in enumerate(self.raw)}
        for item in map(_raw, _items(other)):
            if (at := places.get(self.identify(item))) is not None:
                items[at] = item
            else:
                items.append(item)
        return ListMap(items, self.read, self.identify)


def _items(value: Value) -> list[Value]:
    if isinstance(value, list) or (isinstance(value, Container) and value.is_list()):
        return list(value)
    raise EvalError(NO_OVERLOAD)
