"""Questions about expressions, as `trainc cel --jsonl` takes them, and their answers.

An expression is evaluated as the API server evaluates a stored one; ``accepted`` says whether it would take it in a new
policy or CRD.
"""

from __future__ import annotations

from collections.abc import Callable

from trainc.basics.jsonvalues import JsonObject
from trainc.cel.questions import free, policy, rule
from trainc.cel.questions.question import TOO_DEEP, Answer, Question, QuestionError, read_question
from trainc.cel.questions.tagged import TagError

__all__ = ["Answer", "Question", "QuestionError", "answer", "evaluate", "read_question"]

_PLACES: dict[str, Callable[[Question], Answer]] = {
    "vap": policy.answer,
    "crd": rule.answer,
    "spec": free.answer,
    "dyn": free.answer,
}


def evaluate(question: Question) -> Answer:
    """Return the answer. Raises QuestionError."""
    try:
        return _PLACES[question.env](question)
    except TagError as error:
        raise QuestionError(str(error)) from error
    except RecursionError:
        raise QuestionError(TOO_DEEP) from None


def answer(question: Question) -> JsonObject:
    """Return the answer as JSON, with every key but the id. Raises QuestionError."""
    return evaluate(question).written()
