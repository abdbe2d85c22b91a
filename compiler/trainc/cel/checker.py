"""Infers the static types of an expression and resolves its names and calls, like cel-go's checker.

Source: cel-go v0.26.0 checker/checker.go, with the options of k8s.io/apiserver v0.34: numbers of different types can be
ordered, but not compared for equality.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from types import NoneType
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from trainc.cel import types
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
    children,
    postorder,
    run,
)
from trainc.cel.declarations import Checked, Declared, Environment, Reference, candidates, qualified
from trainc.cel.escaping import RESERVED
from trainc.cel.functions import Overload
from trainc.cel.gotext import utf8
from trainc.cel.issues import CompileError, Issue
from trainc.cel.library import functions, regex
from trainc.cel.library.strings import CLAUSES, clauses
from trainc.cel.types import Kind, Type, type_name
from trainc.cel.unification import Bindings, TooLarge, application, exact, general, is_dynamic, kind, select, unwrap
from trainc.cel.values import NO_OVERLOAD, EvalError, Uint
from trainc.cel.wellknown import constructed

TOO_LARGE = "the types of the expression are too large"

_CONSTANTS: Mapping[type, Type] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    NoneType: types.NULL,
}

Part = TypeVar("Part", bound=Struct)
Steps: TypeAlias = Walk[Node, Node]
"""Checks one node, and returns the node that replaces it."""


class _State:
    """The state of checking one expression: types, references and errors. An error does not stop the check."""

    __slots__ = ("bindings", "environment", "issues", "references", "scope", "types")

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.scope: ChainMap[str, Type] = ChainMap()
        self.bindings = Bindings()
        self.types: dict[Node, Type] = {}
        self.references: dict[Node, Reference] = {}
        self.issues: list[Issue] = []

    def find(self, name: str) -> Declared | None:
        """Return the declaration of a name, or None."""
        environment = self.environment
        for full in candidates(environment.container, name):
            type_ = self.scope.get(full) or environment.variables.get(full)
            if type_ is not None:
                return Declared(full, type_)
            if (type_ := environment.names.get(full)) is not None:
                return Declared(full, type_, environment.constants.get(full))
            if full in environment.objects:
                return Declared(full, types.type_of(types.struct(full)))
            if full in environment.constants:
                return Declared(full, types.INT, environment.constants[full])
        return None

    def function(self, name: str) -> tuple[str, tuple[Overload, ...]] | None:
        """Return a function's full name and its overloads, or None."""
        for full in candidates(self.environment.container, name):
            if (found := self.environment.functions.get(full)) is not None:
                return full, found
        return None

    def error(self, position: int, message: str) -> None:
        """Record an error."""
        self.issues.append(Issue(position, message))

    def undeclared(self, node: Node, name: str) -> None:
        """Record an undeclared name."""
        container = self.environment.container
        self.error(node.position, f"undeclared reference to '{name}' (in container '{container}')")
        self.types[node] = types.ERROR

    def mismatch(self, position: int, expected: Type, found: Type) -> None:
        """Record a type mismatch."""
        self.error(position, f"expected type '{expected}' but found '{found}'")

    def require(self, node: Node, expected: Type) -> None:
        """Record an error unless a node has a type."""
        if not self.bindings.assignable(expected, self.types[node]):
            self.mismatch(node.position, expected, self.types[node])

    def selected(self, position: int, operand: Node, name: str, optional: bool = False) -> Type:
        """Return the type of a field of an operand; it is optional for an optional operand or after ``.?``."""
        target, inside = unwrap(self.bindings.substitute(self.types[operand]))
        result = types.DYN
        if target.kind is Kind.MAP:
            result = target.parameters[1]
        elif target.kind is Kind.STRUCT:
            result = self.declared_field(position, target.name, name)
        elif target.kind is Kind.PARAMETER:
            self.bindings.assignable(types.DYN, target)
        elif not is_dynamic(target) and target.kind is not Kind.ERROR:
            self.error(position, f"type '{target}' does not support field selection")
        return types.optional_of(result) if inside or optional else result

    def declared_field(self, position: int, struct: str, name: str) -> Type:
        """Return the declared type of a struct's field, or ERROR.

        Fields named like a reserved word of CEL are declared as ``__word__`` and found by both names
        (k8s.io/apiserver pkg/cel/types.go, FindStructFieldType).
        """
        fields = self.environment.objects.get(struct)
        if fields is None:
            fields = self.environment.messages.get(struct)
        if fields is None:
            self.error(position, f"unexpected failed resolution of '{struct}'")
            return types.ERROR
        found = fields.get(name)
        if found is None and name in RESERVED:
            found = fields.get(f"__{name}__")
        if found is None:
            self.error(position, f"undefined field '{name}'")
            return types.ERROR
        return found

    def resolve(self, node: Call, name: str, overloads: tuple[Overload, ...]) -> None:
        """Find the overloads of a call by the types of its arguments."""
        if name in ("_&&_", "_||_"):
            self._logical(node, overloads[0].id)
            return
        member = node.target is not None
        given = [self.types[each] for each in ((node.target, *node.args) if node.target is not None else node.args)]
        result, chosen = select(overloads, member, given, self.bindings)
        if result is None:
            applied = application(given, member, self.bindings)
            self.error(node.position, f"found no matching overload for '{name}' applied to '{applied}'")
            self.types[node] = types.ERROR
            return
        self.types[node] = self.bindings.bounded(result)
        self.references[node] = Reference(overloads=chosen)

    def _logical(self, node: Call, overload: str) -> None:
        wrong = False
        for arg in node.args:
            if not self.bindings.assignable(self.types[arg], types.BOOL):
                self.mismatch(arg.position, types.BOOL, self.types[arg])
                wrong = True
        self.types[node] = types.ERROR if wrong else types.BOOL
        if not wrong:
            self.references[node] = Reference(overloads=(overload,))

    def element(self, node: Node, optional: bool) -> Type:
        """Return the type that an element adds to its list or map: after a question mark it must be optional."""
        type_ = self.types[node]
        if not optional:
            return type_
        inner, inside = unwrap(type_)
        if not inside and not is_dynamic(inner):
            self.mismatch(node.position, types.optional_of(inner), inner)
        return inner

    def join(self, before: Type | None, type_: Type) -> Type:
        """Return the common type of elements of a list or map; dyn if they differ (the validator may report it)."""
        if before is None:
            return type_
        return general(before, type_) if self.bindings.assignable(before, type_) else types.DYN

    def fit(self, position: int, struct: str, name: str, given: Type) -> None:
        """Record an error if a value does not fit the field of a message."""
        wanted = self.declared_field(position, struct, name)
        if not self.bindings.assignable(wanted, given):
            self.error(position, f"expected type of field '{name}' is '{wanted}' but provided type is '{given}'")

    def iterated(self, over: Node, two: bool) -> tuple[Type, Type]:
        """Return the types of a macro's variables over a range; the second is for macros of two variables."""
        ranged = self.bindings.substitute(self.types[over])
        if ranged.kind is Kind.LIST:
            [element] = ranged.parameters
            return (types.INT, element) if two else (element, element)
        if ranged.kind is Kind.MAP:
            return ranged.parameters[0], ranged.parameters[1]
        if ranged.kind in (Kind.DYN, Kind.ERROR, Kind.PARAMETER):
            self.bindings.assignable(types.DYN, ranged)
            return types.DYN, types.DYN
        message = f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self.error(over.position, message)
        return types.ERROR, types.ERROR


