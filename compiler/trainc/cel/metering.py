"""Functions whose work their cost does not show: it is taken from the meter before they run, and for what they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from trainc.cel.equality import length
from trainc.cel.maps import is_list, is_map, items
from trainc.cel.values import Value
from trainc.cel.work import Meter, spend

_QUOTED: Final = 5
"""The work of writing one character of a text, which may have to be escaped."""

_CHARACTERS: Final = 64
"""How many characters are copied for one unit of work."""


def _nothing(_: Sequence[Value], __: Meter) -> None:
    """Spend nothing before the call."""


def _elements(args: Sequence[Value], meter: Meter) -> None:
    if is_list(args[0]):
        spend(meter, len(args[0]))


def _texts(args: Sequence[Value], meter: Meter) -> None:
    if args[0].__class__ is list:
        spend(meter, len(args[0]) + sum(len(each) for each in args[0] if each.__class__ is str) // _CHARACTERS)


def _quoted(args: Sequence[Value], meter: Meter) -> None:
    for arg in args:
        _walk(arg, meter)


def _walk(value: Value, meter: Meter) -> None:
    """Spend the work of writing a value out."""
    if value.__class__ is str or value.__class__ is bytes:
        spend(meter, len(value) * _QUOTED)
    elif is_list(value):
        spend(meter, len(value) * _QUOTED)
        for each in value:
            _walk(each, meter)
    elif is_map(value):
        spend(meter, length(value) * _QUOTED)
        for key, each in items(value):
            _walk(key, meter)
            _walk(each, meter)


_HEAVY: Final[Mapping[str, Callable[[Sequence[Value], Meter], None]]] = {
    **dict.fromkeys(("format", "strings.quote"), _quoted),
    "join": _texts,
    **dict.fromkeys(
        ("first", "last", "flatten", "reverse", "slice", "distinct", "sort", "sum", "min", "max"), _elements
    ),
    **dict.fromkeys(
        ("min", "max", "isSorted", "indexOf", "lastIndexOf", "@sortByAssociatedKeys", "unwrapOpt"), _elements
    ),
    **dict.fromkeys(("replace", "split", "findAll", "lists.range", "optional.unwrap"), _nothing),
}


def metered(function: str, implementation: Callable[..., Value]) -> Callable[..., Value] | None:
    """Return an implementation that takes the meter after its arguments, for a function that needs one, else None."""
    prepare = _HEAVY.get(function)
    if prepare is None:
        return None

    def call(*args: Value) -> Value:
        *given, meter = args
        prepare(given, meter)
        result = implementation(*given)
        if result.__class__ is list:
            spend(meter, len(result))
        elif result.__class__ is str:
            spend(meter, len(result) // _CHARACTERS)
        return result

    return call
