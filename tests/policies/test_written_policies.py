"""The starter policies say the same of any object, evaluated by closures and by functions of Python (bothways.py)."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import bothways
from oracle import policyours
from policies.test_starter_set import platform, questions
from trainc.admit.policy import PolicySet, Request
from trainc.source import Json

ODD: tuple[Json, ...] = (
    *(None, True, False, 0, 1, 2**63 - 1, -1, 1.0, [], {}, [{}], {"a": 1}),
    *("", "1", "é", "a/b@c:d", "x" * 300),
)


@cache
def asked() -> tuple[tuple[PolicySet, Request], ...]:
    """Return the policies, and every request of their own tests."""
    found = list(questions(platform()))
    policies = policyours.policies(found[0])
    return tuple((policies, Request(**question["request"])) for question in found)


def places(data: Any) -> list[tuple[Any, Any]]:
    """Return every container below data with each of its keys."""
    waiting, found = [data], []
    while waiting:
        part = waiting.pop()
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        found += [(part, key) for key in keys]
        waiting += [part[key] for key in keys if isinstance(part[key], dict | list)]
    return found


def changed(data: Any, draw: st.DrawFn) -> Any:
    """Return data with some values replaced, moved or gone."""
    made = deepcopy(data)
    for _ in range(draw(st.integers(0, 4))):
        known = places(made)
        if not known:
            break
        holder, key = draw(st.sampled_from(known))
        other, from_ = draw(st.sampled_from(known))
        what = draw(st.sampled_from(("odd", "gone", "other", "twice")))
        if what == "gone":
            del holder[key]
        elif what == "twice" and isinstance(holder, list):
            holder.insert(key, deepcopy(holder[key]))
        else:
            holder[key] = deepcopy(draw(st.sampled_from(ODD)) if what == "odd" else other[from_])
    return made


@st.composite
def requests(draw: st.DrawFn) -> tuple[PolicySet, Request]:
    policies, request = draw(st.sampled_from(asked()))
    metadata = request.object["metadata"]
    data = {**changed({k: v for k, v in request.object.items() if k != "metadata"}, draw), "metadata": metadata}
    return policies, replace(request, object=data)


def test_same_as_closures(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = bothways.compare(monkeypatch)

    @settings(max_examples=200, deadline=None)
    @given(requests())
    def compared(given_: tuple[PolicySet, Request]) -> None:
        policies, request = given_
        policies.decide(request)

    compared()
    assert counted["answered"] > counted["left"] > 1000, counted
    assert counted["not written"] == 0
