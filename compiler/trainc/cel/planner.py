"""Plans a tree: names become slots, chains of fields attributes, calls implementations, constants values.

Source: interpreter/planner.go and attributes.go of cel-go v0.26.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec.structs import replace

from trainc.cel import dispatch, operators
from trainc.cel.ast import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Message, Node, Select
from trainc.cel.attributes import KEYS, go_type
from trainc.cel.checker import Checked
from trainc.cel.cost import call_cost
from trainc.cel.declarations import Environment
from trainc.cel.equality import equal
from trainc.cel.folding import PlanError, fold_call, fold_list, fold_map
from trainc.cel.interpretable import (
    AbsoluteAttribute,
    Access,
    Attribute,
    ComputedQualifier,
    ConditionalAttribute,
    Constant,
    ConstantQualifier,
    Fold,
    Interpretable,
    Logical,
    MakeList,
    MakeMap,
    MakeMessage,
    MaybeAttribute,
    Name,
    Qualifier,
    RelativeAttribute,
)
from trainc.cel.interpretable import Call as PlannedCall
from trainc.cel.judging import Reference
from trainc.cel.metering import metered
from trainc.cel.names import Slots
from trainc.cel.scopes import candidates, qualified
from trainc.cel.trampoline import Walk, run
from trainc.cel.types import Kind
from trainc.cel.values import Value
from trainc.cel.wellknown import make_message

Steps: TypeAlias = Walk[Node, Interpretable]

_DYNAMIC: Final = (Kind.DYN, Kind.ANY, Kind.PARAMETER, Kind.ERROR)
_INDEX: Final = frozenset(("_[_]", "_[?_]", "_?._"))


def plan(checked: Checked, environment: Environment, slots: Slots) -> Interpretable:
    """Return the plan of an expression. Raises PlanError for what the server cannot make a program of."""
    return run(_Planner(checked, environment, slots).visit, checked.root)


class _Planner:
    """The planning of one expression."""

    __slots__ = ("_checked", "_environment", "_slots")

    def __init__(self, checked: Checked, environment: Environment, slots: Slots) -> None:
        self._checked = checked
        self._environment = environment
        self._slots = slots

    def visit(self, node: Node) -> Steps:
        """Return the planning of a node."""
        return _VISITS[node.__class__](self, node)

    def literal(self, node: Literal) -> Steps:
        """Plan a constant."""
        return Constant(node, node.value)
        yield node

    def ident(self, node: Ident) -> Steps:
        """Plan a name."""
        reference = self._checked.references.get(node)
        if reference is not None:
            return self._referenced(node, reference)
        return Access(MaybeAttribute((AbsoluteAttribute(node, self._candidates(node.name)),)))
        yield node

    def _referenced(self, node: Node, reference: Reference) -> Interpretable:
        if reference.value is not None:
            return Constant(node, reference.value)
        type_ = self._checked.types[node]
        if type_.kind is Kind.TYPE:
            raise PlanError(node.position, f"reference to undefined type: {reference.name}")
        names = (Name(reference.name, self._slots.find(reference.name)),)
        optional = type_.kind is Kind.OPAQUE and type_.name == "optional_type"
        return Access(AbsoluteAttribute(node, names, optional=optional, dynamic=type_.kind in _DYNAMIC))

    def _candidates(self, name: str) -> tuple[Name, ...]:
        return tuple(map(self._name, candidates(self._environment.container, name)))

    def _name(self, text: str) -> Name:
        return Name(text, self._slots.find(text), self._environment.constants.get(text))

    def select(self, node: Select) -> Steps:
        """Plan ``operand.field`` and ``has(operand.field)``."""
        reference = self._checked.references.get(node)
        if reference is not None:
            return self._referenced(node, reference)
        operand = _accessed((yield node.operand))
        test = node if node.test_only else operand.test
        qualifier = ConstantQualifier(node, node.field, test_only=test is not None)
        return Access(self._qualified(operand.attribute, qualifier), test)

    def _qualified(self, attribute: Attribute, qualifier: Qualifier) -> Attribute:
        if isinstance(attribute, ConditionalAttribute):
            truthy, falsy = (self._qualified(each, qualifier) for each in (attribute.truthy, attribute.falsy))
            return replace(attribute, truthy=truthy, falsy=falsy)
        if isinstance(attribute, MaybeAttribute):
            return self._maybe(attribute, qualifier)
        return replace(attribute, qualifiers=(*attribute.qualifiers, qualifier))

    def _maybe(self, attribute: MaybeAttribute, qualifier: Qualifier) -> MaybeAttribute:
        """Qualify names that may be variables as they are, or with the qualifier as part of the name."""
        longer: tuple[AbsoluteAttribute, ...] = ()
        first = attribute.attributes[0]
        if isinstance(qualifier, ConstantQualifier) and qualifier.value.__class__ is str and not first.qualifiers:
            names = tuple(self._name(f"{name.text}.{qualifier.value}") for name in first.names)
            longer = (AbsoluteAttribute(qualifier.id, names),)
        shorter = (replace(each, qualifiers=(*each.qualifiers, qualifier)) for each in attribute.attributes)
        return MaybeAttribute((*longer, *shorter))

    def call(self, node: Call) -> Steps:
        """Plan a function or an operator."""
        target, function, overload = self._function(node)
        parts = node.args if target is None else (target, *node.args)
        args = []
        for part in parts:
            arg = yield part
            args.append(arg)
        if function in ("_&&_", "_||_"):
            return Logical(node, tuple(args), absorbing=function == "_||_")
        if function == "_?_:_":
            condition, truthy, falsy = args
            return Access(ConditionalAttribute(node, condition, _branch(truthy), _branch(falsy)))
        if function in ("_==_", "_!=_"):
            return _equality(node, function, tuple(args))
        if function in _INDEX:
            return self._index(node, args[0], args[1], optional=function != "_[_]")
        return self._plain(node, function, overload, tuple(args), parts)

    def _function(self, node: Call) -> tuple[Node | None, str, str]:
        """Return the target of a call, the full name of its function, and the one overload that is left, if one is."""
        reference = self._checked.references.get(node)
        if reference is not None:
            return node.target, node.function, reference.overloads[0] if len(reference.overloads) == 1 else ""
        name, target = node.function, node.target
        if target is not None:
            prefix = qualified(target)
            name = f"{prefix}.{name}" if prefix is not None and target not in self._checked.references else ""
        for full in candidates(self._environment.container, name) if name else ():
            if full in self._environment.functions:
                return None, full, ""
        return target, node.function.removeprefix("."), ""

    def _index(self, node: Node, operand: Interpretable, index: Interpretable, optional: bool) -> Interpretable:
        access = _accessed(operand)
        qualifier: Qualifier
        if isinstance(index, Constant):
            if index.value.__class__ not in KEYS:
                raise PlanError(node.position, f"invalid qualifier type: {go_type(index.value)}")
            qualifier = ConstantQualifier(node, index.value, optional, test_only=access.test is not None)
        elif isinstance(index, Access):
            qualifier = ComputedQualifier(node, index.attribute, optional, plain=True)
        else:
            qualifier = ComputedQualifier(node, RelativeAttribute(node, index), optional, plain=False)
        return Access(self._qualified(access.attribute, qualifier), access.test)

    def _plain(
        self, node: Node, function: str, overload: str, args: tuple[Interpretable, ...], parts: tuple[Node, ...]
    ) -> Interpretable:
        found = dispatch.find(function, overload, len(args), self._environment)
        if found is None:
            if not args:
                raise PlanError(node.position, f"no such overload: {function}()")
            found = dispatch.Target(_unknown(function), early=len(args) > 2)
        if isinstance(found, str):
            raise PlanError(node.position, f"no such overload: {function}({found})")
        heavy = metered(function, found.implementation, found.metered)
        call = PlannedCall(
            node,
            function,
            overload,
            args,
            heavy or found.implementation,
            call_cost(function, overload),
            found.early,
            found.metered or heavy is not None,
            strict=function != dispatch.NOT_STRICTLY_FALSE,
        )
        return fold_call(call, parts, checked=bool(self._checked.references))

    def make_list(self, node: ListLiteral) -> Steps:
        """Plan ``[a, b]``."""
        elements = []
        for part in node.elements:
            element = yield part
            elements.append(element)
        return fold_list(MakeList(node, tuple(elements), tuple(i in node.optional for i in range(len(elements)))))

    def make_map(self, node: MapLiteral) -> Steps:
        """Plan ``{a: b}``."""
        keys, values = [], []
        for entry in node.entries:
            key = yield entry.key
            value = yield entry.value
            keys.append(key)
            values.append(value)
        return fold_map(MakeMap(node, tuple(keys), tuple(values), tuple(entry.optional for entry in node.entries)))

    def message(self, node: Message) -> Steps:
        """Plan ``name{field: value}``."""
        reference = self._checked.references.get(node)
        names = candidates(self._environment.container, node.type_name) if reference is None else (reference.name,)
        known = [name for name in names if name in self._environment.messages]
        if not known:
            raise PlanError(node.position, f"unknown type: {node.type_name}")
        values = []
        for entry in node.entries:
            value = yield entry.value
            values.append(value)
        fields = tuple(str(entry.key.value) for entry in node.entries if isinstance(entry.key, Literal))
        optional = tuple(entry.optional for entry in node.entries)
        return MakeMessage(node, known[0], fields, tuple(values), optional, make_message)

    def comprehension(self, node: Comprehension) -> Steps:
        """Plan what macros expand to."""
        start = yield node.accu_init
        iter_range = yield node.iter_range
        accumulator, first = self._slots.new(), self._slots.new()
        second = self._slots.new() if node.iter_var2 else 0
        self._slots.enter({node.iter_var2: second, node.iter_var: first, node.accu_var: accumulator})
        condition = yield node.condition
        step = yield node.step
        self._slots.leave()
        self._slots.enter({node.accu_var: accumulator})
        result = yield node.result
        self._slots.leave()
        return Fold(node, iter_range, first, second, accumulator, start, condition, step, result)


def _accessed(operand: Interpretable) -> Access:
    return operand if isinstance(operand, Access) else Access(RelativeAttribute(operand.id, operand))


def _branch(branch: Interpretable) -> Attribute:
    return branch.attribute if isinstance(branch, Access) else RelativeAttribute(branch.id, branch)


def _equality(node: Node, function: str, args: tuple[Interpretable, ...]) -> Interpretable:
    overload = "equals" if function == "_==_" else "not_equals"
    cost = call_cost(function, overload)
    return PlannedCall(node, function, overload, args, equal, cost, metered=True, negates=function == "_!=_")


def _unknown(function: str) -> Callable[..., Value]:
    def call(first: Value, *_: Value) -> Value:
        operators.refuse(function, first)

    return call


_VISITS: Mapping[type, Callable[..., Steps]] = {
    Literal: _Planner.literal,
    Ident: _Planner.ident,
    Select: _Planner.select,
    Call: _Planner.call,
    ListLiteral: _Planner.make_list,
    MapLiteral: _Planner.make_map,
    Message: _Planner.message,
    Comprehension: _Planner.comprehension,
}
