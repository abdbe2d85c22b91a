"""Programs: expressions to evaluate, with the values, errors and costs of the API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from trainc.cel.codegen import Function, generate
from trainc.cel.declarations import Checked, Environment
from trainc.cel.values import EvalError, Undecided, Value
from trainc.cel.work import PER_COST

LIMIT = 1_000_000
"""The cost limit of one expression: PerCallLimit of k8s.io/apiserver pkg/apis/cel/config.go."""

Names: TypeAlias = Mapping[str, Value]


class Outcome(msgspec.Struct, frozen=True):
    """The result of an evaluation: a value, an error, or the reason why it is undecided offline; and its cost.

    The cost is exact if there is a value. ``work``: see work.py.
    """

    value: Value
    error: EvalError | None
    undecided: str | None
    cost: int
    work: int = 0

    @property
    def charge(self) -> int:
        """The charge on the budget of an object: the cost, or more if the work is out of proportion."""
        return max(self.cost, self.work // PER_COST)


class Program:
    """A compiled expression; it can be evaluated repeatedly and by several threads at once.

    Raises PlanError for an invalid constant such as int("x").
    """

    __slots__ = ("_function", "_source")

    def __init__(self, checked: Checked, environment: Environment) -> None:
        self._source = generate(checked, environment)
        self._function: Function | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its variables."""
        return self._source.variables

    def evaluate(self, variables: Names, limit: int = LIMIT) -> Outcome:
        """Evaluate with the values of variables; an EvalError or Undecided fails where it is used.

        The work is also limited, independently of the cost (work.py).
        """
        value, cost, work = self.run(variables, limit)
        if value.__class__ is EvalError:
            return Outcome(None, value, None, cost, work)
        if value.__class__ is Undecided:
            return Outcome(None, None, value.reason, cost, work)
        return Outcome(value, None, None, cost, work)

    def run(self, variables: Names, limit: int = LIMIT) -> tuple[Value, int, int]:
        """Return the value, or an EvalError or Undecided in its place, with cost and work."""
        if self._function is None:  # most expressions of a policy are never evaluated
            self._function = self._source.compiled()
        return self._function(variables, limit)
