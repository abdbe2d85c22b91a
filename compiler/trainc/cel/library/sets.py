"""sets.contains(), sets.equivalent() and sets.intersects(). Source: cel-go v0.26.0 ext/sets.go."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.cel.library.limits import check_length
from trainc.cel.library.lists import List, forms, same
from trainc.cel.values import Value
from trainc.cel.work import Meter


def contains(items: List, wanted: List, meter: Meter | None = None) -> bool:
    """Tell whether every element of wanted is in items."""
    known, sought = list(items), list(wanted)
    keys = forms(known + sought)
    if keys is not None:
        return set(keys[: len(known)]).issuperset(keys[len(known) :])
    check_length(len(known) * len(sought))
    return all(_has(known, item, meter) for item in sought)


def equivalent(left: List, right: List, meter: Meter | None = None) -> bool:
    """Tell whether both hold the same elements, in any number and order."""
    return contains(left, right, meter) and contains(right, left, meter)


def intersects(left: List, right: List, meter: Meter | None = None) -> bool:
    """Tell whether some element is in both."""
    one, known = list(left), list(right)
    keys = forms(one + known)
    if keys is not None:
        return not set(keys[: len(one)]).isdisjoint(keys[len(one) :])
    check_length(len(one) * len(known))
    return any(_has(known, item, meter) for item in one)


def _has(known: list[Value], wanted: Value, meter: Meter | None) -> bool:
    return any(same(wanted, item, meter) for item in known)


METERED = frozenset(("list_sets_contains_list", "list_sets_equivalent_list", "list_sets_intersects_list"))
"""Overloads that take a meter behind their arguments."""

OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "list_sets_contains_list": contains,
    "list_sets_equivalent_list": equivalent,
    "list_sets_intersects_list": intersects,
}
