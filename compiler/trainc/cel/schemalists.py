"""Lists of a structural schema: atomic, sets, and maps of objects told apart by their keys.

Source: k8s.io/apiserver v0.34 pkg/cel/common/values.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Json
from trainc.cel import types
from trainc.cel.equality import equal
from trainc.cel.schemajson import NO_OVERLOAD, OverJson, Reader, is_untyped, raw
from trainc.cel.types import Type
from trainc.cel.values import Container, EvalError, Value
from trainc.cel.work import Meter, spend
from trainc.schema import Structural

_READ = 2
"""The work of reading an item."""

_LIST = Type(types.Kind.LIST, "list")


class List(OverJson):
    """A list whose items have a schema, and whose order counts."""

    __slots__ = ("items", "keys", "read")

    raw: list[Json]

    def __init__(self, raw: list[Json], read: Reader, keys: tuple[str, ...], items: Structural) -> None:
        super().__init__(raw)
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
        return other.raw is self.raw or (other.raw == self.raw and not is_untyped(self.items))

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Compare item by item."""
        if self.same(other):
            return True
        items = self._paid(other, meter)
        return len(self) == len(items) and all(equal(one, two, meter) for one, two in zip(self, items, strict=True))

    def _paid(self, other: Value, meter: Meter | None) -> list[Value]:
        """Return the items of the other; the work of reading both is taken from meter."""
        items = _items(other)
        if meter is not None:
            spend(meter, _READ * (1 + len(self) + len(items)))
        return items

    def add(self, other: Value) -> Value:
        """Append the other's items."""
        return List([*self.raw, *map(raw, _items(other))], self.read, self.keys, self.items)

    def celtype(self) -> Type:
        """Return list."""
        return _LIST


class SetList(List):
    """A list of distinct scalars whose order does not count."""

    __slots__ = ()

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Compare as sets."""
        items = self._paid(other, meter)
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

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Compare items of the same keys."""
        if self.same(other):
            return True
        items = self._paid(other, meter)
        if len(self) != len(items):
            return False
        own = {self._name(item): item for item in self.raw}
        for item in items:
            name = self._name(raw(item))
            if name not in own or not equal(self.read(own[name]), item, meter):
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


def _items(value: Value) -> list[Value]:
    if isinstance(value, list) or (isinstance(value, Container) and value.is_list()):
        return list(value)
    raise EvalError(NO_OVERLOAD)


def _key(item: Value) -> tuple[type, Value]:
    found = raw(item)
    return found.__class__, found  # as Go: a number of another type is another key
