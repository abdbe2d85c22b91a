"""The checker against the true engine's answers: types, errors with their places, and what new expressions may use.

The questions of ``checker/`` were chosen by hand and at random; ``python tests/oracle/celgoldens.py`` asks them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trainc.cel import declarations, types
from trainc.cel.checker import check
from trainc.cel.declarations import Environment, free
from trainc.cel.issues import CompileError, display
from trainc.cel.parser import parse
from trainc.cel.types import Type, parse_type, spell

CASES = Path(__file__).resolve().parent / "checker"
FILES = sorted(CASES.glob("*.jsonl"))
PLANNING = "program instantiation failed"
SHOWN = 3

Question = Mapping[str, Any]
Result = tuple[Type | None, str | None]


def judge(text: str, environment: Environment) -> Result:
    """Return the type of an expression, or the errors, without the lines that repeat it."""
    try:
        return check(parse(text, environment.macros), environment).type, None
    except CompileError as error:
        shown = display(text, error.issues).split("\n")
        return None, "compilation failed: " + "\n".join(line for line in shown if not line.startswith(" | "))


def judge_plain(question: Question, new: bool) -> tuple[Result, bool]:
    names = {name: parse_type(text) for name, text in question.get("type_env", {}).items()}
    result = judge(question["expr"], free(names, new=new, container=question.get("container", "")))
    return result, result[1] is None


def judge_policy(question: Question, new: bool) -> tuple[Result, bool]:
    params = "params" in question.get("vars", {})
    variables: dict[str, Type | None] = {}
    accepted = True
    for variable in question.get("variables", ()):
        environment = declarations.admission(new=new, params=params, variables=variables)
        variables[variable["name"]], problem = judge(variable["expression"], environment)
        accepted &= problem is None
    result = judge(question["expr"], declarations.admission(new=new, params=params, variables=variables))
    accepted &= result[0] is not None and declarations.refusal(result[0], declarations.CONDITION) is None
    if message := question.get("messageExpression"):
        environment = declarations.admission(new=new, params=params, authorizer=False, variables=variables)
        type_, _ = judge(message, environment)
        accepted &= type_ is not None and declarations.refusal(type_, declarations.MESSAGE) is None
    return result, accepted


def differs(question: Question, answer: Mapping[str, Any]) -> str | None:
    """Say how our answer differs, or None. What the server refuses only when planning passes the checker."""
    judge_any = judge_policy if question["env"] == "vap" else judge_plain
    (type_, problem), _ = judge_any(question, new=False)
    told = answer["error"] or ""
    if told.startswith(PLANNING):
        return None if problem is None else f"{question}: {problem}"
    wanted = (answer["type"], told if answer["stage"] == "compile" else None)
    found = (None if type_ is None else spell(type_), problem)
    if found != wanted:
        return f"{question}: {found}, not {wanted}"
    _, accepted = judge_any(question, new=True)
    return None if accepted == answer["accepted"] else f"{question}: accepted is not {answer['accepted']}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_answers(path: Path) -> None:
    pairs = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
    assert len(pairs) > 100
    wrong = [found for pair in pairs if (found := differs(pair["question"], pair["answer"]))]
    assert not wrong, f"{len(wrong)} of {len(pairs)} differ: {wrong[:SHOWN]}"


def test_the_answers_are_of_every_kind() -> None:
    answers = [json.loads(line)["answer"] for path in FILES for line in path.read_text(encoding="ascii").splitlines()]
    assert sum(answer["type"] is not None for answer in answers) > 500
    assert sum(answer["stage"] == "compile" for answer in answers) > 700
    assert sum(answer["type"] is not None and not answer["accepted"] for answer in answers) > 30


@pytest.mark.parametrize(
    ("type_", "allowed", "wanted"),
    [
        (types.DYN, declarations.CONDITION, "must evaluate to bool but got dyn"),
        (types.DYN, declarations.MESSAGE, "must evaluate to string but got dyn"),
        (types.INT, declarations.ANNOTATION, "must evaluate to one of [string null_type] but got int"),
        (types.DURATION, declarations.CONDITION, "must evaluate to bool but got google.protobuf.Duration"),
        (types.NULL, declarations.ANNOTATION, None),
        (types.wrapper(types.BOOL), declarations.CONDITION, None),
        (types.list_of(types.DYN), (types.ANY, types.DYN), None),
    ],
)
def test_refusal(type_: Type, allowed: tuple[Type, ...], wanted: str | None) -> None:
    assert declarations.refusal(type_, allowed) == wanted


def test_match_conditions_have_no_variables() -> None:
    _, problem = judge("variables.a", declarations.admission())
    assert problem == "compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')"
