"""Compares answers of expressions with the engine's, costs included where they are exact.

They are where the expression has a value and no failure was absorbed on the way to it. Some errors have our own words:
why a version or an IP address cannot be read (the latter is Python's), names of types, and that there is no overload
where sorting what is no list makes cel-go panic.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from oracle import celgoldens
from trainc.admission.policy.creation import accepts_expressions
from trainc.cel import runtime
from trainc.cel.questions import answer, read_question
from trainc.schema import parse

Answer = dict[str, Any]

_ADDRESS = re.compile(r'(ParseAddr\("(?:[^"\\]|\\.)*"\)): [^\n]*')
_GO_TYPE = re.compile("(invalid qualifier type: |unsupported comprehension range type: |got ')[^'\n]*")
_PANIC, _VERSION = "interface conversion", " is not a semantic version"


def own_words(found: Answer, wanted: Answer) -> tuple[Answer, Answer]:
    """Return two answers without the words of errors that are ours."""
    if found["error"] is None or wanted["error"] is None:
        return found, wanted
    if _PANIC in wanted["error"] or _VERSION in found["error"]:
        return {**found, "error": _PANIC}, {**wanted, "error": _PANIC}
    one, two = ({**each, "error": _GO_TYPE.sub(r"\1", _ADDRESS.sub(r"\1", each["error"]))} for each in (found, wanted))
    return one, two


def comparable(question: dict[str, Any], found: dict[str, Any]) -> str:
    """Return an answer as text (1 is not True, nor 1.0), without what need not be the same."""
    error = found["error"]
    if isinstance(error, str):  # the words of a syntax error are our own
        error = "Syntax error" if "Syntax error: " in error else celgoldens.without_excerpt(error)
    # Whether a CRD's rule is accepted depends on its estimated cost, which trainc does not judge.
    accepted = None if question["env"] == "crd" else found["accepted"]
    return json.dumps({**found, "error": error, "accepted": accepted}, sort_keys=True)


class Asking:
    """Answers questions; ``absorbed``: a failure was absorbed in the last of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.absorbed = False
        for name in ("worse", "located"):
            monkeypatch.setattr(runtime, name, self._noticing(name))

    def _noticing(self, name: str) -> Any:
        function = getattr(runtime, name)

        def called(*args: Any) -> Any:
            self.absorbed = True
            return function(*args)

        return called

    def answer(self, question: Answer, wanted: Answer) -> tuple[Answer, Answer]:
        """Return our answer and the one wanted, without costs that need not be the same."""
        self.absorbed = False
        found: Answer = answer(read_question(question), parse, accepts_expressions).written()
        if not wanted["ok"] or self.absorbed or wanted["cost"] is None:
            return own_words({**found, "cost": None}, {**wanted, "cost": None})
        return found, wanted


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(monkeypatch)
