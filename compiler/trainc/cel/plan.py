"""A planned expression, node for node as in cel-go's planner (interpreter/interpretable.go, v0.26.0).

Costs depend on these nodes rather than on the tree: a chain of fields and indexes is one attribute, and a branch of
``?:`` that is an attribute is not a node. codegen.py generates Python functions from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, Union

from msgspec import Struct

from trainc.cel.ast import Comprehension, Literal, Node, Select, children
from trainc.cel.functions import Cost, Run, Work
from trainc.cel.values import Value

Id: TypeAlias = Node
"""The id of a node, which cel-go numbers: the node of the tree."""

Guard: TypeAlias = Union[type, Callable[[Value], bool], None]  # noqa: UP007 - as the other aliases
"""The class or the predicate that a value must match; None for any value."""


class ConstantQualifier(Struct, frozen=True, eq=False):
    """``.name`` or ``[1]``; ``test_only`` tests for presence only, ``optional`` follows a question mark."""

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
    """Any other value and its qualifiers."""

    base: Id
    operand: Interpretable
    qualifiers: tuple[Qualifier, ...] = ()


class ConditionalAttribute(Struct, frozen=True, eq=False):
    """``condition ? truthy : falsy``; its qualifiers apply to both branches."""

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
    """The evaluation of an attribute. ``test``: the id of its has(), if it is one."""

    attribute: Attribute
    test: Id | None = None

    @property
    def id(self) -> Id:
        """The id for costs."""
        return attribute_id(self.attribute) if self.test is None else self.test


class Logical(Struct, frozen=True, eq=False):
    """``&&`` (absorbing is False) or ``||`` (absorbing is True)."""

    id: Id
    terms: tuple[Interpretable, ...]
    absorbing: bool


class Call(Struct, frozen=True, eq=False):
    """A call of a function. ``guards``: what each argument must match before ``run`` is called.

    ``work`` spends the work of the call; ``metered``: ``run`` also takes the meter. ``kind``: the class of the result,
    if certain. ``terse``: its error for wrong types does not name them. ``negates``: it is ``!=``, which is true in
    cel-go if ``==`` fails.
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
    """``[a, ?b]``; ``optional``: whether each element follows a question mark."""

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
    """``name{field: value}``; ``make`` receives the name and the fields that are set."""

    id: Id
    type_name: str
    fields: tuple[str, ...]
    values: tuple[Interpretable, ...]
    optional: tuple[bool, ...]
    make: Callable[[str, Mapping[str, Value]], Value]


class Fold(Struct, frozen=True, eq=False):
    """A comprehension. Slots of the frame hold the accumulator and the variables; ``second`` is 0 for one variable."""

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
    """``argument in [constants]``, given by their forms (maps.key_form)."""

    id: Id
    argument: Interpretable
    members: frozenset[Any]


Interpretable: TypeAlias = Union[  # noqa: UP007 - as the other aliases
    Constant, Access, Logical, Call, MakeList, MakeMap, MakeMessage, Fold, Or, Membership
]


def attribute_id(attribute: Attribute) -> Id:
    """Return the id of an attribute for costs: its last qualifier, if any."""
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
