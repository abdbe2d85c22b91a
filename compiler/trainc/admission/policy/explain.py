"""Finds the field of an object that determines the result of an expression, by evaluating parts of it again.

A failing ``all`` is followed to the first element that fails it, a conjunction to the operand that is false, a variable
to its expression, and what is left to the longest chain of fields in it. Best effort, and bounded: it only says where a
finding is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from trainc.admission.policy.expressions import Expressions
from trainc.basics.jsonvalues import JsonObject, Path, existing, get
from trainc.cel.ast import Call, Comprehension, Ident, Literal, Node, Select, children, postorder
from trainc.cel.codegen import Program
from trainc.cel.composition import Problem, Variables, selections
from trainc.cel.declarations import Checked
from trainc.cel.issues import PlanError
from trainc.cel.types import DYN
from trainc.cel.values import EvalError, Undecided, Value

STEPS: Final = 20_000
"""The most parts that are examined, and the most nodes of the parts that are evaluated, each part counted once."""

COST: Final = 1_000_000
"""The most that evaluating the parts may cost: as much as one expression."""

_INDEX: Final = frozenset(("_[_]", "_?._", "_[?_]"))
_UNWRAPPED: Final = frozenset(("orValue", "value"))


class Item(NamedTuple):
    """The value of a macro's variable, and its path in the object; None if it is not part of the object."""

    value: Value
    path: Path | None


class _Enough(Exception):
    """The limit of steps is exceeded."""


def explained_path(
    expressions: Expressions,
    names: Mapping[str, Value],
    compiled: Program | Problem,
    data: JsonObject | None,
    *,
    failed: bool,
) -> Path:
    """Return the path in ``data``, the object, that determines the result of an expression, as far as it exists.

    ``failed``: the expression cannot be evaluated; else it is false.
    """
    if data is None or isinstance(compiled, Problem):
        return ()
    explainer = _Explainer(expressions, names, data)
    try:
        found = explainer.path_of(compiled.checked.root, _Context(compiled.checked, {}), None if failed else False)
    except (_Enough, RecursionError):
        found = ()
    if path := existing(data, found):
        return path
    return _longest_path(compiled, expressions.variables_by_name, data)


class _Context(NamedTuple):
    """The expression that contains a node, and the values of the variables of the macros around it."""

    checked: Checked
    scope: Mapping[str, Item]

    def within(self, names: Mapping[str, Item]) -> _Context:
        return self._replace(scope={**self.scope, **names})


