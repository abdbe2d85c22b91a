"""The greatest cost of each function's call, from the sizes of its arguments.

Source: cel-go v0.26.0 checker/cost.go (functionCost), ext/lists.go and ext/sets.go;
estimatekubernetes.py for the functions of Kubernetes. A change of these figures changes which CRDs a cluster accepts.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainc.cel.ast import Literal
from trainc.cel.callcost import LIST, ONE, TRAVERSAL, Argument, CallCost, Estimator, first, match_cost, table
from trainc.cel.estimatekubernetes import KUBERNETES
from trainc.cel.sizes import MOST, Range, exactly


def call_cost(function: str, overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost:
    """Return what a call of a function costs; 1 for those of which nothing is known."""
    for known, key in ((_OVERLOADS, overload), (KUBERNETES, function), (_STANDARD, overload)):
        estimator = known.get(key)
        found = estimator(overload, target, args) if estimator is not None else None
        if found is not None:
            return found
    return CallCost(ONE)


def _allocated(factor: float, size: Range) -> CallCost:
    return CallCost(size.scaled(factor).plus(exactly(1 + LIST)), size)


def _integer(argument: Argument, otherwise: int) -> int:
    value = argument.node.value if isinstance(argument.node, Literal) else None
    return max(value, 0) if isinstance(value, int) and value.__class__ is int else otherwise


def _slice(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None or len(args) != 2:
        return None
    return _allocated(1, exactly((_integer(args[1], target.bound.most) - _integer(args[0], 0)) % 2**64))


def _flatten(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None or len(args) > 1:
        return None
    return _allocated(float(_integer(args[0], MOST) if args else 1), target.bound)


def _range(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return _allocated(1, exactly(_integer(args[0], MOST))) if len(args) == 1 else None


def _reverse(_overload: str, target: Argument | None, _args: Sequence[Argument]) -> CallCost | None:
    return _allocated(1, target.bound) if target is not None else None


def _squared(overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    source = args[0] if overload.endswith("_sortByAssociatedKeys") and args else target
    if source is None:
        return None
    text = "sort" in overload and ("string" in overload or "bytes" in overload)
    return _allocated(2.0 + (TRAVERSAL if text else 0), source.bound.times(source.bound))


def _sets(factor: float) -> Estimator:
    def cost(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
        if len(args) != 2:
            return None
        return CallCost(args[0].bound.times(args[1].bound).scaled(factor).plus(ONE))

    return cost


_SORTED = ("int", "uint", "double", "bool", "string", "bytes", "google.protobuf.Duration", "google.protobuf.Timestamp")
_OVERLOADS = table(
    ("list_slice", _slice),
    ("list_flatten list_flatten_int", _flatten),
    ("lists_range", _range),
    ("list_reverse", _reverse),
    ("list_distinct", _squared),
    (" ".join(f"list_{kind}_sort list_{kind}_sortByAssociatedKeys" for kind in _SORTED), _squared),
    ("list_sets_contains_list list_sets_intersects_list", _sets(1)),
    ("list_sets_equivalent_list", _sets(2)),
)
"""By overload; these come first."""


def _to_bytes(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    size = args[0].bound
    return CallCost(size.scaled(TRAVERSAL), Range(size.least, size.most * 4 % 2**64))


def _to_string(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    size = args[0].bound
    return CallCost(size.scaled(TRAVERSAL), Range(size.least // 4, size.most))


def _quote(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    size = args[0].bound
    return CallCost(size.scaled(TRAVERSAL), Range((size.least + 2) % 2**64, (size.most * 2 + 2) % 2**64))


def _format(_overload: str, target: Argument | None, _args: Sequence[Argument]) -> CallCost | None:
    return CallCost(target.bound.scaled(TRAVERSAL)) if target is not None else None


def _in_list(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(args[1].bound.scaled(1)) if len(args) == 2 else None


def _matches(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(match_cost(target, args[0])) if target is not None and len(args) == 1 else None


def _contains(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None or len(args) != 1:
        return None
    return CallCost(target.bound.scaled(TRAVERSAL).times(args[0].bound.scaled(TRAVERSAL)))


def _add(overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    size = args[0].bound.plus(args[1].bound)
    return CallCost(ONE if overload == "add_list" else size.scaled(TRAVERSAL), size)


def _compare(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    most = min(args[0].bound.most, args[1].bound.most)
    return CallCost(Range(1 if most > 0 else 0, most).scaled(TRAVERSAL))


_STANDARD = table(
    ("string_to_bytes", _to_bytes),
    ("bytes_to_string", _to_string),
    ("strings_quote", _quote),
    ("string_format", _format),
    ("starts_with_string ends_with_string", first),
    ("in_list", _in_list),
    ("matches_string", _matches),
    ("contains_string", _contains),
    ("add_string add_bytes add_list", _add),
    ("less_string greater_string less_equals_string greater_equals_string", _compare),
    ("less_bytes greater_bytes less_equals_bytes greater_equals_bytes equals not_equals", _compare),
)
"""By overload, of the standard library."""
