"""Programs: Python functions generated from checked expressions, the only way in which expressions are evaluated.

The function takes the variables and the limit of cost, and returns the value (or an EvalError or Undecided instead),
the cost and the work. Costs are those of cel-go: a chain of fields and indexes costs as one attribute, a branch of
``?:`` that is an attribute costs nothing, and the fixed cost of a block is added at its start. They are exact except
where ``&&``, ``||`` or a macro absorbs a failure.

Constants are evaluated here. A failure rejects the expression, even if it would be absorbed at run time.

Sources: interpreter/planner.go, attributes.go, optimizations.go and runtimecost.go of cel-go v0.26.0. Compared with one
closure per node, 1,000 jobs with all policies take two thirds of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from itertools import takewhile
from types import CodeType
from typing import Any, Final, NamedTuple

from trainc.cel import runtime, types
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
    run,
)
from trainc.cel.calls import call
from trainc.cel.cost import IDENT, LIST, MAP, MESSAGE, QUALIFIER
from trainc.cel.declarations import Checked, Environment, Reference
from trainc.cel.issues import PlanError
from trainc.cel.macros import MAP_INSERT
from trainc.cel.maps import make_map
from trainc.cel.types import Kind, type_name
from trainc.cel.unification import is_optional
from trainc.cel.values import KeyedMap, Value, type_of
from trainc.cel.wellknown import make_message
from trainc.cel.work import BUDGET, Panic
from trainc.cel.writer import CHECK, Steps, Term, Writer, joined, require_bool

LIMIT = 1_000_000
"""The cost limit of one expression: PerCallLimit of k8s.io/apiserver pkg/apis/cel/config.go."""


class Program:
    """A compiled expression, for any number of evaluations, also by several threads. ``names``: its variables.

    Raises PlanError for an invalid constant such as int("x").
    """

    __slots__ = ("_constants", "_function", "_positions", "_text", "checked", "names")

    def __init__(self, checked: Checked, environment: Environment) -> None:
        writer = Writer(checked, environment)
        result = run(lambda node: _visit(writer, node), checked.root)
        self._text, self._positions = writer.text(result.text)
        self._constants = writer.constants
        self._function: Callable[[Mapping[str, Value], int], tuple[Value, int, int]] | None = None
        self.checked = checked
        self.names = tuple(writer.scope)

    def run(self, variables: Mapping[str, Value], limit: int = LIMIT) -> tuple[Value, int, int]:
        """Return the value, or an EvalError or Undecided in its place, with cost and work (work.py).

        A variable that is an EvalError or Undecided fails where it is used. The cost is exact if there is a value.
        """
        if self._function is None:  # most expressions of a policy are never evaluated
            space = {**vars(runtime), **self._constants, "POSITIONS": self._positions, "B": BUDGET}
            exec(_code(self._text), space)
            self._function = space["run"]
        return self._function(variables, limit)


@lru_cache(maxsize=512)
def _code(text: str) -> CodeType:
    """Compile a generated function; expressions that differ only in constants share the result."""
    return compile(text, "<expression>", "exec")


class _Qualifier(NamedTuple):
    """``.field``, ``[key]``, ``.?field`` or ``[?key]``; ``test``: only whether it is present."""

    position: int
    key: Node
    optional: bool
    test: bool

    @property
    def is_field(self) -> bool:
        """Whether it is a plain field."""
        return not self.optional and isinstance(self.key, Literal) and self.key.value.__class__ is str


class _Branch(NamedTuple):
    """A branch of ``?:`` with the qualifiers that follow the operator."""

    node: Node
    qualifiers: tuple[_Qualifier, ...]

    @property
    def position(self) -> int:
        """The position of its last qualifier."""
        return self.qualifiers[-1].position if self.qualifiers else self.node.position


def _visit(writer: Writer, node: Any) -> Steps:
    write = _WRITERS[node.__class__]
    before, writer.position = writer.position, node.position
    if writer.deep:
        name, result = f"p{writer.name()}", writer.name()
        with writer.function(name):
            term = yield from write(writer, node)
            writer.put(f"return {term.text}")
        if not term.constant:
            writer.put(f"{result} = {name}()")
            term = Term(result, term.kind)
    else:
        term = yield from write(writer, node)
    writer.position = before
    return term


def _literal(writer: Writer, node: Literal) -> Steps:
    return writer.known(node.value)
    yield node


# Attributes: variables and other values, with the fields and elements selected from them.

_INDEX: Final = frozenset(("_[_]", "_[?_]", "_?._"))
_ATTRIBUTES: Final = _INDEX | {"_?_:_"}
_DYNAMIC: Final = (Kind.DYN, Kind.ANY, Kind.PARAMETER, Kind.ERROR)


def _access(writer: Writer, node: Node) -> Steps:
    reference = _reference(writer, node)
    if reference is not None and reference.value is not None:
        return writer.known(reference.value)
    base, qualifiers = _chain(writer, node)
    found = yield from _attribute(writer, base, qualifiers)
    conditional = isinstance(base, Call) and base.function == "_?_:_"
    test = bool(qualifiers) and qualifiers[-1].test
    writer.charge((0 if conditional else IDENT) - (IDENT if test else 0))
    if test and found.kind is not bool:
        writer.put(f"if {found.text}.__class__ is Optional: {found.text} = {found.text}.present")
    return found


def _reference(writer: Writer, node: Node) -> Reference | None:
    """Return the variable or the constant that a node refers to, if any."""
    if not isinstance(node, Ident | Select):
        return None
    found = writer.checked.references.get(node)
    if found is None and isinstance(node, Ident):
        found = Reference(node.name)
    type_ = writer.checked.types.get(node)
    if found is None or found.value is not None or type_ is None or type_.kind is not Kind.TYPE:
        return found
    # cel-go takes a variable that holds a type for the name of a type.
    if (value := writer.environment.constants.get(found.name)) is None:
        raise PlanError(node.position, f"reference to undefined type: {found.name}")
    return Reference(found.name, value=value)


def _chain(writer: Writer, node: Node) -> tuple[Node, tuple[_Qualifier, ...]]:
    """Return the value that a chain of fields and indexes begins with, and the chain."""
    chain: list[_Qualifier] = []
    while _reference(writer, node) is None:
        if isinstance(node, Select):
            if node.test_only:  # what follows a presence test only tests, too
                chain = [each._replace(test=True) for each in chain]
            chain.append(_Qualifier(node.position, Literal(node.position, node.field), False, node.test_only))
            node = node.operand
        elif isinstance(node, Call) and node.function in _INDEX:
            chain.append(_Qualifier(node.position, node.args[1], node.function != "_[_]", False))
            node = node.args[0]
        else:
            break
    return node, tuple(reversed(chain))


def _attribute(writer: Writer, base: Node, qualifiers: tuple[_Qualifier, ...]) -> Steps:
    if isinstance(base, Call) and base.function == "_?_:_":
        return (yield from _conditional(writer, base, qualifiers))
    reference = _reference(writer, base)
    if reference is not None and reference.value is None:
        return (yield from _variable(writer, base, reference.name, qualifiers))
    operand = yield base
    if qualifiers:
        return (yield from _qualified(writer, operand.text, qualifiers))
    if operand.kind is not None:
        return operand
    name = writer.name()
    writer.put(f"{name} = {operand.text}")
    writer.put(f"if {name}.__class__ is Optional: {name} = rewrapped({name}, {writer.position})")
    return Term(name)


def _conditional(writer: Writer, node: Call, qualifiers: tuple[_Qualifier, ...]) -> Steps:
    writer.position = node.position
    condition, *branches = node.args
    truth, name = require_bool(writer, (yield condition)), writer.name()
    kinds = []
    for header, branch in zip((f"if {truth}:", "else:"), branches, strict=True):
        with writer.block(header):
            found = yield _Branch(branch, qualifiers)
            writer.put(f"{name} = {found.text}")
            kinds.append(found.kind)
    return Term(name, kinds[0] if kinds[0] is kinds[1] else None)


def _branch(writer: Writer, branch: _Branch) -> Steps:
    base, qualifiers = _chain(writer, branch.node)
    return (yield from _attribute(writer, base, qualifiers + branch.qualifiers))


def _variable(writer: Writer, node: Node, name: str, qualifiers: tuple[_Qualifier, ...]) -> Steps:
    type_ = writer.checked.types[node]
    variable, optional = writer.find(name), is_optional(type_)
    text = variable.text
    if variable.bind:
        writer.put(f"if {text} is UNSET: {variable.bind}()")
    if not qualifiers and (variable.kind or not (variable.free or variable.bind or optional or type_.kind in _DYNAMIC)):
        return Term(text, variable.kind)
    start = writer.constant((name, qualifiers[-1].position if qualifiers else node.position))
    if not qualifiers:
        found = writer.name()
        writer.put(f"{found} = bare({text}, *{start}) if {text}.__class__ in UNUSUAL else {text}")
        return Term(found)
    last = qualifiers[-1]
    fields = list(takewhile(lambda each: each.is_field and (not each.test or each is last), qualifiers))
    if optional or not fields:
        return (yield from _qualified(writer, text, qualifiers, start))
    writer.charge(QUALIFIER * len(fields))
    path = [(str(each.key.value), each.position) for each in fields if isinstance(each.key, Literal)]
    test = fields[-1].test
    keys = [writer.constant(key) for key, _ in path]
    found, selected = writer.name(), text + "".join(f"[{key}]" for key in keys[: len(keys) - test])
    usual = f"{selected}.get({keys[-1]}, MISSING) is not MISSING" if test else selected
    unusual = "TEST" if test else "LOOK_UP"
    writer.put(f"try: {found} = {usual}")
    writer.put(f"except {unusual}: {found} = select(f, {text}, {start}, {writer.constant(path)}, {test})")
    if len(fields) == len(qualifiers):
        return Term(found, bool if test else None)
    return (yield from _qualified(writer, found, qualifiers[len(fields) :], start, variable=text))


def _qualified(
    writer: Writer, base: str, qualifiers: tuple[_Qualifier, ...], start: str = "", *, variable: str = ""
) -> Steps:
    """Write the selections from a value; from the first optional one on, the rest is optional.

    ``start``: the name and position of the variable, if the value is one. ``variable``: it was selected from this one;
    an optional in a field is not unwrapped, as nothing is selected from it.
    """
    value, optional = writer.name(), writer.name()
    writer.put(f"{optional} = {variable or base}.__class__ is Optional")
    if variable:
        writer.put(f"{value} = ({base}.value if {base}.present else MISSING) if {optional} else {base}")
    else:
        unwrapped = f"unwrapped({base}, {start})" if start else f"unwrapped({base})"
        writer.put(f"{value} = {unwrapped} if {base}.__class__ in UNUSUAL else {base}")
    for qualifier in qualifiers:
        before, writer.position = writer.position, qualifier.position
        if qualifier.optional:
            writer.put(f"{optional} = True")
        with writer.block(f"if {value} is not MISSING:"):
            key = yield _Branch(qualifier.key, ())  # a variable costs nothing here
            if key.constant and key.value.__class__ not in runtime.KEYS:
                raise PlanError(qualifier.position, f"invalid qualifier type: {type_name(type_of(key.value))}")
            test = qualifier.test and key.constant
            writer.put(f"{value} = step(f, {value}, {key.text}, {optional}, {test})")
        writer.position = before
    writer.put(f"if {optional}: {value} = NONE if {value} is MISSING else Optional({value})")
    return Term(value)


# Operators and literals


def _call(writer: Writer, node: Call) -> Steps:
    if node.function in ("_&&_", "_||_"):
        return (yield from _logical(writer, node))
    return (yield from (_access if node.function in _ATTRIBUTES else call)(writer, node))


def _logical(writer: Writer, node: Call) -> Steps:
    """Write ``a && b && c``: operands are evaluated until one decides; failures count only if none does."""
    name, failure = writer.name(), writer.name()
    absorbing = node.function == "_||_"
    going = f"not {name}" if absorbing else name
    writer.put(f"{name} = {not absorbing}; {failure} = None")
    for at, operand in enumerate(_operands(node)):
        with writer.block(f"if {going}:") if at else nullcontext():
            with writer.block("try:"):
                writer.put(f"{name} = {require_bool(writer, (yield operand))}")
            writer.put(f"except ABSORBED as e: {failure} = worse({failure}, e)")
    writer.put(f"if {failure} is not None and {going}: raise {failure}")
    return Term(name, bool)


def _operands(node: Call) -> list[Node]:
    """Return the operands of a chain of one operator, however the parser balanced it."""
    found: list[Node] = []
    waiting: list[Node] = [node]
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Call) and operand.function == node.function:
            waiting += reversed(operand.args)
        else:
            found.append(operand)
    return found


def _list(writer: Writer, node: ListLiteral) -> Steps:
    elements = yield from _terms(node.elements)
    if not node.optional and all(each.constant for each in elements):
        return writer.known([each.value for each in elements])
    name = writer.name()
    writer.charge(LIST)
    if node.optional:
        optional = tuple(at in node.optional for at in range(len(elements)))
        writer.put(f"{name} = list_of(({joined(elements)}), {writer.constant(optional)})")
    else:
        writer.put(f"{name} = [{joined(elements)}]")
    return Term(name, list)


def _terms(nodes: Iterable[Node]) -> Generator[Any, Term, list[Term]]:
    found = []
    for node in nodes:
        term = yield node
        found.append(term)
    return found


_UNHASHABLE: Final = frozenset((Kind.BYTES, Kind.OPAQUE, Kind.STRUCT, *_DYNAMIC))
"""The kinds of keys that Go may not be able to hash."""


def _map(writer: Writer, node: MapLiteral) -> Steps:
    keys: list[Term] = []
    values: list[Term] = []
    for before, entry in zip((None, *node.entries), node.entries, strict=False):
        if before is not None and writer.checked.types.get(before.key, types.DYN).kind in _UNHASHABLE:
            writer.put(f"key_form({keys[-1].text})")  # Go hashes a key before it evaluates the next entry
        keys.append((yield entry.key))
        values.append((yield entry.value))
    optional = tuple(entry.optional for entry in node.entries)
    if not any(optional) and all(each.constant for each in (*keys, *values)):
        try:
            return writer.known(make_map((key.value, value.value) for key, value in zip(keys, values, strict=True)))
        except Panic as panic:  # a key that Go cannot hash
            raise PlanError(node.position, panic.message) from None
    name = writer.name()
    writer.charge(MAP)
    writer.put(f"{name} = map_of(({joined(keys)}), ({joined(values)}), {writer.constant(optional)})")
    return Term(name)


def _message(writer: Writer, node: Message) -> Steps:
    if node.type_name not in writer.environment.messages:
        raise PlanError(node.position, f"unknown type: {node.type_name}")
    values = yield from _terms(entry.value for entry in node.entries)
    name, make = writer.name(), writer.constant(make_message)
    fields = tuple(str(entry.key.value) for entry in node.entries if isinstance(entry.key, Literal))
    optional = tuple(entry.optional for entry in node.entries)
    writer.charge(MESSAGE)
    given = f"map_of({writer.constant(fields)}, ({joined(values)}), {writer.constant(optional)})"
    writer.put(f"{name} = {make}({writer.constant(node.type_name)}, {given})")
    return Term(name)


# Loops: expansions of macros (macros.py). Iterations also count as work (work.py).


def _comprehension(writer: Writer, node: Comprehension) -> Steps:
    if not isinstance(node.condition, Literal):
        return (yield from _searched(writer, node))
    return (yield from (_collected if node.condition.value else _bound)(writer, node))


@contextmanager
def _loop(writer: Writer, node: Comprehension, iterated: str) -> Iterator[None]:
    """Write a loop."""
    names = [name for name in (node.iter_var, node.iter_var2) if name]
    variables = {name: writer.variable(free=name == node.iter_var2) for name in names}
    header = f"for {', '.join(each.text for each in variables.values())} in {iterated}:"
    with writer.block(header), writer.scoped(variables):
        writer.put(f"w += {_weight(node)}")
        writer.put(CHECK)
        yield


def _weight(loop: Comprehension) -> int:
    """Return roughly how many nodes one iteration of a loop evaluates, without those of inner loops."""
    waiting, found = [loop.condition, loop.step], 2
    while waiting:
        node = waiting.pop()
        found += not isinstance(node, Literal | Select)
        waiting += () if isinstance(node, Comprehension) else children(node)
    return found


def _iterated(node: Comprehension, range_: Term) -> str:
    """Return the Python expression of what a loop iterates over."""
    if node.iter_var2:
        return f"pairs({range_.text})"
    return f"{range_.text} if {range_.text}.__class__ is list else elements({range_.text})"


def _searched(writer: Writer, node: Comprehension) -> Steps:
    """Write all() or exists(), which end early, and absorb failures as their ``&&`` or ``||`` does."""
    assert isinstance(node.step, Call), "what all() and exists() expand to"
    ending, predicate = node.step.function == "_||_", node.step.args[1]
    range_ = yield node.iter_range
    name, failure, source = writer.name(), writer.name(), writer.name()
    # The condition and the step of an iteration read the accumulator: 1 per name and call.
    before = IDENT + (2 if ending else 1)
    writer.charge(IDENT)
    writer.put(f"{name} = {not ending}; {failure} = None; {source} = iter({_iterated(node, range_)})")
    with _loop(writer, node, source):
        writer.charge(before + IDENT)
        with writer.block("try:"):
            holds = require_bool(writer, (yield predicate))
            with writer.block(f"if {holds}:" if ending else f"if not {holds}:"):
                writer.put(f"if {source}.__length_hint__(): c += {before}")
                writer.put(f"{name} = {ending}")
                writer.put("break")
        writer.put(f"except ABSORBED as e: {failure} = worse({failure}, e)")
    writer.put(f"if {failure} is not None and {name} is not {ending}: raise {failure}")
    return Term(name, bool)


def _collected(writer: Writer, node: Comprehension) -> Steps:
    """Write a loop that builds a list or a map, or counts.

    If a condition fails, those of the remaining elements are still evaluated, and the last failure counts.
    """
    range_ = yield node.iter_range
    kind: type = {ListLiteral: list, MapLiteral: KeyedMap, Literal: int}[node.accu_init.__class__]
    accumulator, failure, step = writer.variable(), writer.name(), node.step
    assert isinstance(step, Call), "what macros expand to"
    writer.put(f"{accumulator.text} = {'{}' if kind is KeyedMap else f'{kind.__name__}()'}; {failure} = None")
    with _loop(writer, node, _iterated(node, range_)):
        if step.function == "_?_:_":
            condition, extending, _ = step.args
            with writer.block("try:"):
                holds = require_bool(writer, (yield condition))
                with writer.block(f"if {holds} and {failure} is None:"):
                    yield from _added(writer, extending, accumulator.text)
            writer.put(f"except ABSORBED as e: {failure} = located(e)")
        else:
            yield from _added(writer, step, accumulator.text)
    writer.put(f"if {failure} is not None: raise {failure}")
    accumulator.kind = kind
    if kind is KeyedMap:
        writer.put(f"{accumulator.text} = KeyedMap({accumulator.text})")
    with writer.scoped({node.accu_var: accumulator}):
        return (yield node.result)


def _added(writer: Writer, step: Node, collected: str) -> Walk[Node, None]:
    """Write what an iteration adds."""
    assert isinstance(step, Call), "what macros expand to"
    writer.charge(IDENT + 1)
    if step.function == MAP_INSERT:
        key, *value = yield from _terms(step.args[1:])
        insert = (
            f"insert({collected}, {key.text}, {value[0].text})" if value else f"insert_all({collected}, {key.text}, f)"
        )
        writer.put(insert)
    elif isinstance(step.args[1], ListLiteral):
        [element] = yield from _terms(step.args[1].elements)
        writer.charge(0 if element.constant else LIST)
        writer.put(f"{collected}.append({element.text})")
    else:
        writer.put(f"{collected} += 1")


def _bound(writer: Writer, node: Comprehension) -> Steps:
    """Write the expansion of optMap() and sortBy(): a name for a value, which is evaluated at its first use.

    An empty list is changed in place by ``+``, as in cel-go.
    """
    _reference(writer, node.step)  # raises PlanError
    variable, name = writer.variable(), f"p{writer.name()}"
    text = variable.text
    writer.put(f"{text} = UNSET")
    with writer.function(name):
        with writer.block("try:"):
            value = yield node.accu_init
            writer.put(f"{text} = {value.text}")
        writer.put(f"except ABSORBED as e: {text} = located(e)")
        with writer.block(f"if {text}.__class__ is list and not {text}:"):
            writer.put(f"{text} = []; f.append({text})")
    variable.bind = name
    with writer.scoped({node.accu_var: variable}):
        return (yield node.result)


_WRITERS: Final[Mapping[type, Callable[[Writer, Any], Steps]]] = {
    Literal: _literal,
    Ident: _access,
    Select: _access,
    Call: _call,
    ListLiteral: _list,
    MapLiteral: _map,
    Message: _message,
    Comprehension: _comprehension,
    _Branch: _branch,
}
