"""Policies against the answers that the API server's own code gave (tests/oracle/policygoldens.py)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from effort import THOROUGH, share
from oracle import celrunner, policygen, policygoldens, policyours
from trainc.admission.policy import Request

DECISIONS = policygoldens.read("decisions")
CREATIONS = policygoldens.read("creation")


LONG = {"heavy-variables", "heavy-validations", "heavy-messages", "heavy-few-conditions"}
"""Decisions that end at the limit of work after a second each; heavy-conditions is one, too, which every run tests."""

TESTED = [pair for pair in DECISIONS if THOROUGH or pair[0]["id"] not in LONG]


@pytest.mark.parametrize("question, answer", TESTED, ids=[question["id"] for question, _ in TESTED])
def test_decision(question: dict[str, Any], answer: dict[str, Any]) -> None:
    ours = policyours.answer(question)
    assert policygoldens.agrees(ours, answer), (ours, answer)


def test_an_ignored_failure_of_our_own_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainc.admission.policy.evaluation.BUDGET", 5_000)
    question = next(question for question, _ in DECISIONS if question["request"]["operation"] == "CREATE")
    named = [(f"{k}{i}", f"[variables.{k}{i - 1}, variables.{k}{i - 1}]") for i in range(1, 14) for k in "vw"]
    spec = {
        "failurePolicy": "Ignore",
        "matchConstraints": {"resourceRules": [policygen.ANYTHING]},
        "variables": [{"name": n, "expression": e} for n, e in [("v0", "[1]"), ("w0", "[1]"), *named]],
        "validations": [{"expression": "false"}, *[{"expression": "variables.v13 == variables.w13"}] * 4],
    }
    policy = {"apiVersion": policygen.API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    binding = {**policy, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound}
    policies = policyours.policies({**question, "policies": [policy], "bindings": [binding]})
    outcomes = {decision.outcome for decision in policies.decide(Request(**question["request"]))}
    assert outcomes == {"undecided"}


def test_creation() -> None:
    different = [
        (ours, answer["errors"])
        for document, answer in CREATIONS
        if policygoldens.without_syntax(ours := policyours.refusals(document))
        != policygoldens.without_syntax(answer["errors"])
    ]
    assert different == []


def test_the_answers_are_of_all_kinds() -> None:
    kinds: Counter[str] = Counter()
    for _, answer in DECISIONS:
        kinds["silent"] += not (answer["error"] or answer["warnings"] or answer["annotations"])
        kinds["warned"] += bool(answer["warnings"])
        kinds["recorded"] += bool(answer["annotations"])
        kinds[answer["reason"]] += 1
        for text in (
            "resulted in error",
            "no params found",
            "compilation error",
            "out of cost budget",
            "failed expression",
        ):
            kinds[text] += text in answer["error"]
    assert min(kinds.values()) > 0, kinds
    assert kinds["silent"] > 10 and kinds["warned"] > 20 and kinds["Invalid"] > 50 and kinds["Forbidden"] > 0
    refused = sum(bool(answer["errors"]) for _, answer in CREATIONS)
    assert 200 < refused < len(CREATIONS)


@pytest.mark.go
def test_live() -> None:
    reason = celrunner.missing()
    if reason is not None:
        pytest.skip(reason)
    policygoldens.build()
    assert policygoldens.live(3, share(40)) == []
