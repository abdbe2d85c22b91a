"""The row of a CEL function. Rows are in the table FUNCTIONS of the modules of library/, beside the code.

To add a function, write its code and its row. The checker and code generator use only the row (library/__init__.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from trainc.cel.types import Kind, Type, parse_signature
from trainc.cel.values import EvalError, Value
from trainc.cel.work import Meter

Run: TypeAlias = Callable[..., Value]
Cost: TypeAlias = Callable[[Sequence[Value], Value], int]
"""The cost of a call with arguments and a result."""

Work: TypeAlias = Callable[[Sequence[Value], Meter], None]
"""Spends, before a call, the work that its cost does not reflect (work.py)."""


class Signature(NamedTuple):
    """The types of an overload. ``args`` of a member start with the receiver.

    ``variables``: the names of the type variables, those of the result first.
    """

    member: bool
    args: tuple[Type, ...]
    result: Type
    variables: tuple[str, ...]


class Overload(Struct, frozen=True):
    """One signature of a function in cel-go's notation; that of a member starts with a dot.

    ``run`` receives arguments whose types fit, the receiver first, and if ``metered`` the meter last; it raises
    EvalError. ``cost`` replaces the function's cost if only this overload fits the static types.
    """

    id: str
    text: str
    run: Run | None = None
    cost: Cost | int | None = None
    metered: bool = False

    @property
    def signature(self) -> Signature:
        """The types."""
        return _signature(self.text)


class Function(Struct, frozen=True):
    """A function with its overloads, in cel-go's order.

    ``run``: implements all overloads, and checks its arguments itself. ``stored``: not available to new expressions.
    ``terse``: its error for wrong types does not name them.
    """

    name: str
    overloads: tuple[Overload, ...]
    run: Run | None = None
    cost: Cost | int = 1
    work: Work | None = None
    metered: bool = False
    stored: bool = False
    terse: bool = False


def function(name: str, *overloads: tuple[Any, ...], metered: bool = False, **options: Any) -> Function:
    """Return a row. An overload is its id, signature, implementation and cost; the last two may be left out."""
    rows = tuple(replace(Overload(*each), metered=metered) for each in overloads)
    return Function(name, rows, metered=metered, **options)


@cache
def _signature(text: str) -> Signature:
    member, args, result = parse_signature(text)
    names = dict.fromkeys(name for type_ in (result, *args) for name in _variables(type_))
    return Signature(member, args, result, tuple(names))


def _variables(type_: Type) -> Iterator[str]:
    if type_.kind is Kind.PARAMETER:
        yield type_.name
    for parameter in type_.parameters:
        yield from _variables(parameter)


def reads(parse: Run) -> Callable[..., bool]:
    """Return a function that reports whether a text can be parsed: isIP(), isQuantity() ..."""

    def valid(*args: Value) -> bool:
        try:
            parse(*args)
        except EvalError:
            return False
        return True

    return valid
