"""What the parser makes of an expression, in the words of the oracle's command ``parse``."""

from __future__ import annotations

from typing import Any

from oracle.celrows import dump
from trainc.cel.issues import CompileError, display
from trainc.cel.macros import RECEIVER_MACROS
from trainc.cel.parser import parse

MACROS = frozenset((*RECEIVER_MACROS.keys() - {("existsOne", 2)}, ("has", 1)))
SYNTAX = "Syntax error: "


def made(text: str) -> dict[str, Any]:
    """Return what the parser makes of an expression, as the oracle says it."""
    try:
        root = parse(text, MACROS)
    except CompileError as error:
        errors = sorted(([issue.position, issue.message] for issue in error.issues), key=lambda pair: pair[0])
        return {"errors": errors, "display": display(text, error.issues)}
    rows: Any = dump(root)
    return {"tree": [row[:-1] if row[0] == "fold" else row for row in rows]}  # the oracle has no hint of the macro


def expected(text: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of the oracle; Go writes 1.0 as 1, and has no offset where there is no text."""
    if "tree" in answer:
        rows = answer["tree"]
        return {"tree": [[*row[:2], float(row[2])] if row[0] == "double" else row for row in rows]}
    errors = [[at if text else 0, message] for at, message in answer["errors"]]
    return {"errors": errors, "display": answer["display"]}


def refused(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out all errors where one is of syntax: our words are our own, and we stop at the first."""
    wrong = any(message.startswith(SYNTAX) for _, message in answer.get("errors", ()))
    return {"errors": SYNTAX} if wrong else answer
