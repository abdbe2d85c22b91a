"""Answers the questions of `trainc cel` and `trainc cel --jsonl` (docs/cel.md).

An expression is evaluated like a stored one; ``accepted``: the API server would accept it in a new policy or CRD.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.basics.regex import lazy
from trainc.cel import types
from trainc.cel.codegen import Program
from trainc.cel.composition import (
    MOST,
    OLD_SELF,
    SELF,
    TYPE_NAME,
    Problem,
    Variables,
    compile_expression,
    compile_rule,
    compose,
    rule_environment,
    variable_types,
)
from trainc.cel.declarations import Environment, admission, free
from trainc.cel.maps import is_list, is_map, items, make_map
from trainc.cel.schemas import Schema, declare, reader
from trainc.cel.types import parse_type, spell, type_name
from trainc.cel.values import (
    INT_MAX,
    INT_MIN,
    NO_OVERLOAD,
    NONE,
    UINT_MAX,
    Container,
    Duration,
    EvalError,
    Opaque,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    Undecided,
    Value,
    type_of,
)
from trainc.cel.work import Exceeded, Meter, spend
from trainc.kube.gojson import go_number
from trainc.kube.gotime import SECOND

OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
TOO_DEEP: Final = "the input is nested too deeply"

_ENVIRONMENTS: Final = ("vap", "crd", "spec", "dyn")


class QuestionError(ValueError):
    """An invalid question."""


class NamedExpression(Struct, frozen=True):
    """A variable of a policy."""

    name: str
    expression: str


class Question(Struct, frozen=True):
    """A question. ``schema`` describes self, ``vars`` are values by name; docs/cel.md explains the other fields."""

    env: str
    expr: str
    vars: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, Any] | None = None
    variables: list[NamedExpression] = field(default_factory=list)
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


def read_json(text: str | bytes) -> Json:
    """Return the value of a JSON text. Raises QuestionError."""
    try:
        value: Json = json.loads(text if isinstance(text, str) else text.decode())
    except UnicodeDecodeError:
        raise QuestionError("not UTF-8 text") from None
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
            data = {name: normalized(value) for name, value in data.items() if value is not None}
        question = msgspec.convert(data, Question)
    except RecursionError:
        raise QuestionError(TOO_DEEP) from None
    except UnicodeEncodeError:
        raise QuestionError("not Unicode text: a surrogate without its pair") from None
    except msgspec.ValidationError as error:
        raise QuestionError(f"{error}") from error
    if question.env not in _ENVIRONMENTS:
        raise QuestionError(f"env must be one of {', '.join(_ENVIRONMENTS)}")
    return question


def answer(
    question: Question, read_schema: Callable[[JsonObject], Schema], accepts: Callable[[JsonObject], bool]
) -> Answer:
    """Return the answer. Raises QuestionError.

    ``read_schema`` reads the openAPIV3Schema of a CRD; ``accepts``: a server would create a policy with this spec.
    """
    try:
        if question.env == "crd":
            return _of_rule(question, read_schema)
        return _of_policy(question, accepts) if question.env == "vap" else _of_free(question)
    except RecursionError:
        raise QuestionError(TOO_DEEP) from None


def evaluated(
    question: Question,
    environment: Environment,
    names: Mapping[str, Value],
    *,
    accepted: bool = False,
    strict: bool = True,
    variables: Variables | None = None,
) -> Answer:
    """Compile the expression, and evaluate it with the values of names; ``variables`` have costs, too."""
    answer = Answer(accepted=accepted)
    compiled = compile_expression(question.expr, environment, strict=strict)
    if isinstance(compiled, Problem):
        return answer.stop("compile", compiled.text)
    answer.type = spell(compiled.checked.type)
    value, cost, _ = compiled.run(names)
    if isinstance(value, Undecided):
        return answer.stop("undecided", value.reason)
    answer.cost = cost + (variables.cost if variables is not None else 0)
    if answer.cost > (question.budget if question.budget is not None else MOST):
        return answer.stop("eval", OUT_OF_BUDGET)
    if isinstance(value, EvalError):
        answer.position = value.position
        return answer.stop("eval", value.message)
    try:
        answer.value = plain(value)
    except EvalError as error:
        return answer.stop("eval", error.message)
    answer.ok = True
    return answer


def _of_free(question: Question) -> Answer:
    """Answer with variables of any type (env dyn), or of the types in the question (env spec)."""
    names = dict.fromkeys(question.vars, types.DYN)
    try:
        names.update({name: parse_type(str(text)) for name, text in (question.type_env or {}).items()})
    except ValueError as error:
        raise QuestionError(f"type_env: {error}") from error
    container = (question.container or "") if question.env == "spec" else ""
    strict = not question.disable_check
    new = compile_expression(question.expr, free(names, new=True, container=container), strict=strict)
    values = {name: untag(value) for name, value in question.vars.items()}
    environment = free(names, container=container)
    return evaluated(question, environment, values, accepted=isinstance(new, Program), strict=strict)


# Rules of a CRD (env crd)


def _of_rule(question: Question, read_schema: Callable[[JsonObject], Schema]) -> Answer:
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
    spec: JsonObject = {
        "rule": question.expr,
        "messageExpression": question.message_expression or "",
        "optionalOldSelf": question.optional_old_self,
    }
    compiled = compile_rule(spec, schema, root, new=True)
    answer.accepted = compiled.problem is None and compiled.message_problem is None
    return answer


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
    return evaluated(question, rule_environment(self_, optional_old=bool(question.optional_old_self)), values)


# Expressions of a ValidatingAdmissionPolicy (env vap)

OFFLINE: Final = Undecided("authorizer: cannot be evaluated offline")
_GIVEN: Final = ("object", "oldObject", "request", "params", "namespaceObject")


def _of_policy(question: Question, accepts: Callable[[JsonObject], bool]) -> Answer:
    for name in question.vars:
        if name not in _GIVEN:
            raise QuestionError(f"unknown variable {name}")
    authorizers = dict.fromkeys(("authorizer", "authorizer.requestResource"), OFFLINE)
    rows = [(variable.name, variable.expression) for variable in question.variables]
    params = "params" in question.vars
    compiled = compose(rows, params=params)
    variables = Variables(dict(compiled), {**dict.fromkeys(_GIVEN), "request": {}, **question.vars, **authorizers})
    environment = admission(params=params, variables=variable_types(compiled))
    validation = {
        "expression": question.expr,
        "messageExpression": question.message_expression,
        "message": question.message,
        "reason": question.reason,
    }
    spec: JsonObject = {
        "validations": [{name: value for name, value in validation.items() if value is not None}],
        "variables": [{"name": name, "expression": text} for name, text in rows],
        **({"paramKind": {}} if params else {}),
    }
    return evaluated(question, environment, variables.names, accepted=accepts(spec), variables=variables)


# Values: plain JSON, with {"t": kind, "v": value} for types that JSON lacks

_SURROGATE: Final = lazy("[\ud800-\udfff]")


def normalized(value: Json) -> Json:
    """Return JSON as an API server reads it: lone surrogates become U+FFFD, integers beyond 64 bits doubles.

    Raises QuestionError for an integer that no double holds.
    """
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [normalized(item) for item in value]
    if isinstance(value, dict):
        return {str(normalized(key)): normalized(item) for key, item in value.items()}
    if value.__class__ is int and not INT_MIN <= value <= INT_MAX:
        try:
            return float(value)
        except OverflowError:
            raise QuestionError("a number too large for 64 bits") from None
    return value


def untag(value: Json) -> Value:
    """Convert tagged JSON to a value. Raises QuestionError."""
    if isinstance(value, list):
        return [untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value.get("t")
    if not isinstance(tag, str) or len(value) > 2 or (len(value) == 2 and "v" not in value):
        return {key: untag(item) for key, item in value.items()}
    read = _TAGS.get(tag)
    if read is None:
        raise QuestionError(f"unknown tag {tag!r}")
    try:
        return read(value.get("v"))
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise QuestionError(f"{value.get('v')!r} is not a value of type {tag!r}") from error


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
    return seconds * SECOND + nanos


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


# Values of expressions: converted to plain JSON, as answers are printed (docs/cel.md)

_MOST_WRITTEN = 500_000
"""The limit of written list elements and map entries."""

_CHARACTERS_WRITTEN = 16
"""The number of characters that count as one element."""


def plain(value: Value) -> Json:
    """Return a value as JSON. Raises EvalError for one too large or too deep to be written."""
    try:
        return _write(value, [0, _MOST_WRITTEN])
    except Exceeded:
        raise EvalError("the value is too large to be written") from None
    except RecursionError:
        raise EvalError("the value is nested too deeply to be written") from None


def _write(value: Value, meter: Meter) -> Json:
    kind = value.__class__
    if kind is str or kind is bytes:
        spend(meter, len(value) // (_CHARACTERS_WRITTEN if kind is str else 1))
    write = _WRITERS.get(kind)
    if write is not None:
        return write(value)
    if is_list(value):
        elements = list(value)
        spend(meter, len(elements))
        return [_write(item, meter) for item in elements]
    if is_map(value):
        if isinstance(value, Container) and None in value:
            raise EvalError(NO_OVERLOAD)  # the server looks up each key
        return _pairs(list(items(value)), meter)
    if isinstance(value, Optional):
        return _write(value.value, meter) if value.present else None
    if isinstance(value, Opaque):
        spend(meter, value.weight())
        return value.text()
    if isinstance(value, EvalError):
        raise value  # inside an optional
    raise TypeError(f"no value of CEL: {value.__class__.__name__}")


def _pairs(pairs: list[tuple[Value, Value]], meter: Meter) -> Json:
    spend(meter, len(pairs))
    if all(isinstance(key, str) for key, _ in pairs):
        return {key: _write(item, meter) for key, item in pairs}
    if any(key.__class__ is float and math.isnan(key) for key, _ in pairs):
        raise EvalError("no such key: NaN")  # the server looks up each key of a map
    rows = sorted(((_write(key, meter), _write(item, meter)) for key, item in pairs), key=lambda row: _key_text(row[0]))
    return [list(row) for row in rows]


def _double_text(value: float) -> Json:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _key_text(key: Json) -> str:
    """Return the sort key of a pair: the JSON of its key, doubles with a point."""
    if isinstance(key, float):
        text = go_number(key)
        return text if "." in text or "e" in text else f"{text}.0"
    return json.dumps(key, ensure_ascii=False)


def _seconds(value: Duration) -> Json:
    seconds, nanos = divmod(abs(value.nanos), SECOND)
    return [-seconds, -nanos] if value.nanos < 0 else [seconds, nanos]


_WRITERS: Final[Mapping[type, Callable[[Any], Json]]] = {
    **dict.fromkeys((type(None), bool, int, str), lambda value: value),
    float: _double_text,
    bytes: list,
    Uint: lambda value: value.value,
    Timestamp: lambda value: list(divmod(value.nanos, SECOND)),
    Duration: _seconds,
    TypeValue: lambda value: type_name(value.type),
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

    environment = celpy.Environment()
    names = {name: json_to_cel(value) for name, value in question.vars.items()}
    variables: dict[str, object] = {}

    def value(text: str) -> Any:
        program = environment.program(environment.compile(text))
        return program.evaluate({**names, "variables": json_to_cel(variables)})

    try:
        for variable in question.variables:
            variables[variable.name] = value(variable.expression)
        found = from_celpy(value(question.expr))
        return Answer(ok=True, value=plain(found), type=type_name(type_of(found)))
    except EvalError as error:
        return Answer().stop("eval", error.message)
    except CELParseError as error:
        return Answer().stop("compile", str(error.args[0]).rstrip())
    except CELEvalError as error:
        return Answer().stop("eval", str(error.args[0]))
    except Exception as error:  # noqa: BLE001 - celpy raises any, such as TypeError for a macro of a value without items
        return Answer().stop("eval", f"{type(error).__name__}: {error}")
