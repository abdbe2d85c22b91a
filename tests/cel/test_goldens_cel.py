"""Every committed answer of the API server's own CEL engine is ours: cel-spec, and what tests/oracle/celgen asks.

Texts of errors are compared whole but for excerpts of the expression. Of a syntax error, whose words are our own, only
that it is one is compared. A cost of null where something was evaluated
depends on the order of Go's maps.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from oracle import celgoldens
from trainc.questions import answer, read_question

_EXCERPT = re.compile(r"\n \| [^\n]*")


def comparable(question: dict[str, Any], found: dict[str, Any], costs: bool) -> dict[str, Any]:
    text = found["error"]
    if isinstance(text, str):
        text = _EXCERPT.sub("", text)
        text = "Syntax error" if "Syntax error: " in text else text
    return {**found, "error": text, "cost": found["cost"] if costs else None}


@pytest.mark.parametrize("name", celgoldens.names())
def test_same_answers(name: str) -> None:
    rows = celgoldens.read(name)
    assert rows
    differing = {}
    for question, expected in rows:
        costs = expected["cost"] is not None or expected["stage"] not in (None, "eval")
        found = comparable(question, answer(read_question(question)), costs)
        if found != comparable(question, expected, costs):
            differing[question["id"]] = (question["expr"], found, expected)
    assert not differing
