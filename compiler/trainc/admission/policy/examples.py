"""Decides what does not depend on the values that a cluster generates, by examples of them (kube/generated.py)."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.cel.codegen import LIMIT, Program
from trainc.cel.composition import Problem, Variables
from trainc.cel.values import EvalError, Undecided, Value
from trainc.cel.work import PER_COST
from trainc.kube.generated import EXAMPLES, Generated


class Examples:
    """Evaluates expressions again that are undecided. Together, the examples may cost as much as one expression.

    ``variables``: those of the policy. ``names``: the other names that expressions may refer to. ``generated``: the
    values that names depend on.
    """

    def __init__(
        self, variables: Mapping[str, Program | Problem], names: Mapping[str, Value], generated: Generated
    ) -> None:
        self._made = variables
        self._names = names
        self._generated = generated
        self._variables: list[Variables] = []
        self._left = LIMIT

    def agreed(self, compiled: Program) -> tuple[Value, int, int] | None:
        """Return value, cost and work for the first example, or None unless all examples give the same value."""
        first: tuple[Value, int, int] | None = None
        for number in range(EXAMPLES):
            with self._generated.example(number):
                found = self._result(compiled, number)
            first = first or found
            if self._left < 0 or found[0].__class__ is Undecided or _form(found[0]) != _form(first[0]):
                return None
        return first

    def _result(self, compiled: Program, number: int) -> tuple[Value, int, int]:
        if number == len(self._variables):
            self._variables.append(Variables(self._made, self._names))
        variables = self._variables[number]
        before = variables.charged
        found = compiled.run(variables.names)
        self._left -= max(found[1], found[2] // PER_COST) + variables.charged - before
        return found


def _form(value: Value) -> tuple[type, Value]:
    """Return what is compared of the values of two examples, a bool or an error."""
    return value.__class__, value.message if value.__class__ is EvalError else value
