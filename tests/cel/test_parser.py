"""The parser against cel-go's: trees, positions, messages but for those of syntax errors.

``tests/oracle/celgoldens.py`` writes what is expected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from effort import share
from oracle import celgoldens, celrunner
from oracle.celexpressions import expressions, soup
from oracle.celrows import dump
from trainc.cel.issues import CompileError, display
from trainc.cel.macros import RECEIVER_MACROS
from trainc.cel.parser import parse

CASES = sorted((Path(__file__).resolve().parent / "parser").glob("*.jsonl"))
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


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_cel_go_makes_of_it(path: Path) -> None:
    lines = celgoldens.rows(path)
    wrong = [line["expr"] for line in lines if refused(made(line["expr"])) != refused(expected(line["expr"], line))]
    assert len(lines) > 20
    assert wrong == []


@pytest.fixture(scope="module")
def oracle() -> None:
    if why := celrunner.missing():
        pytest.skip(why)
    celrunner.build()


@pytest.mark.go
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_answers_are_current(path: Path, oracle: None) -> None:
    assert celgoldens.fresh(path) == path.read_text(encoding="ascii")


@pytest.mark.go
@pytest.mark.parametrize(
    "texts",
    [expressions(41, share(600)), expressions(42, share(600), broken=True), soup(43, share(400))],
    ids=["whole", "broken", "soup"],
)
def test_random_texts(texts: list[str], oracle: None) -> None:
    answers = zip(texts, celgoldens.parse(texts), strict=True)
    wanted = {text: refused(expected(text, answer)) for text, answer in answers}
    assert [text for text, answer in wanted.items() if refused(made(text)) != answer] == []
