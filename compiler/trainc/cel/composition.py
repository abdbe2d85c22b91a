"""Compiles expressions: those of policies, whose variables are evaluated when first used, and the rules of CRDs.

Source of the variables: k8s.io/apiserver v0.34 pkg/admission/plugin/cel/composition.go and pkg/cel/lazy/lazy.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import takewhile
from typing import Final, NamedTuple

from msgspec import Struct

from trainc.basics.jsonvalues import JsonObject, Path
from trainc.basics.regex import lazy
from trainc.cel import types
from trainc.cel.ast import Call, Ident, Literal, Node, Select, postorder
from trainc.cel.checker import check
from trainc.cel.codegen import Program
from trainc.cel.declarations import VARIABLES, Environment, admission, declared, refusal
from trainc.cel.escaping import unescape
from trainc.cel.issues import CompileError, Issue, PlanError, display
from trainc.cel.parser import parse
from trainc.cel.schemas import Declared, Schema, declare
from trainc.cel.types import Type
from trainc.cel.values import MISSING, NO_OVERLOAD, Container, EvalError, Undecided, Value
from trainc.cel.work import MESSAGE, PER_COST, Exceeded

MOST = 10_000_000
"""The largest budget: RuntimeCELCostBudget of k8s.io/apiserver pkg/apis/cel/config.go."""


class Problem(NamedTuple):
    """The error with which the API server rejects an expression; ``position``: an offset in code points.

    ``issues`` are the compile errors by position.
    """

    text: str
    position: int = 0
    issues: tuple[Issue, ...] = ()


def compile_expression(
    text: str,
    environment: Environment,
    allowed: tuple[Type, ...] = (),
    *,
    strict: bool = True,
    what: str = "",
    wrong_type: str = "",
) -> Program | Problem:
    """Compile an expression whose type must be one of ``allowed`` (empty: any), or return the problem.

    ``what`` names the expression in errors, ``wrong_type`` is the error for a type that is not allowed. Not ``strict``:
    type errors are ignored (checker.py).
    """
    try:
        tree = parse(text, environment.macros)
        checked = check(tree, environment, strict=strict)
        if allowed and (reason := refusal(checked.type, allowed)) is not None:
            return Problem(wrong_type or reason)
        return Program(checked, environment)
    except PlanError as error:
        return Problem(f"{what or 'program '}instantiation failed: {error.message}", error.issues[0].position)
    except CompileError as error:
        issues = tuple(sorted(error.issues, key=lambda issue: issue.position))
        return Problem(f"{what}compilation failed: {display(text, error.issues)}", issues[0].position, issues)


class Variable(NamedTuple):
    """A variable of a policy."""

    name: str
    made: Program | Problem


def compose(rows: Iterable[tuple[str, str]], *, params: bool, new: bool = False) -> tuple[Variable, ...]:
    """Compile variables, pairs of name and expression; each may use those before it.

    ``params``: the policy has params.
    """
    found: list[Variable] = []
    known: dict[str, Type | None] = {}
    environment = admission(new=new, params=params, variables=known)
    for name, text in rows:
        variable = Variable(name, compile_expression(text, environment))
        found.append(variable)
        known.update(variable_types([variable]))
    return tuple(found)


def variable_types(variables: Iterable[Variable]) -> dict[str, Type | None]:
    """Return the types of variables, None for those that do not compile."""
    return {name: made.checked.type if isinstance(made, Program) else None for name, made in variables}


class LazyNames(dict[str, Value]):
    """Values by name; a ``partial`` is called when its name is first read."""

    __slots__ = ()

    def get(self, key: str, default: Value = None) -> Value:
        """Return a value."""
        value = super().get(key, default)
        if value.__class__ is partial:
            value = self[key] = value()
        return value


NESTED: Final = 50
"""How deeply variables may be evaluated within each other; there may be hundreds, each of which uses the one before."""


class Variables(Container):
    """The value of ``variables`` in one evaluation. ``cost``: the cost of the variables evaluated so far.

    ``charged``: their charge on a budget. Evaluation stops beyond MOST, the largest budget. ``names``: the variables of
    expressions, with this value as ``variables``.
    """

    __slots__ = ("_made", "_nested", "_order", "_values", "charged", "cost", "names")

    has_size = False

    def __init__(self, variables: Mapping[str, Program | Problem], names: Mapping[str, Value]) -> None:
        self._made = variables
        self._values: dict[str, Value] = {}
        self._order: dict[str, int] = {}
        self.names = LazyNames(names)
        self.names["variables"] = self
        self.cost = self.charged = self._nested = 0

    @property
    def waiting(self) -> int:
        """The number of variables not evaluated yet."""
        return len(self._made) - len(self._values)

    def get(self, key: Value, default: Value) -> Value:
        """Return a variable's value. Raises EvalError or Undecided where evaluating it does."""
        value = self._values.get(key, MISSING) if key.__class__ is str else MISSING
        if value is MISSING:
            name = unescape(key) if isinstance(key, str) and "__" in key else key
            if not isinstance(name, str) or name not in self._made:
                return default
            if (value := self._values.get(name, MISSING)) is MISSING:
                for used in self._used(name) if self._nested == NESTED else ():
                    self._values[used] = self._evaluate(used, self._made[used])
                value = self._values[name] = self._evaluate(name, self._made[name])
        if value.__class__ is EvalError:
            raise EvalError(value.message)
        if value.__class__ is Undecided:
            raise Undecided(value.reason)
        return value

    def _evaluate(self, name: str, made: Program | Problem) -> Value:
        if isinstance(made, Problem):
            return EvalError(f'composited variable "{name}" fails to compile: {made.text}')
        if self.charged > MOST:
            raise Exceeded(MESSAGE)
        self._nested += 1
        try:
            value, cost, work = made.run(self.names)
        finally:
            self._nested -= 1
        self.cost += cost
        self.charged += max(cost, work // PER_COST)
        if value.__class__ is EvalError:
            return EvalError(f'composited variable "{name}" fails to evaluate: {value.message}')
        return value

    def _used(self, name: str) -> list[str]:
        """Return the variables without a value that a variable uses, also through others, in their order."""
        self._order = self._order or {each: at for at, each in enumerate(self._made)}
        found, waiting = {name}, [name]
        while waiting:
            made = self._made[waiting.pop()]
            paths = selections(made.checked.root, "variables") if isinstance(made, Program) else ()
            used = {str(path[0]) for path in paths if path} - found
            more = [each for each in used if each in self._made and each not in self._values]
            found.update(more)
            waiting += more
        return sorted(found - {name}, key=self._order.__getitem__)

    def native(self) -> Value:
        """Raise EvalError: the server does not convert it."""
        raise EvalError(NO_OVERLOAD)

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[Value]:
        """Yield the values, as pkg/cel/lazy does, not the names."""
        return (self.get(name, MISSING) for name in self._made)

    def celtype(self) -> Type:
        """Return the struct type that holds the variables."""
        return types.struct(VARIABLES)


# Rules of a CRD: ``self`` and ``oldSelf`` typed by the schema (k8s.io/apiextensions-apiserver v0.34
# pkg/apiserver/schema/cel: compilation.go; validation.go, ValidFieldPath)

SELF, OLD_SELF = "self", "oldSelf"
TYPE_NAME = "selfType"
"""The type name of self, if it is an object (the server adds a random number)."""


class CompiledRule(Struct, frozen=True):
    """A compiled rule.

    ``rule`` and ``message`` (messageExpression) are None if they are empty or invalid; ``problem`` and
    ``message_problem`` tell why. ``typed``: self has a type. ``compares``: it refers to oldSelf. ``field_path`` and
    ``field_text``: the reported path, relative to that of the rule.
    """

    rule: Program | None = None
    message: Program | None = None
    compares: bool = False
    field_path: Path = ()
    field_text: str = ""
    problem: Problem | None = None
    message_problem: Problem | None = None
    typed: bool = True


def compile_rule(spec: JsonObject, schema: Schema, root: bool, *, new: bool = False) -> CompiledRule:
    """Compile an entry of x-kubernetes-validations at schema, as for a stored CRD (or a ``new`` one).

    ``root``: schema describes a whole object.
    """
    text, message_text = str(spec.get("rule", "")), str(spec.get("messageExpression", ""))
    self_: Declared | None = schema.compiled.get((declare, root))  # all rules of a schema share the types of its fields
    if self_ is None:
        self_ = schema.compiled[declare, root] = declare(schema, root, TYPE_NAME)
    if self_ is None:
        return CompiledRule(problem=Problem("failed to convert to declType for CEL validation rules"), typed=False)
    if not text.strip():
        return CompiledRule()
    environment = rule_environment(self_, optional_old=spec.get("optionalOldSelf") is True, new=new)
    rule = compile_expression(text, environment, (types.BOOL,), wrong_type="cel expression must evaluate to a bool")
    if isinstance(rule, Problem):
        return CompiledRule(problem=rule)
    compares = any(reference.name == OLD_SELF for reference in rule.checked.references.values())
    path, text_path = parse_field_path(str(spec.get("fieldPath", "")), schema)
    if not message_text:
        return CompiledRule(rule, None, compares, path, text_path)
    what, wrong_type = "messageExpression ", "messageExpression must evaluate to a string"
    message = compile_expression(message_text, environment, (types.STRING,), what=what, wrong_type=wrong_type)
    if isinstance(message, Problem):
        return CompiledRule(rule, compares=compares, message_problem=message)
    return CompiledRule(rule, message, compares, path, text_path)


def rule_environment(self_: Declared, *, optional_old: bool = False, new: bool = False) -> Environment:
    """Return the environment of a rule with this self."""
    old = types.optional_of(self_.type) if optional_old else self_.type
    return declared({SELF: self_.type, OLD_SELF: old}, self_.objects(), new=new)


# fieldPath

_STEP = lazy(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
_ESCAPE = lazy(r"\\(.)", re.DOTALL)
_CHARACTERS = {**dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)), "'": "'", "\\": "\\"}


