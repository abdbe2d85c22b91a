"""How issues are printed; most of the proof is in the goldens of the parser, which hold all of cel-go's text."""

from __future__ import annotations

import pytest

from trainc.cel.codegen import Program
from trainc.cel.composition import compile_expression
from trainc.cel.declarations import free
from trainc.cel.issues import Issue, display, location
from trainc.cel.types import DYN
from trainc.cel.values import MISSING


@pytest.mark.parametrize(
    ("text", "position", "shown"),
    [
        ("a b", 2, "ERROR: <input>:1:3: m\n | a b\n | ..^"),
        ("a\n\tb", 3, "ERROR: <input>:2:2: m\n |  b\n | .^"),
        ("é😀é", 1, "ERROR: <input>:1:2: m\n | é😀é\n | \uff0e\uff3e"),
        ("a", 1, "ERROR: <input>:1:2: m\n | a\n | .^"),
        ("a", -1, "ERROR: <input>:-1:0: m"),
        ("", 0, "ERROR: <input>:1:0: m"),
        ("a" * 16_385, 0, "ERROR: <input>:1:1: m"),
    ],
)
def test_one_issue(text: str, position: int, shown: str) -> None:
    assert display(text, (Issue(position, "m"),)) == shown


def test_issues_are_sorted_by_place_and_stay_in_order_there() -> None:
    issues = (Issue(2, "c"), Issue(0, "a"), Issue(2, "d"), Issue(-1, "nowhere"))
    lines = [line for line in display("x y", issues).split("\n") if line.startswith("ERROR")]
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["nowhere", "a", "c", "d"]


def test_at_most_a_hundred() -> None:
    shown = display("x", tuple(Issue(0, "m") for _ in range(103)))
    assert shown.count("ERROR") == 100
    assert shown.endswith("\n3 more errors were truncated")


def test_location() -> None:
    assert [location("a\nbc\n", position) for position in (0, 1, 2, 4, 5)] == [(1, 0), (1, 1), (2, 0), (2, 2), (3, 0)]


def test_a_variable_without_a_value_fails_at_the_last_selection() -> None:
    program = compile_expression("a.b.c", free({"a": DYN}))
    assert isinstance(program, Program)
    error = program.run({"a": MISSING})[0]
    assert (error.message, error.position) == ("no such attribute(s): a", len("a.b"))
