"""Every committed answer of the API server's own CEL engine is ours: cel-spec, and what tests/oracle/celgen asks.

Texts of errors are compared whole but for excerpts of the expression. Of a syntax error, whose words are our own,
only that it is one is compared. A cost of null where something was evaluated depends on the order of Go's maps; costs
are compared as celcosts.py says.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from celcosts import Asking, asking
from oracle import celgoldens

__all__ = ["asking"]

_EXCERPT = re.compile(r"\n \| [^\n]*")


def comparable(question: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    text = found["error"]
    if isinstance(text, str):
        text = _EXCERPT.sub("", text)
        text = "Syntax error" if "Syntax error: " in text else text
    # Whether a CRD's rule is accepted depends on its estimated cost, which trainc does not judge.
    accepted = None if question["env"] == "crd" else found["accepted"]
    return {**found, "error": text, "accepted": accepted}


@pytest.mark.parametrize("name", celgoldens.names())
def test_same_answers(name: str, asking: Asking) -> None:
    rows = celgoldens.read(name)
    assert rows
    differing = {}
    for question, expected in rows:
        found, wanted = (comparable(question, each) for each in asking.answer(question, expected))
        if found != wanted:
            differing[question["id"]] = (question["expr"], found, wanted)
    assert not differing
