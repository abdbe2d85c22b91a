"""Values of expressions: plain JSON, and classes for types that JSON lacks.

null is None; bool, int (64 bits), double and string are bool, int, float and str; bytes are bytes; lists are lists and
maps of JSON are dicts, never modified. Python's True equals 1: compare with maps.equal only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import total_ordering
from typing import Any, ClassVar, Final, TypeAlias

from msgspec import Struct

from trainc.cel import types
from trainc.cel.types import Type
from trainc.cel.work import Meter

Value: TypeAlias = Any
"""One of the kinds above, or an instance of a class below."""

NO_OVERLOAD = "no such overload"

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class _Missing:
    """The class of MISSING."""


MISSING: Final = _Missing()
"""In place of a value: there is no such field, entry or element."""


class EvalError(Exception):
    """A failed evaluation. ``message`` is cel-go's; ``position`` is that of the node.

    It becomes the result of the expression unless ``&&``, ``||`` or a macro absorbs it.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class Undecided(Exception):
    """The value is not available offline (authorizer, uid of a namespace ...)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Uint(Struct, frozen=True):
    """An unsigned integer of 64 bits."""

    value: int


def number(value: Value) -> Value:
    """Return an int, Uint or float as a number of Python."""
    return value.value if value.__class__ is Uint else value


@total_ordering
class Timestamp(Struct, frozen=True, eq=False):
    """A time: nanoseconds since 1970-01-01T00:00:00Z, from year 1 to year 9999.

    ``offset``: the offset in seconds east of UTC that it was written with, used by string() only.
    """

    nanos: int
    offset: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanos == other.nanos

    def __ne__(self, other: object) -> bool:  # that of msgspec does not use __eq__
        return not self == other

    def __lt__(self, other: Timestamp) -> bool:
        return self.nanos < other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)


class Duration(Struct, frozen=True, order=True):
    """A span: nanoseconds, 64 bits."""

    nanos: int


class TypeValue(Struct, frozen=True):
    """A type as a value: ``type(1) == int``. Two are equal if their names are."""

    type: Type


class Optional(Struct, frozen=True, eq=False):
    """``optional.of(value)``; NONE is the empty one."""

    value: Value
    present: bool = True


NONE = Optional(None, present=False)


class KeyedMap(Struct, frozen=True, eq=False):
    """A map that an expression makes, with keys of any type: 1, 1u and 1.0 are the same key, true and 1 are not.

    ``entries`` maps a hashable form of the key (maps.key_form) to (key, value).
    """

    entries: dict[object, tuple[Value, Value]]


class Opaque(Struct, frozen=True, eq=False):
    """The base of library values: quantity, ip, cidr, url, semver, format ..."""

    type: ClassVar[Type]
    unhashable: ClassVar[str] = ""
    """Its class in Go, if Go cannot hash it."""

    def text(self) -> str:
        """Return the string form, for output."""
        raise NotImplementedError

    def size(self) -> int:
        """Return the size for costs: 1 by default."""
        return 1

    def form(self) -> object | None:
        """Return a hashable form for keys of maps; None: it equals only itself."""
        return None

    def weight(self) -> int:
        """Return the work of one pass over the value (work.py)."""
        return 1

    def equals(self, other: Value) -> bool:
        """Return whether ``self == other``, by their texts; other is not null.

        Raises EvalError("no such overload") for a value of another class.
        """
        if other.__class__ is not self.__class__:
            raise EvalError(NO_OVERLOAD)
        return bool(self.text() == other.text())


class Container:
    """A list, map or object whose shape a schema gives, read from plain JSON on access (see schemas.py).

    A map overrides ``get``, length and iteration over keys only.
    """

    __slots__ = ()

    has_size: ClassVar[bool] = True
    """Whether ``size()`` and ``in`` apply to it."""

    def is_list(self) -> bool:
        """Return whether it is a list; else it is a map or an object."""
        return False

    def native(self) -> Value:
        """Return the value after its conversion to Go and back."""
        return self

    def get(self, key: Value, default: Value) -> Value:
        """Return the field, entry or element, or default if there is none."""
        raise EvalError(NO_OVERLOAD)

    def has(self, key: Value) -> bool:
        """Return whether there is a field or entry, also if its value is unknown."""
        return self.get(key, MISSING) is not MISSING

    def __getitem__(self, key: Value) -> Value:
        """Return the field, entry or element. Raises KeyError."""
        found = self.get(key, MISSING)
        if found is MISSING:
            raise KeyError(key)
        return found

    def __len__(self) -> int:
        return 0

    def size(self) -> int:
        """Return the size for costs."""
        return len(self)

    def __iter__(self) -> Iterator[Value]:
        """Yield elements of a list, keys of a map."""
        return iter(())

    def elements(self) -> Iterable[Value]:
        """Return what a loop visits, which may end before the last one. Its iterator has a length hint."""
        return list(self)

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Return whether ``self == other``; ``meter`` pays for the work. Raises EvalError for another kind of value."""
        if other is not self:
            raise EvalError(NO_OVERLOAD)
        return True

    def add(self, other: Value) -> Value:
        """Return ``self + other``: union of sets, merge of list maps, else concatenation. Raises EvalError."""
        raise EvalError(NO_OVERLOAD)

    def celtype(self) -> Type:
        """Return the type at run time."""
        return _MAP


_LIST, _MAP = types.list_of(types.DYN), types.map_of(types.DYN, types.DYN)
_TYPES = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    TypeValue: types.TYPE,
    list: _LIST,
    dict: _MAP,
    KeyedMap: _MAP,
    Optional: types.opaque("optional_type"),
}


def type_of(value: Value) -> Type:
    """Return the type of a value at run time. Raises EvalError if it is not a CEL value."""
    known = _TYPES.get(value.__class__)
    if known is not None:
        return known
    if isinstance(value, Opaque):
        return value.type
    if isinstance(value, Container):
        return value.celtype()
    raise EvalError(NO_OVERLOAD)
