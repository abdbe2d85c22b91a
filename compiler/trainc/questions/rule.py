"""Expressions of a CRD's x-kubernetes-validations (env crd)."""

from __future__ import annotations

from trainc.admit.definition import rule_problems
from trainc.cel.composition import Problem, compile_expression
from trainc.cel.rule import OLD_SELF, SELF, TYPE_NAME, rule_environment
from trainc.cel.schematypes import declare
from trainc.cel.schemavalues import reader
from trainc.cel.typetext import spell
from trainc.cel.values import NONE, EvalError, Optional, Value
from trainc.questions.question import Answer, Question, QuestionError
from trainc.schema import Structural, parse
from trainc.schema.definition import define
from trainc.source import Json, JsonObject

_OPTIONS = ("message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")


def answer(question: Question) -> Answer:
    """Answer as for a rule of a stored CRD. Raises QuestionError."""
    given = question.given.get("schema")
    if not isinstance(given, dict):
        raise QuestionError("a rule needs the schema of self")
    schema, root = _schema(given)
    answer = evaluate(question, schema, root)
    answer.accepted = _accepted(question, given, root)
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
    except TypeError as error:
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


def _accepted(question: Question, given: JsonObject, root: bool) -> bool:
    """Tell whether a server would create a CRD with this rule, at its root or at that of a property."""
    spec: JsonObject = {"rule": question.expr}
    spec.update((name, question.given[name]) for name in _OPTIONS if name in question.given)
    rules = given.get("x-kubernetes-validations")
    ruled: JsonObject = {**given, "x-kubernetes-validations": [*(rules if isinstance(rules, list) else []), spec]}
    if not root or given.get("x-kubernetes-embedded-resource") is True:
        ruled = {"type": "object", "properties": {"property": ruled}}
    definition = define(_crd(ruled))
    if any(not violation.advisory for violation in definition.violations):
        return False
    return not any(rule_problems(schema, place) for schema, place in definition.schemas)


def _crd(schema: JsonObject) -> JsonObject:
    version: Json = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names: Json = {"plural": "questions", "singular": "question", "kind": "Question", "listKind": "QuestionList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "questions.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
