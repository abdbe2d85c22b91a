"""JSON as a value of CEL, whatever its schema: what can be said of it before its shape is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from trainc.basics.jsonvalues import Json
from trainc.cel import types
from trainc.cel.schemaformats import FORMATS
from trainc.cel.types import Type
from trainc.cel.values import Container, EvalError, Value
from trainc.cel.work import Meter, spend
from trainc.schema import Structural
from trainc.schema.structural import compiled

Reader: TypeAlias = Callable[[Json], Value]
"""What turns JSON of a schema into a value; raises EvalError for JSON that does not fit."""

NO_OVERLOAD = "no such overload"
_COMPARED = 2
"""The work of comparing an element or entry."""


class OverJson(Container):
    """A value that keeps the JSON which it was read from."""

    __slots__ = ("raw",)

    def __init__(self, raw: Json) -> None:
        self.raw = raw


class Unknown(OverJson):
    """A value that the schema keeps without saying what it is; it can only be compared."""

    __slots__ = ()

    def __init__(self, raw: Json) -> None:
        if raw is None:
            raise refuse(raw, "")
        super().__init__(raw)

    def is_list(self) -> bool:
        """Tell that it is none."""
        return False

    def get(self, key: Value, default: Value) -> Value:
        """Refuse: nothing is known of it."""
        raise EvalError(NO_OVERLOAD)

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Value]:
        return iter(())

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Compare as JSON."""
        return same_json(self.raw, raw(other), meter)

    def add(self, other: Value) -> Value:
        """Refuse: nothing is known of it."""
        raise EvalError(NO_OVERLOAD)

    def celtype(self) -> Type:
        """Return dyn: there is no type for it."""
        return types.DYN


def raw(value: Value) -> Value:
    """Return the JSON behind a value of a schema; other values as they are."""
    return value.raw if isinstance(value, OverJson) else value


def same_json(one: Json, two: Json, meter: Meter | None = None) -> bool:
    """Tell whether two JSON values are the same, true and 1 being two."""
    if one.__class__ is not two.__class__:
        return False
    if meter is not None and isinstance(one, dict | list):
        spend(meter, _COMPARED * (1 + len(one)))
    if isinstance(one, dict):
        assert isinstance(two, dict)
        return one.keys() == two.keys() and all(same_json(value, two[key], meter) for key, value in one.items())
    if isinstance(one, list):
        assert isinstance(two, list)
        return len(one) == len(two) and all(same_json(each, other, meter) for each, other in zip(one, two, strict=True))
    return one == two


def refuse(value: Json, expected: str) -> EvalError:
    """Return the error for JSON that does not fit its schema."""
    if value is None:
        return EvalError("invalid data, got null for schema with nullable=false")
    return EvalError(f"invalid data, {expected}")


def is_plain(schema: Structural) -> bool:
    """Tell whether JSON that fits schema is its own value, alone and in lists, for equality, too."""
    return bool(compiled(_look_plain, schema))


def _look_plain(schema: Structural) -> bool:
    if schema.nullable:
        return False
    if schema.int_or_string or schema.type in ("integer", "boolean"):
        return True
    return schema.type == "string" and schema.keywords.get("format") not in FORMATS


def is_untyped(schema: Structural) -> bool:
    """Tell whether a value of schema can hold what no schema describes; elsewhere Python's == is JSON's."""
    return bool(compiled(_look_untyped, schema))


def _look_untyped(schema: Structural) -> bool:
    if schema.preserves or not (schema.type or schema.int_or_string):
        return True
    below = (*schema.properties.values(), schema.items, schema.additional)
    open_map = schema.open and schema.additional is None
    return open_map or any(sub is not None and is_untyped(sub) for sub in below)
