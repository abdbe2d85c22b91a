"""Decides what does not depend on the values that a cluster generates, by examples of them (kube/generated.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.cel.codegen import LIMIT, Program
from trainc.cel.composition import Problem, Variables
from trainc.cel.values import EvalError, Undecided, Value
from trainc.cel.work import PER_COST
from trainc.kube.generated import EXAMPLES


class Examples:
    """Evaluates expressions again that are undecided. Together, the examples may cost as much as one expression.

    ``variables``: those of the policy. ``names``: the other names that expressions may refer to, by the number of the
    example.
    """

    def __init__(self, variables: Mapping[str, Program | Problem], names: Callable[[int], Mapping[str, Value]]) -> None:
        self._made = variables
        self._names = names
        self._variables: list[Variables] = []
        self._left = LIMIT

    def agreed(self, compiled: Program) -> tuple[Value, int, int] | None:
        """Return value, cost and work for the first example, or None unless all examples give the same value."""
        first: tuple[Value, int, int] | None = None
        for number in range(EXAMPLES):
            if number == len(self._variables):
                self._variables.append(Variables(self._made, self._names(number)))
            variables = self._variables[number]
            before = variables.charged
            found = value, cost, work = compiled.run(variables.names)
            first = first or found
            self._left -= max(cost, work // PER_COST) + variables.charged - before
            if self._left < 0 or value.__class__ is Undecided or _form(value) != _form(first[0]):
                return None
        return first


def _form(value: Value) -> tuple[type, Value]:
    """Return what is compared of the values of two examples, a bool or an error."""
    return value.__class__, value.message if value.__class__ is EvalError else value
