"""Expressions of a ValidatingAdmissionPolicy (env vap)."""

from __future__ import annotations

import re

from trainc.cel.composition import Problem, Variables, by_name, compile_expression, compose, variable_types
from trainc.cel.escaping import RESERVED
from trainc.cel.places import CONDITION, MESSAGE, admission
from trainc.cel.questions.question import Answer, Question, QuestionError
from trainc.cel.typetext import spell
from trainc.cel.values import Undecided, Value

NAMES = ("object", "oldObject", "request", "params", "namespaceObject")
OFFLINE = Undecided("authorizer: cannot be evaluated offline")
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")

_IDENTIFIER = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")


def answer(question: Question) -> Answer:
    """Answer as for one validation of a stored policy. Raises QuestionError."""
    rows, params = _rows(question), "params" in question.vars
    names = _names(question)
    variables = compose(rows, params=params)
    answer = Answer(accepted=_accepted(question, rows, params))
    made = compile_expression(question.expr, admission(params=params, variables=variable_types(variables)))
    if isinstance(made, Problem):
        return answer.stop("compile", made.text)
    answer.type = spell(made.checked.type)
    lazy = Variables(by_name(variables), names)
    outcome = made.program.evaluate(lazy.names)
    return answer.settle(outcome, lazy.cost, question.budget)


def _names(question: Question) -> dict[str, Value]:
    for name in question.vars:
        if name not in NAMES:
            raise QuestionError(f"a policy has no variable {name} to give")
    authorizers = dict.fromkeys(("authorizer", "authorizer.requestResource"), OFFLINE)
    return {**dict.fromkeys(NAMES), "request": {}, **question.vars, **authorizers}


def _rows(question: Question) -> list[tuple[str, str]]:
    rows = question.given.get("variables") or []
    assert isinstance(rows, list)
    found = []
    for row in rows:
        name, text = (row.get("name"), row.get("expression")) if isinstance(row, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(text, str):
            raise QuestionError("each of variables has a name and an expression")
        found.append((name, text))
    return found


def _accepted(question: Question, rows: list[tuple[str, str]], params: bool) -> bool:
    """Tell whether a server would create a policy with this validation and these variables."""
    message, reason = question.given.get("message"), question.given.get("reason")
    if not question.expr.strip() or (message and (not str(message).strip() or _breaks(str(message).strip()))):
        return False
    if reason is not None and reason not in REASONS:
        return False
    for name, text in rows:
        if not _IDENTIFIER.fullmatch(name) or name in RESERVED or not text.strip():
            return False
    variables = compose(rows, params=params, new=True)
    if any(isinstance(variable.made, Problem) for variable in variables):
        return False
    known = variable_types(variables)
    environment = admission(new=True, params=params, variables=known)
    if isinstance(compile_expression(question.expr, environment, CONDITION), Problem):
        return False
    text = question.text("messageExpression")
    if not text:
        return True
    environment = admission(new=True, params=params, authorizer=False, variables=known)
    return bool(text.strip()) and not isinstance(compile_expression(text, environment, MESSAGE), Problem)


def _breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
