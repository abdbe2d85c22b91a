"""Functions whose work their cost does not show: it is taken from the meter before they run, and for what they make.

A unit of work is about a third of a microsecond. Many functions cost 1 however long their texts are, and so do those
with a cost by overload where the types of the arguments are not known before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from trainc.cel.equality import length
from trainc.cel.library import regex
from trainc.cel.maps import is_list, is_map, items
from trainc.cel.values import Opaque, Optional, Value
from trainc.cel.work import CHARACTERS, Meter, spend

Prepare: TypeAlias = Callable[[Sequence[Value], Meter], None]
"""Spends, before a call, what its arguments take."""

_WRITTEN: Final = 5
"""The work of writing an element of a list, or an entry of a map."""

_CHARACTER: Final = 4
"""How many characters are written, with escapes, for one unit of work."""

_QUADRATIC, _MOST_DIGITS = 10_000, 100_000
"""A number of n digits takes n * n / 10,000 to read; there are none of more than 100,000."""

_ZONE: Final = 150
"""The work of finding a time zone that there may not be."""

_COMPILED, STATES = 200, 512
"""The least work of compiling a pattern; how many states of its automaton are followed for one unit."""


def _nothing(_: Sequence[Value], __: Meter) -> None:
    """Spend nothing before the call."""


def _elements(args: Sequence[Value], meter: Meter) -> None:
    if is_list(args[0]):
        spend(meter, len(args[0]))


def _texts(args: Sequence[Value], meter: Meter) -> None:
    if args[0].__class__ is list:
        spend(meter, len(args[0]) + sum(len(each) for each in args[0] if each.__class__ is str) // CHARACTERS)


def _written(args: Sequence[Value], meter: Meter) -> None:
    for arg in args:
        _walk(arg, meter)


def _walk(value: Value, meter: Meter) -> None:
    """Spend the work of writing a value out."""
    if value.__class__ is str or value.__class__ is bytes:
        spend(meter, len(value) // _CHARACTER)
    elif is_list(value):
        spend(meter, len(value) * _WRITTEN)
        for each in value:
            _walk(each, meter)
    elif is_map(value):
        spend(meter, length(value) * _WRITTEN)
        for key, each in items(value):
            _walk(key, meter)
            _walk(each, meter)


def _read(weight: int, least: int = 0) -> Prepare:
    """Return what spends weight for every 64 characters of each text, at least ``least``, and a value's own weight."""

    def prepare(args: Sequence[Value], meter: Meter) -> None:
        amount = least
        for arg in args:
            if arg.__class__ is str or arg.__class__ is bytes:
                amount += len(arg) * weight // CHARACTERS
            elif isinstance(arg, Opaque):
                amount += arg.weight()
        spend(meter, amount)

    return prepare


def _zoned(args: Sequence[Value], meter: Meter) -> None:
    if len(args) == 2 and args[1].__class__ is str:
        spend(meter, _ZONE + len(args[1]) * 4 // CHARACTERS)


def _quantities(args: Sequence[Value], meter: Meter) -> None:
    if args[0].__class__ is str:
        digits = min(len(args[0]), _MOST_DIGITS)
        spend(meter, digits * digits // _QUADRATIC + len(args[0]) // CHARACTERS)


def _replaced(args: Sequence[Value], meter: Meter) -> None:
    text, old = args[:2]
    if text.__class__ is str and old.__class__ is str:
        spend(meter, len(text) // CHARACTERS)
        spend(meter, text.count(old) // 10)


def _patterned(args: Sequence[Value], meter: Meter) -> None:
    """Spend the work of compiling a pattern that is not known before, and of matching."""
    text, pattern = args[:2]
    if text.__class__ is str and pattern.__class__ is str:
        spend(meter, _COMPILED + len(pattern))
        states = regex.weight(pattern)
        spend(meter, 2 * states + len(text) * states // STATES)


def matched(pattern: str) -> Prepare:
    """Return what spends the work of matching a pattern that is compiled beforehand."""

    def prepare(args: Sequence[Value], meter: Meter) -> None:
        text = args[0]
        while isinstance(text, Optional):
            text = text.value
        if text.__class__ is str:
            spend(meter, len(text) * regex.weight(pattern) // STATES)

    return prepare


_ZONED: Final = (
    *("getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate"),
    *("getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds"),
)
_HEAVY: Final[Mapping[str, Prepare]] = {
    **dict.fromkeys(("format", "strings.quote"), _written),
    "join": _texts,
    **dict.fromkeys(("first", "last", "reverse", "slice", "distinct", "sort", "sum", "min", "max"), _elements),
    **dict.fromkeys(("isSorted", "indexOf", "lastIndexOf", "@sortByAssociatedKeys", "unwrapOpt"), _elements),
    **dict.fromkeys(("split", "lists.range", "optional.unwrap"), _nothing),
    "replace": _replaced,
    **dict.fromkeys(("matches", "find", "findAll"), _patterned),
    **dict.fromkeys(("quantity", "isQuantity"), _quantities),
    **dict.fromkeys(("add", "sub", "compareTo", "isLessThan", "isGreaterThan", "isInteger"), _read(1)),
    **dict.fromkeys(("asInteger", "asApproximateFloat", "sign", "getEscapedPath", "getQuery"), _read(1)),
    **dict.fromkeys(("int", "uint", "bytes", "string"), _read(2)),
    **dict.fromkeys(("double", "timestamp"), _read(8)),
    **dict.fromkeys(("ip", "isIP", "ip.isCanonical", "cidr", "isCIDR", "containsIP", "containsCIDR"), _read(8)),
    **dict.fromkeys(("semver", "isSemver", "duration"), _read(CHARACTERS)),
    **dict.fromkeys(("url", "isURL", "validate"), _read(CHARACTERS)),
    **dict.fromkeys(_ZONED, _zoned),
}


def metered(function: str, implementation: Callable[..., Value], taken: bool = False) -> Callable[..., Value] | None:
    """Return an implementation that takes the meter after its arguments, for a function that needs one, else None.

    ``taken``: the implementation takes the meter, too.
    """
    prepare = _HEAVY.get(function)
    return None if prepare is None else prepared(prepare, implementation, taken)


def prepared(prepare: Prepare, implementation: Callable[..., Value], taken: bool = False) -> Callable[..., Value]:
    """Return an implementation that takes the meter after its arguments; see metered."""

    def call(*args: Value) -> Value:
        *given, meter = args
        prepare(given, meter)
        result = implementation(*args) if taken else implementation(*given)
        if result.__class__ is list:
            spend(meter, len(result))
        elif result.__class__ is str:
            spend(meter, len(result) // CHARACTERS)
        return result

    return call
