"""What Go's types do to JSON that goes through them, as checks of one pass see it (fitting.py).

A webhook reads an object into Go's structs, changes it and writes it again; the server then adds what that has brought
and what it spells otherwise, and removes nothing. Source: kube/gotypes.py, which is the reading and writing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from trainc.kube.gotypes import Field, GoDecodeError, decode, fields, is_struct
from trainc.records import NamedTuple
from trainc.schema.defaulting import default
from trainc.schema.judge import is_clean
from trainc.schema.pruning import drop_nulls, prune_value
from trainc.schema.structural import Structural
from trainc.source import Json

Check: TypeAlias = type | Callable[[Any], Any]
"""What a value has to be, where its class says all; else what returns it as it is stored, or raises Unfit."""

STRINGS = frozenset(("string",))
BOOLEANS = frozenset(("bool",))
INTEGERS = {"int32": frozenset(("int", "int32", "int64"))}
LONG_INTEGERS = frozenset(("int", "int64"))

_MANY = 1024
"""How many quantities and the like are remembered, by place: a fleet repeats its few."""


class Go(NamedTuple):
    """What Go does to a value: reads it as a ``kind`` (nothing, if that is ''), and maybe writes it again."""

    kind: str = ""
    writes: bool = False

    def items(self) -> Go:
        """Return what it does to the values of a list or map."""
        return Go(self.kind[2:], self.writes)

    def field(self, field: Field | None) -> Go:
        """Return what it does to a field; one that it does not know, it leaves alone."""
        return NOTHING if field is None else Go(field.kind.lstrip("*"), self.writes)


NOTHING = Go()


class Unfit(Exception):
    """It takes the passes to tell what becomes of a value."""


def checked(check: Check, value: Any) -> Any:
    """Return a value as it is stored. Raises Unfit."""
    if not isinstance(check, type):
        return check(value)
    if value.__class__ is not check:
        raise Unfit
    return value


def field_kinds(struct: str) -> dict[str, Field]:
    """Return the fields of a struct by name; none for '', which stands for no struct."""
    return fields(struct) if struct else {}


def is_field_kind(kind: str) -> bool:
    """Tell whether a kind is a struct, or none at all."""
    return not kind or is_struct(kind)


def spelt_scalar(check: Check, go: Go, as_it_is: frozenset[str]) -> Check:
    """Return the check of a scalar that goes through Go.

    ``as_it_is``: the kinds that read all that passes ``check``, and write it just as it was.
    """
    kind = go.kind
    if not kind or kind.partition(":")[0] in as_it_is:
        return check

    def check_spelt(value: Any) -> Any:
        given = checked(check, value)
        try:
            written = decode(given, kind)
        except GoDecodeError:
            raise Unfit from None
        if not go.writes or (written.__class__ is given.__class__ and written == given):
            return given
        if not written:
            raise Unfit  # Go may omit it
        return checked(check, written)

    remembered = lru_cache(_MANY)(check_spelt)
    return lambda value: remembered(value) if value.__class__ is str else check_spelt(value)


def spelt_field(check: Check, field: Field | None, go: Go) -> Check:
    """Return the check of a struct's field: one that Go leaves out where it is zero is let alone, or unfit."""
    if field is None or not field.omitzero or not go.writes:
        return check

    def check_field(value: Any) -> Any:
        if checked(check, value) is not value:
            raise Unfit
        return value

    return check_field


def zeros(schema: Structural, go: Go) -> list[tuple[str, Json | None]]:
    """Return the fields that Go writes where they are absent, as the server stores them; None where that is no good."""
    found: list[tuple[str, Json | None]] = []
    written = decode({}, go.kind) if go.writes else {}
    assert isinstance(written, dict), "a struct is written as an object"
    for name, zero in written.items():
        child = schema.properties.get(name)
        if child is None or (zero is None and not child.nullable):
            continue  # pruned, or a null that is dropped
        stored = default(child, drop_nulls(child, prune_value(child, zero)[0]))
        found.append((name, stored if is_clean(child, stored) else None))
    return found
