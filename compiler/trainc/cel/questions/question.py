"""What is asked, and the shape of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.cel.output import plain
from trainc.cel.program import Outcome
from trainc.cel.questions.tagged import as_read, numbers
from trainc.cel.values import EvalError

BUDGET: Final = 10_000_000
"""What an evaluation with its variables may cost where a question does not say."""

OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
TOO_DEEP: Final = "a question is not nested so deeply"
ENVIRONMENTS: Final = ("vap", "crd", "spec", "dyn")

_FIELDS: Final[Mapping[str, tuple[type, str]]] = {
    "env": (str, "text"),
    "expr": (str, "text"),
    "vars": (dict, "an object"),
    "schema": (dict, "an object"),
    "variables": (list, "a list"),
    "messageExpression": (str, "text"),
    "type_env": (dict, "an object"),
    "container": (str, "text"),
    "disable_check": (bool, "true or false"),
    "optionalOldSelf": (bool, "true or false"),
    "fieldPath": (str, "text"),
    "reason": (str, "text"),
    "message": (str, "text"),
    "budget": (int, "an integer"),
}


class QuestionError(ValueError):
    """A question that makes no sense."""


class Question(Struct, frozen=True):
    """A question; ``given`` holds all fields of its JSON object that are there and not null."""

    env: str
    expr: str
    vars: JsonObject = field(default_factory=dict)
    given: JsonObject = field(default_factory=dict)

    @property
    def budget(self) -> int:
        """What the evaluation may cost."""
        budget = self.given.get("budget")
        return budget if isinstance(budget, int) else BUDGET

    def text(self, name: str) -> str:
        """Return an optional field of text."""
        return str(self.given.get(name) or "")

    def flag(self, name: str) -> bool:
        """Return an optional field that is true or false."""
        return self.given.get(name) is True


def strange_keys(data: Json) -> tuple[str, ...]:
    """Return the keys that no question has: they are passed over."""
    return tuple(name for name in data if name != "id" and name not in _FIELDS) if isinstance(data, dict) else ()


def read_question(data: Json) -> Question:
    """Return the question of a JSON object. Raises QuestionError."""
    if not isinstance(data, dict):
        raise QuestionError("a question is a JSON object")
    for name, value in data.items():
        if name in _FIELDS and value is not None and value.__class__ is not _FIELDS[name][0]:
            raise QuestionError(f"{name} of a question is {_FIELDS[name][1]}")
    try:
        data = {name: as_read(value) for name, value in data.items()}
        variables = numbers(data.get("vars") or {})
    except RecursionError:
        raise QuestionError(TOO_DEEP) from None
    env, expr = data.get("env"), data.get("expr")
    if env not in ENVIRONMENTS or not isinstance(expr, str):
        raise QuestionError(f"a question has an expr, and an env: {', '.join(ENVIRONMENTS)}")
    assert isinstance(variables, dict)
    return Question(
        str(env), expr, variables, {key: value for key, value in data.items() if key in _FIELDS and value is not None}
    )


class Answer(Struct):
    """What there is to say of an expression.

    ``stage`` is where it ended without a value: compile, eval or undecided. ``position``, an offset in code points, is
    where an evaluation failed; it is not written.
    """

    ok: bool = False
    accepted: bool = False
    type: str | None = None
    value: Json = None
    stage: str | None = None
    error: str | None = None
    cost: int | None = None
    position: int | None = None

    def written(self) -> JsonObject:
        """Return it as JSON, with all keys."""
        names = ("ok", "accepted", "type", "value", "stage", "error", "cost")
        return {name: getattr(self, name) for name in names}

    def stop(self, stage: str, error: str) -> Answer:
        """End at a stage."""
        self.stage, self.error = stage, error
        return self

    def settle(self, outcome: Outcome, extra: int, budget: int) -> Answer:
        """Take what an evaluation gave; ``extra`` is what variables cost."""
        if outcome.undecided is not None:
            return self.stop("undecided", outcome.undecided)
        self.cost = outcome.cost + extra
        if self.cost > budget:
            return self.stop("eval", OUT_OF_BUDGET)
        if outcome.error is not None:
            self.position = outcome.error.position
            return self.stop("eval", outcome.error.message)
        try:
            self.value = plain(outcome.value)
        except EvalError as error:
            return self.stop("eval", error.message)
        self.ok = True
        return self


def read_json(text: str) -> Json:
    """Return the value of a JSON text. Raises QuestionError."""
    import json

    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise QuestionError(f"no JSON: {error}") from error
    return value
