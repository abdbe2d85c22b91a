"""CEL's parser against cel-go's: which texts it refuses, with which errors, and the trees of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from celtrees import expected, made, refused
from fuzz.cel_answers import skeleton
from fuzz.cel_cases import any_text
from fuzz.target import Case, Target
from oracle import celrunner


def compare(case: Case, ours: Any, theirs: Any) -> str | None:
    """Compare trees, or errors but for the words of syntax errors, which are our own, and of panics."""
    found, wanted = refused(ours), refused(expected(case, theirs))
    if found == wanted or ("errors" in found and "cel-go panics" in wanted.get("display", "")):
        return None
    kinds = ["tree" if "tree" in each else "errors" for each in (found, wanted)]
    return f"parsed: {kinds[0]}, cel-go {kinds[1]}\n{found}\n{wanted}"


def features(_case: Case, ours: Any) -> Iterator[str]:
    """Yield the kinds and functions of nodes with those of the nodes below them, or the errors."""
    rows = (ours or {}).get("tree", ())
    kinds = [f"{row[0]} {row[2] if row[0] in ('call', 'fold') else ''}" for row in rows]
    for row, kind in zip(rows, kinds, strict=True):
        yield from (
            f"{kind} {kinds[each]}"
            for part in row[2:]
            if isinstance(part, list)
            for each in part
            if isinstance(each, int)
        )
    yield from (skeleton(message) for _, message in (ours or {}).get("errors", ()))


def oracle() -> list[Any]:
    """Build the oracle and return its command."""
    celrunner.build()
    return [celrunner.BINARY, "parse"]


TARGET = Target(any_text, made, compare, oracle, question=lambda text, _: {"expr": text}, features=features)
