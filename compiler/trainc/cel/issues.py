"""Compile errors of expressions, printed as in cel-go v0.26.0 (common/error.go, errors.go)."""

from __future__ import annotations

import msgspec


class Issue(msgspec.Struct, frozen=True):
    """One error of parsing or checking: cel-go's message, and the offset in code points."""

    position: int
    message: str


class CompileError(Exception):
    """An expression that the API server rejects. ``issues`` are in cel-go's order, at least one."""

    def __init__(self, issues: tuple[Issue, ...]) -> None:
        super().__init__("; ".join(issue.message for issue in issues))
        self.issues = issues


class PlanError(CompileError):
    """An expression that passes the check, but has an invalid constant or call; ``message`` is cel-go's."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__((Issue(position, message),))
        self.message = message


REPORTED = 100
SNIPPET = 16_384
"""Longer lines, in bytes, are not shown."""


def location(text: str, position: int) -> tuple[int, int]:
    """Return line and column of an offset, from 1 and from 0.

    A negative offset, of no position, gives (-1, -1), and an empty text (1, -1).
    """
    if position < 0 or not text:
        return -1 if text else 1, -1
    return text.count("\n", 0, position) + 1, position - (text.rfind("\n", 0, position) + 1)


def display(text: str, issues: tuple[Issue, ...]) -> str:
    """Return the text of an expression's issues, sorted by position, at most 100."""
    shown = sorted(issues[:REPORTED], key=lambda issue: location(text, issue.position))
    blocks = [_block(text, issue) for issue in shown]
    if len(issues) > REPORTED:
        blocks.append(f"{len(issues) - REPORTED} more errors were truncated")
    return "\n".join(blocks)


def _block(text: str, issue: Issue) -> str:
    line, column = location(text, issue.position)
    head = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    if line < 0 or not text:
        return head
    snippet = text.split("\n")[line - 1]
    if len(snippet.encode("utf-8", "surrogatepass")) > SNIPPET:
        return head
    snippet = snippet.replace("\t", " ")
    dots = "".join("." if letter < "\x80" else "\uff0e" for letter in snippet[:column])
    caret = "\uff3e" if snippet[column : column + 1] > "\x7f" else "^"
    return f"{head}\n | {snippet}\n | {dots}{caret}"
