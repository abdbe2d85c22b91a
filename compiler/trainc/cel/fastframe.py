"""What the builders of fast.py share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from trainc.cel import interpretable as plan
from trainc.cel.trampoline import Walk
from trainc.cel.values import EvalError, Undecided, Value
from trainc.cel.work import Exhausted, Panic

Frame: TypeAlias = list[Any]
Run: TypeAlias = Callable[[Frame], Value]
Function: TypeAlias = Callable[[Mapping[str, Value], int], tuple[Value, int, int]]
"""Of the values of variables and the limit of cost: the value, the cost, and the work."""

Built: TypeAlias = tuple[Run, int]
Steps: TypeAlias = Walk[Any, Built]


class Unusual(Exception):
    """Something that exact.py is to decide."""


UNUSUAL: Final = (Unusual, EvalError, Undecided, Panic, Exhausted, RecursionError, AttributeError, TypeError, KeyError)
"""What a function of written/ raises where closures are to evaluate: the last three for an unusual kind of value."""


class _Unset:
    __slots__ = ()


UNSET: Final = _Unset()
"""An accumulator before it is first read."""


class Builder:
    """What is known while a plan is built: accumulators that start with an expression, and lists and maps being made.

    ``starts``: by slot, what such an accumulator starts with. ``filled``: slots of those that start empty.
    """

    __slots__ = ("filled", "starts")

    def __init__(self) -> None:
        self.starts: dict[int, Built] = {}
        self.filled: set[int] = set()

    def may_be_optional(self, attribute: plan.Attribute) -> bool:
        """Tell whether an attribute may give an optional, be it none."""
        if isinstance(attribute, plan.ConditionalAttribute):
            return self.may_be_optional(attribute.truthy) or self.may_be_optional(attribute.falsy)
        if isinstance(attribute, plan.MaybeAttribute | plan.RelativeAttribute):
            return True
        return attribute.optional or any(qualifier.optional for qualifier in attribute.qualifiers)


def slot_of(node: plan.Interpretable) -> int:
    """Return the slot of a variable that is read as it is, or 0."""
    if isinstance(node, plan.Access) and node.test is None:
        attribute = node.attribute
        if isinstance(attribute, plan.AbsoluteAttribute) and not attribute.qualifiers:
            return attribute.names[0].slot
    return 0
