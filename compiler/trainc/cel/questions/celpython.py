"""Answers by cel-python's own evaluator, for comparison (``trainc cel --engine celpy``).

It knows neither static types nor costs, and none of the functions that Kubernetes adds.
"""

from __future__ import annotations

import celpy
from celpy.adapter import json_to_cel
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError

from trainc.basics.jsonvalues import objects
from trainc.cel.celpython import from_celpy
from trainc.cel.output import plain
from trainc.cel.questions.question import Answer, Question
from trainc.cel.typenames import type_name, type_of


def evaluate(question: Question) -> Answer:
    """Return the answer for plain JSON values; the variables of a policy are evaluated first, in order."""
    environment = celpy.Environment()
    names = {name: json_to_cel(value) for name, value in question.vars.items()}
    answer = Answer()
    try:
        variables: dict[str, object] = {}
        for row in objects(question.given.get("variables")):
            context = {**names, "variables": json_to_cel(variables)}
            program = environment.program(environment.compile(str(row["expression"])))
            variables[str(row["name"])] = program.evaluate(context)
        program = environment.program(environment.compile(question.expr))
        found = from_celpy(program.evaluate({**names, "variables": json_to_cel(variables)}))
    except CELParseError as error:
        return answer.stop("compile", str(error.args[0]).rstrip())
    except CELEvalError as error:
        return answer.stop("eval", str(error.args[0]))
    answer.ok, answer.value, answer.type = True, plain(found), type_name(type_of(found))
    return answer
