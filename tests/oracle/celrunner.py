"""Asks the CEL oracle: questions in, answers out (cel/README.md says what both hold)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oracle import gotools
from oracle.gotools import OracleError

__all__ = ["OracleError", "ask", "build", "missing", "run", "text"]

HERE = gotools.ORACLE / "cel"
BINARY = HERE / "cel"

Question = dict[str, Any]
Answer = dict[str, Any]


def missing() -> str | None:
    """Say why the oracle cannot be built on this machine, or None if it can."""
    return gotools.missing(HERE)


def build() -> None:
    """Compile the oracle. Raises OracleError."""
    gotools.build(HERE)


def ask(questions: Iterable[Question], command: str = "answer") -> list[Answer]:
    """Return the oracle's answers, in order. Raises OracleError."""
    return gotools.ask([BINARY, command], questions, HERE)


def run(arguments: list[str]) -> list[dict[str, Any]]:
    """Run a command of the oracle and read the JSON objects that it prints, one a line. Raises OracleError."""
    return gotools.rows(text(arguments))


def text(arguments: list[str]) -> str:
    """Run a command of the oracle and return what it prints. Raises OracleError."""
    return gotools.run([BINARY, *arguments], folder=HERE)
