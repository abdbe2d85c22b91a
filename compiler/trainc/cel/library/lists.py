"""Functions of lists: Kubernetes' (sum, min, max, isSorted, indexOf ...) and cel-go's (slice, flatten, sort ...).

Source: k8s.io/apiserver v0.34.4 pkg/cel/library/lists.go; cel-go v0.26.0 ext/lists.go (version 3 of the library) and
cel/library.go (first, last). A list is a Python list or a Container that is one. Comparisons and equalities that fail
count as not holding, as there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from trainc.cel.conversions import INT_OVERFLOW, UINT_OVERFLOW
from trainc.cel.equality import equal, length
from trainc.cel.library.limits import check_length
from trainc.cel.ordering import compare
from trainc.cel.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    UINT_MAX,
    Container,
    Duration,
    EvalError,
    Optional,
    Timestamp,
    Uint,
    Value,
)
from trainc.cel.work import Meter, spend

List: TypeAlias = Sequence[Value]

_NO_OVERLOAD = "no such overload"
_PLAIN = frozenset((bool, int, str, bytes, Duration))
"""Kinds in which equal values are alike; a double may be -0.0, a timestamp has a zone."""
_HASHABLE = _PLAIN | {Uint, Timestamp, type(None)}
_COMPARABLE = (bool, int, Uint, float, str, bytes, Timestamp, Duration)


def same(left: Value, right: Value, meter: Meter | None = None) -> bool:
    """Tell whether two values are equal; an equality that fails is none."""
    try:
        return bool(equal(left, right, meter))
    except EvalError:
        return False


def order(left: Value, right: Value) -> int | None:
    """Return -1, 0 or 1; None where a comparison fails. Raises EvalError for values that know no order at all."""
    try:
        return compare(left, right)
    except EvalError:
        return None


def is_sorted(items: List) -> bool:
    """Tell whether no element is greater than the next. Raises EvalError."""
    before: list[Value] = []
    for item in items:
        if item.__class__ not in _COMPARABLE:
            raise EvalError(_NO_OVERLOAD)
        if before and order(before.pop(), item) == 1:
            return False
        before.append(item)
    return True


def _extreme(name: str, worse: int) -> Callable[[List], Value]:
    """Return min or max: of elements none of which is ``worse`` than another, the first."""

    def extreme(items: List) -> Value:
        best: list[Value] = []
        for item in items:
            if item.__class__ not in _COMPARABLE:
                raise EvalError(_NO_OVERLOAD)
            if not best or order(best[0], item) == worse:
                best[:] = [item]
        if not best:
            raise EvalError(f"{name} called on empty list")
        return best[0]

    return extreme


def sum_ints(items: List) -> int:
    """Add up ints. Raises EvalError."""
    total = 0
    for item in items:
        if item.__class__ is not int:
            raise EvalError(_NO_OVERLOAD)
        total += item
        if not INT_MIN <= total <= INT_MAX:
            raise EvalError(INT_OVERFLOW)
    return total


def sum_uints(items: List) -> Uint:
    """Add up uints. Raises EvalError."""
    total = 0
    for item in items:
        if not isinstance(item, Uint):
            raise EvalError(_NO_OVERLOAD)
        total += item.value
        if total > UINT_MAX:
            raise EvalError(UINT_OVERFLOW)
    return Uint(total)


def sum_doubles(items: List) -> float:
    """Add up doubles, from the first on. Raises EvalError."""
    total = 0.0
    for item in items:
        if item.__class__ is not float:
            raise EvalError(_NO_OVERLOAD)
        total += item
    return total


def sum_durations(items: List) -> Duration:
    """Add up durations. Raises EvalError."""
    total = 0
    for item in items:
        if not isinstance(item, Duration):
            raise EvalError(_NO_OVERLOAD)
        total += item.nanos
        if not INT_MIN <= total <= INT_MAX:
            raise EvalError(INT_OVERFLOW)
    return Duration(total)


def index_of(items: List, wanted: Value, meter: Meter | None = None) -> int:
    """Return where wanted is found first, else -1."""
    return next((index for index, item in enumerate(items) if same(item, wanted, meter)), -1)


def last_index_of(items: List, wanted: Value, meter: Meter | None = None) -> int:
    """Return where wanted is found last, else -1."""
    elements = list(items)
    return next((index for index in range(len(elements) - 1, -1, -1) if same(elements[index], wanted, meter)), -1)


def slice_of(items: List, start: int, end: int) -> list[Value]:
    """Return the elements from start up to, not including, end. Raises EvalError."""
    problem = ""
    if start < 0 or end < 0:
        problem = "negative indexes not supported"
    elif start > end:
        problem = "start index must be less than or equal to end index"
    elif end > len(items):
        problem = f"list is length {len(items)}"
    if problem:
        raise EvalError(f"cannot slice({start}, {end}), {problem}")
    return list(items)[start:end]


def flatten(items: List, depth: int = 1, meter: Meter | None = None) -> list[Value]:
    """Put the elements of lists in their place, depth levels down. Raises EvalError."""
    if depth < 0:
        raise EvalError("level must be non-negative")
    if meter is not None:
        spend(meter, len(items))  # of every list, for one may be in another many times over
    flat: list[Value] = []
    for item in items:
        if depth > 0 and _is_list(item):
            flat += flatten(item, depth - 1, meter)
        else:
            flat.append(item)
    return flat


def _is_list(item: Value) -> bool:
    return item.__class__ is list or (isinstance(item, Container) and item.is_list())


def sort(items: List) -> List:
    """Return the elements in order; see sort_by."""
    return sort_by(items, items)


def sort_by(items: List, keys: List) -> List:
    """Return the elements in the order of keys, one for each. Raises EvalError for keys without an order among them.

    NaN is less than nothing, and nothing less than NaN.
    """
    if len(items) != len(keys):
        raise EvalError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got"
            f" {len(items)} and {len(keys)} elements respectively"
        )
    if not len(items):
        return items
    elements, ranks = list(items), list(keys)
    if ranks[0].__class__ not in _COMPARABLE:
        raise EvalError("list elements must be comparable")
    kinds = {rank.__class__ for rank in ranks}
    if len(kinds) > 1:
        raise EvalError("list elements must have the same type")
    if kinds <= _PLAIN and (items is keys or len(set(ranks)) == len(ranks)):
        # Equal ones cannot be told apart, or there are none: any sort gives the same.
        return [elements[index] for index in sorted(range(len(ranks)), key=ranks.__getitem__)]
    from trainc.cel.library.gosort import sort_indexes

    order_of = sort_indexes(len(elements), lambda one, other: order(ranks[one], ranks[other]) == -1)
    return [elements[index] for index in order_of]


def forms(items: List) -> list[object] | None:
    """Return hashables that are equal where elements are; None if elements are of kinds that have none.

    Doubles are compared with integers as doubles, so they have forms only among themselves; NaN equals nothing.
    """
    kinds = {item.__class__ for item in items}
    if kinds <= _HASHABLE:
        return [_form(item) for item in items]
    if kinds == {float}:
        return [item if item == item else object() for item in items]  # noqa: PLR0124 - NaN
    return None


def _form(item: Value) -> object:
    if item.__class__ is bool:
        return (bool, item)
    return item.value if item.__class__ is Uint else item


def distinct(items: List, meter: Meter | None = None) -> List:
    """Return the elements without those equal to an earlier one."""
    elements = list(items)
    keys = forms(elements)
    if keys is not None:
        first: dict[object, Value] = {}
        for key, item in zip(keys, elements, strict=True):
            first.setdefault(key, item)
        return list(first.values())
    check_length(len(elements) ** 2)
    found: list[Value] = []
    for item in elements:
        if not any(same(item, other, meter) for other in found):
            found.append(item)
    return found


def numbers(size: int) -> list[int]:
    """Return the ints from 0 up to, not including, size. Raises EvalError where no cost limit allows so many."""
    check_length(size)
    return list(range(size))


def _first(items: List) -> Optional:
    return Optional(next(iter(items))) if len(items) else NONE


def _last(items: List) -> Optional:
    return Optional(list(items)[-1]) if len(items) else NONE


_COMPARABLE_NAMES = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SORTABLE_NAMES = (
    *("int", "uint", "double", "bool", "string", "bytes"),
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
)
_min, _max = _extreme("min", 1), _extreme("max", -1)

METERED: Final = frozenset(
    ("list_a_index_of_int", "list_a_last_index_of_int", "list_flatten", "list_flatten_int", "list_distinct")
)
"""Overloads that take a meter behind their arguments."""

OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "size_list": len,
    "list_size": len,
    "size_map": length,
    "map_size": length,
    **{f"list_{name}_is_sorted_bool": is_sorted for name in _COMPARABLE_NAMES},
    **{f"list_{name}_min_{name}": _min for name in _COMPARABLE_NAMES},
    **{f"list_{name}_max_{name}": _max for name in _COMPARABLE_NAMES},
    "list_int_sum_int": sum_ints,
    "list_uint_sum_uint": sum_uints,
    "list_double_sum_double": sum_doubles,
    "list_duration_sum_duration": sum_durations,
    "list_a_index_of_int": index_of,
    "list_a_last_index_of_int": last_index_of,
    "list_slice": slice_of,
    "list_flatten": flatten,
    "list_flatten_int": flatten,
    **{f"list_{name}_sort": sort for name in _SORTABLE_NAMES},
    **{f"list_{name}_sortByAssociatedKeys": sort_by for name in _SORTABLE_NAMES},
    "list_distinct": distinct,
    "lists_range": numbers,
    "list_reverse": lambda items: list(items)[::-1],
    "list_first": _first,
    "list_last": _last,
}
