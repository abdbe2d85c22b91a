"""Our answer to a question of policygen.py, in the shape of the oracle's."""

from __future__ import annotations

from typing import Any

from trainc.admission.policy import Request
from trainc.admission.policy.documents import Stored, read
from trainc.admission.policy.expressions import Bound, Expressions
from trainc.admission.policy.match import Cluster
from trainc.admission.policy.policyset import PolicySet
from trainc.basics.jsonvalues import JsonObject
from trainc.documents.classify import identity
from trainc.inputs.source import Document, Source
from trainc.schema import Resource, resource
from trainc.schema.kinds import Registry

CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Return what a server answers, its policies taken for stored ones."""
    decisions = policies(question).decide(Request(**question["request"]))
    undecided = {decision.message for decision in decisions if decision.outcome == "undecided"}
    assert all(message.endswith("not converted offline") for message in undecided), undecided
    vague = any(decision.outcome == "denied" and not decision.upstream for decision in decisions)
    decisions = tuple(decision for decision in decisions if decision.outcome != "undecided" and decision.upstream)
    denied = [decision for decision in decisions if decision.action == "Deny"]
    return {
        "undecided": bool(undecided) or vague,
        "denials": [decision.upstream for decision in denied],
        "statuses": [(d.upstream, {"reason": d.reason, "code": CODES[d.reason]}) for d in denied],
        "warnings": [decision.upstream for decision in decisions if decision.action == "Warn"],
        "annotations": [decision.upstream for decision in decisions if decision.action == "Audit"],
    }


def policies(question: dict[str, Any]) -> PolicySet:
    """Return the policies of a question as a server has stored them."""
    bindings = tuple(_stored(data) for data in question["bindings"])
    bound = tuple(
        Bound(
            policy,
            tuple(each for each in bindings if each.policy_name == policy.name),
            Expressions(policy, new=False),
        )
        for policy in map(_stored, question["policies"])
    )
    spaces = [{"apiVersion": "v1", "kind": "Namespace", **data} for data in question["namespaces"]]
    objects = {identity(document): document for document in map(_document, [*spaces, *question["params"]])}
    return PolicySet((), bound, Cluster(objects, _registry(question["kinds"])))


def _registry(kinds: list[dict[str, Any]]) -> Registry:
    given: dict[tuple[str, str], tuple[Resource, ...]] = {}
    anything = resource("JobSet")
    for row in kinds:
        known = Resource(
            row["group"], row["version"], row["kind"], row["namespaced"], True, anything.schema, row["plural"]
        )
        key = row["group"], row["kind"]
        given[key] = (*given.get(key, ()), known)
    return Registry(given)


def _stored(data: JsonObject) -> Stored:
    found = read(_document(data))
    assert found.decoded
    return found


def _document(data: JsonObject) -> Document:
    return Document(Source("question.yaml", ""), data)


def refusals(data: JsonObject) -> list[str]:
    """Return the server's texts of all that is refused of a policy or binding that is created."""
    upstream = [finding.upstream for finding in PolicySet.load([_document(data)], {}).findings]
    return [text for text in upstream if text is not None]
