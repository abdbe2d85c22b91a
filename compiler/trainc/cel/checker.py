"""The static types of an expression, and what its names and calls refer to, as cel-go's checker finds them.

Source: cel-go v0.26.0 checker/checker.go, with the options that k8s.io/apiserver v0.34 sets: numbers of different types
may be ordered, but not tested for equality.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from types import NoneType
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from trainc.cel import types
from trainc.cel.ast import Call, Comprehension, Entry, Ident, ListLiteral, Literal, MapLiteral, Message, Node, Select
from trainc.cel.declarations import Declared, Environment, qualified
from trainc.cel.issues import CompileError, Issue
from trainc.cel.judging import Judge, Reference
from trainc.cel.messages import constructed
from trainc.cel.types import Type
from trainc.cel.unification import TooLarge
from trainc.cel.values import Uint

__all__ = ["Checked", "Reference", "check", "unchecked"]

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

Steps: TypeAlias = Generator[Node, Node, Node]
"""The checking of one node: yields a node below it to have that one checked, is sent what replaces it, and returns what
replaces the node itself. So the depth of a tree is no depth of Python's stack."""


class Checked(Struct, frozen=True):
    """An expression with its types. In ``root`` names are full, and functions with a namespace have no target.

    ``types`` has every node of ``root``, ``references`` identifiers, calls and messages; both are empty if unchecked.
    """

    root: Node
    type: Type
    types: Mapping[Node, Type] = field(default_factory=dict)
    references: Mapping[Node, Reference] = field(default_factory=dict)


def check(root: Node, environment: Environment) -> Checked:
    """Return the expression with its types. Raises CompileError with all that is wrong with it, in cel-go's order."""
    from trainc.cel.validators import validate

    judge = Judge(environment)
    try:
        node = _visit(judge, root)
        if judge.issues:
            raise CompileError(tuple(judge.issues))
        found = {each: judge.bindings.substitute(type_, to_dyn=True) for each, type_ in judge.types.items()}
    except TooLarge:
        raise CompileError((Issue(root.position, TOO_LARGE),)) from None
    checked = Checked(node, found[node], found, judge.references)
    if issues := validate(checked):
        raise CompileError(tuple(issues))
    return checked


def unchecked(root: Node, environment: Environment) -> Checked:
    """Return the expression as it is: everything is dyn, and names are resolved in ``environment`` when it runs."""
    return Checked(root, types.DYN)


def _visit(judge: Judge, root: Node) -> Node:
    """Check a tree from the leaves up, and return what replaces it."""
    waiting: list[Steps] = []
    node = root
    while True:
        done: Any = None
        leaf = _LEAVES.get(type(node))
        if leaf is None:
            waiting.append(_BRANCHES[type(node)](judge, node))
        else:
            done = leaf(judge, node)
        while waiting:
            try:
                node = waiting[-1].send(done)
                break
            except StopIteration as end:
                done = end.value
                waiting.pop()
        else:
            found: Node = done
            return found


def _literal(judge: Judge, node: Literal) -> Node:
    judge.types[node] = _CONSTANTS[type(node.value)]
    return node


def _ident(judge: Judge, node: Ident) -> Node:
    declared = judge.names.find(node.name)
    if declared is None:
        judge.undeclared(node, node.name)
        return node
    return _refer(judge, node, declared)


def _refer(judge: Judge, node: Ident | Select, declared: Declared) -> Node:
    named = isinstance(node, Ident) and node.name == declared.name
    found = node if named else Ident(node.position, declared.name)
    judge.types[found] = declared.type
    judge.references[found] = Reference(declared.name, value=declared.value)
    return found


def _select(judge: Judge, node: Select) -> Steps:
    name = qualified(node)
    if name is not None and (declared := judge.names.find(name)) is not None:
        return _refer(judge, node, declared)
    operand = yield node.operand
    result = judge.selected(node.position, operand, node.field)
    if operand is not node.operand:
        node = Select(node.position, operand, node.field, node.test_only)
    judge.types[node] = types.BOOL if node.test_only else judge.bindings.substitute(result)
    return node


def _call(judge: Judge, node: Call) -> Steps:
    args = []
    for each in node.args:
        arg = yield each
        args.append(arg)
    if node.function == "_?._":
        return _optional_select(judge, node, args)
    target, name, function = node.target, node.function, judge.names.function(node.function)
    if target is not None:
        space = qualified(target)
        inside = judge.names.function(f"{space}.{name}") if space is not None else None
        if inside is None:
            target = yield target
        else:
            target, function = None, inside
    if function is not None and target is None:
        name = function[0]
    if name != node.function or target is not node.target or any(map(_differ, args, node.args)):
        node = Call(node.position, name, target, tuple(args))
    if function is None:
        judge.undeclared(node, name)
    else:
        judge.resolve(node, *function)
    return node


