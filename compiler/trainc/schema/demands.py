"""What a schema demands of single values and of sizes, as checks of one pass (fitting.py): the usual values only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from operator import itemgetter
from typing import Any

from trainc.schema.dialect import LIST_KEYS, LIST_TYPE
from trainc.schema.judge import INTEGER_RANGES, text_test
from trainc.schema.listtype import is_unique
from trainc.schema.numbers import number_errors
from trainc.schema.rewriting import Check, Unfit


def string(keywords: dict[str, Any]) -> Check:
    """Return the check of a string."""
    test = text_test(keywords)
    if "enum" in keywords:
        allowed = frozenset(value for value in keywords["enum"] if isinstance(value, str))

        def check_member(value: Any) -> Any:
            if value.__class__ is str and value in allowed and (test is None or test(value)):
                return value
            raise Unfit

        return check_member
    if test is None:
        return str

    def check(value: Any) -> Any:
        if value.__class__ is str and test(value):
            return value
        raise Unfit

    return check


def integer(limits: dict[str, Any]) -> Check:
    """Return the check of an integer, within the limits of the dialect's NUMBER."""
    allowed = INTEGER_RANGES.get(limits["format"], INTEGER_RANGES[""])
    low, high = allowed.start, allowed.stop
    limited = limits.keys() > {"type", "format"}

    def check(value: Any) -> Any:
        if value.__class__ is int and low <= value < high and not (limited and number_errors(limits, value)):
            return value
        raise Unfit

    return check


def int_or_string(keywords: dict[str, Any]) -> Check:
    """Return the check of what may be either."""
    test, whole = text_test(keywords), INTEGER_RANGES[""]

    def check(value: Any) -> Any:
        if value.__class__ is str:
            if test is None or test(value):
                return value
        elif value.__class__ is int and value in whole:
            return value
        raise Unfit

    return check


def all_of(kind: type, values: Iterable[Any]) -> bool:
    """Tell whether all values are of just this class."""
    return {kind}.issuperset(map(type, values))


def sizes(fewest: int, most: int | None) -> Callable[[Sized], bool] | None:
    """Return what tells whether there are as many items as there may be, or None where any number will do."""
    if most is None:
        return (lambda value: len(value) >= fewest) if fewest else None
    return lambda value: fewest <= len(value) <= most


def uniqueness(keywords: dict[str, Any]) -> Callable[[list[Any]], bool] | None:
    """Return what tells whether no item of a list is there twice, or None where that may be."""
    if LIST_TYPE not in keywords:
        return None
    if keywords[LIST_TYPE] != "map" or len(keywords[LIST_KEYS]) != 1:
        return lambda items: is_unique(keywords, items)
    key_of = itemgetter(keywords[LIST_KEYS][0])

    def test(items: list[Any]) -> bool:
        try:
            if len(set(map(key_of, items))) == len(items):
                return True
        except (KeyError, TypeError):
            pass
        return is_unique(keywords, items)

    return test