def check(root: Node, environment: Environment, *, strict: bool = True) -> Checked:
    """Return the expression with its types. Raises CompileError with all errors, in cel-go's order.

    If not ``strict``, errors are ignored: they show when the expression is evaluated, and its type is dyn.
    """
    state = _State(environment)
    try:
        node = run(lambda each: _VISITS[type(each)](state, each), root)
        if state.issues and strict:
            raise CompileError(tuple(state.issues))
        found = {each: state.bindings.substitute(type_, to_dyn=True) for each, type_ in state.types.items()}
    except TooLarge:
        raise CompileError((Issue(root.position, TOO_LARGE),)) from None
    checked = Checked(node, found[node] if strict else types.DYN, found, state.references)
    if strict and (issues := validate(checked)):
        raise CompileError(tuple(issues))
    return checked


def _literal(state: _State, node: Literal) -> Steps:
    state.types[node] = _CONSTANTS[type(node.value)]
    return node
    yield node


def _ident(state: _State, node: Ident) -> Steps:
    declared = state.find(node.name)
    if declared is not None:
        return _refer(state, node, declared)
    state.undeclared(node, node.name)
    return node
    yield node


def _refer(state: _State, node: Ident | Select, declared: Declared) -> Node:
    named = isinstance(node, Ident) and node.name == declared.name
    found = node if named else Ident(node.position, declared.name)
    state.types[found] = declared.type
    state.references[found] = Reference(declared.name, value=declared.value)
    return found


def _select(state: _State, node: Select) -> Steps:
    name = qualified(node)
    if name is not None and (declared := state.find(name)) is not None:
        return _refer(state, node, declared)
    operand = yield node.operand
    result = state.selected(node.position, operand, node.field)
    node = _rebuilt(node, operand=operand)
    state.types[node] = types.BOOL if node.test_only else state.bindings.substitute(result)
    return node


