"""Expressions with free variables: of any type (env dyn), or of types that the question gives (env spec)."""

from __future__ import annotations

from trainc.basics.jsonvalues import Json
from trainc.cel import types
from trainc.cel.composition import Compiled, Problem, compile_expression
from trainc.cel.environments import free
from trainc.cel.questions.question import Answer, Question, QuestionError
from trainc.cel.questions.tagged import untag
from trainc.cel.types import Type
from trainc.cel.typetext import parse, spell


def answer(question: Question) -> Answer:
    """Answer as for a stored expression. Raises QuestionError and TagError."""
    made = compile_free(question, new=False)
    if isinstance(made, Problem):
        return Answer(accepted=_accepted(question)).stop("compile", made.text)
    answer = Answer(accepted=_accepted(question), type=spell(made.checked.type))
    values = {name: untag(value) for name, value in question.vars.items()}
    return answer.settle(made.program.evaluate(values), 0, question.budget)


def compile_free(question: Question, *, new: bool) -> Compiled | Problem:
    """Compile with the question's variables declared. Raises QuestionError."""
    names = dict.fromkeys(question.vars, types.DYN)
    given = question.given.get("type_env")
    if isinstance(given, dict):
        names.update({name: _type(text) for name, text in given.items()})
    container = question.text("container") if question.env == "spec" else ""
    environment = free(names, new=new, container=container)
    return compile_expression(question.expr, environment, checks=not question.flag("disable_check"))


def _accepted(question: Question) -> bool:
    return isinstance(compile_free(question, new=True), Compiled)


def _type(text: Json) -> Type:
    try:
        return parse(str(text))
    except ValueError as error:
        raise QuestionError(f"{text!r} is no type") from error