def _optional_select(judge: Judge, node: Call, args: list[Node]) -> Node:
    """Judge ``operand.?field``, whose field the parser makes a string."""
    operand, name = args
    assert isinstance(name, Literal)
    if operand is not node.args[0]:
        node = Call(node.position, node.function, None, (operand, name))
    result = judge.selected(node.position, operand, str(name.value), optional=True)
    judge.types[node] = judge.bindings.substitute(result)
    judge.references[node] = Reference(overloads=("select_optional_field",))
    return node


def _list(judge: Judge, node: ListLiteral) -> Steps:
    joined: Type | None = None
    elements = []
    for index, each in enumerate(node.elements):
        element = yield each
        elements.append(element)
        joined = judge.join(joined, judge.element(element, index in node.optional))
    if any(map(_differ, elements, node.elements)):
        node = ListLiteral(node.position, tuple(elements), node.optional)
    joined = judge.bindings.fresh() if joined is None else joined
    judge.types[node] = judge.bindings.bounded(types.list_of(joined))
    return node


def _map(judge: Judge, node: MapLiteral) -> Steps:
    keys: Type | None = None
    values: Type | None = None
    entries = []
    for entry in node.entries:
        key = yield entry.key
        keys = judge.join(keys, judge.types[key])
        value = yield entry.value
        values = judge.join(values, judge.element(value, entry.optional))
        entries.append(_entry(entry, key, value))
    if keys is None or values is None:
        keys, values = judge.bindings.fresh(), judge.bindings.fresh()
    if any(map(_differ, entries, node.entries)):
        node = MapLiteral(node.position, tuple(entries))
    judge.types[node] = judge.bindings.bounded(types.map_of(keys, values))
    return node


def _message(judge: Judge, node: Message) -> Steps:
    declared = judge.names.find(node.type_name)
    if declared is None:
        judge.undeclared(node, node.type_name)
        return node
    result, struct, wrong = constructed(declared)
    if wrong:
        judge.error(node.position, wrong)
    entries = []
    for entry in node.entries:
        value = yield entry.value
        entries.append(_entry(entry, entry.key, value))
        # The name of a field is no expression; it is a node for the sake of one shape of entries.
        assert isinstance(entry.key, Literal)
        judge.types[entry.key] = types.STRING
        judge.fit(entry.position, struct, str(entry.key.value), judge.element(value, entry.optional))
    if declared.name != node.type_name or any(map(_differ, entries, node.entries)):
        node = Message(node.position, declared.name, tuple(entries))
    judge.types[node] = result
    judge.references[node] = Reference(declared.name)
    return node


def _entry(entry: Entry, key: Node, value: Node) -> Entry:
    if key is entry.key and value is entry.value:
        return entry
    return Entry(entry.position, key, value, entry.optional)


def _comprehension(judge: Judge, node: Comprehension) -> Steps:
    over = yield node.iter_range
    start = yield node.accu_init
    accumulated = judge.types[start]
    judge.names.enter({node.accu_var: accumulated})
    first, second = judge.iterated(over, two=bool(node.iter_var2))
    judge.names.enter({node.iter_var2: second, node.iter_var: first} if node.iter_var2 else {node.iter_var: first})
    condition = yield node.condition
    judge.require(condition, types.BOOL)
    step = yield node.step
    judge.require(step, accumulated)
    judge.names.leave()
    result = yield node.result
    judge.names.leave()
    before = (node.iter_range, node.accu_init, node.condition, node.step, node.result)
    if any(map(_differ, (over, start, condition, step, result), before)):
        node = msgspec.structs.replace(
            node, iter_range=over, accu_init=start, condition=condition, step=step, result=result
        )
    judge.types[node] = judge.bindings.substitute(judge.types[result])
    return node


def _differ(new: object, old: object) -> bool:
    return new is not old


_LEAVES: Mapping[type, Callable[[Judge, Any], Node]] = {Literal: _literal, Ident: _ident}
_BRANCHES: Mapping[type, Callable[[Judge, Any], Steps]] = {
    Select: _select,
    Call: _call,
    ListLiteral: _list,
    MapLiteral: _map,
    Message: _message,
    Comprehension: _comprehension,
}
