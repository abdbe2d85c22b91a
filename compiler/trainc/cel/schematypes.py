"""What a structural schema says of types: the declarations behind ``self`` in a CRD's rules.

Source: k8s.io/apiserver v0.34 pkg/cel/common/schemas.go and pkg/cel/types.go. Everything is worked out when asked for:
a rule looks at a few fields of a schema with thousands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property

import msgspec

from trainc.basics.jsonvalues import Json
from trainc.cel import types
from trainc.cel.escaping import RESERVED, escape
from trainc.cel.types import Type
from trainc.schema import Structural, parse

_FORMATS = {"byte": types.BYTES, "duration": types.DURATION, "date": types.TIMESTAMP, "date-time": types.TIMESTAMP}
_SCALARS = {"boolean": types.BOOL, "number": types.DOUBLE, "integer": types.INT}


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


class Declared(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A schema as CEL sees it. ``type`` names objects by the path that leads to them: ``self.spec.jobs.@idx``."""

    schema: Structural
    root: bool
    name: str
    type: Type

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

    def field(self, identifier: str) -> Declared | None:
        """Return a field of an object; words that CEL reserves stand for themselves, too."""
        found = self.fields.get(identifier)
        return found or (self.fields.get(f"__{identifier}__") if identifier in RESERVED else None)


def declare(schema: Structural, root: bool, name: str) -> Declared | None:
    """Return the declaration of the values of ``schema``, or None where CEL knows no type for them.

    ``root``: it is the schema of a whole object. ``name``: the name of its type.
    """
    type_ = _type(schema, name)
    return None if type_ is None else Declared(schema, root, name, type_)


def _type(schema: Structural, name: str) -> Type | None:
    if schema.int_or_string:
        return types.DYN
    if schema.type == "array":
        items = schema.items
        element = declare(items, items.embedded, f"{name}.@idx") if items is not None else None
        return None if element is None else types.list_of(element.type)
    if schema.type == "object":
        values = schema.additional
        if values is None:
            return types.struct(name)
        element = declare(values, values.embedded, f"{name}.@elem")
        return None if element is None else types.map_of(types.STRING, element.type)
    if schema.type == "string":
        return _FORMATS.get(str(schema.keywords.get("format", "")), types.STRING)
    return _SCALARS.get(schema.type)


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
