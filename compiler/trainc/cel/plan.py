"""A planned expression: what cel-go's planner makes of a tree, node for node (interpreter/interpretable.go, v0.26.0).

Cost follows from these nodes and their ids rather than from the tree: a chain of fields and indexes is one attribute,
and a branch of ``?:`` that is an attribute is resolved without being evaluated as a node. codegen.py writes
them as functions of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, Union

from msgspec import Struct

from trainc.cel.ast import Comprehension, Literal, Node, Select, children
from trainc.cel.functions import Cost, Run, Work
from trainc.cel.values import Value

Id: TypeAlias = Node
"""What cel-go numbers; here the node of the tree itself."""

Guard: TypeAlias = Union[type, Callable[[Value], bool], None]  # noqa: UP007 - as the other aliases
"""The class that a value must have, or what tells whether it fits; None where anything does."""


class ConstantQualifier(Struct, frozen=True, eq=False):
    """``.name`` or ``[1]``; ``test_only`` asks for presence only, ``optional`` is behind a question mark."""

    id: Id
    value: Value
    optional: bool = False
    test_only: bool = False


class ComputedQualifier(Struct, frozen=True, eq=False):
    """``[expression]``."""

    id: Id
    attribute: Attribute
    optional: bool


Qualifier: TypeAlias = Union[ConstantQualifier, ComputedQualifier]  # noqa: UP007 - as the other aliases


class AbsoluteAttribute(Struct, frozen=True, eq=False):
    """A variable, in a slot of the frame, and its qualifiers.

    ``optional``: its static type is an optional; ``dynamic``: its static type is dyn.
    """

    base: Id
    name: str
    slot: int
    qualifiers: tuple[Qualifier, ...] = ()
    optional: bool = False
    dynamic: bool = True


class RelativeAttribute(Struct, frozen=True, eq=False):
    """Any other value and what qualifies it."""

    base: Id
    operand: Interpretable
    qualifiers: tuple[Qualifier, ...] = ()


class ConditionalAttribute(Struct, frozen=True, eq=False):
    """``condition ? truthy : falsy``; what qualifies it qualifies both branches."""

    base: Id
    condition: Interpretable
    truthy: Attribute
    falsy: Attribute


Attribute: TypeAlias = Union[  # noqa: UP007 - as the other aliases
    AbsoluteAttribute, RelativeAttribute, ConditionalAttribute
]


class Constant(Struct, frozen=True, eq=False):
    """A value known before evaluation."""

    id: Id
    value: Value


class Access(Struct, frozen=True, eq=False):
    """An attribute evaluated. ``test``: the id of the has() that it is, if it is one."""

    attribute: Attribute
    test: Id | None = None

    @property
    def id(self) -> Id:
        """Return what cost knows it by."""
        return attribute_id(self.attribute) if self.test is None else self.test


class Logical(Struct, frozen=True, eq=False):
    """``&&`` (absorbing is False) or ``||`` (absorbing is True)."""

    id: Id
    terms: tuple[Interpretable, ...]
    absorbing: bool


class Call(Struct, frozen=True, eq=False):
    """A function. ``guards``: what each argument must be, a class or a predicate, before ``run`` may be called.

    ``work``: what takes the work of the call from the meter; ``metered``: ``run`` takes the meter, too. ``kind``: the
    class of what it returns, where that is certain. ``terse``: its error for wrong types does not name them.
    ``negates``: it is ``!=``, which cel-go finds true where ``==`` fails.
    """

    id: Id
    function: str
    args: tuple[Interpretable, ...]
    run: Run
    cost: Cost | int = 1
    work: Work | None = None
    guards: tuple[Guard, ...] = ()
    metered: bool = False
    kind: type | None = None
    terse: bool = False
    negates: bool = False


class MakeList(Struct, frozen=True, eq=False):
    """``[a, ?b]``; ``optional`` says of each element whether it is behind a question mark."""

    id: Id
    elements: tuple[Interpretable, ...]
    optional: tuple[bool, ...]


class MakeMap(Struct, frozen=True, eq=False):
    """``{a: b, ?c: d}``."""

    id: Id
    keys: tuple[Interpretable, ...]
    values: tuple[Interpretable, ...]
    optional: tuple[bool, ...]


class MakeMessage(Struct, frozen=True, eq=False):
    """``name{field: value}``; ``make`` takes the name and the fields that are set."""

    id: Id
    type_name: str
    fields: tuple[str, ...]
    values: tuple[Interpretable, ...]
    optional: tuple[bool, ...]
    make: Callable[[str, Mapping[str, Value]], Value]


class Fold(Struct, frozen=True, eq=False):
    """A comprehension. Slots of the frame hold the accumulator and the variables; ``second`` is 0 if there is one."""

    id: Id
    iter_range: Interpretable
    first: int
    second: int
    accumulator: int
    start: Interpretable
    condition: Interpretable
    step: Interpretable
    result: Interpretable


class Or(Struct, frozen=True, eq=False):
    """``optional.or(optional)``; ``unwraps``: ``optional.orValue(value)``."""

    id: Id
    left: Interpretable
    right: Interpretable
    unwraps: bool


class Membership(Struct, frozen=True, eq=False):
    """``argument in [constants]``, whose forms (maps.key_form) are known beforehand."""

    id: Id
    argument: Interpretable
    members: frozenset[Any]


Interpretable: TypeAlias = Union[  # noqa: UP007 - as the other aliases
    Constant, Access, Logical, Call, MakeList, MakeMap, MakeMessage, Fold, Or, Membership
]


def attribute_id(attribute: Attribute) -> Id:
    """Return what cost knows an attribute by: its last qualifier, if it has one."""
    if isinstance(attribute, ConditionalAttribute):
        truthy, falsy = attribute_id(attribute.truthy), attribute_id(attribute.falsy)
        return truthy if truthy is falsy else attribute.base
    return attribute.qualifiers[-1].id if attribute.qualifiers else attribute.base


def weight(fold: Fold) -> int:
    """Return roughly how many nodes one iteration of a loop evaluates, without those of inner loops."""
    assert isinstance(fold.id, Comprehension)
    waiting, found = [fold.id.condition, fold.id.step], 2
    while waiting:
        node = waiting.pop()
        found += not isinstance(node, Literal | Select)
        waiting += () if isinstance(node, Comprehension) else children(node)
    return found


ATTRIBUTES: frozenset[type] = frozenset((AbsoluteAttribute, RelativeAttribute, ConditionalAttribute))
