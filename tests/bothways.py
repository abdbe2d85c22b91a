"""Every evaluation of an expression, compared with that by the function of Python that it can be written as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeAlias

import pytest

from trainc.cel import runner
from trainc.cel.fastframe import UNUSUAL, Function
from trainc.cel.runner import LIMIT, Outcome, Program
from trainc.cel.schemajson import OverJson
from trainc.cel.values import KeyedMap, Opaque, Optional, Value
from trainc.cel.work import WORK
from trainc.cel.written.program import make

Evaluate: TypeAlias = Callable[..., Outcome]


def form(value: Value) -> object:
    """Return what two values have in common only if nothing can tell them apart."""
    if value.__class__ is list:
        return [form(each) for each in value]
    if value.__class__ is dict:
        return [(key, form(each)) for key, each in value.items()]
    if isinstance(value, KeyedMap):
        return [(form(key), form(each)) for key, each in value.entries.values()]
    if isinstance(value, Optional):
        return (Optional, value.present, form(value.value))
    if isinstance(value, Opaque):
        return (value.__class__, value.text())
    return (value.__class__, value.raw if isinstance(value, OverJson) else repr(value))


def compare(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Evaluate everything from now on in both ways, asking the function twice, and count what became of it.

    Where closures fail the function must not answer. It remembers what it has met in expressions evaluated before.
    """
    found: Counter[str] = Counter()
    evaluate: Evaluate = Program.evaluate
    made: dict[Program, Function | None] = {}

    def compared(self: Program, variables: Mapping[str, Value], limit: int = LIMIT) -> Outcome:
        self._times = runner._WRITTEN  # so that it never is written by itself
        outcome = evaluate(self, variables, limit)
        if self not in made:
            made[self] = make(self._plan, dict(self._variables), runner._SPECIAL, self._frame[WORK])
        function = made[self]
        if function is None:
            found["not written"] += 1
            return outcome
        for _ in range(2):
            try:
                value, cost, done = function(variables, limit)
            except UNUSUAL:
                found["left"] += 1
            else:
                assert (outcome.error, outcome.undecided) == (None, None)
                assert (form(value), cost, done) == (form(outcome.value), outcome.cost, outcome.work)
                found["answered"] += 1
        return outcome

    monkeypatch.setattr(Program, "evaluate", compared)
    return found
