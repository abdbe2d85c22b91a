"""What is wrong with an expression before it runs."""

from __future__ import annotations

import msgspec


class Issue(msgspec.Struct, frozen=True):
    """One error of parsing or checking: cel-go's message, and where, an offset in code points of the expression."""

    position: int
    message: str


class CompileError(Exception):
    """An expression that the API server refuses. ``issues`` are in cel-go's order, at least one."""

    def __init__(self, issues: tuple[Issue, ...]) -> None:
        super().__init__("; ".join(issue.message for issue in issues))
        self.issues = issues
