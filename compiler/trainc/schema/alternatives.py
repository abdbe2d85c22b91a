"""The keywords anyOf, oneOf, allOf and not, as checks of a walk (walk.py).

Source of the rules: k8s.io/kube-openapi pkg/validation/validate, with its choice among alternatives: if none fits, the
failures of the one that passed the most checks are reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trainc.schema.values import json_type, mismatch
from trainc.schema.wording import Failure, Failures, Visit

if TYPE_CHECKING:
    from trainc.schema.walk import Node


def alternative_checks(node: Node, cls: type) -> Iterator[Visit]:
    """Yield the checks of a node's alternatives for values of a class."""
    nodes = node.alternatives("anyOf")
    if nodes and not any(each.takes_all(cls) for each in nodes):
        yield _any_of(node, nodes)
    if nodes := node.alternatives("oneOf"):
        yield _one_of(node, nodes)
    if nodes := node.alternatives("allOf"):
        yield _all_of(node, nodes)
    for negated in node.alternatives("not"):
        yield _not(node, negated)


def _any_of(node: Node, nodes: list[Node]) -> Visit:
    def check(value: Any, failures: Failures) -> Any:
        tried: list[Failures] = []
        for each in nodes:
            tried.append(each.failures_of(value))
            if not tried[-1]:
                return value
        best = _best(nodes, tried, value)
        for failure in best:
            failure.secondary = failure.secondary or (failure.keyword == "type" and failure.node in nodes)
        failures += [Failure("anyOf", value, node), *best]
        return value

    return check


def _one_of(node: Node, nodes: list[Node]) -> Visit:
    def check(value: Any, failures: Failures) -> Any:
        tried = [each.failures_of(value) for each in nodes]
        valid = sum(not found for found in tried)
        if not valid:
            failures += [Failure("oneOf", value, node, "Found none valid"), *_best(nodes, tried, value)]
        elif valid > 1:
            failures.append(Failure("oneOf", value, node, f"Found {valid} valid alternatives"))
        return value

    return check


def _all_of(node: Node, nodes: list[Node]) -> Visit:
    def check(value: Any, failures: Failures) -> Any:
        tried = [each.failures_of(value) for each in nodes]
        if any(tried):
            failures += (failure for found in tried for failure in found)
            failures.append(Failure("allOf", value, node, ". None validated" if all(tried) else ""))
        return value

    return check


def _not(node: Node, negated: Node) -> Visit:
    def check(value: Any, failures: Failures) -> Any:
        if not negated.failures_of(value):
            failures.append(Failure("not", value, node))
        return value

    return check


def _best(nodes: list[Node], tried: list[Failures], value: Any) -> Failures:
    """Return the failures of the first alternative with the highest score."""
    scores = [_score(node, value) for node in nodes]
    return tried[scores.index(max(scores))]


def _score(node: Node, value: Any) -> int:
    """Count the checks that an alternative passed, as kube-openapi's MatchCount does."""
    typed = bool(node.types or node.format)
    fits = mismatch(node.types, node.format, value) is None
    if value is None:
        return int(fits)
    score = typed * (1 + fits) + 4  # type; alternatives, twice; enum; the schema itself
    score += sum(_score_alternatives(node, keyword, value) for keyword in ("anyOf", "oneOf", "allOf"))
    if isinstance(value, str):
        return score + 1 + bool(node.format)
    if isinstance(value, list):
        return score + 2 + sum(_score_part(node, index, item) for index, item in enumerate(value))
    if isinstance(value, dict):
        return score + 1 + sum(_score_part(node, key, item) for key, item in value.items())
    return score + (2 if json_type(value) != "boolean" else 0)


def _score_part(node: Node, step: str | int, value: Any) -> int:
    child = node.child(step)
    return 0 if child is None else _score(child, value)


def _score_alternatives(node: Node, keyword: str, value: Any) -> int:
    nodes = node.alternatives(keyword)
    if not nodes:
        return 0
    scores = [_score(each, value) for each in nodes]
    if keyword == "allOf":
        return sum(scores)
    valid = [score for each, score in zip(nodes, scores, strict=True) if not each.failures_of(value)]
    if keyword == "oneOf" and len(valid) > 1:
        return 0
    return valid[0] if valid else max(scores)
