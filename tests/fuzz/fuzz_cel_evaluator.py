"""CEL's type checker and evaluator against the API server's: types, values, errors and, where exact, costs."""

from __future__ import annotations

from typing import Any

import pytest

from celcosts import Asking
from fuzz.cel_answers import described, is_stable, oracle, outcomes, question
from fuzz.cel_cases import typed
from fuzz.cel_worlds import named
from fuzz.target import Case, Target


def ours(case: Case) -> Any:
    """Return the answer. ``absorbed``: its cost need not be exact."""
    with pytest.MonkeyPatch.context() as patch:
        asking = Asking(patch)
        found = named(case).answer(case["expr"]).written()
    return {**found, "absorbed": asking.absorbed}


def compare(case: Case, ours: Any, theirs: Any) -> str | None:
    """Compare answers, unless the API server's own differ from run to run."""
    found = {name: value for name, value in ours.items() if name != "absorbed"}
    wanted = {name: value for name, value in theirs.items() if name not in ("id", "unstable")}
    if not wanted["ok"] or ours["absorbed"]:
        found["cost"] = wanted["cost"] = None
    message = described("value", found, wanted)
    return message if message is None or is_stable(case) else None


TARGET = Target(typed, ours, compare, oracle, question, features=outcomes)
