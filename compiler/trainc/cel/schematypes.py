"""What a structural schema says of types: the declarations behind ``self`` in a CRD's rules.

Source: k8s.io/apiserver v0.34 pkg/cel/common/schemas.go and pkg/cel/types.go. Everything is worked out when asked for:
a rule looks at a few fields of a schema with thousands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property

from trainc.cel import types
from trainc.cel.escaping import RESERVED, escape
from trainc.cel.types import Type
from trainc.schema import Structural, parse
from trainc.source import Json

MAX_REQUEST = 3 * 1024 * 1024
"""The bytes of a request, to which sizes without a limit are bounded (pkg/apis/cel/config.go)."""

_DURATION, _DATE, _TIMES, _LONGEST_DURATION, _LONGEST_TIME = 3, 12, 21, 32, 32
"""Least and greatest sizes in JSON, in bytes: pkg/cel/limits.go."""

_FORMATS = {
    "byte": (types.BYTES, 2),
    "duration": (types.DURATION, _DURATION),
    "date": (types.TIMESTAMP, _DATE),
    "date-time": (types.TIMESTAMP, _TIMES),
}
_LONGEST = {"duration": _LONGEST_DURATION, "date": _DATE, "date-time": _LONGEST_TIME}
_SCALARS = {"boolean": (types.BOOL, 4), "number": (types.DOUBLE, 1), "integer": (types.INT, 1)}


@cache
def _meta() -> Mapping[str, Structural]:
    text: Json = {"type": "string"}
    metadata: Json = {"type": "object", "properties": {"name": text, "generateName": text}}
    return parse({"type": "object", "properties": {"kind": text, "apiVersion": text, "metadata": metadata}}).properties


def properties(schema: Structural, root: bool) -> Mapping[str, Structural]:
    """Return the properties that rules see; ``root``: of a whole object, whose type and name are always there."""
    own = schema.properties
    if not root or _has_meta(own):
        return own
    return {**own, **_meta()}


def _has_meta(own: Mapping[str, Structural]) -> bool:
    def is_(found: Structural | None, kind: str) -> bool:
        return found is not None and found.type == kind

    metadata = own.get("metadata")
    inner = metadata.properties if metadata is not None and metadata.type == "object" else {}
    return (
        all(is_(own.get(name), "string") for name in ("kind", "apiVersion"))
        and all(is_(inner.get(name), "string") for name in ("name", "generateName"))
    )  # fmt: skip


class Declared:
    """A schema as CEL sees it. ``type`` names objects by the way that leads to them: ``self.spec.jobs.@idx``.

    ``max_elements`` and ``min_size`` bound lengths and bytes in JSON; the estimate of cost is made of them.
    """

    def __init__(
        self, schema: Structural, root: bool, name: str, *, type_: Type, max_elements: int, min_size: int
    ) -> None:
        self.schema = schema
        self.root = root
        self.name = name
        self.type = type_
        self.max_elements = max_elements
        self._min_size = min_size

    @cached_property
    def fields(self) -> Mapping[str, Declared]:
        """The fields of an object by identifier; those whose type rules cannot know are left out."""
        found: dict[str, Declared] = {}
        for name, schema in properties(self.schema, self.root).items():
            identifier = escape(name)
            if identifier is not None and (field := declare(schema, schema.embedded, f"{self.name}.{identifier}")):
                found[identifier] = field
        return found

    @cached_property
    def element(self) -> Declared | None:
        """What a list or a map holds; None for other types."""
        kind, step = self.type.kind, "@idx" if self.type.kind is types.Kind.LIST else "@elem"
        if kind not in (types.Kind.LIST, types.Kind.MAP):
            return None
        inner = self.schema.items if kind is types.Kind.LIST else self.schema.additional
        assert inner is not None
        return declare(inner, inner.embedded, f"{self.name}.{step}")

    @cached_property
    def min_size(self) -> int:
        """The least bytes in JSON: of objects the required properties that have no default."""
        if self.type.kind is not types.Kind.STRUCT:
            return self._min_size
        size = self._min_size
        required = self.schema.keywords.get("required", ())
        for name, schema in properties(self.schema, self.root).items():
            if name in required and schema.default is None:
                field = declare(schema, schema.embedded, name)
                size += len(name.encode()) + field.min_size + 4 if field is not None else 0
        return size

    def field(self, identifier: str) -> Declared | None:
        """Return a field of an object; words that CEL reserves stand for themselves, too."""
        found = self.fields.get(identifier)
        return found or (self.fields.get(f"__{identifier}__") if identifier in RESERVED else None)


def declare(schema: Structural, root: bool, name: str) -> Declared | None:
    """Return what CEL knows of the values of schema, or None where it can tell nothing of them.

    ``root`` says that schema is that of a whole object, ``name`` what its type is called.
    """
    if schema.int_or_string:
        return Declared(schema, root, name, type_=types.DYN, max_elements=_text_limit(schema), min_size=1)
    if schema.type == "array":
        return _list(schema, root, name)
    if schema.type == "object":
        return _object(schema, root, name)
    if schema.type == "string":
        return _string(schema, root, name)
    if schema.type in _SCALARS:
        kind, size = _SCALARS[schema.type]
        return Declared(schema, root, name, type_=kind, max_elements=0, min_size=size)
    return None


def _list(schema: Structural, root: bool, name: str) -> Declared | None:
    items = schema.items
    element = declare(items, items.embedded, f"{name}.@idx") if items is not None else None
    if element is None:
        return None
    most = _limit(schema, "maxItems")
    if most is None:
        most = (MAX_REQUEST - 2) // (element.min_size + 1)
    return Declared(schema, root, name, type_=types.list_of(element.type), max_elements=most, min_size=2)


def _object(schema: Structural, root: bool, name: str) -> Declared | None:
    values = schema.additional
    if values is None:
        return Declared(schema, root, name, type_=types.struct(name), max_elements=0, min_size=2)
    element = declare(values, values.embedded, f"{name}.@elem")
    if element is None:
        return None
    most = _limit(schema, "maxProperties")
    if most is None:
        most = (MAX_REQUEST - 2) // (element.min_size + 6)
    return Declared(schema, root, name, type_=types.map_of(types.STRING, element.type), max_elements=most, min_size=2)


def _string(schema: Structural, root: bool, name: str) -> Declared:
    kind, size = _FORMATS.get(str(schema.keywords.get("format", "")), (types.STRING, 2))
    if kind is types.BYTES:
        limit = _limit(schema, "maxLength")
        most = limit if limit is not None else MAX_REQUEST - 2
    elif kind is types.STRING:
        most = _text_limit(schema)
    else:
        most = _longest(schema)
    return Declared(schema, root, name, type_=kind, max_elements=most, min_size=size)


def _text_limit(schema: Structural) -> int:
    limit = _limit(schema, "maxLength")
    if limit is not None:
        return limit * 4  # bytes of a code point
    choices = schema.keywords.get("enum")
    if choices and not schema.int_or_string:
        return max((len(choice.encode()) for choice in choices if isinstance(choice, str)), default=0)
    return _longest(schema)


def _limit(schema: Structural, keyword: str) -> int | None:
    limit = schema.keywords.get(keyword)
    return max(int(limit), 0) if limit is not None else None


def _longest(schema: Structural) -> int:
    unlimited = MAX_REQUEST - 2
    return unlimited if schema.int_or_string else _LONGEST.get(str(schema.keywords.get("format", "")), unlimited)


class Objects(Mapping[str, Mapping[str, Type]]):
    """The struct types below ``root``, for an Environment: found by their names, without making them all."""

    def __init__(self, root: Declared) -> None:
        self._root = root
        self._found: dict[str, _Fields | None] = {}

    def __getitem__(self, name: str) -> Mapping[str, Type]:
        if name not in self._found:
            self._found[name] = self._find(name)
        fields = self._found[name]
        if fields is None:
            raise KeyError(name)
        return fields

    def declared(self, name: str) -> Declared | None:
        """Return the declaration that has this name, objects or not."""
        prefix = self._root.name
        if name != prefix and not name.startswith(f"{prefix}."):
            return None
        found: Declared | None = self._root
        for step in name[len(prefix) + 1 :].split(".") if name != prefix else ():
            if found is None:
                return None
            found = found.element if step in ("@idx", "@elem") else found.fields.get(step)
        return found

    def _find(self, name: str) -> _Fields | None:
        found = self.declared(name)
        return _Fields(found) if found is not None and found.type.kind is types.Kind.STRUCT else None

    def __iter__(self) -> Iterator[str]:
        todo: list[Declared] = [self._root]
        while todo:
            found = todo.pop()
            if found.type.kind is types.Kind.STRUCT:
                yield found.type.name
                todo += found.fields.values()
            elif found.element is not None:
                todo.append(found.element)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Fields(Mapping[str, Type]):
    def __init__(self, declared: Declared) -> None:
        self._declared = declared

    def __getitem__(self, identifier: str) -> Type:
        field = self._declared.field(identifier)
        if field is None:
            raise KeyError(identifier)
        return field.type

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared.fields)

    def __len__(self) -> int:
        return len(self._declared.fields)
