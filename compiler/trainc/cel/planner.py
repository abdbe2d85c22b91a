"""Plans a tree: names become slots, chains of fields attributes, calls implementations, constants values.

Constants are evaluated here: literals, conversions, patterns, lists to search. A failure rejects the expression, even
if it would be absorbed at run time. Source: interpreter/planner.go, attributes.go, decorators.go and
optimizations.go of cel-go v0.26.0, pkg/cel/library/regex.go of k8s.io/apiserver v0.34.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec.structs import replace

from trainc.cel import plan
from trainc.cel.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Node,
    Select,
    Walk,
    run,
)
from trainc.cel.declarations import Checked, Environment, Reference
from trainc.cel.dispatch import find, fits, mismatch
from trainc.cel.issues import CompileError, Issue
from trainc.cel.library import functions, regex
from trainc.cel.library.conversions import double_to_int, double_to_uint, int_to_uint, uint_to_int
from trainc.cel.library.operators import refuse
from trainc.cel.maps import equal, key_form, make_map
from trainc.cel.runtime import KEYS
from trainc.cel.types import Kind, type_name
from trainc.cel.unification import is_optional
from trainc.cel.values import EvalError, Uint, Value, type_of
from trainc.cel.wellknown import make_message
from trainc.cel.work import COST, LIMIT, WORK, Panic, fresh

Steps: TypeAlias = Walk[Node, plan.Interpretable]

_DYNAMIC: Final = (Kind.DYN, Kind.ANY, Kind.PARAMETER, Kind.ERROR)
_INDEX: Final = frozenset(("_[_]", "_[?_]", "_?._"))


CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
_PATTERNS: Final = frozenset(("matches", "find", "findAll"))
_HASHED: Final = frozenset((str, bool, int, float, Uint))
FIRST_SLOT: Final = max(COST, WORK, LIMIT) + 1


class PlanError(CompileError):
    """An expression that passes the check but cannot be planned; ``message`` is cel-go's."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__((Issue(position, message),))
        self.message = message


