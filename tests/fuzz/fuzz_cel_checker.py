"""CEL's type checker against cel-go's: types, and the errors of expressions that do not compile."""

from __future__ import annotations

from typing import Any

from fuzz.cel_answers import described, oracle, outcomes, question
from fuzz.cel_cases import typed
from fuzz.cel_worlds import named
from fuzz.target import Case, Target
from trainc.cel.checker import check
from trainc.cel.issues import CompileError, display
from trainc.cel.parser import parse
from trainc.cel.types import spell


def ours(case: Case) -> Any:
    """Return the type, or the error."""
    environment = named(case).environment
    try:
        return {"type": spell(check(parse(case["expr"], environment.macros), environment).type), "error": None}
    except CompileError as error:
        return {"type": None, "error": f"compilation failed: {display(case['expr'], error.issues)}"}


def compare(case: Case, ours: Any, theirs: Any) -> str | None:
    """Compare types and errors; constants are evaluated later."""
    if theirs["stage"] == "compile" and "instantiation failed" in theirs["error"]:
        return None
    error = theirs["error"] if theirs["stage"] == "compile" else None
    return described("type", ours, {"type": theirs["type"], "error": error})


TARGET = Target(typed, ours, compare, oracle, question, features=outcomes)
