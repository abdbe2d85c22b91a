"""An expression written as a function of Python gives what closures give: the value, the cost and the work.

Asked is everything that the API server's engine has answered; bothways.py compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import bothways
from oracle import celgoldens
from trainc.cel import runner
from trainc.cel.composition import Compiled, compile_expression
from trainc.cel.places import admission
from trainc.cel.runner import Program
from trainc.questions import answer, read_question
from trainc.source import Json

HERE = Path(__file__).resolve().parent
OTHERS = [path for folder in ("runner", "library") for path in sorted((HERE / folder).glob("*.jsonl"))]
PARTS = 4


def questions() -> Iterator[dict[str, Any]]:
    """Yield everything that the engine has been asked."""
    for name in celgoldens.names():
        yield from (question for question, _ in celgoldens.read(name))
    for path in OTHERS:
        yield from (json.loads(line)["question"] for line in path.read_text(encoding="ascii").splitlines())


@pytest.mark.parametrize("part", range(PARTS))
def test_same_as_closures(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = bothways.compare(monkeypatch)
    for question in islice(questions(), part, None, PARTS):
        answer(read_question(question))
    assert counted["answered"] > counted["left"] + 10 * counted["not written"] > 1000, counted


def program(expression: str) -> Program:
    made = compile_expression(expression, admission(new=False, params=False, variables=None))
    assert isinstance(made, Compiled), made
    return made.program


LOOP = "object.l.filter(x, x.a.matches('^a+$') && x.?b.orValue(1) > 0).map(x, x.a + '-' + x.a).join(',')"
GOOD: Json = {"l": [{"a": "aaa"}, {"a": "b", "b": 2}, {"a": "a" * 300, "b": 0}, {"a": "aa", "b": 3}]}


@pytest.mark.parametrize(
    "odd",
    [
        *({"l": [{"a": 1}]}, {"l": [{}]}, {"l": [None]}, {"l": {"a": 1}}, {"l": "text"}, {"l": None}, {}, None),
        *({"l": [{"a": "a", "b": "x"}]}, {"l": [{"a": "a", "b": None}]}, {"l": [{"a": "a", "b": 1.5}]}),
        *({"l": [{"a": "a", "b": True}]}, {"l": [{"a": "a", "b": 2**63 - 1}]}, {"l": [["a"]]}, {"l": []}),
    ],
)
def test_what_is_unusual_is_told_as_before(odd: Json) -> None:
    """An expression evaluated often enough to be written goes on to say the same, of usual values and of others."""
    often, seldom = program(LOOP), program(LOOP)
    while often._written is None:
        assert often.evaluate({"object": GOOD}).value == "aaa-aaa,aa-aa"
    for given in (odd, GOOD, odd):
        found, wanted = often.evaluate({"object": given}), seldom.evaluate({"object": given})
        assert str(found.error) == str(wanted.error)
        assert bothways.form(found.value) == bothways.form(wanted.value)
        assert (found.cost, found.work) == (wanted.cost, wanted.work)
    assert seldom._written is None, "the other way was taken"


@pytest.mark.parametrize("excess", [0, 1])
@pytest.mark.parametrize(
    "expression",
    [
        *("object.l.all(x, x.a != '')", "object.l.exists(x, x.a == 'b')", "object.l.all(x, x.a == 'aaa')", LOOP),
        *("object.l.map(x, x.a.lowerAscii()).size() > 1", "object.l[0].a.startsWith('a') || object.l[7].a == ''"),
    ],
)
def test_the_limit_of_cost_is_kept(expression: str, excess: int) -> None:
    """What an evaluation costs is allowed, and not 1 less; also where a loop that ends early is paid for beforehand."""
    often = program(expression)
    first = often.evaluate({"object": GOOD})
    while often._written is None:
        assert often.evaluate({"object": GOOD}) == first
    found = often.evaluate({"object": GOOD}, first.cost - excess)
    wanted = program(expression).evaluate({"object": GOOD}, first.cost - excess)
    assert (found.value, str(found.error), found.cost) == (wanted.value, str(wanted.error), wanted.cost)
    assert (found.error is None) is (excess == 0)


MANY: Json = list(range(400))
ALL = "many.all(a, many.all(b, {}))"


@pytest.mark.parametrize(
    "expression",
    [
        *(ALL.format("many.all(c, true)"), "many.map(a, many.map(b, many)).size() > 0", ALL.format("a + b >= 0")),
        *(
            ALL.format("many == many"),
            ALL.format("b in many"),
            ALL.format("'x'.matches(string(a) + '(a|b){9}') || true"),
        ),
        *(ALL.format("many.map(c, c) + many == many || true"), "many.map(a, many).exists(l, l == many.map(b, b + 1))"),
        *(ALL.format("many.filter(c, c > a).size() >= 0"), ALL.format("'%s'.format([many]) != ''")),
        *("many.map(a, many.map(b, string(b)).join(',')).join(',') != ''", ALL.format("int(string(b)) == b || true")),
    ],
)
def test_what_takes_too_long_is_stopped(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function stops where the budget of work or the limit of cost is used up, and closures say so."""
    monkeypatch.setattr(runner, "BUDGET", 50_000)
    counted = bothways.compare(monkeypatch)
    found = answer(read_question({"env": "dyn", "expr": expression, "vars": {"many": MANY}}))
    assert found["error"] is not None
    assert counted == {"left": 2}


@pytest.mark.parametrize("depth", [2, 10, 60, 240])
@pytest.mark.parametrize(
    ("begin", "end"),
    [("[", "]"), ("(o.a || ", ")"), ("!(", ")"), ("[1].map(x, ", ")"), ("[1].all(x, ", " == 1)"), ("(o.a ? 1 : ", ")")],
)
def test_expressions_may_be_as_deep_as_the_grammar_allows(
    begin: str, end: str, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too deep for a function is not written; Python itself would refuse it."""
    counted = bothways.compare(monkeypatch)
    answer(read_question({"env": "dyn", "expr": begin * depth + "o.a" + end * depth, "vars": {"o": {"a": False}}}))
    assert depth > 10 or counted["answered"] + counted["left"] == 2 or counted == {}, "the checker may refuse it, too"


@pytest.mark.parametrize("fields", [10, 200])
def test_chains_of_fields_may_be_long(fields: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = bothways.compare(monkeypatch)
    deep: Json = 1
    for _ in range(fields):
        deep = {"a": deep}
    made = program("object" + ".a" * fields + " == 1")
    assert made.evaluate({"object": deep}).value is True
    assert counted == ({"answered": 2} if fields == 10 else {"not written": 1})


@pytest.mark.parametrize("name", ["class", "lambda", "k0", "v3", "MISSING", "c", "f", "exec", "names", "None_", "é"])
def test_names_and_texts_are_data(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = bothways.compare(monkeypatch)
    text = "'); raise SystemExit  # \\n\\u2028{0}%s"
    expression = f"[o.l].all({name if name.isascii() else 'e'}, o['{name}'] == \"{text}\") && o.l == 1"
    shown = text.replace("\\n", "\n").replace("\\u2028", "\u2028")
    found = answer(read_question({"env": "dyn", "expr": expression, "vars": {"o": {name: shown, "l": 1}}}))
    assert found["value"] is True, found
    assert counted == {"answered": 2}
