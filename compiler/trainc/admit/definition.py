"""The rules of a CRD that is created: what the API server refuses of x-kubernetes-validations.

Source: k8s.io/apiextensions-apiserver v0.34 pkg/apis/apiextensions/validation (validation.go, cel_validation.go). The
schema itself, and the plain fields of a rule, are schema/definition's.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.cel.composition import Compiled, Problem
from trainc.cel.estimate import estimate
from trainc.cel.fieldpaths import FieldPathError, parse_field_path
from trainc.cel.rule import CompiledRule, compile_rule
from trainc.cel.schematypes import MAX_REQUEST, Declared
from trainc.cel.sizes import MOST
from trainc.kube.fielderror import forbidden, internal, invalid
from trainc.records import NamedTuple, dataclass, field, replace
from trainc.schema import Structural
from trainc.schema.definition.place import Place
from trainc.source import Json, JsonObject, Path

EXPRESSION_LIMIT = 10_000_000
"""The estimated cost that an expression may have, times how often it runs."""

TOTAL_LIMIT = 100_000_000
"""The estimated cost that all expressions of a version may have together."""

_ADVICE = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings"
_SHOWN = 4
"""The most expensive rules that are named where the total is too much."""


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
    walk.visit(_Node(schema, place, True, 1))
    return (*walk.found, *walk.total(place))


@dataclass(frozen=True, slots=True)
class _Node:
    """A schema: how many values it can have at most (None: no limit), and what keeps oldSelf from having a value."""

    schema: Structural
    place: Place
    root: bool
    count: int | None
    uncorrelated: Place | None = None


@dataclass(slots=True)
class _Walk:
    errors: tuple[Path, ...]
    found: list[RuleProblem] = field(default_factory=list)
    costs: list[tuple[int, Place]] = field(default_factory=list)

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
        self._cost(node, made.self_, made.rule, place.child("rule"), "estimated rule cost")
        if made.problem is not None:
            self._refuse(place.child("rule"), spec, made.problem)
        if made.message_problem is not None:
            self._refuse(place.child("messageExpression"), spec, made.message_problem)
        elif made.message is not None:
            at = place.child("messageExpression")
            self._cost(None, made.self_, made.message, at, "estimated messageExpression cost")
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

    def _cost(self, node: _Node | None, self_: Declared, made: Compiled | None, place: Place, what: str) -> None:
        cost = estimate(made.checked, self_).most if made is not None else 0
        if node is not None:
            count = node.count if node.count is not None else MAX_REQUEST // (self_.min_size + 1)
            cost = min(cost * count, MOST)
        if cost > EXPRESSION_LIMIT:
            detail = over_budget(what, cost, EXPRESSION_LIMIT)
            self._add(place, detail, forbidden(place.text, detail))
        self.costs.append((cost, place))

    def _refuse(self, place: Place, spec: JsonObject, problem: Problem) -> None:
        text = invalid(place.text, _printed(spec), problem.text)
        single = [(issue.message, max(issue.position, 0)) for issue in problem.issues]
        for message, position in single or [(problem.text, problem.position)]:
            self.found.append(RuleProblem(place.path, message, text, position))

    def _add(self, place: Place, detail: str, text: str) -> None:
        self.found.append(RuleProblem(place.path, detail, text))

    def total(self, place: Place) -> Iterator[RuleProblem]:
        """Yield what is refused of all rules together."""
        total = min(sum(cost for cost, _ in self.costs), MOST)
        if total <= TOTAL_LIMIT:
            return
        dear = sorted((row for row in self.costs if row[0] >= TOTAL_LIMIT // 100), key=lambda row: -row[0])
        detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        for _, at in dear[:_SHOWN]:
            yield RuleProblem(at.path, detail, forbidden(at.text, detail))
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        detail = over_budget(what, total, TOTAL_LIMIT)
        yield RuleProblem(place.path, detail, forbidden(place.text, detail))


def over_budget(what: str, cost: int, limit: int) -> str:
    """Return the server's words for a cost over its limit."""
    factor = cost / limit
    times = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {times} ({_ADVICE} are declared)"


def _children(node: _Node) -> Iterator[_Node]:
    schema, place = node.schema, node.place
    count = _multiplied(node)
    if (values := schema.additional) is not None:
        yield _Node(values, place.child("additionalProperties"), False, count, node.uncorrelated)
    correlated = schema.keywords.get("x-kubernetes-map-type") in (None, "granular", "atomic")
    child = _Node(schema, place, False, count, node.uncorrelated or (None if correlated else place))
    for name, value in schema.properties.items():
        yield replace(child, schema=value, place=place.child("properties").key(name))
    if (items := schema.items) is not None:
        correlated = schema.keywords.get("x-kubernetes-list-type") == "map"
        uncorrelated = node.uncorrelated or (None if correlated else place)
        yield _Node(items, place.child("items"), False, count, uncorrelated)


def _multiplied(node: _Node) -> int | None:
    """Return how many values a schema below can have at most."""
    keywords = node.schema.keywords
    limit: int | None = 1
    if node.schema.type == "array":
        limit = keywords.get("maxItems")
    elif node.schema.type == "object" and "additionalProperties" in keywords:
        limit = keywords.get("maxProperties")
    if node.count is None or limit is None:
        return None
    return min(node.count * max(int(limit), 0), MOST)


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
