"""What a call costs at run time.

Sources: interpreter/runtimecost.go of cel-go v0.26.0 and pkg/cel/library/cost.go of k8s.io/apiserver v0.34. The
functions of Kubernetes' libraries are found by name, those of cel-go by the one overload that the checker left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, TypeAlias

from trainc.cel.attributes import go_type
from trainc.cel.equality import length
from trainc.cel.maps import is_list, is_map, items
from trainc.cel.values import Container, Duration, KeyedMap, Opaque, Optional, Timestamp, Uint, Value
from trainc.cel.work import Panic

IDENT: Final = 1
QUALIFIER: Final = 1
LIST: Final = 10
MAP: Final = 30
MESSAGE: Final = 40

_TRAVERSAL: Final = 0.1
_PATTERN: Final = 0.25
_UNAFFORDABLE: Final = 2_000_000
"""More than an expression may ever cost: of a value that holds another many times over, the server walks on and on."""

Cost: TypeAlias = Callable[[Sequence[Value], Value], int]
"""The cost of a call with arguments and a result."""

_SIZED: Final = frozenset((str, bytes, list, dict))
_ADDED: Final = frozenset((int, float, str, bytes, Uint, Duration, Timestamp))
"""Kinds of values that cel-go can add, and so fail to be a list for another reason."""


def actual_size(value: Value) -> int:
    """Return the size that cost counts: code points, bytes, elements, entries; 1 for what has none."""
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


def traversal(value: Value) -> int:
    """Return the cost of walking over all of a value; the walk ends where no limit allows it, _UNAFFORDABLE."""
    if value.__class__ is str:
        return int((len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))) * _TRAVERSAL)
    if value.__class__ is bytes:
        return int(len(value) * _TRAVERSAL)
    parts: Iterable[Value]
    if is_list(value):
        parts = value
    elif is_map(value):
        parts = chain.from_iterable(items(value))
    else:
        return 1
    cost = 0
    for part in parts:
        cost += traversal(part)
        if cost > _UNAFFORDABLE:
            break
    return cost


def _walk(size: int) -> int:
    return math.ceil(size * _TRAVERSAL)


def _match(text: int, pattern: int) -> int:
    return math.ceil((1.0 + text) * _TRAVERSAL) * math.ceil(pattern * _PATTERN)


def _first(args: Sequence[Value], _: Value) -> int:
    return _walk(actual_size(args[0]))


def _result_twice(_: Sequence[Value], result: Value) -> int:
    return math.ceil(actual_size(result) * 2 * _TRAVERSAL)


def _pattern(args: Sequence[Value], _: Value) -> int:
    return _match(actual_size(args[0]), actual_size(args[1]))


def _smaller(args: Sequence[Value], _: Value) -> int:
    return _walk(min(actual_size(args[0]), actual_size(args[1])))


def _equal(args: Sequence[Value], result: Value) -> int:
    return 1 if isinstance(args[0], Opaque) else _smaller(args, result)


def _both(args: Sequence[Value], _: Value) -> int:
    return _walk(actual_size(args[0]) + actual_size(args[1]))


def _product(args: Sequence[Value], _: Value) -> int:
    return _walk(actual_size(args[0])) * _walk(actual_size(args[1]))


def _contains_address(args: Sequence[Value], text: bool) -> int:
    own = _extended_size(args[0])
    return math.ceil((own + own) * _TRAVERSAL) + (_walk(_extended_size(args[1])) if text else 0)


def _contains_network(args: Sequence[Value], text: bool) -> int:
    return _contains_address(args, text) + _walk(_extended_size(args[0])) + 1


def _validate(args: Sequence[Value], _: Value) -> int:
    pattern = getattr(args[0], "max_regex_size", None)
    return 1 if pattern is None else _match(_extended_size(args[1]), pattern)


def _own(args: Sequence[Value], _: Value) -> int:
    return _walk(_extended_size(args[0]))


def _own_twice(args: Sequence[Value], _: Value) -> int:
    return math.ceil(_extended_size(args[0]) * 2 * _TRAVERSAL)


def _own_pattern(args: Sequence[Value], _: Value) -> int:
    return _match(_extended_size(args[0]), _extended_size(args[1]))


def _selector(args: Sequence[Value], _: Value) -> int:
    """Return the cost of parsing a selector: of a list, of reading, and of a requirement for every two characters."""
    size = _extended_size(args[1])
    return LIST + _walk(size) + math.ceil(size * 0.5) * (LIST + MESSAGE)


def _extended_size(value: Value) -> int:
    """Return the size as cel-go's extensions and Kubernetes take it: optionals have none."""
    return 1 if isinstance(value, Optional) else actual_size(value)


