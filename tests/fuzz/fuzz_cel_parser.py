"""CEL's parser against cel-go's: which texts it refuses, with which errors, and the trees of the others."""

from __future__ import annotations

from typing import Any

from celtrees import expected, made, refused

from fuzz.cel_cases import any_text
from fuzz.target import Case, Target
from oracle import celrunner


def compare(case: Case, ours: Any, theirs: Any) -> str | None:
    """Compare trees, or errors but for the words of syntax errors, which are our own."""
    found, wanted = refused(ours), refused(expected(case, theirs))
    if found == wanted:
        return None
    kinds = ["tree" if "tree" in each else "errors" for each in (found, wanted)]
    return f"parsed: {kinds[0]}, cel-go {kinds[1]}\n{found}\n{wanted}"


def oracle() -> list[Any]:
    """Build the oracle and return its command."""
    celrunner.build()
    return [celrunner.BINARY, "parse"]


TARGET = Target("cel_parser", any_text, made, compare, oracle, question=lambda text: {"expr": text})