def _call(state: _State, node: Call) -> Steps:
    args = []
    for each in node.args:
        arg = yield each
        args.append(arg)
    if node.function == "_?._":
        return _optional_select(state, node, args)
    target, name, function = node.target, node.function, state.function(node.function)
    if target is not None:
        space = qualified(target)
        inside = state.function(f"{space}.{name}") if space is not None else None
        if inside is None:
            target = yield target
        else:
            target, function = None, inside
    if function is not None and target is None:
        name = function[0]
    node = _rebuilt(node, function=name, target=target, args=tuple(args))
    if function is None:
        state.undeclared(node, name)
    else:
        state.resolve(node, *function)
    return node


def _optional_select(state: _State, node: Call, args: list[Node]) -> Node:
    """Check ``operand.?field``, whose field is a string literal."""
    operand, name = args
    assert isinstance(name, Literal)
    node = _rebuilt(node, args=(operand, name))
    result = state.selected(node.position, operand, str(name.value), optional=True)
    state.types[node] = state.bindings.substitute(result)
    state.references[node] = Reference(overloads=("select_optional_field",))
    return node


def _list(state: _State, node: ListLiteral) -> Steps:
    joined: Type | None = None
    elements = []
    for index, each in enumerate(node.elements):
        element = yield each
        elements.append(element)
        joined = state.join(joined, state.element(element, index in node.optional))
    node = _rebuilt(node, elements=tuple(elements))
    joined = state.bindings.fresh() if joined is None else joined
    state.types[node] = state.bindings.bounded(types.list_of(joined))
    return node


def _map(state: _State, node: MapLiteral) -> Steps:
    keys: Type | None = None
    values: Type | None = None
    entries = []
    for entry in node.entries:
        key = yield entry.key
        keys = state.join(keys, state.types[key])
        value = yield entry.value
        values = state.join(values, state.element(value, entry.optional))
        entries.append(_rebuilt(entry, key=key, value=value))
    if keys is None or values is None:
        keys, values = state.bindings.fresh(), state.bindings.fresh()
    node = _rebuilt(node, entries=tuple(entries))
    state.types[node] = state.bindings.bounded(types.map_of(keys, values))
    return node


def _message(state: _State, node: Message) -> Steps:
    declared = state.find(node.type_name)
    if declared is None:
        state.undeclared(node, node.type_name)
        return node
    result, struct, wrong = constructed(declared)
    if wrong:
        state.error(node.position, wrong)
    entries = []
    for entry in node.entries:
        value = yield entry.value
        entries.append(_rebuilt(entry, value=value))
        # The name of a field is not an expression, but entries of maps and messages share one class.
        assert isinstance(entry.key, Literal)
        state.types[entry.key] = types.STRING
        state.fit(entry.position, struct, str(entry.key.value), state.element(value, entry.optional))
    node = _rebuilt(node, type_name=declared.name, entries=tuple(entries))
    state.types[node] = result
    state.references[node] = Reference(declared.name)
    return node


def _comprehension(state: _State, node: Comprehension) -> Steps:
    over = yield node.iter_range
    start = yield node.accu_init
    accumulated = state.types[start]
    state.scope = state.scope.new_child({node.accu_var: accumulated})
    first, second = state.iterated(over, two=bool(node.iter_var2))
    variables = {node.iter_var2: second, node.iter_var: first} if node.iter_var2 else {node.iter_var: first}
    state.scope = state.scope.new_child(variables)
    condition = yield node.condition
    state.require(condition, types.BOOL)
    step = yield node.step
    state.require(step, accumulated)
    state.scope = state.scope.parents
    result = yield node.result
    state.scope = state.scope.parents
    node = _rebuilt(node, iter_range=over, accu_init=start, condition=condition, step=step, result=result)
    state.types[node] = state.bindings.substitute(state.types[result])
    return node


def _rebuilt(node: Part, **fields: object) -> Part:
    """Return the node with these fields, or the same node if they are equal. Nodes compare by identity."""
    if all(getattr(node, name) == value for name, value in fields.items()):
        return node
    return replace(node, **fields)


_VISITS: Mapping[type, Callable[[_State, Any], Steps]] = {
    Literal: _literal,
    Ident: _ident,
    Select: _select,
    Call: _call,
    ListLiteral: _list,
    MapLiteral: _map,
    Message: _message,
    Comprehension: _comprehension,
}


# Literals that the server validates: formats, durations, patterns, mixed lists (cel-go v0.26.0 cel/validator.go and, of
# ``format``, ext/formatting.go). Validators and their order: k8s.io/apiserver v0.34 pkg/cel/environment/base.go

NO_OPTIONAL = "an element behind a question mark must be of type optional_type, not dyn, for the API server to check it"
"""The checker allows dyn, but the server's validator fails on it (cel/validator.go)."""


