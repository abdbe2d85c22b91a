"""``<`` and its kin: the Compare methods of cel-go v0.26.0 (common/types)."""

from __future__ import annotations

import math
from typing import Final

from trainc.cel.values import Duration, EvalError, Timestamp, Uint, Value

_NUMBERS: Final = frozenset((int, float, Uint))
_OTHERS: Final = frozenset((str, bytes, bool, Timestamp, Duration))

ORDERED: Final = _NUMBERS | _OTHERS
"""The kinds of values that have an order."""


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1; left is of one of the ORDERED kinds.

    Strings are ordered by code point, which is the order of their UTF-8. Raises EvalError for NaN and for values
    that have no common order.
    """
    kind, other = left.__class__, right.__class__
    if kind in _NUMBERS and other in _NUMBERS:
        return _numbers(left, right)
    if kind is other and kind in _OTHERS:
        return int(left > right) - int(left < right)
    if kind is float and math.isnan(left):
        raise EvalError("NaN values cannot be ordered")
    raise EvalError("no such overload")


def _numbers(left: Value, right: Value) -> int:
    one = left.value if left.__class__ is Uint else left
    two = right.value if right.__class__ is Uint else right
    if one.__class__ is float or two.__class__ is float:
        if math.isnan(one) or math.isnan(two):
            raise EvalError("NaN values cannot be ordered")
        one, two = float(one), float(two)  # Go rounds the integer first, too
    return int(one > two) - int(one < two)
