"""The expressions of a policy, compiled as the server compiles them.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/validating/plugin.go (compilePolicy) and
k8s.io/kubernetes v1.34 pkg/apis/admissionregistration/validation (creation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec

from trainc.admission.policy.documents import Stored, rows
from trainc.basics.jsonvalues import JsonObject, Path
from trainc.cel.ast import Node
from trainc.cel.codegen import Program
from trainc.cel.composition import (
    Problem,
    Variable,
    compile_expression,
    compose,
    variable_types,
)
from trainc.cel.declarations import ANNOTATION, CONDITION, MESSAGE, Environment, admission
from trainc.cel.types import Type
from trainc.kube.gojson import trim_space


class Expression(NamedTuple):
    """An expression of a policy, at its path; ``row`` is the object that contains it.

    ``offset``: the number of leading blanks that were removed before it was compiled.
    """

    path: Path
    row: JsonObject
    text: str
    compiled: Program | Problem
    offset: int = 0


class Expressions:
    """All expressions of a policy, each kind compiled on first use.

    ``new``: as for a policy that is created, which may use fewer functions than a stored one.
    """

    def __init__(self, policy: Stored, *, new: bool = True) -> None:
        self._policy = policy
        self._new = new
        self._params = policy.has_params
        self.parts: dict[Node, Program | None] = {}
        """The programs of parts of expressions, compiled to explain a result; None if a part has no program."""

    @cached_property
    def _named(self) -> list[tuple[int, str, str]]:
        named = enumerate(rows(self._policy.spec, "variables"))
        found = [(index, _text(row, "name"), _text(row, "expression")) for index, row in named]
        return [row for row in found if not self._new or trim_space(row[2])]

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables. A blank one, which is refused, is none."""
        return compose([(name, text) for _, name, text in self._named], params=self._params, new=self._new)

    @cached_property
    def variables_by_name(self) -> Mapping[str, Program | Problem]:
        """The variables by name."""
        return dict(self.variables)

    @cached_property
    def variable_expressions(self) -> tuple[Expression, ...]:
        """The expressions of the variables."""
        given = rows(self._policy.spec, "variables")
        return tuple(
            Expression(("spec", "variables", index, "expression"), given[index], text, variable.made)
            for (index, _, text), variable in zip(self._named, self.variables, strict=True)
        )

    @cached_property
    def conditions(self) -> tuple[Expression, ...]:
        """The match conditions. A new one cannot use variables, and is compiled without surrounding white space."""
        known = None if self._new else variable_types(self.variables)
        environment = admission(new=self._new, params=self._params, variables=known)
        return tuple(self._compiled("matchConditions", "expression", environment, CONDITION, trimmed=self._new))

    @cached_property
    def validations(self) -> tuple[Expression, ...]:
        """The validations."""
        return tuple(self._compiled("validations", "expression", self.environment, CONDITION))

    @cached_property
    def messages(self) -> tuple[Expression, ...]:
        """The message expressions of validations."""
        environment = admission(new=self._new, params=self._params, authorizer=False, variables=self._known)
        return tuple(self._compiled("validations", "messageExpression", environment, MESSAGE))

    @cached_property
    def annotations(self) -> tuple[Expression, ...]:
        """The values of audit annotations."""
        found = self._compiled("auditAnnotations", "valueExpression", self.environment, ANNOTATION, trimmed=self._new)
        return tuple(found)

    @cached_property
    def environment(self) -> Environment:
        """The environment of validations and audit annotations."""
        return admission(new=self._new, params=self._params, variables=self._known)

    @cached_property
    def _known(self) -> dict[str, Type | None] | None:
        """The types of the variables; where a new policy has none, not even ``variables`` is known."""
        if self._new and not rows(self._policy.spec, "variables"):
            return None
        return variable_types(self.variables)

    def _compiled(
        self, field: str, key: str, environment: Environment, allowed: tuple[Type, ...], *, trimmed: bool = False
    ) -> Iterator[Expression]:
        for index, row in enumerate(rows(self._policy.spec, field)):
            text = _text(row, key)
            if trim_space(text) if self._new else text or key != "messageExpression":
                used = trim_space(text) if trimmed else text
                compiled = compile_expression(used, environment, allowed)
                yield Expression(("spec", field, index, key), row, text, compiled, text.find(used) if used else 0)


class Bound(msgspec.Struct, frozen=True, eq=False):
    """A policy with its bindings, by name, and its expressions."""

    policy: Stored
    bindings: tuple[Stored, ...]
    expressions: Expressions

    @property
    def constraints(self) -> list[JsonObject]:
        """The constraints of the policy, then those of its bindings."""
        return [each.constraints for each in (self.policy, *self.bindings)]


def _text(row: JsonObject, field: str) -> str:
    return str(row.get(field) or "")
