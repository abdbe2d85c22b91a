"""Compiles expressions, and evaluates a policy's variables when an expression first uses them.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/cel/composition.go and pkg/cel/lazy/lazy.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

from trainc.cel.checker import check
from trainc.cel.declarations import Checked, Environment
from trainc.cel.environments import VARIABLES, admission, refusal
from trainc.cel.escaping import unescape
from trainc.cel.issues import CompileError, Issue, PlanError, display
from trainc.cel.maps import MISSING
from trainc.cel.parser import parse
from trainc.cel.program import Program
from trainc.cel.types import Type, struct
from trainc.cel.values import Container, EvalError, Undecided, Value
from trainc.cel.work import MESSAGE, PER_COST, Exceeded

MOST = 10_000_000
"""The largest budget: RuntimeCELCostBudget of k8s.io/apiserver pkg/apis/cel/config.go."""


class Problem(NamedTuple):
    """Why an expression is rejected, as the API server words it; ``position``: an offset in code points.

    ``issues`` are the compile errors by position.
    """

    text: str
    position: int = 0
    issues: tuple[Issue, ...] = ()


class Compiled(NamedTuple):
    """A compiled expression."""

    checked: Checked
    program: Program


def compile_expression(
    text: str,
    environment: Environment,
    allowed: tuple[Type, ...] = (),
    *,
    strict: bool = True,
    what: str = "",
    wrong_type: str = "",
) -> Compiled | Problem:
    """Compile an expression whose type must be one of ``allowed`` (empty: any), or return the problem.

    ``what`` names the expression in errors, ``wrong_type`` is the error for a type that is not allowed. Not ``strict``:
    type errors are ignored (checker.py).
    """
    try:
        tree = parse(text, environment.macros)
        checked = check(tree, environment, strict=strict)
        if allowed and (reason := refusal(checked.type, allowed)) is not None:
            return Problem(wrong_type or reason)
        return Compiled(checked, Program(checked, environment))
    except PlanError as error:
        return Problem(f"{what or 'program '}instantiation failed: {error.message}", error.issues[0].position)
    except CompileError as error:
        issues = tuple(sorted(error.issues, key=lambda issue: issue.position))
        return Problem(f"{what}compilation failed: {display(text, error.issues)}", issues[0].position, issues)


Made: TypeAlias = Mapping[str, Compiled | Problem]
"""Variables by name."""


class Variable(NamedTuple):
    """A variable of a policy."""

    name: str
    made: Compiled | Problem


def compose(rows: Iterable[tuple[str, str]], *, params: bool, new: bool = False) -> tuple[Variable, ...]:
    """Compile variables, pairs of name and expression; each may use those before it.

    ``params``: the policy has params.
    """
    found: list[Variable] = []
    for name, text in rows:
        environment = admission(new=new, params=params, variables=variable_types(found))
        found.append(Variable(name, compile_expression(text, environment)))
    return tuple(found)


def variable_types(variables: Iterable[Variable]) -> dict[str, Type | None]:
    """Return the types of variables, None for those that do not compile."""
    return {name: made.checked.type if isinstance(made, Compiled) else None for name, made in variables}


class LazyNames(dict[str, Value]):
    """Values by name; a ``partial`` is called when its name is first read."""

    __slots__ = ()

    def get(self, key: str, default: Value = None) -> Value:
        """Return a value."""
        value = super().get(key, default)
        if value.__class__ is partial:
            value = self[key] = value()
        return value


class Variables(Container):
    """The value of ``variables`` in one evaluation. ``cost``: the cost of the variables evaluated so far.

    ``charged``: their charge on a budget. Evaluation stops beyond MOST, the largest budget.
    ``names``: the variables of expressions, with this value as ``variables``.
    """

    __slots__ = ("_made", "_values", "charged", "cost", "names")

    def __init__(self, variables: Made, names: Mapping[str, Value]) -> None:
        self._made = variables
        self._values: dict[str, Value] = {}
        self.names = LazyNames(names)
        self.names["variables"] = self
        self.cost = self.charged = 0

    @property
    def waiting(self) -> int:
        """The number of variables not evaluated yet."""
        return len(self._made) - len(self._values)

    def get(self, key: Value, default: Value) -> Value:
        """Return a variable's value. Raises EvalError or Undecided where evaluating it does."""
        try:
            return self[key]
        except KeyError:
            return default

    def __getitem__(self, key: Value) -> Value:
        """Return a variable's value. Raises KeyError, and EvalError or Undecided where evaluating it does."""
        value = self._values.get(key, MISSING) if key.__class__ is str else MISSING
        if value is MISSING:
            name = unescape(key) if isinstance(key, str) and "__" in key else key
            if not isinstance(name, str) or name not in self._made:
                raise KeyError(key)
            if (value := self._values.get(name, MISSING)) is MISSING:
                value = self._values[name] = self._evaluate(name, self._made[name])
        if value.__class__ is EvalError:
            raise EvalError(value.message)
        if value.__class__ is Undecided:
            raise Undecided(value.reason)
        return value

    def _evaluate(self, name: str, made: Compiled | Problem) -> Value:
        if isinstance(made, Problem):
            return EvalError(f'composited variable "{name}" fails to compile: {made.text}')
        if self.charged > MOST:
            raise Exceeded(MESSAGE)
        value, cost, work = made.program.run(self.names)
        self.cost += cost
        self.charged += max(cost, work // PER_COST)
        if value.__class__ is EvalError:
            return EvalError(f'composited variable "{name}" fails to evaluate: {value.message}')
        return value

    def __len__(self) -> int:
        return len(self._made)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._made)

    def celtype(self) -> Type:
        """Return the struct type that holds the variables."""
        return struct(VARIABLES)
