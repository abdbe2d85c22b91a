"""Expressions of a CRD's x-kubernetes-validations (env crd)."""

from __future__ import annotations

from trainc.basics.jsonvalues import JsonObject
from trainc.cel.composition import Problem, compile_expression
from trainc.cel.questions.question import Answer, Question, QuestionError
from trainc.cel.rule import OLD_SELF, SELF, TYPE_NAME, compile_rule, rule_environment
from trainc.cel.schematypes import declare
from trainc.cel.schemavalues import reader
from trainc.cel.typetext import spell
from trainc.cel.values import NONE, EvalError, Optional, Value
from trainc.schema import SchemaError, Structural, parse

_OPTIONS = ("message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")


def answer(question: Question) -> Answer:
    """Answer as for a rule of a stored CRD. Raises QuestionError."""
    given = question.given.get("schema")
    if not isinstance(given, dict):
        raise QuestionError("a rule needs the schema of self")
    schema, root = _schema(given)
    answer = evaluate(question, schema, root)
    answer.accepted = _accepted(question, schema, root)
    return answer


def evaluate(question: Question, schema: Structural, root: bool) -> Answer:
    """Answer for self of a schema, leaving open whether it is accepted; ``root``: self is a whole object."""
    declared = declare(schema, root, TYPE_NAME)
    if declared is None:
        raise QuestionError("schema: a rule cannot see a value of this type")
    values = _selves(question, schema, root)
    answer = Answer()
    environment = rule_environment(declared, optional_old=question.flag("optionalOldSelf"))
    made = compile_expression(question.expr, environment)
    if isinstance(made, Problem):
        return answer.stop("compile", made.text)
    answer.type = spell(made.checked.type)
    return answer.settle(made.program.evaluate(values), 0, question.budget)


def _schema(given: JsonObject) -> tuple[Structural, bool]:
    properties = given.get("properties")
    whole = isinstance(properties, dict) and {"apiVersion", "kind", "metadata"} <= properties.keys()
    try:
        return parse(given), whole or given.get("x-kubernetes-embedded-resource") is True
    except SchemaError as error:
        raise QuestionError(f"schema: {error}") from error


def _selves(question: Question, schema: Structural, root: bool) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, value in question.vars.items():
        if name not in (SELF, OLD_SELF):
            raise QuestionError(f"a rule has no variable {name}")
        try:
            values[name] = reader(schema, root)(value)
        except EvalError as error:
            values[name] = error
    if question.flag("optionalOldSelf"):
        values[OLD_SELF] = Optional(values[OLD_SELF]) if OLD_SELF in values else NONE
    return values


def _accepted(question: Question, schema: Structural, root: bool) -> bool:
    """Tell whether the rule compiles, as a server compiles those of a CRD that is created."""
    spec: JsonObject = {"rule": question.expr}
    spec.update((name, question.given[name]) for name in _OPTIONS if name in question.given)
    made = compile_rule(spec, schema, root, new=True)
    return made.problem is None and made.message_problem is None
