"""sets.contains(), sets.equivalent() and sets.intersects(). Source: cel-go v0.26.0 ext/sets.go."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.cel.library.limits import check_length
from trainc.cel.library.lists import List, forms, same
from trainc.cel.values import Value


def contains(items: List, wanted: List) -> bool:
    """Tell whether every element of wanted is in items."""
    known, sought = list(items), list(wanted)
    keys = forms(known + sought)
    if keys is not None:
        return set(keys[: len(known)]).issuperset(keys[len(known) :])
    check_length(len(known) * len(sought))
    return all(_has(known, item) for item in sought)


def equivalent(left: List, right: List) -> bool:
    """Tell whether both hold the same elements, in any number and order."""
    return contains(left, right) and contains(right, left)


def intersects(left: List, right: List) -> bool:
    """Tell whether some element is in both."""
    one, known = list(left), list(right)
    keys = forms(one + known)
    if keys is not None:
        return not set(keys[: len(one)]).isdisjoint(keys[len(one) :])
    check_length(len(one) * len(known))
    return any(_has(known, item) for item in one)


def _has(known: list[Value], wanted: Value) -> bool:
    return any(same(wanted, item) for item in known)


OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "list_sets_contains_list": contains,
    "list_sets_equivalent_list": equivalent,
    "list_sets_intersects_list": intersects,
}
