"""The greatest cost of each function's call, from the sizes of its arguments.

Source: cel-go v0.26.0 checker/cost.go (functionCost), ext/lists.go, ext/sets.go, and k8s.io/apiserver v0.34
pkg/cel/library/cost.go (EstimateCallCost). A change of these figures changes which CRDs a cluster accepts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from trainc.cel.ast import Literal, Node
from trainc.cel.sizes import MOST, UNKNOWN, Range, exactly
from trainc.cel.types import Kind, Type

TRAVERSAL, REGEX = 0.1, 0.25
"""Cost of a character that is looked at, and of one of a pattern."""

_CHECK = 350_000
_MAX_NAME_REGEX, _MAX_FORMAT = 128, 64
_LIST, _STRUCT = 10, 40
_ADDRESS = Range(4, 16)
_ONE = exactly(1)


class Argument(NamedTuple):
    """A receiver or an argument: its expression, its type, its size, and what a schema says of its items' size."""

    node: Node
    type: Type
    size: Range | None
    item: Range | None

    @property
    def bound(self) -> Range:
        """The size, or that nothing is known of it."""
        return self.size or UNKNOWN


class CallCost(NamedTuple):
    """The cost of a call without that of its arguments, and the size of its result where that is known."""

    cost: Range
    size: Range | None = None


Estimator: TypeAlias = Callable[[str, "Argument | None", Sequence[Argument]], "CallCost | None"]
"""Of the overload's id, the receiver and the arguments; None leaves it to what comes after."""


