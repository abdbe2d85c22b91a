"""The worlds of the CEL targets: environments with values, so that a case is the name of a world and an expression.

``cel_worlds.json`` holds them as questions of ``trainc cel --jsonl`` without an expression; the oracle reads the same
file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from trainc.cel import composition, questions, types
from trainc.cel.declarations import Environment, admission, free
from trainc.cel.questions import OFFLINE, Answer, Question
from trainc.cel.schemas import declare, reader
from trainc.cel.types import Kind, Type, parse_type
from trainc.cel.values import NONE, Optional, Value
from trainc.schema import parse as parse_schema

FILE = Path(__file__).with_name("cel_worlds.json")
DEPTH = 3
"""How far the fields of variables are listed."""


class World(NamedTuple):
    """An environment with values. ``values`` makes those of one evaluation, and of its lazy variables."""

    environment: Environment
    values: Callable[[], tuple[Mapping[str, Value], composition.Variables | None]]
    operands: tuple[tuple[str, Type], ...]
    """The variables and their fields as expressions, with their types."""

    def answer(self, text: str) -> Answer:
        """Evaluate an expression as ``trainc cel`` does."""
        names, variables = self.values()
        return questions.evaluated(Question("dyn", text), self.environment, names, variables=variables)


@cache
def worlds() -> dict[str, World]:
    """Return the worlds of the file by name."""
    rows = json.loads(FILE.read_text(encoding="ascii"))
    return {name: _WORLDS[row["env"]](questions.read_question({"expr": "", **row})) for name, row in rows.items()}


def _world(
    environment: Environment, values: Callable[[], tuple[Mapping[str, Value], composition.Variables | None]]
) -> World:
    operands = [each for name, type_ in environment.variables.items() for each in _fields(name, type_, environment)]
    return World(environment, values, tuple(operands))


def _fields(text: str, type_: Type, environment: Environment, depth: int = DEPTH) -> Iterator[tuple[str, Type]]:
    yield text, type_
    if type_.kind is Kind.STRUCT and depth:
        for name, field in environment.objects.get(type_.name, {}).items():
            yield from _fields(f"{text}.{name}", field, environment, depth - 1)


def _plain(question: Question) -> World:
    names = dict.fromkeys(question.vars, types.DYN)
    names |= {name: parse_type(str(text)) for name, text in (question.type_env or {}).items()}
    values = {name: questions.untag(value) for name, value in question.vars.items()}
    return _world(free(names), lambda: (values, None))


def _policy(question: Question) -> World:
    compiled = composition.compose(((each.name, each.expression) for each in question.variables), params=True)
    names = {**question.vars, **dict.fromkeys(("authorizer", "authorizer.requestResource"), OFFLINE)}

    def values() -> tuple[Mapping[str, Value], composition.Variables]:
        variables = composition.Variables(dict(compiled), names)
        return variables.names, variables

    return _world(admission(params=True, variables=composition.variable_types(compiled)), values)


def _rule(question: Question) -> World:
    assert question.schema is not None
    schema = parse_schema(question.schema)
    declared = declare(schema, False, composition.TYPE_NAME)
    assert declared is not None
    values = {name: reader(schema, False)(value) for name, value in question.vars.items()}
    optional = bool(question.optional_old_self)
    if optional:
        values["oldSelf"] = Optional(values["oldSelf"]) if "oldSelf" in values else NONE
    return _world(composition.rule_environment(declared, optional_old=optional), lambda: (values, None))


_WORLDS: dict[str, Callable[[Question], World]] = {"spec": _plain, "dyn": _plain, "vap": _policy, "crd": _rule}


def named(case: Any) -> World:
    """Return the world of a case."""
    return worlds()[case["world"]]
