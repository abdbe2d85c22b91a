"""Compares answers of expressions with the engine's, costs included where they are exact.

They are where the expression has a value and no failure was absorbed on the way to it.
"""

from __future__ import annotations

from typing import Any

import pytest

from trainc.cel import codegen, runtime
from trainc.cel.questions import answer, read_question
from trainc.schema import parse

Answer = dict[str, Any]


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
            return {**found, "cost": None}, {**wanted, "cost": None}
        return found, wanted


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(monkeypatch)
