"""Answers the questions of `trainc cel` and `trainc cel --jsonl` (docs/cel.md).

An expression is evaluated like a stored one; ``accepted``: the API server would accept it in a new policy or CRD.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct, field

from trainc.basics.jsonvalues import Json, JsonObject, objects
from trainc.basics.regex import lazy
from trainc.cel import types
from trainc.cel.composition import Compiled, Problem, Variables, compile_expression, compose, variable_types
from trainc.cel.environments import CONDITION, MESSAGE, admission, free
from trainc.cel.escaping import RESERVED
from trainc.cel.maps import make_map
from trainc.cel.output import plain
from trainc.cel.program import Outcome
from trainc.cel.rules import OLD_SELF, SELF, TYPE_NAME, compile_rule, rule_environment
from trainc.cel.schemas import Schema, declare, reader
from trainc.cel.types import parse_type, spell
from trainc.cel.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    UINT_MAX,
    Duration,
    EvalError,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    Undecided,
    Value,
)

BUDGET: Final = 10_000_000
"""The default cost limit of an evaluation with its variables."""

OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
TOO_DEEP: Final = "the input is nested too deeply"

ReadSchema: TypeAlias = Callable[[JsonObject], Schema]
"""Reads the openAPIV3Schema of a CRD. Raises ValueError."""


class QuestionError(ValueError):
    """An invalid question."""


class Question(Struct, frozen=True):
    """A question. ``schema`` describes self, ``vars`` are values by name; docs/cel.md explains the other fields."""

    env: str
    expr: str
    vars: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, Any] | None = None
    variables: list[Any] | None = None
    message_expression: str | None = field(default=None, name="messageExpression")
    type_env: dict[str, Any] | None = None
    container: str | None = None
    disable_check: bool | None = None
    optional_old_self: bool | None = field(default=None, name="optionalOldSelf")
    field_path: str | None = field(default=None, name="fieldPath")
    reason: str | None = None
    message: str | None = None
    budget: int | None = None


class Answer(Struct):
    """The answer to a question.

    ``stage``: where it ended without a value: compile, eval or undecided. ``position``: the offset in code points of a
    failed evaluation; not written.
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
        """Return the answer as JSON, with all keys."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "position"}

    def stop(self, stage: str, error: str) -> Answer:
        """End at a stage."""
        self.stage, self.error = stage, error
        return self

    def settle(self, outcome: Outcome, question: Question, extra: int = 0) -> Answer:
        """Fill in the outcome of an evaluation; ``extra`` is the cost of variables."""
        if outcome.undecided is not None:
            return self.stop("undecided", outcome.undecided)
        self.cost = outcome.cost + extra
        if self.cost > (question.budget if question.budget is not None else BUDGET):
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
        raise QuestionError(f"not JSON: {error}") from error
    return value


def unknown_keys(data: Json) -> tuple[str, ...]:
    """Return the unknown keys of a question, which are ignored."""
    known = {"id", *(each.encode_name for each in msgspec.structs.fields(Question))}
    return tuple(name for name in data if name not in known) if isinstance(data, dict) else ()


def read_question(data: Json) -> Question:
    """Return the question of a JSON object. Raises QuestionError."""
    try:
        if isinstance(data, dict):
            data = {name: _normalized(value) for name, value in data.items() if value is not None}
        question = msgspec.convert(data, Question)
    except RecursionError:
        raise QuestionError(TOO_DEEP) from None
    except msgspec.ValidationError as error:
        raise QuestionError(f"{error}") from error
    if question.env not in _ANSWERS:
        raise QuestionError(f"env must be one of {', '.join(_ANSWERS)}")
    return question


def answer(question: Question, read_schema: ReadSchema) -> Answer:
    """Return the answer. Raises QuestionError."""
    try:
        if question.env == "crd":
            return _of_rule(question, read_schema)
        return _ANSWERS[question.env](question)
    except TagError as error:
        raise QuestionError(str(error)) from error
    except RecursionError:
        raise QuestionError(TOO_DEEP) from None


# Free variables: of any type (env dyn), or of the types in the question (env spec)


def _of_free(question: Question) -> Answer:
    names = dict.fromkeys(question.vars, types.DYN)
    try:
        names.update({name: parse_type(str(text)) for name, text in (question.type_env or {}).items()})
    except ValueError as error:
        raise QuestionError(f"type_env: {error}") from error
    container = (question.container or "") if question.env == "spec" else ""

    def compile_as(new: bool) -> Compiled | Problem:
        environment = free(names, new=new, container=container)
        return compile_expression(question.expr, environment, strict=not question.disable_check)

    compiled = compile_as(new=False)
    answer = Answer(accepted=isinstance(compile_as(new=True), Compiled))
    if isinstance(compiled, Problem):
        return answer.stop("compile", compiled.text)
    answer.type = spell(compiled.checked.type)
    return answer.settle(
        compiled.program.evaluate({name: untag(value) for name, value in question.vars.items()}), question
    )


# Rules of a CRD (env crd)


def _of_rule(question: Question, read_schema: ReadSchema) -> Answer:
    if question.schema is None:
        raise QuestionError("schema is missing: with env crd, it is the schema of self")
    properties = question.schema.get("properties")
    whole = isinstance(properties, dict) and {"apiVersion", "kind", "metadata"} <= properties.keys()
    root = whole or question.schema.get("x-kubernetes-embedded-resource") is True
    try:
        schema = read_schema(question.schema)
    except ValueError as error:
        raise QuestionError(f"schema: {error}") from error
    answer = answer_rule(question, schema, root)
    spec: JsonObject = {"rule": question.expr, **as_rule(question)}
    compiled = compile_rule(spec, schema, root, new=True)
    answer.accepted = compiled.problem is None and compiled.message_problem is None
    return answer


def as_rule(question: Question) -> JsonObject:
    """Return the fields of the rule in a question."""
    fields: JsonObject = {
        "message": question.message,
        "messageExpression": question.message_expression,
        "reason": question.reason,
        "fieldPath": question.field_path,
        "optionalOldSelf": question.optional_old_self,
    }
    return {name: value for name, value in fields.items() if value is not None}


def answer_rule(question: Question, schema: Schema, root: bool) -> Answer:
    """Answer for a rule of a schema, without ``accepted``; ``root``: self is a whole object. Raises QuestionError."""
    self_ = declare(schema, root, TYPE_NAME)
    if self_ is None:
        raise QuestionError("schema: cannot be declared as a CEL type")
    values: dict[str, Value] = {}
    for name, value in question.vars.items():
        if name not in (SELF, OLD_SELF):
            raise QuestionError(f"unknown variable {name}; a rule has self and oldSelf")
        try:
            values[name] = reader(schema, root)(value)
        except EvalError as error:
            values[name] = error
    if question.optional_old_self:
        values[OLD_SELF] = Optional(values[OLD_SELF]) if OLD_SELF in values else NONE
    environment = rule_environment(self_, optional_old=bool(question.optional_old_self))
    compiled = compile_expression(question.expr, environment)
    if isinstance(compiled, Problem):
        return Answer().stop("compile", compiled.text)
    return Answer(type=spell(compiled.checked.type)).settle(compiled.program.evaluate(values), question)


# Expressions of a ValidatingAdmissionPolicy (env vap)

OFFLINE: Final = Undecided("authorizer: cannot be evaluated offline")
REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_GIVEN: Final = ("object", "oldObject", "request", "params", "namespaceObject")
_IDENTIFIER: Final = lazy("[_a-zA-Z][_a-zA-Z0-9]*")


def _of_policy(question: Question) -> Answer:
    for name in question.vars:
        if name not in _GIVEN:
            raise QuestionError(f"unknown variable {name}")
    authorizers = dict.fromkeys(("authorizer", "authorizer.requestResource"), OFFLINE)
    names = {**dict.fromkeys(_GIVEN), "request": {}, **question.vars, **authorizers}
    rows, params = _variables(question), "params" in question.vars
    variables = compose(rows, params=params)
    answer = Answer(accepted=_accepted(question, rows, params))
    compiled = compile_expression(question.expr, admission(params=params, variables=variable_types(variables)))
    if isinstance(compiled, Problem):
        return answer.stop("compile", compiled.text)
    answer.type = spell(compiled.checked.type)
    lazy_variables = Variables(dict(variables), names)
    outcome = compiled.program.evaluate(lazy_variables.names)
    return answer.settle(outcome, question, lazy_variables.cost)


def _variables(question: Question) -> list[tuple[str, str]]:
    found = []
    for row in question.variables or []:
        name, text = (row.get("name"), row.get("expression")) if isinstance(row, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(text, str):
            raise QuestionError("each item of variables needs name and expression")
        found.append((name, text))
    return found


def _accepted(question: Question, rows: list[tuple[str, str]], params: bool) -> bool:
    """Report whether a server would create a policy with this validation and these variables."""
    message = (question.message or "").strip()
    if not question.expr.strip() or (question.message and not message) or re.search(r"[\r\n]", message):
        return False
    if question.reason is not None and question.reason not in REASONS:
        return False
    for name, text in rows:
        if not _IDENTIFIER.fullmatch(name) or name in RESERVED or not text.strip():
            return False
    variables = compose(rows, params=params, new=True)
    known = variable_types(variables)
    environment = admission(new=True, params=params, variables=known)
    compiled = [variable.made for variable in variables]
    compiled.append(compile_expression(question.expr, environment, CONDITION))
    if text := question.message_expression or "":
        environment = admission(new=True, params=params, authorizer=False, variables=known)
        compiled.append(compile_expression(text, environment, MESSAGE) if text.strip() else Problem("empty expression"))
    return all(isinstance(each, Compiled) for each in compiled)


_ANSWERS: dict[str, Callable[[Question], Answer]] = {
    "vap": _of_policy,
    "crd": _of_free,  # answer() needs a schema for it
    "spec": _of_free,
    "dyn": _of_free,
}


# Values: plain JSON, with {"t": kind, "v": value} for types that JSON lacks

_SECOND: Final = 10**9
_SURROGATE: Final = lazy("[\ud800-\udfff]")


class TagError(ValueError):
    """A tagged value that is invalid."""


def _normalized(value: Json) -> Json:
    """Return JSON as an API server reads it: lone surrogates become U+FFFD, integers beyond 64 bits doubles."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_normalized(item) for item in value]
    if isinstance(value, dict):
        return {str(_normalized(key)): _normalized(item) for key, item in value.items()}
    if value.__class__ is int and not INT_MIN <= value <= INT_MAX:
        return float(value)
    return value