def validate(checked: Checked) -> list[Issue]:
    """Return the issues of literals in a checked expression, in cel-go's order."""
    nodes = postorder(checked.root)
    calls = [node for node in nodes if isinstance(node, Call)]
    formats = [call for call in calls if call.function == "format"]
    exempt: set[Node] = set()  # literals below format() may mix types
    for node in reversed(nodes) if formats else ():
        if node in exempt or (isinstance(node, Call) and node.function == "format"):
            exempt.update(children(node))
    issues: list[Issue] = []
    for kind_, mixed in _MIXED.items():
        for node in nodes:
            if isinstance(node, kind_) and node not in exempt:
                issues += mixed(checked, node)
    for name in ("duration", "timestamp", "matches"):
        for call in calls:
            if call.function == name and call.args and isinstance(argument := call.args[0], Literal):
                issues += _argument_issues(checked, call, argument)
    for call in formats:
        issues += _format_issues(checked, call)
    return issues


def _argument_issues(checked: Checked, call: Call, argument: Literal) -> Iterator[Issue]:
    """Convert a literal to a time, or compile it as a regular expression; of ``matches(text, regex)`` that is the text.

    Null passes the checker, as times may be null, but cannot be converted.
    """
    try:
        if argument.value is None:
            raise EvalError(NO_OVERLOAD)
        if call.function == "matches":
            regex.check(str(argument.value))
            return
        [chosen] = checked.references[call].overloads
        for overload in functions()[call.function].overloads:
            if overload.id == chosen and overload.run is not None:
                overload.run(argument.value)
    except EvalError:
        yield Issue(argument.position, f"invalid {call.function} argument")


def _mixed_list(checked: Checked, literal: ListLiteral) -> Iterator[Issue]:
    """Check that all elements have one type."""
    first: Type | None = None
    for index, element in enumerate(literal.elements):
        type_ = _inner(checked, element, index in literal.optional)
        if type_ is None:
            yield Issue(element.position, NO_OPTIONAL)
            return
        first = first or type_
        if not exact(first, type_):
            yield _mismatch(element, first, type_)
            return


def _mixed_map(checked: Checked, literal: MapLiteral) -> Iterator[Issue]:
    """Check that all keys have one type, and all values."""
    first: tuple[Type, Type] | None = None
    for entry in literal.entries:
        key, value = checked.types[entry.key], _inner(checked, entry.value, entry.optional)
        if value is None:
            yield Issue(entry.value.position, NO_OPTIONAL)
            return
        first = first or (key, value)
        if not exact(first[0], key):
            yield _mismatch(entry.key, first[0], key)
        if not exact(first[1], value):
            yield _mismatch(entry.value, first[1], value)


_MIXED: Mapping[type, Callable[[Checked, Any], Iterator[Issue]]] = {ListLiteral: _mixed_list, MapLiteral: _mixed_map}


def _inner(checked: Checked, node: Node, optional: bool) -> Type | None:
    """Return the type of an element; after a question mark that inside the optional, None for dyn."""
    type_ = checked.types[node]
    if not optional:
        return type_
    inner, inside = unwrap(type_)
    return inner if inside else None


def _mismatch(node: Node, expected: Type, found: Type) -> Issue:
    return Issue(node.position, f"expected type '{expected}' but found '{found}'")


# Formats


def _format_issues(checked: Checked, call: Call) -> Iterator[Issue]:
    """Yield the first issue of a call of format() on a literal with a literal list."""
    template = call.target
    if not isinstance(template, Literal) or not isinstance(template.value, str) or len(call.args) != 1:
        return
    given = call.args[0]
    if not isinstance(given, ListLiteral):
        return
    used = 0
    try:
        for _, letter, _ in clauses(utf8(template.value), len(given.elements), static=True):
            node = _misfit(checked, given.elements[used], letter) if letter else None
            if node is not None:
                words = f"{CLAUSES[letter].complaint}, was given {type_name(checked.types[node])}"
                yield Issue(node.position, f"error during formatting: {words}")
                return
            used += bool(letter)
    except EvalError as error:
        yield Issue(call.position, error.message)
        return
    if len(given.elements) > used:
        count = f"(expected {used}, got {len(given.elements)})"
        yield Issue(call.position, f"too many arguments supplied to string.format {count}")


def _misfit(checked: Checked, node: Node, letter: str) -> Node | None:
    """Return the node whose type a clause does not accept: the argument or, for ``%s``, an element inside it."""
    pending: list[Node] = [node]
    while pending:
        found = pending.pop()
        type_ = checked.types[found]
        if type_.kind is not Kind.DYN and kind(type_) not in CLAUSES[letter].kinds:
            return found
        if letter == "s":
            pending.extend(reversed(children(found) if isinstance(found, ListLiteral | MapLiteral) else ()))
    return None
