"""Compares answers of expressions with the engine's, costs included where they are exact.

They are where the expression has a value and no failure was absorbed on the way to it. Why an IP address cannot be read
is worded by Python, types have their names in CEL instead of Go's, and the cost of sorting what is no list makes cel-go
panic, where we say that there is no overload.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from trainc.cel import codegen, runtime
from trainc.cel.questions import answer, read_question
from trainc.schema import parse

Answer = dict[str, Any]

_ADDRESS = re.compile(r'(ParseAddr\("(?:[^"\\]|\\.)*"\)): [^\n]*')
_GO_TYPE = re.compile("(invalid qualifier type: |unsupported comprehension range type: |got ')[^'\n]*")
_PANIC = "interface conversion"


def own_words(found: Answer, wanted: Answer) -> tuple[Answer, Answer]:
    """Return two answers without the words of errors that are ours."""
    if found["error"] is None or wanted["error"] is None:
        return found, wanted
    if _PANIC in wanted["error"]:
        return {**found, "error": _PANIC}, {**wanted, "error": _PANIC}
    one, two = ({**each, "error": _GO_TYPE.sub(r"\1", _ADDRESS.sub(r"\1", each["error"]))} for each in (found, wanted))
    return one, two


class Asking:
    """Answers questions; ``absorbed``: a failure was absorbed in the last of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.absorbed = False
        noticed = {name: self._noticing(name) for name in ("worse", "located")}
        monkeypatch.setattr(codegen, "NAMES", {**runtime.NAMES, **noticed})

    def _noticing(self, name: str) -> Any:
        function = runtime.NAMES[name]

        def called(*args: Any) -> Any:
            self.absorbed = True
            return function(*args)

        return called

    def answer(self, question: Answer, wanted: Answer) -> tuple[Answer, Answer]:
        """Return our answer and the one wanted, without costs that need not be the same."""
        self.absorbed = False
        found: Answer = answer(read_question(question), parse).written()
        if not wanted["ok"] or self.absorbed or wanted["cost"] is None:
            return own_words({**found, "cost": None}, {**wanted, "cost": None})
        return found, wanted


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(monkeypatch)