def parse_field_path(text: str, schema: Schema) -> tuple[Path, str]:
    """Return the path of a fieldPath such as ``.spec.names['a.b']``, and the server's text for it: ``spec.names[a.b]``.

    Both are empty if it is invalid or not in the schema.
    """
    path: list[str] = []
    text_path, end = "", 0
    for step in _STEP.finditer(text):
        if step.start() != end or any(char not in _CHARACTERS for char in _ESCAPE.findall(step[2] or "")):
            return (), ""
        name = step[1] or _ESCAPE.sub(lambda found: _CHARACTERS[found[1]], step[2] or "")
        named = schema.keywords.get("properties") is not None
        below = schema.properties.get(name) if named else schema.additional
        if below is None:
            return (), ""
        path.append(name)
        text_path += f".{name}" if named else f"[{name}]"
        schema, end = below, step.end()
    return (tuple(path), text_path.removeprefix(".")) if end == len(text) else ((), "")


# Fields that an expression reads


def common_selection(root: Node, variable: str) -> Path:
    """Return the common path of all reads below a variable: a, of ``self.a.b > 1 && self.a.c``."""
    columns = zip(*selections(root, variable), strict=False)
    return tuple(steps[0] for steps in takewhile(lambda steps: len({*steps}) == 1, columns))


def selections(root: Node, variable: str) -> Iterator[Path]:
    """Yield the path of each maximal chain of fields and constant indexes from a variable."""
    chains: dict[Node, Path] = {}
    inner: set[Node] = set()
    for node in postorder(root):
        if isinstance(node, Ident) and node.name == variable:
            chains[node] = ()
        elif (step := _step(node)) is not None and step[0] in chains:
            chains[node] = (*chains[step[0]], step[1])
            inner.add(step[0])
    yield from (path for node, path in chains.items() if node not in inner)


def _step(node: Node) -> tuple[Node, str | int] | None:
    """Return the operand and the field or constant index that a node selects."""
    match node:
        case Select(operand=operand, field=field) if (name := unescape(field)) is not None:
            return operand, name
        case Call(function="_[_]" | "_[?_]" | "_?._", args=(operand, Literal(value=str() | int() as key))):
            return (operand, key) if not isinstance(key, bool) else None
    return None