def call_cost(function: str, overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost:
    """Return what a call of a function costs; 1 for those of which nothing is known."""
    for table, key in ((_OVERLOADS, overload), (_KUBERNETES, function), (_STANDARD, overload)):
        estimator = table.get(key)
        found = estimator(overload, target, args) if estimator is not None else None
        if found is not None:
            return found
    return CallCost(_ONE)


def _fixed(cost: int) -> Estimator:
    return lambda _overload, _target, _args: CallCost(exactly(cost))


def _first(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(args[0].bound.scaled(TRAVERSAL)) if args else None


def _url(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(args[0].bound.scaled(TRAVERSAL), args[0].bound) if len(args) == 1 else None


def _same_length(_overload: str, target: Argument | None, _args: Sequence[Argument]) -> CallCost | None:
    return CallCost(target.bound.scaled(TRAVERSAL), target.bound) if target is not None else None


def _selector(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if len(args) != 1:
        return None
    size = args[0].bound
    requirements = size.scaled(0.5).scaled(float(_LIST + _STRUCT))
    return CallCost(exactly(_LIST).plus(size.scaled(TRAVERSAL)).plus(requirements))


def _item(target: Argument) -> tuple[Type, Range] | None:
    if not target.type.parameters:
        return None
    return target.type.parameters[0], target.item or UNKNOWN


def _over_items(_overload: str, target: Argument | None, _args: Sequence[Argument]) -> CallCost | None:
    if target is None:
        return None
    if (item := _item(target)) is None:
        return CallCost(target.bound.scaled(TRAVERSAL))
    kind, size = item
    each = _ONE.plus(size.scaled(TRAVERSAL)) if kind.kind in (Kind.STRING, Kind.BYTES) else _ONE
    return CallCost(target.bound.times(each))


def _replace(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.bound, args[0].bound, args[1].bound
    most, kept_most = 0, 0
    if old.least == 0:
        most, kept_most = min(size.most + 1, MOST), size.most
    elif new.most <= old.least:
        kept_most = size.most
    else:
        most = math.ceil(float(size.most) / float(old.least))
    least, kept_least = 0, 0
    if old.most == 0:
        least, kept_least = min(size.least + 1, MOST), size.least
    elif old.most <= new.least:
        kept_least = size.least
    else:
        least = math.ceil(float(size.least) / float(old.most))
    result = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return CallCost(size.scaled(2 * TRAVERSAL), result)


def _split(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None:
        return None
    most = target.bound.most
    if len(args) > 1 and isinstance(args[1].node, Literal) and args[1].node.value.__class__ is int:
        most = args[1].node.value % 2**64  # negative ones wrap
    return CallCost(target.bound.scaled(2 * TRAVERSAL), Range(0, most))


def _join(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None:
        return None
    count, size = target.bound, exactly(0)
    if (item := _item(target)) is not None:
        size = count.times(item[1])
    if args:
        gaps = Range(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(args[0].bound.times(gaps))
    return CallCost(size.scaled(TRAVERSAL), size)


def _match(target: Argument, pattern: Argument) -> Range:
    return target.bound.plus(_ONE).scaled(TRAVERSAL).times(pattern.bound.scaled(REGEX))


def _find(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None or not args:
        return None
    return CallCost(_match(target, args[0]), Range(0, target.bound.most))


def _ip(overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(_ONE) if overload == "cidr_ip" else _first(overload, target, args)


def _canonical(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(args[0].bound.scaled(2 * TRAVERSAL)) if args else None


def _contains_address(overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if not args:
        return None
    cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL)
    if overload.startswith("cidr_contains_cidr"):
        cost = cost.plus(_ADDRESS.scaled(TRAVERSAL)).plus(_ONE)
    if overload.endswith("_string"):
        cost = cost.plus(args[0].bound.scaled(TRAVERSAL))
    return CallCost(cost)


def _validate(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    return CallCost(args[0].bound.scaled(TRAVERSAL).scaled(_MAX_NAME_REGEX * REGEX)) if args else None


_ATOMIC = frozenset(
    {
        "net.IP",
        "net.CIDR",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.authorization.Authorizer",
        "kubernetes.authorization.PathCheck",
        "kubernetes.authorization.GroupCheck",
        "kubernetes.authorization.ResourceCheck",
        "kubernetes.authorization.Decision",
    }
)


def _equal(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if len(args) != 2 or args[0].type != args[1].type:
        return None
    name = args[0].type.name
    if name in _ATOMIC:
        return CallCost(_ONE)
    if name == "kubernetes.NamedFormat":
        return CallCost(Range(1, _MAX_FORMAT).scaled(TRAVERSAL))
    if name == "kubernetes.URL":
        size = args[1].size
        return CallCost(Range(1, size.most if size is not None else 1).scaled(TRAVERSAL))
    return None


def _table(*rows: tuple[str, Estimator]) -> dict[str, Estimator]:
    return {name: estimator for names, estimator in rows for name in names.split()}


_KUBERNETES = _table(
    ("check", _fixed(_CHECK)),
    ("serviceAccount path group resource subresource namespace name allowed reason error errored", _fixed(1)),
    ("fieldSelector labelSelector", _selector),
    ("isSorted sum max min indexOf lastIndexOf", _over_items),
    ("url jsonpatch.escapeKey", _url),
    ("lowerAscii upperAscii substring trim", _same_length),
    ("replace", _replace),
    ("split", _split),
    ("join", _join),
    ("find findAll", _find),
    ("cidr isIP isCIDR quantity isQuantity semver isSemver", _first),
    ("ip", _ip),
    ("ip.isCanonical", _canonical),
    ("masked prefixLength family isUnspecified isLoopback", _fixed(1)),
    ("isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast", _fixed(1)),
    ("containsIP containsCIDR", _contains_address),
    ("validate", _validate),
    ("format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo", _fixed(1)),
    ("add sub major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery", _fixed(1)),
    ("_==_", _equal),
)
"""By function."""


def _allocated(factor: float, size: Range) -> CallCost:
    return CallCost(size.scaled(factor).plus(exactly(1 + _LIST)), size)


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
        return CallCost(args[0].bound.times(args[1].bound).scaled(factor).plus(_ONE))

    return cost


_SORTED = ("int", "uint", "double", "bool", "string", "bytes", "google.protobuf.Duration", "google.protobuf.Timestamp")
_OVERLOADS = _table(
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
    return CallCost(_match(target, args[0])) if target is not None and len(args) == 1 else None


def _contains(_overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    if target is None or len(args) != 1:
        return None
    return CallCost(target.bound.scaled(TRAVERSAL).times(args[0].bound.scaled(TRAVERSAL)))


def _add(overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    size = args[0].bound.plus(args[1].bound)
    return CallCost(_ONE if overload == "add_list" else size.scaled(TRAVERSAL), size)


def _compare(_overload: str, _target: Argument | None, args: Sequence[Argument]) -> CallCost | None:
    most = min(args[0].bound.most, args[1].bound.most)
    return CallCost(Range(1 if most > 0 else 0, most).scaled(TRAVERSAL))


_STANDARD = _table(
    ("string_to_bytes", _to_bytes),
    ("bytes_to_string", _to_string),
    ("strings_quote", _quote),
    ("string_format", _format),
    ("starts_with_string ends_with_string", _first),
    ("in_list", _in_list),
    ("matches_string", _matches),
    ("contains_string", _contains),
    ("add_string add_bytes add_list", _add),
    ("less_string greater_string less_equals_string greater_equals_string", _compare),
    ("less_bytes greater_bytes less_equals_bytes greater_equals_bytes equals not_equals", _compare),
)
"""By overload, of the standard library."""