def _uint64(number: float) -> int:
    """Return uint64(number) as Go on amd64 has it."""
    return int(number) % 2**64 if -(2.0**63) <= number < 2.0**64 else 2**63


def _allocated(factor: float, size: int) -> int:
    return (_uint64(size * factor) + 1 + LIST) % 2**64


def _output(_: Sequence[Value], result: Value) -> int:
    return _allocated(1, _extended_size(result))


def _flattened(args: Sequence[Value], _: Value) -> int:
    if len(args) == 2 and args[1].__class__ is not int:
        raise Panic(f"interface conversion: ref.Val is {go_type(args[1])}, not types.Int")
    return _allocated(float(args[1]) if len(args) == 2 else 1.0, _extended_size(args[0]))


def _compared_first(args: Sequence[Value], _: Value) -> int:
    return _compared(args[0])


def _compared_second(args: Sequence[Value], _: Value) -> int:
    return _compared(args[1])


COMPARED: Final = {_compared_first: 0, _compared_second: 1}
"""Costs for which cel-go panics unless an argument is a list, and that argument."""


def not_a_list(value: Value) -> Panic:
    """Return the panic of such a cost."""
    missing = "Contains" if value.__class__ in _ADDED else "Add"
    return Panic(f"interface conversion: {go_type(value)} is not traits.Lister: missing method {missing}")


def _compared(items: Value) -> int:
    if not is_list(items):
        raise not_a_list(items)
    size = len(items)
    traversed = size > 0 and next(iter(items)).__class__ in (str, bytes)
    return _allocated(2.0 + (_TRAVERSAL if traversed else 0), size * size)


def _sets(factor: float) -> Cost:
    return lambda args, _: 1 + _uint64(_extended_size(args[0]) * _extended_size(args[1]) * factor)


_SORTED: Final = (
    *("int", "uint", "double", "bool", "string", "bytes"),
    *("google.protobuf.Duration", "google.protobuf.Timestamp"),
)
_TRACKED: Final[Mapping[str, Cost]] = {
    **dict.fromkeys(("list_slice", "lists_range", "list_reverse"), _output),
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flattened),
    **dict.fromkeys(("list_distinct", *(f"list_{kind}_sort" for kind in _SORTED)), _compared_first),
    **{f"list_{kind}_sortByAssociatedKeys": _compared_second for kind in _SORTED},
    **dict.fromkeys(("list_sets_contains_list", "list_sets_intersects_list"), _sets(1)),
    "list_sets_equivalent_list": _sets(2),
}
"""Costs that cel-go's extensions (ext/lists.go, ext/sets.go) bring along; they go before all others."""

_AUTHORIZER = "serviceAccount path group resource subresource namespace name allowed reason error errored"
_BY_FUNCTION: Final[Mapping[str, Cost | int]] = {
    "check": 350_000,
    **dict.fromkeys(_AUTHORIZER.split(), 1),
    **dict.fromkeys(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"], lambda args, _: traversal(args[0])),
    **dict.fromkeys(["url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey"], _own),
    **dict.fromkeys(["cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"], _own),
    **dict.fromkeys(["replace", "split", "ip.isCanonical"], _own_twice),
    "join": _result_twice,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("find", "findAll"), _own_pattern),
    "containsIP": lambda args, _: _contains_address(args, False),
    "containsCIDR": lambda args, _: _contains_network(args, False),
    "validate": _validate,
    "_==_": _equal,
}
_BY_BOTH: Final[Mapping[tuple[str, str], Cost | int]] = {
    ("ip", "cidr_ip"): 1,
    ("containsIP", "cidr_contains_ip_string"): lambda args, _: _contains_address(args, True),
    ("containsCIDR", "cidr_contains_cidr_string"): lambda args, _: _contains_network(args, True),
}
_ORDERED = [
    f"{order}_{kind}" for order in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")
]
_BY_OVERLOAD: Final[Mapping[str, Cost | int]] = {
    **dict.fromkeys(["starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string"], _first),
    **dict.fromkeys(["strings_quote", "string_format"], _first),
    "in_list": lambda args, _: actual_size(args[1]),
    **dict.fromkeys([*_ORDERED, "equals", "not_equals"], _smaller),
    **dict.fromkeys(("add_string", "add_bytes"), _both),
    "matches_string": _pattern,
    "contains_string": _product,
}


def call_cost(function: str, overload: str) -> Cost | int:
    """Return the cost of a call, constant or computed; overload is "" where the checker left several."""
    found: Cost | int | None = _TRACKED.get(overload) or _BY_BOTH.get((function, overload))
    if found is None:
        found = _BY_FUNCTION.get(function)
    if found is None:
        found = _BY_OVERLOAD.get(overload)
    return 1 if found is None else found
