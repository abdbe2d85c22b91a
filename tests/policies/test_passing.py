"""That policies passed over quickly have nothing to say, and that the others say all that they have to say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import policygen, policyours
from trainc.admit.policy import PolicySet, Request
from trainc.admit.policy.decision import Decision
from trainc.admit.policy.passing import cases, sort_of
from trainc.admit.policy.policyset import _Asking
from trainc.cel.composition import Variables, by_name, compose
from trainc.cel.values import EvalError

QUESTIONS: list[dict[str, Any]] = list(policygen.questions(2024, 100))


def asked_one_by_one(policies: PolicySet, request: Request) -> tuple[Decision, ...]:
    """Return what policies say where none is passed over."""
    return tuple(
        decision for bound in policies.bound for decision in _Asking(bound, request, policies.cluster).decide()
    )


@pytest.mark.parametrize("part", range(2))
def test_nothing_is_lost(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question's policies are asked about its own request and about those of the next two.

    Many of those that have nothing to say are passed over. The others record, or look closer at an object.
    """
    asked: list[str] = []
    decide = _Asking.decide
    monkeypatch.setattr(_Asking, "decide", lambda self: asked.append(self._policy.name) or decide(self))
    silent = passed = said = 0
    for index in range(part, len(QUESTIONS), 2):
        policies = policyours.policies(QUESTIONS[index])
        for other in QUESTIONS[index : index + 3]:
            request = Request(**other["request"])
            asked.clear()
            found = policies.decide(request)
            loud = {decision.policy for decision in found}
            quiet = [bound.policy.name for bound in policies.bound if bound.policy.document not in loud]
            passed += sum(name not in asked for name in quiet)
            silent += len(quiet)
            said += len(loud)
            assert found == asked_one_by_one(policies, request), (QUESTIONS[index]["id"], other["id"])
    assert passed > silent / 3 > 20 and said > 40, (passed, silent, said)


@pytest.mark.parametrize("selector", ["objectSelector", "namespaceSelector", "resourceNames"])
def test_what_looks_closer_at_an_object_is_asked(selector: str) -> None:
    """A policy with such a selector decides by more than the sort of the request, and is not taken for another's."""
    question = next(q for q in QUESTIONS if q["policies"] and cases_of(q))
    spec = question["policies"][0]["spec"]
    rules = spec["matchConstraints"]
    if selector == "resourceNames":
        changed = {**rules, "resourceRules": [{**rule, selector: ["a"]} for rule in rules["resourceRules"]]}
    else:
        changed = {**rules, selector: {"matchLabels": {"a": "b"}}}
    policy = {**question["policies"][0], "spec": {**spec, "matchConstraints": changed}}
    policies = policyours.policies({**question, "policies": [policy]})
    given = question["request"]
    for name in ("a", "b"):
        for labels in ({"a": "b"}, {"a": "c"}, {}):
            data = {**(given["object"] or {}), "metadata": {"name": name, "labels": labels}}
            request = Request(**{**given, "name": name, "object": data})
            assert policies.decide(request) == asked_one_by_one(policies, request)


def cases_of(question: dict[str, Any]) -> bool:
    policies, request = policyours.policies(question), Request(**question["request"])
    return any(case.matched for case in cases(policies.bound[:1], sort_of(request), policies.cluster))


ROWS = (
    ("a", "object.l.map(x, x * 2)"),
    ("b", "variables.a.sum()"),
    ("c", "variables.missing.x == 1 || variables.b > 0"),
    ("d", "variables.b > 3 ? variables.c : variables.a.size() > 1"),
    ("missing", "object.nothing"),
    ("e", "variables.e == 1 || variables.d"),
    ("f", "variables.c && variables.d"),
)
NAMES = [name for name, _ in ROWS]


@given(
    st.lists(st.sampled_from(NAMES), max_size=6), st.lists(st.sampled_from(NAMES), max_size=6), st.lists(st.integers())
)
def test_variables_evaluated_before_cost_the_same_again(first: list[str], then: list[str], numbers: list[int]) -> None:
    """In whatever order they are read the second time, and whatever they read or fail with."""
    names = {"object": {"l": numbers}}
    variables = by_name(compose(ROWS, params=False))
    before = Variables(variables, names)
    for name in first:
        told(before, name)
    again, afresh = Variables(variables, names, before), Variables(variables, names)
    for name in then:
        assert told(again, name) == told(afresh, name)
        assert (again.take_charge(), again.cost) == (afresh.take_charge(), afresh.cost)


def told(variables: Variables, name: str) -> tuple[str, str]:
    """Return a variable's value, or its error, as text."""
    try:
        return "value", repr(variables.get(name, None))
    except EvalError as error:
        return "error", error.message
