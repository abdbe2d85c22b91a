"""Makes programs of checked expressions and evaluates them, with the values, errors and costs of the API server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trainc.cel import fast, work
from trainc.cel.checker import Checked
from trainc.cel.declarations import Environment
from trainc.cel.fastframe import UNUSUAL, Built, Function, Unusual
from trainc.cel.folding import PlanError
from trainc.cel.interpretable import Interpretable
from trainc.cel.maps import MISSING
from trainc.cel.names import Slots
from trainc.cel.planner import plan as plan_tree
from trainc.cel.values import EvalError, Undecided, Value
from trainc.cel.work import BUDGET, COST, MESSAGE, PER_COST, WORK, Exhausted, Panic
from trainc.records import NamedTuple

if TYPE_CHECKING:
    from trainc.cel.exactattributes import Run

__all__ = ["FAILED", "Outcome", "PlanError", "Program", "plan"]

LIMIT = 1_000_000
"""What one expression may cost: PerCallLimit of k8s.io/apiserver pkg/apis/cel/config.go."""

OFTEN = 6_000
"""What evaluations of an expression cost together, 16 more for each, until it is written as a function of Python.

By then they have taken about as long as that takes, a millisecond or two.
"""

FIRST = 50
"""So often at least the first is evaluated before: what writes them is loaded for it. Some dozen jobs do without."""

_EACH = 16
_WRITTEN = -1
"""In place of how often: it has been written, or cannot be."""

_SPECIAL = frozenset((Undecided, EvalError, MISSING.__class__))


class _Failed:
    __slots__ = ()


FAILED = _Failed()
"""In place of a value: there is none, but an error, or it cannot be known offline."""


class Outcome(NamedTuple):
    """What an evaluation gives: a value, or the error, or why it cannot be known offline; and what it cost.

    ``work``: what the meter counted (work.py).
    """

    value: Value
    error: EvalError | None
    undecided: str | None
    cost: int
    work: int = 0

    @property
    def charge(self) -> int:
        """What it takes from the budget of an object: its cost, or more if the work was out of all proportion."""
        return max(self.cost, self.work // PER_COST)


class Program:
    """An expression that can be evaluated, any number of times and by several threads at once.

    ``_only``: what it always comes to, if it refers to no variable. ``_left``: what its evaluations may still cost, and
    ``_times`` how many there were, until it is written; ``_least``: how many there must be.
    """

    _least = FIRST

    __slots__ = ("_exact", "_fast", "_frame", "_left", "_only", "_plan", "_times", "_tried", "_variables", "_written")

    def __init__(self, planned: Interpretable, slots: Slots) -> None:
        self._plan = planned
        self._variables = tuple(slots.variables.items())
        self._frame: list[Any] = [MISSING] * slots.size
        self._frame[WORK] = BUDGET
        self._fast: Built | None = None
        self._tried = False
        self._written: Function | None = None
        self._left = OFTEN
        self._times = 0
        self._only: Outcome | None = None
        self._exact: Run | None = None

    @property
    def names(self) -> Iterator[str]:
        """The variables that it refers to."""
        return (name for name, _ in self._variables)

    def evaluate(self, variables: Mapping[str, Value], limit: int = LIMIT) -> Outcome:
        """Evaluate with the values of variables; one may be an Undecided that all uses of it then are.

        The work done is bounded, too, whatever the limit of cost (work.py).
        """
        if (found := self._quick(variables, limit)) is not None:
            value, cost, done = found
            return Outcome(value, None, None, cost, done)
        return self._slow(variables, limit)

    def judge(self, variables: Mapping[str, Value]) -> tuple[Value, int]:
        """Evaluate as evaluate does; return the value, or FAILED, and what it takes from the budget of an object."""
        if (found := self._quick(variables, LIMIT)) is not None:
            value, cost, done = found
            return value, cost if cost * PER_COST >= done else done // PER_COST
        outcome = self._slow(variables, LIMIT)
        failed = outcome.error is not None or outcome.undecided is not None
        return FAILED if failed else outcome.value, outcome.charge

    def _quick(self, variables: Mapping[str, Value], limit: int) -> tuple[Value, int, int] | None:
        """Return value, cost and work by the written function; None where there is none, or it gives up."""
        if self._written is None:
            return None
        try:
            return self._written(variables, limit)
        except UNUSUAL:
            return None

    def _slow(self, variables: Mapping[str, Value], limit: int) -> Outcome:
        if self._only is not None and limit == LIMIT:
            return self._only
        return self._closed(variables, limit)

    def _closed(self, variables: Mapping[str, Value], limit: int) -> Outcome:
        """Evaluate by closures, and as cel-go does where they do not answer."""
        if not self._tried:  # most expressions of a policy are checked, and never evaluated
            self._fast, self._tried = fast.build(self._plan), True
        if self._fast is None:
            return self._decide(variables, limit)
        run, fixed_cost = self._fast
        frame = self._frame.copy()
        frame[COST], frame[work.LIMIT] = fixed_cost, limit
        try:
            for name, slot in self._variables:
                value = frame[slot] = variables.get(name, MISSING)
                if value.__class__ in _SPECIAL:
                    return self._decide(variables, limit)
            value = run(frame)
        except Exhausted:
            return Outcome(None, EvalError(MESSAGE), None, min(frame[COST], limit), BUDGET)
        except (Unusual, EvalError, Undecided, Panic, RecursionError):
            return self._decide(variables, limit)
        if frame[COST] > limit:
            return self._decide(variables, limit)
        outcome = Outcome(value, None, None, frame[COST], BUDGET - frame[WORK])
        if not self._variables:
            self._only = outcome if limit == LIMIT else None
        elif self._times >= 0:
            self._count(outcome.cost)
        return outcome

    def _count(self, cost: int) -> None:
        """Count an evaluation, and write the expression as a function once it has been evaluated often."""
        self._left -= _EACH + cost
        self._times += 1
        if self._left <= 0 and self._times >= Program._least:
            from trainc.cel.written.program import make

            self._times, Program._least = _WRITTEN, 0
            self._written = make(self._plan, dict(self._variables), _SPECIAL, self._frame[WORK])

    def _decide(self, variables: Mapping[str, Value], limit: int) -> Outcome:
        """Evaluate just as cel-go does."""
        from trainc.cel import exact  # closures answer nearly always

        if self._exact is None:
            self._exact = exact.build(self._plan)
        frame = self._frame.copy()
        for name, slot in self._variables:
            frame[slot] = variables.get(name, MISSING)
        value, cost = exact.evaluate(self._exact, frame, limit)
        done = BUDGET - frame[WORK]
        if isinstance(value, Undecided):
            return Outcome(None, None, value.reason, cost, done)
        if isinstance(value, EvalError):
            return Outcome(None, value, None, cost, done)
        return Outcome(value, None, None, cost, done)


def plan(checked: Checked, environment: Environment) -> Program:
    """Return the program of an expression. Raises PlanError where the server cannot make one, as of int("x")."""
    slots = Slots()
    return Program(plan_tree(checked, environment, slots), slots)