class Slots:
    """Allocates slots. Variables of inner macros shadow those of outer ones."""

    __slots__ = ("_scopes", "size", "variables")

    def __init__(self) -> None:
        self._scopes: list[dict[str, int]] = []
        self.variables: dict[str, int] = {}
        self.size = FIRST_SLOT

    def new(self) -> int:
        """Return a new slot."""
        self.size += 1
        return self.size - 1

    def enter(self, names: dict[str, int]) -> None:
        """Open a scope in which names have these slots."""
        self._scopes.append(names)

    def leave(self) -> None:
        """Close the innermost scope."""
        self._scopes.pop()

    def find(self, name: str) -> int:
        """Return the slot of a name; a name of no macro is a free variable."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        slot = self.variables.get(name)
        if slot is None:
            slot = self.variables[name] = self.new()
        return slot


def plan_tree(checked: Checked, environment: Environment, slots: Slots) -> plan.Interpretable:
    """Return the plan of an expression. Raises PlanError."""
    return run(_Planner(checked, environment, slots).visit, checked.root)


class _Planner:
    """Plans one expression."""

    __slots__ = ("_checked", "_environment", "_slots")

    def __init__(self, checked: Checked, environment: Environment, slots: Slots) -> None:
        self._checked = checked
        self._environment = environment
        self._slots = slots

    def visit(self, node: Node) -> Steps:
        """Plan a node."""
        return _VISITS[node.__class__](self, node)

    def literal(self, node: Literal) -> Steps:
        """Plan a constant."""
        return plan.Constant(node, node.value)
        yield node

    def ident(self, node: Ident) -> Steps:
        """Plan a name."""
        reference = self._checked.references.get(node)
        return self._referenced(node, Reference(node.name) if reference is None else reference)
        yield node

    def _referenced(self, node: Node, reference: Reference) -> plan.Interpretable:
        if reference.value is not None:
            return plan.Constant(node, reference.value)
        type_ = self._checked.types[node]
        if type_.kind is Kind.TYPE:
            raise PlanError(node.position, f"reference to undefined type: {reference.name}")
        slot, dynamic = self._slots.find(reference.name), type_.kind in _DYNAMIC
        return plan.Access(plan.AbsoluteAttribute(node, reference.name, slot, (), is_optional(type_), dynamic))

    def select(self, node: Select) -> Steps:
        """Plan ``operand.field`` and ``has(operand.field)``."""
        reference = self._checked.references.get(node)
        if reference is not None:
            return self._referenced(node, reference)
        operand = _accessed((yield node.operand))
        test = node if node.test_only else operand.test
        qualifier = plan.ConstantQualifier(node, node.field, test_only=test is not None)
        return plan.Access(self._qualified(operand.attribute, qualifier), test)

    def _qualified(self, attribute: plan.Attribute, qualifier: plan.Qualifier) -> plan.Attribute:
        if isinstance(attribute, plan.ConditionalAttribute):
            truthy, falsy = (self._qualified(each, qualifier) for each in (attribute.truthy, attribute.falsy))
            return replace(attribute, truthy=truthy, falsy=falsy)
        return replace(attribute, qualifiers=(*attribute.qualifiers, qualifier))

    def call(self, node: Call) -> Steps:
        """Plan a function or an operator."""
        target, function, overload = self._function(node)
        parts = node.args if target is None else (target, *node.args)
        args = []
        for part in parts:
            arg = yield part
            args.append(arg)
        if function in ("_&&_", "_||_"):
            return plan.Logical(node, tuple(args), absorbing=function == "_||_")
        if function == "_?_:_":
            condition, truthy, falsy = args
            return plan.Access(plan.ConditionalAttribute(node, condition, _branch(truthy), _branch(falsy)))
        if function in ("_==_", "_!=_"):
            return _equality(node, function, tuple(args))
        if function in _INDEX:
            return self._index(node, args[0], args[1], optional=function != "_[_]")
        return self._plain(node, function, overload, tuple(args), parts)

    def _function(self, node: Call) -> tuple[Node | None, str, str]:
        """Return the target of a call, the full name of its function, and its overload, if only one fits."""
        reference = self._checked.references.get(node)
        if reference is not None:
            return node.target, node.function, reference.overloads[0] if len(reference.overloads) == 1 else ""
        return node.target, node.function.removeprefix("."), ""

    def _index(
        self, node: Node, operand: plan.Interpretable, index: plan.Interpretable, optional: bool
    ) -> plan.Interpretable:
        access = _accessed(operand)
        qualifier: plan.Qualifier
        if isinstance(index, plan.Constant):
            if index.value.__class__ not in KEYS:
                raise PlanError(node.position, f"invalid qualifier type: {type_name(type_of(index.value))}")
            qualifier = plan.ConstantQualifier(node, index.value, optional, test_only=access.test is not None)
        elif isinstance(index, plan.Access):
            qualifier = plan.ComputedQualifier(node, index.attribute, optional)
        else:
            qualifier = plan.ComputedQualifier(node, plan.RelativeAttribute(node, index), optional)
        return plan.Access(self._qualified(access.attribute, qualifier), access.test)

    def _plain(
        self, node: Node, function: str, overload: str, args: tuple[plan.Interpretable, ...], parts: tuple[Node, ...]
    ) -> plan.Interpretable:
        call = find(node, function, overload, args, self._environment)
        if call is None:
            if not args:
                raise PlanError(node.position, f"no such overload: {function}()")
            call = plan.Call(node, function, args, _unknown(function))
        if isinstance(call, str):
            raise PlanError(node.position, f"no such overload: {function}({call})")
        if len(args) == 1 and function in CONVERSIONS and isinstance(args[0], plan.Constant):
            return _converted(call, args[0].value)
        if len(args) == 2 and function in ("or", "orValue"):
            return plan.Or(node, args[0], args[1], unwraps=function == "orValue")
        if overload == "in_list" and isinstance(args[1], plan.Constant):
            return _membership(call, args[0], args[1].value)
        if function in _PATTERNS and len(args) > 1 and isinstance(args[1], plan.Constant):
            known = overload == "matches_string" and isinstance(parts[1], Literal)
            return _patterned(call, args[1].value, known)
        return call

    def make_list(self, node: ListLiteral) -> Steps:
        """Plan ``[a, b]``."""
        elements = []
        for part in node.elements:
            element = yield part
            elements.append(element)
        values = [each.value for each in elements if isinstance(each, plan.Constant)]
        if len(values) == len(elements) and not node.optional:
            return plan.Constant(node, values)
        return plan.MakeList(node, tuple(elements), tuple(i in node.optional for i in range(len(elements))))

    def make_map(self, node: MapLiteral) -> Steps:
        """Plan ``{a: b}``."""
        keys, values = [], []
        for entry in node.entries:
            key = yield entry.key
            value = yield entry.value
            keys.append(key)
            values.append(value)
        optional = tuple(entry.optional for entry in node.entries)
        if any(optional) or not all(isinstance(each, plan.Constant) for each in (*keys, *values)):
            return plan.MakeMap(node, tuple(keys), tuple(values), optional)
        try:
            pairs = zip(keys, values, strict=True)
            return plan.Constant(node, make_map((key.value, value.value) for key, value in pairs))
        except Panic as panic:  # a key that Go cannot hash
            raise PlanError(node.position, panic.message) from None

    def message(self, node: Message) -> Steps:
        """Plan ``name{field: value}``."""
        reference = self._checked.references.get(node)
        name = node.type_name if reference is None else reference.name
        if name not in self._environment.messages:
            raise PlanError(node.position, f"unknown type: {name}")
        values = []
        for entry in node.entries:
            value = yield entry.value
            values.append(value)
        fields = tuple(str(entry.key.value) for entry in node.entries if isinstance(entry.key, Literal))
        optional = tuple(entry.optional for entry in node.entries)
        return plan.MakeMessage(node, name, fields, tuple(values), optional, make_message)

    def comprehension(self, node: Comprehension) -> Steps:
        """Plan the expansion of a macro."""
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
        return plan.Fold(node, iter_range, first, second, accumulator, start, condition, step, result)


def _accessed(operand: plan.Interpretable) -> plan.Access:
    return operand if isinstance(operand, plan.Access) else plan.Access(plan.RelativeAttribute(operand.id, operand))


def _branch(branch: plan.Interpretable) -> plan.Attribute:
    return branch.attribute if isinstance(branch, plan.Access) else plan.RelativeAttribute(branch.id, branch)


def _equality(node: Node, function: str, args: tuple[plan.Interpretable, ...]) -> plan.Interpretable:
    cost = functions()[function].cost
    return plan.Call(node, function, args, equal, cost, metered=True, negates=function == "_!=_")


def _unknown(function: str) -> Callable[..., Value]:
    def call(first: Value, *_: Value) -> Value:
        refuse(function, first)

    return call


def _converted(call: plan.Call, value: Value) -> plan.Constant:
    try:
        if not all(fits(guard, value) for guard in call.guards):
            raise mismatch(call.function, (value,))
        if call.work is not None:
            call.work((value,), fresh())
        return plan.Constant(call.id, call.run(value))
    except EvalError as error:
        raise PlanError(call.id.position, error.message) from None


def _membership(call: plan.Call, argument: plan.Interpretable, values: list[Value]) -> plan.Interpretable:
    if not values:
        return plan.Constant(call.id, False)
    if not all(value.__class__ in _HASHED for value in values):
        return call
    return plan.Membership(call.id, argument, frozenset(form for value in values for form in _forms(value)))


def _forms(value: Value) -> list[object]:
    """Return the forms of a value and of equal numbers of other types."""
    found = [key_form(value)]
    for convert in _OTHERS.get(value.__class__, ()):
        try:
            other = convert(value)
        except EvalError:
            continue
        if value.__class__ is not float or equal(value, other):
            found.append(key_form(other))
    return found


_OTHERS: Final[Mapping[type, tuple[Callable[..., Value], ...]]] = {
    int: (float, int_to_uint),
    Uint: (lambda number: float(number.value), uint_to_int),
    float: (double_to_int, double_to_uint),
}


def _patterned(call: plan.Call, pattern: Value, known: bool) -> plan.Interpretable:
    """Return a call with a constant pattern; ``known``: the checker has validated it."""
    if pattern.__class__ is not str:
        return call
    if not known:
        try:
            regex.check(pattern)
        except EvalError as error:
            raise PlanError(call.id.position, error.message) from None
    return replace(call, run=regex.with_pattern(call.function, pattern), metered=True, guards=(), work=None)


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
