"""Functions of lists and sets.

Source: k8s.io/apiserver v0.34.4 pkg/cel/library/lists.go, cel-go v0.26.0 ext/lists.go, ext/sets.go, cel/library.go.
If a comparison fails, as with NaN, values are neither equal nor ordered. sort() is stable; in Go it is not for lists
of more than twelve elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key, partial, reduce
from itertools import pairwise
from typing import Any, Final, TypeAlias

from trainc.cel import cost
from trainc.cel.functions import Cost, function
from trainc.cel.library.operators import add, compare, refuse
from trainc.cel.maps import is_list, same
from trainc.cel.types import spell
from trainc.cel.values import NO_OVERLOAD, NONE, Duration, EvalError, Optional, Timestamp, Uint, Value, type_of
from trainc.cel.work import Meter, check_length, spend

List: TypeAlias = Sequence[Value]

_COMPARABLE = (bool, int, Uint, float, str, bytes, Timestamp, Duration)


def order(left: Value, right: Value) -> int | None:
    """Return -1, 0 or 1; None if the values are not comparable."""
    try:
        return compare(left, right)
    except EvalError:
        return None


def _comparable(items: List) -> Iterator[Value]:
    for item in items:
        if item.__class__ not in _COMPARABLE:
            raise EvalError(NO_OVERLOAD)
        yield item


def _is_sorted(items: List) -> bool:
    return all(order(before, item) != 1 for before, item in pairwise(_comparable(items)))


def _extreme(name: str, worse: int) -> Callable[[List], Value]:
    """Return min() or max(): a replacement is an element to which the best so far compares as ``worse``."""

    def extreme(items: List) -> Value:
        found = list(_comparable(items))
        if not found:
            raise EvalError(f"{name} called on empty list")
        return reduce(lambda best, item: item if order(best, item) == worse else best, found)

    return extreme


def _sum(zero: Value) -> Callable[[List, Meter], Value]:
    """Return sum() for elements of the class of zero."""

    def total(items: List, meter: Meter) -> Value:
        found = zero
        for item in items:
            if item.__class__ is not zero.__class__:
                raise EvalError(NO_OVERLOAD)
            found = add(found, item, meter)
        return found

    return total


def index_of(items: List, wanted: Value, meter: Meter) -> int:
    """Return the first index of an element, else -1."""
    return next((index for index, item in enumerate(items) if same(item, wanted, meter)), -1)


def _last_index_of(items: List, wanted: Value, meter: Meter) -> int:
    elements = list(items)
    found = index_of(elements[::-1], wanted, meter)
    return len(elements) - 1 - found if found >= 0 else -1


def _slice_of(items: List, start: int, end: int) -> list[Value]:
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


def flatten(items: List, *rest: Value) -> list[Value]:
    """Flatten nested lists by one level, or by the number before the meter.

    Raises EvalError. As in cel-go, flat lists are accepted, too.
    """
    *depth, meter = rest
    if not is_list(items) or any(each.__class__ is not int for each in depth):
        raise EvalError(
            f"no such overload: {spell(type_of(items))}.flatten({''.join(spell(type_of(each)) for each in depth)})"
        )
    level = depth[0] if depth else 1
    if level < 0:
        raise EvalError("level must be non-negative")
    return _flat(items, level, meter)


def _flat(items: List, level: int, meter: Meter) -> list[Value]:
    spend(meter, len(items))  # for every list, since one may be repeated many times
    flat: list[Value] = []
    for item in items:
        if level > 0 and is_list(item):
            flat += _flat(item, level - 1, meter)
        else:
            flat.append(item)
    return flat


def sort(items: List) -> List:
    """Sort the elements."""
    return _sorted("sort", items, items)


def _sorted(function: str, items: List, keys: List) -> List:
    if not (is_list(items) and is_list(keys)):
        refuse(function, items)
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
    if len({rank.__class__ for rank in ranks}) > 1:
        raise EvalError("list elements must have the same type")
    key: Callable[[Value], Value] = cmp_to_key(lambda one, other: order(one, other) or 0)
    by_rank = sorted(zip(ranks, elements, strict=True), key=lambda pair: key(pair[0]))
    return [element for _, element in by_rank]


def distinct(items: List, meter: Meter) -> List:
    """Return the elements without duplicates."""
    elements = list(items)
    check_length(len(elements) ** 2)
    found: list[Value] = []
    for item in elements:
        if not any(same(item, other, meter) for other in found):
            found.append(item)
    return found


def _numbers(size: int) -> list[int]:
    check_length(size)
    return list(range(size))


def _element(at: int) -> Callable[[List], Optional]:
    return lambda items: Optional(list(items)[at]) if len(items) else NONE


def _found(items: List, wanted: List, meter: Meter) -> Iterator[bool]:
    """Report for each wanted value whether it is among the items."""
    known, sought = list(items), list(wanted)
    check_length(len(known) * len(sought))
    return (any(same(item, other, meter) for other in known) for item in sought)


def _contains_all(items: List, wanted: List, meter: Meter) -> bool:
    return all(_found(items, wanted, meter))


def _equivalent(left: List, right: List, meter: Meter) -> bool:
    return _contains_all(left, right, meter) and _contains_all(right, left, meter)


def _intersects(left: List, right: List, meter: Meter) -> bool:
    return any(_found(right, left, meter))


def _output(_: Sequence[Value], result: Value) -> int:
    return cost.allocated(1, cost.plain_size(result))


def _flattened(args: Sequence[Value], _: Value) -> int:
    return cost.allocated(float(args[1]) if len(args) == 2 else 1.0, cost.plain_size(args[0]))


def _compared(at: int) -> Cost:
    """Return the cost of comparing the elements of an argument pairwise."""

    def price(args: Sequence[Value], _: Value) -> int:
        items = args[at]
        traversed = len(items) > 0 and next(iter(items)).__class__ in (str, bytes)
        return cost.allocated(2.0 + (cost.TRAVERSAL if traversed else 0), len(items) ** 2)

    return price


def _pairs(factor: float) -> Cost:
    return lambda args, _: 1 + cost.uint64(cost.plain_size(args[0]) * cost.plain_size(args[1]) * factor)


_SORTED: Final = (
    *("int", "uint", "double", "bool"),
    *("google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes"),
)
_COMPARED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


_ZEROS: Final = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}


def _each(kinds: Iterable[str], overload: str, text: str, *rest: Any) -> Iterator[tuple[Any, ...]]:
    """Return an overload for each type of elements, whose name replaces the braces."""
    return ((overload.format(kind), text.format(kind), *rest) for kind in kinds)


_row = partial(function, work=cost.elements)
_reading = partial(_row, cost=cost.traversal)
_set = partial(function, metered=True)

FUNCTIONS: Final = (
    _reading("isSorted", *_each(_COMPARED, "list_{}_is_sorted_bool", ".(list({})) bool", _is_sorted)),
    _reading(
        "sum",
        *((f"list_{kind}_sum_{kind}", f".(list({kind})) {kind}", _sum(zero)) for kind, zero in _ZEROS.items()),
        metered=True,
    ),
    _reading("max", *_each(_COMPARED, "list_{0}_max_{0}", ".(list({0})) {0}", _extreme("max", -1))),
    _reading("min", *_each(_COMPARED, "list_{0}_min_{0}", ".(list({0})) {0}", _extreme("min", 1))),
    _reading("indexOf", ("list_a_index_of_int", ".(list(<A>), <A>) int", index_of), metered=True),
    _reading("lastIndexOf", ("list_a_last_index_of_int", ".(list(<A>), <A>) int", _last_index_of), metered=True),
    _row("slice", ("list_slice", ".(list(<T>), int, int) list(<T>)", _slice_of, _output), stored=True),
    function(
        "flatten",
        ("list_flatten", ".(list(list(<T>))) list(<T>)", None, _flattened),
        ("list_flatten_int", ".(list(dyn), int) list(dyn)", None, _flattened),
        run=flatten,
        metered=True,
        stored=True,
    ),
    _row("sort", *_each(_SORTED, "list_{0}_sort", ".(list({0})) list({0})", None, _compared(0)), run=sort, stored=True),
    _row(
        "@sortByAssociatedKeys",
        *_each(_SORTED, "list_{}_sortByAssociatedKeys", ".(list(<T>), list({})) list(<T>)", None, _compared(1)),
        run=partial(_sorted, "@sortByAssociatedKeys"),
        stored=True,
    ),
    _row("distinct", ("list_distinct", ".(list(<T>)) list(<T>)", distinct, _compared(0)), metered=True, stored=True),
    function("lists.range", ("lists_range", "(int) list(int)", _numbers, _output), work=cost.no_work, stored=True),
    _row("reverse", ("list_reverse", ".(list(<T>)) list(<T>)", lambda items: list(items)[::-1], _output), stored=True),
    _row("first", ("list_first", ".(list(<V>)) optional_type(<V>)", _element(0))),
    _row("last", ("list_last", ".(list(<V>)) optional_type(<V>)", _element(-1))),
    _set("sets.contains", ("list_sets_contains_list", "(list(<T>), list(<T>)) bool", _contains_all, _pairs(1))),
    _set("sets.equivalent", ("list_sets_equivalent_list", "(list(<T>), list(<T>)) bool", _equivalent, _pairs(2))),
    _set("sets.intersects", ("list_sets_intersects_list", "(list(<T>), list(<T>)) bool", _intersects, _pairs(1))),
)