class _Explainer:
    """Explains one result."""

    def __init__(self, expressions: Expressions, names: Mapping[str, Value], data: JsonObject) -> None:
        self._environment = expressions.environment
        self._variables = expressions.variables_by_name
        self._names = Variables(self._variables, names).names
        self._data = data
        self._programs = expressions.parts
        self._steps, self._nodes, self._cost = STEPS, STEPS, COST
        self._seen: set[Node] = set()

    def path_of(self, node: Node, context: _Context, wanted: bool | None) -> Path:
        """Return the path that determines the result of a part: true, false, or an error (None)."""
        self._step()
        match node:
            case Call(function="!_", args=(operand,)):
                return self.path_of(operand, context, None if wanted is None else not wanted)
            case Call(function="_&&_" | "_||_", args=operands):
                # If one operand is enough to fail all, the first counts; else that with the longest path.
                guilty = (operand for operand in operands if self._has_result(operand, context, wanted))
                paths = [path for each in guilty if (path := self.path_of(each, context, wanted))]
                is_enough = wanted is (node.function == "_||_")
                return paths[0] if is_enough and paths else max(paths, key=len, default=())
            case Call(function="_?_:_", args=(condition, *branches)):
                taken = branches[0] if self._has_result(condition, context, True) else branches[1]
                found = self.path_of(taken, context, wanted) if self._has_result(taken, context, wanted) else ()
                return found or self._longest(condition, context)
            case Comprehension(macro="all" | "exists") if wanted in (None, node.macro == "exists"):
                return self._of_elements(node, context, wanted)
            case Comprehension(macro="all" | "exists"):
                return self._longest(node.iter_range, context)
            case Call(function="_==_", args=(Call(function="size") as size, Literal(value=0))) if wanted is False:
                elements = self._elements(size.target or size.args[0], context)
                first = next((item.path for _, item in elements if item.path), ())
                return first or self._longest(node, context)
        below = self._variable(node, context)
        return self.path_of(below.checked.root, below, wanted) if below is not None else self._longest(node, context)

    def _of_elements(self, node: Comprehension, context: _Context, wanted: bool | None) -> Path:
        assert isinstance(node.step, Call), "what the macro expands to"
        body = node.step.args[-1]
        for names, path in self._bound(node, context):
            inside = context.within(names)
            if self._has_result(body, inside, wanted):
                return self.path_of(body, inside, wanted) or path or ()
        return self._longest(node.iter_range, context)

    def _bound(self, node: Comprehension, context: _Context) -> Iterator[tuple[Mapping[str, Item], Path | None]]:
        """Yield the variables of a macro for each element, with their values and paths."""
        for key, item in self._elements(node.iter_range, context):
            if node.iter_var2:
                path_of_key = item.path if isinstance(key, str) else None
                yield {node.iter_var: Item(key, path_of_key), node.iter_var2: item}, item.path
            else:
                yield {node.iter_var: item if isinstance(key, int) else Item(key, item.path)}, item.path

    def _elements(self, node: Node, context: _Context) -> Iterator[tuple[int | str, Item]]:
        """Yield index or key, value and path of each element that a macro iterates over."""
        below = self._variable(node, context)
        if below is not None:
            yield from self._elements(below.checked.root, below)
        elif isinstance(node, Call) and node.function == "_+_":
            items = [item for part in node.args for _, item in self._elements(part, context)]
            yield from enumerate(items)
        elif isinstance(node, Comprehension) and node.macro in ("map", "filter") and not node.iter_var2:
            yield from enumerate(self._returned(node, context))
        else:
            yield from self._items_of_value(node, context)

    def _items_of_value(self, node: Node, context: _Context) -> Iterator[tuple[int | str, Item]]:
        path, value = self._path(node, context), self._value(node, context)
        found = get(self._data, *path) if path is not None else None
        if path is not None and isinstance(found, list):
            yield from ((index, Item(each, (*path, index))) for index, each in enumerate(found))
        elif path is not None and isinstance(found, dict):
            yield from ((key, Item(each, (*path, key))) for key, each in found.items())
        elif isinstance(value, list):
            yield from ((index, Item(each, None)) for index, each in enumerate(value))

    def _returned(self, node: Comprehension, context: _Context) -> Iterator[Item]:
        """Yield the elements of the list that ``map`` or ``filter`` returns."""
        step, condition = node.step, None
        if isinstance(step, Call) and step.function == "_?_:_":
            condition, step = step.args[0], step.args[1]
        for names, path in self._bound(node, context):
            inside = context.within(names)
            if condition is not None and not self._has_result(condition, inside, True):
                continue
            if node.macro == "filter":
                yield names[node.iter_var]
            elif isinstance(step, Call) and (body := children(step.args[-1])):
                yield Item(self._value(body[0], inside), self._longest(body[0], inside) or path)

    def _longest(self, node: Node, context: _Context) -> Path:
        """Return the longest path in a part, the first of several."""
        found: Path = ()
        for path in self._paths(node, context):
            there = existing(self._data, path)
            found = there if len(there) > len(found) else found
        return found

    def _paths(self, node: Node, context: _Context) -> Iterator[Path]:
        self._step()
        path = self._path(node, context)
        if path is not None:
            yield path
            return
        below = self._variable(node, context)
        if below is not None:
            yield from self._paths(below.checked.root, below)
        elif isinstance(node, Comprehension):
            yield from self._paths(node.iter_range, context)
            if node.macro in ("map", "filter") and not node.iter_var2:
                yield from (item.path for item in self._returned(node, context) if item.path is not None)
                return
            for names, _ in self._bound(node, context):
                yield from self._paths(node.step, context.within(names))
            yield from self._paths(node.accu_init, context)
            yield from self._paths(node.result, context)
        else:
            for child in children(node):
                yield from self._paths(child, context)

    def _path(self, node: Node, context: _Context) -> Path | None:
        """Return the path that a chain of fields and indexes selects; None for other expressions."""
        match node:
            case Ident(name=name) if name in context.scope:
                return context.scope[name].path
            case Ident(name="object"):
                return ()
            case Select(operand=operand, field=field):
                path = self._path(operand, context)
                return None if path is None else (*path, field)
            case Call(function=function, target=None, args=(operand, key)) if function in _INDEX:
                path = self._path(operand, context)
                found = self._value(key, context) if path is not None else None
                return (*path, found) if path is not None and isinstance(found, str | int) else None
            case Call(function=function, target=target) if target is not None and function in _UNWRAPPED:
                return self._path(target, context)
        return None

    def _variable(self, node: Node, context: _Context) -> _Context | None:
        """Return the context of the expression of a variable, if a part is a variable."""
        match node:
            case Select(operand=Ident(name="variables"), field=name) if "variables" not in context.scope:
                compiled = self._variables.get(name)
                return _Context(compiled.checked, {}) if isinstance(compiled, Program) else None
        return None

    def _has_result(self, node: Node, context: _Context, wanted: bool | None) -> bool:
        value = self._evaluate(node, context)
        return isinstance(value, EvalError) if wanted is None else value is wanted

    def _value(self, node: Node, context: _Context) -> Value:
        """Return the value of a part, or None if it fails."""
        value = self._evaluate(node, context)
        return None if isinstance(value, EvalError | Undecided) else value

    def _evaluate(self, node: Node, context: _Context) -> Value:
        self._step()
        if node not in self._seen:  # also if there is a program, so that no other object matters
            self._seen.add(node)
            self._nodes -= len(postorder(node))
            if self._nodes < 0:
                raise _Enough
        if node not in self._programs:
            types = context.checked.types
            part = Checked(node, types.get(node, DYN), types, context.checked.references)
            with suppress(PlanError):
                self._programs[node] = Program(part, self._environment)
        program = self._programs.setdefault(node, None)
        if program is None:
            return Undecided("")
        scope = {name: item.value for name, item in context.scope.items()}
        value, cost, _ = program.run({**self._names, **scope}, self._cost)
        self._cost -= cost
        if self._cost <= 0:
            raise _Enough
        return value

    def _step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise _Enough


def _longest_path(compiled: Program, variables: Mapping[str, Program | Problem], data: JsonObject) -> Path:
    """Return the longest path of ``object`` that an expression selects, as far as it exists in data; () if none.

    If the expression itself selects none, the paths of its variables count.
    """
    pending: list[Program | Problem] = [compiled]
    seen: set[str] = set()
    while pending:
        roots = [each.checked.root for each in pending if isinstance(each, Program)]
        paths = [existing(data, path) for root in roots for path in selections(root, "object")]
        if found := max(paths, key=len, default=()):
            return found
        used = sorted({str(path[0]) for root in roots for path in selections(root, "variables") if path} - seen)
        seen.update(used)
        pending = [variables[name] for name in used if name in variables]
    return ()
