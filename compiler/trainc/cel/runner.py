"""Makes programs of checked expressions and evaluates them, with the values, errors and costs of the API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from trainc.cel import exact
from trainc.cel.checker import Checked
from trainc.cel.declarations import Environment
from trainc.cel.exactattributes import FAILURES, Lazy
from trainc.cel.folding import PlanError
from trainc.cel.interpretable import Interpretable
from trainc.cel.maps import MISSING
from trainc.cel.names import FIRST_SLOT, Slots
from trainc.cel.planner import plan as plan_tree
from trainc.cel.trace import EXCEEDED, Exceeded, Trace
from trainc.cel.values import EvalError, Undecided, Value
from trainc.cel.work import BUDGET, MESSAGE, Exhausted, Panic

__all__ = ["Lazy", "Outcome", "PlanError", "Program", "plan"]

LIMIT = 1_000_000
"""What one expression may cost: PerCallLimit of k8s.io/apiserver pkg/apis/cel/config.go."""

_TOO_DEEP = "the expression or its values are nested too deeply"


class Outcome(NamedTuple):
    """What an evaluation gives: a value, or the error, or why it cannot be known offline; and what it cost."""

    value: Value
    error: EvalError | None
    undecided: str | None
    cost: int


class Program:
    """An expression that can be evaluated, any number of times and by several threads at once."""

    __slots__ = ("_exact", "_plan", "_size", "_variables")

    def __init__(self, planned: Interpretable, slots: Slots) -> None:
        self._plan = planned
        self._variables = tuple(slots.variables.items())
        self._size = slots.size
        self._exact = exact.build(planned)

    def evaluate(self, variables: Mapping[str, Value], limit: int = LIMIT) -> Outcome:
        """Evaluate with the values of variables; one may be Lazy, or an Undecided that all uses of it then are.

        The work done is bounded, too, whatever the limit of cost (work.py).
        """
        frame = self._frame(variables)
        trace = Trace(frame, limit)
        try:
            value = self._exact(trace)
        except Exceeded:
            return Outcome(None, EvalError(EXCEEDED), None, trace.cost)
        except Panic as panic:
            return Outcome(None, EvalError(panic.message), None, trace.cost)
        except Exhausted:
            return Outcome(None, EvalError(MESSAGE), None, trace.cost)
        except RecursionError:
            return Outcome(None, EvalError(_TOO_DEEP), None, trace.cost)
        if isinstance(value, FAILURES):
            if isinstance(value, Undecided):
                return Outcome(None, None, value.reason, trace.cost)
            return Outcome(None, value, None, trace.cost)
        return Outcome(value, None, None, trace.cost)

    def _frame(self, variables: Mapping[str, Value]) -> list[Any]:
        frame: list[Any] = [MISSING] * self._size
        frame[:FIRST_SLOT] = (0, BUDGET)
        for name, slot in self._variables:
            frame[slot] = variables.get(name, MISSING)
        return frame


def plan(checked: Checked, environment: Environment) -> Program:
    """Return the program of an expression. Raises PlanError where the server cannot make one, as of int("x")."""
    slots = Slots()
    return Program(plan_tree(checked, environment, slots), slots)
