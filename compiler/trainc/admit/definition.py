"""The rules of a CRD that is created: what the API server refuses of x-kubernetes-validations.

Source: k8s.io/apiextensions-apiserver v0.34 pkg/apis/apiextensions/validation (validation.go, cel_validation.go). The
schema itself, and the plain fields of a rule, are schema/definition's.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.cel.composition import Problem
from trainc.cel.fieldpaths import FieldPathError, parse_field_path
from trainc.cel.rule import CompiledRule, compile_rule
from trainc.kube.fielderror import internal, invalid
from trainc.records import NamedTuple, dataclass, field, replace
from trainc.schema import Structural
from trainc.schema.definition.place import Place
from trainc.source import Json, JsonObject, Path


class RuleProblem(NamedTuple):
    """Something that the server refuses: ``path`` and ``offset``, in code points, place it in the CRD."""

    path: Path
    message: str
    upstream: str
    offset: int = 0


def rule_problems(schema: Structural, place: Place, errors: tuple[Path, ...] = ()) -> tuple[RuleProblem, ...]:
    """Return what is refused of the rules of a version's schema, which is sound itself.

    ``place`` is that of its openAPIV3Schema, ``errors`` places where it is not sound after all: rules at or above are
    not looked at, as on the server.
    """
    walk = _Walk(errors)
    walk.visit(_Node(schema, place, True))
    return tuple(walk.found)


@dataclass(frozen=True, slots=True)
class _Node:
    """A schema, and the place that keeps oldSelf from having a value in it, if one does."""

    schema: Structural
    place: Place
    root: bool
    uncorrelated: Place | None = None


@dataclass(slots=True)
class _Walk:
    errors: tuple[Path, ...]
    found: list[RuleProblem] = field(default_factory=list)

    def visit(self, node: _Node) -> None:
        """Look at the schemas below, then at the rules of this one."""
        for child in _children(node):
            self.visit(child)
        path = node.place.path
        self._field_paths(node)
        if node.schema.rules and not any(error[: len(path)] == path for error in self.errors):
            for index, spec in enumerate(node.schema.rules):
                self._rule(node, spec, node.place.child("x-kubernetes-validations").index(index))

    def _field_paths(self, node: _Node) -> None:
        for index, spec in enumerate(node.schema.rules):
            if not (text := str(spec.get("fieldPath") or "")):
                continue
            try:
                parse_field_path(text, node.schema)
            except FieldPathError as error:
                at = node.place.child("x-kubernetes-validations").index(index).child("fieldPath")
                upstream = invalid(at.text, text, "must be a valid path")
                self.found.append(RuleProblem(at.path, f"must be a valid path: {error}", upstream))
                self.errors = (*self.errors, node.place.path)

    def _rule(self, node: _Node, spec: JsonObject, place: Place) -> None:
        made = compile_rule(spec, node.schema, node.root or node.schema.embedded, new=True)
        if made.self_ is None:
            reason = "failed to construct type information for x-kubernetes-validations rules"
            detail = f"internal error: {reason}: unable to convert structural schema to CEL declarations"
            self._add(place, detail, internal(_parent(place), detail))
            return
        if made.problem is not None:
            self._refuse(place.child("rule"), spec, made.problem)
        if made.message_problem is not None:
            self._refuse(place.child("messageExpression"), spec, made.message_problem)
        self._transition(node, spec, made, place)

    def _transition(self, node: _Node, spec: JsonObject, made: CompiledRule, place: Place) -> None:
        if made.compares:
            if node.uncorrelated is not None:
                within = f"the uncorrelatable portion of the schema within {node.uncorrelated.text}"
                detail = f"oldSelf cannot be used on {within}"
                at = place.child("rule")
                self._add(at, detail, invalid(at.text, spec.get("rule"), detail))
        elif spec.get("optionalOldSelf") is not None:
            at, detail = place.child("optionalOldSelf"), "may not be set if oldSelf is not used in rule"
            self._add(at, detail, invalid(at.text, spec["optionalOldSelf"], detail))

    def _refuse(self, place: Place, spec: JsonObject, problem: Problem) -> None:
        text = invalid(place.text, _printed(spec), problem.text)
        single = [(issue.message, max(issue.position, 0)) for issue in problem.issues]
        for message, position in single or [(problem.text, problem.position)]:
            self.found.append(RuleProblem(place.path, message, text, position))

    def _add(self, place: Place, detail: str, text: str) -> None:
        self.found.append(RuleProblem(place.path, detail, text))


def _children(node: _Node) -> Iterator[_Node]:
    schema, place = node.schema, node.place
    if (values := schema.additional) is not None:
        yield _Node(values, place.child("additionalProperties"), False, node.uncorrelated)
    correlated = schema.keywords.get("x-kubernetes-map-type") in (None, "granular", "atomic")
    child = _Node(schema, place, False, node.uncorrelated or (None if correlated else place))
    for name, value in schema.properties.items():
        yield replace(child, schema=value, place=place.child("properties").key(name))
    if (items := schema.items) is not None:
        correlated = schema.keywords.get("x-kubernetes-list-type") == "map"
        uncorrelated = node.uncorrelated or (None if correlated else place)
        yield _Node(items, place.child("items"), False, uncorrelated)


def _parent(place: Place) -> str:
    return place.text.rpartition("[")[0]


def _printed(spec: JsonObject) -> Json:
    """Return a rule as the server's internal type is written to JSON."""
    return {
        "Rule": spec.get("rule", ""),
        "Message": spec.get("message", ""),
        "MessageExpression": spec.get("messageExpression", ""),
        "Reason": spec.get("reason"),
        "FieldPath": spec.get("fieldPath", ""),
        "OptionalOldSelf": spec.get("optionalOldSelf"),
    }
