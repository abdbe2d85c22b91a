"""Run-time costs of calls, and the work that costs do not reflect, as used by the rows of library/.

Sources: interpreter/runtimecost.go of cel-go v0.26.0 and pkg/cel/library/cost.go of k8s.io/apiserver v0.34.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from trainc.cel.functions import Work
from trainc.cel.maps import is_list, is_map, items, length
from trainc.cel.values import Container, KeyedMap, Opaque, Optional, Value
from trainc.cel.work import CHARACTERS, Meter, spend

IDENT: Final = 1
QUALIFIER: Final = 1
LIST: Final = 10
MAP: Final = 30
MESSAGE: Final = 40

TRAVERSAL: Final = 0.1
_PATTERN: Final = 0.25
_UNAFFORDABLE: Final = 2_000_000
"""More than any expression may cost; the server would keep traversing a value that repeats another many times."""

_SIZED: Final = frozenset((str, bytes, list, dict))


def actual_size(value: Value) -> int:
    """Return the size for costs: code points, bytes, elements, entries; 1 for values without a size."""
    kind = value.__class__
    if kind in _SIZED:
        return len(value)
    if kind is KeyedMap:
        return length(value)
    if isinstance(value, Container):
        return value.size()
    if kind is Optional and value.present:
        return actual_size(value.value)
    return value.size() if isinstance(value, Opaque) else 1


def plain_size(value: Value) -> int:
    """Return the size as cel-go's extensions and Kubernetes count it: 1 for optionals."""
    return 1 if isinstance(value, Optional) else actual_size(value)


def traversal(args: Sequence[Value], _: Value) -> int:
    """Return the cost of traversing the first argument recursively."""
    return _traversal(args[0])


def _traversal(value: Value) -> int:
    if value.__class__ is str:
        return int((len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))) * TRAVERSAL)
    if value.__class__ is bytes:
        return int(len(value) * TRAVERSAL)
    parts: Iterable[Value]
    if is_list(value):
        parts = value
    elif is_map(value):
        parts = chain.from_iterable(items(value))
    else:
        return 1
    cost = 0
    for part in parts:
        cost += _traversal(part)
        if cost > _UNAFFORDABLE:
            break
    return cost


def walk(size: int) -> int:
    """Return the cost of traversing a string once."""
    return math.ceil(size * TRAVERSAL)


def match(text: int, pattern: int) -> int:
    """Return the cost of matching a string with a pattern, by their sizes."""
    return math.ceil((1.0 + text) * TRAVERSAL) * math.ceil(pattern * _PATTERN)


def first(args: Sequence[Value], _: Value) -> int:
    """Return the cost of traversing the first argument."""
    return walk(actual_size(args[0]))


def first_plain(args: Sequence[Value], _: Value) -> int:
    """Return the cost of traversing the first argument; an optional counts as 1."""
    return walk(plain_size(args[0]))


def first_plain_twice(args: Sequence[Value], _: Value) -> int:
    """Return the cost of traversing the first argument twice."""
    return math.ceil(plain_size(args[0]) * 2 * TRAVERSAL)


def smaller(args: Sequence[Value], _: Value) -> int:
    """Return the cost of traversing the smaller of two arguments."""
    return walk(min(actual_size(args[0]), actual_size(args[1])))


def both(args: Sequence[Value], _: Value) -> int:
    """Return the cost of traversing two arguments."""
    return walk(actual_size(args[0]) + actual_size(args[1]))


def product(args: Sequence[Value], _: Value) -> int:
    """Return the cost of searching the first argument for the second."""
    return walk(actual_size(args[0])) * walk(actual_size(args[1]))


def allocated(factor: float, size: int) -> int:
    """Return the cost of a new list."""
    return (uint64(size * factor) + 1 + LIST) % 2**64


def uint64(number: float) -> int:
    """Return uint64(number) as Go computes it on amd64."""
    return int(number) % 2**64 if -(2.0**63) <= number < 2.0**64 else 2**63


def no_work(_: Sequence[Value], __: Meter) -> None:
    """Spend nothing before the call; its result still counts as work."""


def elements(args: Sequence[Value], meter: Meter) -> None:
    """Spend the work of traversing a list."""
    if is_list(args[0]):
        spend(meter, len(args[0]))


def reading(weight: int) -> Work:
    """Return a function that spends ``weight`` per 64 characters of text, and the weight of other values."""

    def prepare(args: Sequence[Value], meter: Meter) -> None:
        amount = 0
        for arg in args:
            if arg.__class__ is str or arg.__class__ is bytes:
                amount += len(arg) * weight // CHARACTERS
            elif isinstance(arg, Opaque):
                amount += arg.weight()
        spend(meter, amount)

    return prepare
