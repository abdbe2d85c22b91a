"""Values of expressions: plain JSON wherever it says enough, a class for what JSON lacks.

null is None; bool, int (64 bits), double and string are bool, int, float and str; bytes are bytes; lists are lists and
maps with string keys are dicts, never changed once made. Python's True equals 1: compare with equality.py only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import total_ordering
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct

from trainc.cel import types
from trainc.cel.types import Type
from trainc.cel.work import Meter

Value: TypeAlias = Any
"""One of the kinds above, or an instance of a class below."""

NO_OVERLOAD = "no such overload"

_NOTHING = object()
INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class EvalError(Exception):
    """An evaluation that fails. ``message`` is cel-go's; ``position`` is the node's, set by the runner.

    It becomes the value of the expression unless ``&&``, ``||`` or a macro made of them absorbs it.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class Undecided(Exception):
    """What cannot be known offline (authorizer, uid of a namespace ...). ``reason`` says what."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Uint(Struct, frozen=True):
    """An unsigned integer of 64 bits."""

    value: int


@total_ordering
class Timestamp(Struct, frozen=True, eq=False):
    """A time: nanoseconds since 1970-01-01T00:00:00Z, from year 1 to year 9999.

    ``offset``: seconds east of UTC that it was written with. It shows in string() only, and arithmetic keeps it.
    """

    nanos: int
    offset: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanos == other.nanos

    def __lt__(self, other: Timestamp) -> bool:
        return self.nanos < other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)


class Duration(Struct, frozen=True, order=True):
    """A span: nanoseconds, 64 bits."""

    nanos: int


class TypeValue(Struct, frozen=True):
    """A type as a value: ``type(1) == int``. Two are equal if their names are (parameters do not count at run time)."""

    type: Type


class Optional(Struct, frozen=True, eq=False):
    """``optional.of(value)``; NONE is the one without a value."""

    value: Value
    present: bool = True


NONE = Optional(None, present=False)


class KeyedMap(Struct, frozen=True, eq=False):
    """A map with any key that is not a string. ``entries`` maps a hashable form of the key to (key, value).

    Keys are told apart as CEL does: 1, 1u and 1.0 are one key, true and 1 are two. equality.py makes the form.
    """

    entries: dict[object, tuple[Value, Value]]


class Opaque(Struct, frozen=True, eq=False):
    """The base of values that only a library's functions understand: quantity, ip, cidr, url, semver, format ..."""

    type: ClassVar[Type]

    def text(self) -> str:
        """Return the string form, for output."""
        raise NotImplementedError

    def size(self) -> int:
        """Return the size that run-time cost counts: of addresses the bytes, of everything else 1."""
        return 1

    def form(self) -> object | None:
        """Return a hashable that equals those of the same value, as a key of a map; None: it equals only itself.

        Raises Panic where Go cannot hash the value.
        """
        return None

    def weight(self) -> int:
        """Return the work of reading, comparing or writing it once (work.py)."""
        return 1

    def equals(self, other: Value) -> bool:
        """Report whether CEL's == holds, self being on the left; other is not null.

        Raises EvalError("no such overload") for a value of another class.
        """
        raise NotImplementedError


class Container:
    """A list, map or object whose shape a schema gives, read from plain JSON on access (see schemas.py).

    What is here is right for a map of which only ``get``, length and keys are left to say.
    """

    __slots__ = ()

    def is_list(self) -> bool:
        """Report whether it behaves as a list; else it behaves as a map, or an object."""
        return False

    def get(self, key: Value, default: Value) -> Value:
        """Return the field, entry or element, or default where there is none (an index out of range included)."""
        raise EvalError(NO_OVERLOAD)

    def __getitem__(self, key: Value) -> Value:
        """Return the field, entry or element. Raises KeyError where there is none."""
        found = self.get(key, _NOTHING)
        if found is _NOTHING:
            raise KeyError(key)
        return found

    def __len__(self) -> int:
        return 0

    def size(self) -> int:
        """Return the size that run-time cost counts."""
        return len(self)

    def __iter__(self) -> Iterator[Value]:
        """Yield elements of a list, keys of a map."""
        return iter(())

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Report whether CEL's == holds; ``other`` may be anything. The work is taken from meter, if there is one."""
        return other is self

    def add(self, other: Value) -> Value:
        """Return what ``+`` gives: union of sets, merge of list maps, else concatenation. Raises EvalError."""
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
    """Return the type of a value at run time. Raises EvalError for what is not a value."""
    known = _TYPES.get(value.__class__)
    if known is not None:
        return known
    if isinstance(value, Opaque):
        return value.type
    if isinstance(value, Container):
        return value.celtype()
    raise EvalError(NO_OVERLOAD)
