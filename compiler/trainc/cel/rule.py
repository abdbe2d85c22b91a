"""A rule of a CRD, compiled: ``self`` and ``oldSelf`` typed by the schema at its place.

Source: k8s.io/apiextensions-apiserver v0.34 pkg/apiserver/schema/cel/compilation.go.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path
from trainc.cel import types
from trainc.cel.ast import Node
from trainc.cel.astjson import load
from trainc.cel.checker import Checked, check
from trainc.cel.composition import Compiled, Problem, refused
from trainc.cel.declarations import Environment
from trainc.cel.environments import declared as declared_names
from trainc.cel.fieldpaths import FieldPathError, parse_field_path
from trainc.cel.issues import CompileError
from trainc.cel.program import PlanError, plan
from trainc.cel.schematypes import Declared, Objects, declare
from trainc.cel.types import Type
from trainc.data import load_json
from trainc.schema import Structural

SELF, OLD_SELF = "self", "oldSelf"
TYPE_NAME = "selfType"
"""What the type of self is called, if it is an object (the server adds a number that changes with every run)."""


class CompiledRule(Struct, frozen=True):
    """A rule ready to run.

    ``rule`` and ``message`` (messageExpression) are None where there is nothing to run, since it is empty or, as
    ``problem`` and ``message_problem`` say, wrong. ``compares``: it refers to oldSelf. ``field_path`` and
    ``field_text``: where it reports, below its place. ``self_``: what its self is declared as.
    """

    rule: Compiled | None = None
    message: Compiled | None = None
    compares: bool = False
    field_path: Path = ()
    field_text: str = ""
    problem: Problem | None = None
    message_problem: Problem | None = None
    self_: Declared | None = None


def compile_rule(spec: JsonObject, schema: Structural, root: bool, *, new: bool = False) -> CompiledRule:
    """Compile an entry of x-kubernetes-validations at schema, as a server does for a stored CRD (or a ``new`` one).

    ``root``: schema is that of a whole object.
    """
    text = str(spec.get("rule", ""))
    declared = declare(schema, root, TYPE_NAME)
    if declared is None:
        return CompiledRule(problem=Problem("failed to convert to declType for CEL validation rules"))
    if not text.strip():
        return CompiledRule(self_=declared)
    environment = rule_environment(declared, optional_old=spec.get("optionalOldSelf") is True, new=new)
    rule = _compile(text, environment, types.BOOL, "", "cel expression must evaluate to a bool")
    if isinstance(rule, Problem):
        return CompiledRule(problem=rule, self_=declared)
    made = CompiledRule(rule, compares=_compares(rule.checked), self_=declared)
    if message := str(spec.get("messageExpression", "")):
        wrong = "messageExpression must evaluate to a string"
        found = _compile(message, environment, types.STRING, "messageExpression ", wrong)
        if isinstance(found, Problem):
            return replace(made, message_problem=found)
        made = replace(made, message=found)
    return _with_field_path(made, str(spec.get("fieldPath", "")), schema)


def _with_field_path(made: CompiledRule, field_path: str, schema: Structural) -> CompiledRule:
    if not field_path:
        return made
    try:
        path, spelt = parse_field_path(field_path, schema)
    except FieldPathError:
        return made
    return replace(made, field_path=path, field_text=spelt)


def _compile(text: str, environment: Environment, kind: Type, what: str, wrong: str) -> Compiled | Problem:
    try:
        checked = check(parse(text, environment), environment)
    except CompileError as error:
        return refused(text, error, what)
    if checked.type != kind:
        return Problem(wrong)
    try:
        return Compiled(checked, plan(checked, environment))
    except PlanError as error:
        return Problem(f"{what or 'program '}instantiation failed: {error.message}", error.issues[0].position)


def _compares(checked: Checked) -> bool:
    return any(reference.name == OLD_SELF for reference in checked.references.values())


def rule_environment(declared: Declared, *, optional_old: bool = False, new: bool = False) -> Environment:
    """Return what a rule may refer to whose self is declared."""
    old = types.optional_of(declared.type) if optional_old else declared.type
    return declared_names({SELF: declared.type, OLD_SELF: old}, Objects(declared), new=new)


def parse(text: str, environment: Environment) -> Node:
    """Return the tree of an expression; those of the CRDs in the package come from a table. Raises CompileError."""
    known = _parsed().get(text)
    if known is not None:
        return load(known)
    # Imported when it is used: the grammar's library takes as long to load as everything else.
    from trainc.cel.parser import parse

    return parse(text, environment.macros)


@cache
def _parsed() -> dict[str, Json]:
    trees: dict[str, Json] = load_json("schemas/rules.json")
    return trees
