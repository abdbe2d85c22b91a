"""Compiles the rules of a CRD: ``self`` and ``oldSelf`` typed by the schema, the fieldPath, the fields that they read.

Source: k8s.io/apiextensions-apiserver v0.34 pkg/apiserver/schema/cel (compilation.go; validation.go, ValidFieldPath).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from msgspec import Struct

from trainc.basics.jsonvalues import JsonObject, Path
from trainc.basics.regex import lazy
from trainc.cel import types
from trainc.cel.ast import Call, Ident, Literal, Node, Select, postorder
from trainc.cel.composition import Compiled, Problem, compile_expression
from trainc.cel.declarations import Environment
from trainc.cel.environments import declared
from trainc.cel.escaping import unescape
from trainc.cel.schemas import Declared, Schema, declare

SELF, OLD_SELF = "self", "oldSelf"
TYPE_NAME = "selfType"
"""The type name of self, if it is an object (the server adds a random number)."""


class CompiledRule(Struct, frozen=True):
    """A compiled rule.

    ``rule`` and ``message`` (messageExpression) are None if they are empty or invalid; ``problem`` and
    ``message_problem`` tell why. ``typed``: self has a type. ``compares``: it refers to oldSelf. ``field_path`` and
    ``field_text``: the reported path, relative to that of the rule.
    """

    rule: Compiled | None = None
    message: Compiled | None = None
    compares: bool = False
    field_path: Path = ()
    field_text: str = ""
    problem: Problem | None = None
    message_problem: Problem | None = None
    typed: bool = True


def compile_rule(spec: JsonObject, schema: Schema, root: bool, *, new: bool = False) -> CompiledRule:
    """Compile an entry of x-kubernetes-validations at schema, as for a stored CRD (or a ``new`` one).

    ``root``: schema describes a whole object.
    """
    text, message_text = str(spec.get("rule", "")), str(spec.get("messageExpression", ""))
    self_ = declare(schema, root, TYPE_NAME)
    if self_ is None:
        return CompiledRule(problem=Problem("failed to convert to declType for CEL validation rules"), typed=False)
    if not text.strip():
        return CompiledRule()
    environment = rule_environment(self_, optional_old=spec.get("optionalOldSelf") is True, new=new)
    rule = compile_expression(text, environment, (types.BOOL,), wrong_type="cel expression must evaluate to a bool")
    if isinstance(rule, Problem):
        return CompiledRule(problem=rule)
    compares = any(reference.name == OLD_SELF for reference in rule.checked.references.values())
    path, text_path = parse_field_path(str(spec.get("fieldPath", "")), schema)
    if not message_text:
        return CompiledRule(rule, None, compares, path, text_path)
    what, wrong_type = "messageExpression ", "messageExpression must evaluate to a string"
    message = compile_expression(message_text, environment, (types.STRING,), what=what, wrong_type=wrong_type)
    if isinstance(message, Problem):
        return CompiledRule(rule, compares=compares, message_problem=message)
    return CompiledRule(rule, message, compares, path, text_path)


def rule_environment(self_: Declared, *, optional_old: bool = False, new: bool = False) -> Environment:
    """Return the environment of a rule with this self."""
    old = types.optional_of(self_.type) if optional_old else self_.type
    return declared({SELF: self_.type, OLD_SELF: old}, self_.objects(), new=new)


# fieldPath

_STEP = lazy(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
_ESCAPE = lazy(r"\\(.)", re.DOTALL)
_CHARACTERS = {**dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)), "'": "'", "\\": "\\"}


def parse_field_path(text: str, schema: Schema) -> tuple[Path, str]:
    """Return the path of a fieldPath such as ``.spec.names['a.b']``, and the server's text for it: ``spec.names[a.b]``.

    Both are empty if it is invalid or not in the schema.
    """
    path: list[str] = []
    text_path, end = "", 0
    for step in _STEP.finditer(text):
        if step.start() != end or any(char not in _CHARACTERS for char in _ESCAPE.findall(step[2] or "")):
            return (), ""
        name = step[1] or _ESCAPE.sub(lambda found: _CHARACTERS[found[1]], step[2] or "")
        named = schema.keywords.get("properties") is not None
        below = schema.properties.get(name) if named else schema.additional
        if below is None:
            return (), ""
        path.append(name)
        text_path += f".{name}" if named else f"[{name}]"
        schema, end = below, step.end()
    return (tuple(path), text_path.removeprefix(".")) if end == len(text) else ((), "")


# Fields that an expression reads


def common_selection(root: Node, variable: str) -> Path:
    """Return the common path of all reads below a variable: a, of ``self.a.b > 1 && self.a.c``."""
    columns = zip(*selections(root, variable), strict=False)
    return tuple(steps[0] for steps in takewhile(lambda steps: len({*steps}) == 1, columns))


def selections(root: Node, variable: str) -> Iterator[Path]:
    """Yield the path of each maximal chain of fields and constant indexes from a variable."""
    chains: dict[Node, Path] = {}
    inner: set[Node] = set()
    for node in postorder(root):
        if isinstance(node, Ident) and node.name == variable:
            chains[node] = ()
        elif (step := _step(node)) is not None and step[0] in chains:
            chains[node] = (*chains[step[0]], step[1])
            inner.add(step[0])
    yield from (path for node, path in chains.items() if node not in inner)


def _step(node: Node) -> tuple[Node, str | int] | None:
    """Return the operand and the field or constant index that a node selects."""
    match node:
        case Select(operand=operand, field=field) if (name := unescape(field)) is not None:
            return operand, name
        case Call(function="_[_]" | "_[?_]" | "_?._", args=(operand, Literal(value=str() | int() as key))):
            return (operand, key) if not isinstance(key, bool) else None
    return None