def untag(value: Json) -> Value:
    """Convert tagged JSON to a value. Raises TagError."""
    if isinstance(value, list):
        return [untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value.get("t")
    if not isinstance(tag, str) or len(value) > 2 or (len(value) == 2 and "v" not in value):
        return {key: untag(item) for key, item in value.items()}
    read = _TAGS.get(tag)
    if read is None:
        raise TagError(f"unknown tag {tag!r}")
    try:
        return read(value.get("v"))
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise TagError(f"{value.get('v')!r} is not a value of type {tag!r}") from error


def _integer(value: Any, low: int = INT_MIN, high: int = INT_MAX) -> int:
    number = int(value)
    if isinstance(value, bool) or (not isinstance(value, str) and number != value) or not low <= number <= high:
        raise ValueError(value)
    return number


def _double(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError(value)
    return float(value)  # also NaN, Infinity and -Infinity


def _nanos(value: Any) -> int:
    seconds, nanos = map(_integer, _list(value))
    return seconds * _SECOND + nanos


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _map(value: Any) -> Value:
    if isinstance(value, dict):
        return {key: untag(item) for key, item in value.items()}
    return make_map((untag(key), untag(item)) for key, item in map(_list, _list(value)))


_TAGS: dict[str, Callable[[Any], Value]] = {
    **dict.fromkeys(("null", "null_type"), lambda _: None),
    **dict.fromkeys(("bool", "string", "dyn"), lambda value: value),
    "int": _integer,
    "uint": lambda value: Uint(_integer(value, 0, UINT_MAX)),
    "double": _double,
    "bytes": lambda value: bytes(map(_integer, _list(value))),
    **dict.fromkeys(("timestamp", "google.protobuf.Timestamp"), lambda value: Timestamp(_nanos(value))),
    **dict.fromkeys(("duration", "google.protobuf.Duration"), lambda value: Duration(_nanos(value))),
    "list": lambda value: [untag(item) for item in _list(value)],
    "map": _map,
    "type": lambda value: TypeValue(parse_type(str(value))),
    "optional": lambda value: NONE if value is None else Optional(untag(value)),
}


# cel-python


def answer_with_celpy(question: Question) -> Answer:
    """Answer with cel-python's own evaluator, for comparison; the variables of a policy are evaluated first, in order.

    It has no static types, no costs, and no functions of Kubernetes.
    """
    import celpy  # importing takes 200 ms
    from celpy.adapter import json_to_cel
    from celpy.celparser import CELParseError
    from celpy.evaluation import CELEvalError

    from trainc.cel.celpython import from_celpy
    from trainc.cel.types import type_name
    from trainc.cel.values import type_of

    environment = celpy.Environment()
    names = {name: json_to_cel(value) for name, value in question.vars.items()}
    variables: dict[str, object] = {}

    def value(text: str) -> Any:
        program = environment.program(environment.compile(text))
        return program.evaluate({**names, "variables": json_to_cel(variables)})

    try:
        for row in objects(question.variables):
            variables[str(row["name"])] = value(str(row["expression"]))
        found = from_celpy(value(question.expr))
    except CELParseError as error:
        return Answer().stop("compile", str(error.args[0]).rstrip())
    except CELEvalError as error:
        return Answer().stop("eval", str(error.args[0]))
    return Answer(ok=True, value=plain(found), type=type_name(type_of(found)))
