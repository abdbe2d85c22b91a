"""The parser against cel-go's: trees, positions, messages but for those of syntax errors.

``tests/oracle/celgoldens.py`` writes what is expected.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from celtrees import expected, made, refused
from effort import share
from oracle import celgoldens, celrunner
from oracle.celexpressions import expressions, soup

CASES = sorted((Path(__file__).resolve().parent / "parser").glob("*.jsonl"))


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
