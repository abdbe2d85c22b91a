"""No expression works for long, whatever it costs: the meter of cel/work.py sees what cost does not."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from effort import some
from trainc.admission.policy.creation import accepts_expressions
from trainc.basics.jsonvalues import Json, JsonObject
from trainc.cel import codegen, composition, questions, work
from trainc.cel.declarations import admission
from trainc.cel.library.strings import string_format
from trainc.cel.maps import equal
from trainc.cel.questions import QuestionError, read_question
from trainc.schema import parse

MANY: Json = list(range(2000))
LONG_SUM = "quantity('1e9000')" + "".join(f".add(quantity('1e{power}000'))" for power in range(8, -1, -1))
"""A quantity of 9,001 digits, more than a text may have."""

BUDGET = 50_000
"""A hundredth of the usual budget, so that a hundredth of the usual inputs is enough."""


def answer(question: questions.Question) -> JsonObject:
    return questions.answer(question, parse, accepts_expressions).written()


def outcome(expression: str, **variables: Json) -> JsonObject:
    return answer(read_question({"env": "dyn", "expr": expression, "vars": {"many": MANY, **variables}}))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codegen, "BUDGET", BUDGET)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("int(s) > 0", "9" * 2000),
        ("uint(s) > 0u", "9" * 2000),
        ("double(s) > 0.0", "0." + "9" * 2000),
        ("timestamp(s) > timestamp(0)", "2024-01-01T00:00:00." + "1" * 2000 + "Y"),
        ("duration(s) > duration('0s')", "1ns" * 500),
        ("timestamp(0).getHours(s) > 0", "A" * 2000),
        ("timestamp(0).getHours(s) > 0", "1" * 2000 + ":1"),
        ("isQuantity(s)", "1" * 2000),
        ("isSemver(s)", "1.1.1-" + "1." * 500 + "a"),
        ("isIP(s)", "1:" * 2000),
        ("isCIDR(s)", "::/" + "1" * 2000),
        ("isURL(s)", "http://a/" + "%41" * 500),
        ("s.findAll('').size() > 0", "a" * 200),
        ("s.findAll('a|').size() > 0", "a" * 200),
        ("s.replace('', s).size() > 0", "a" * 200),
        ("s.matches('[ab]*a[ab]{200}c')", "ab" * 500),
        ("s.matches(string(x))", "ab"),
        ("s.matches(string(x) + '(a|b){100}')", "ab"),
        (r"s.matches(string(x) + '\\pL{500}')", "ab"),  # RE2 refuses it, but that takes long
        ("s.find(string(x) + '[a-zé-ü]{300}') != ''", "ab"),
        ("bytes(s).size() > 0", "a" * 5000),
        ("s + s != ''", "a" * 5000),
        ("s < s + 'a'", "a" * 5000),
        ("'%s'.format([s]) != ''", "a" * 2000),
    ],
)
@pytest.mark.usefixtures("small")
def test_texts_are_read(expression: str, text: str) -> None:
    found = outcome(f"many.all(x, ({expression}) || true)", s=text)
    assert (found["error"], found["stage"]) == (work.MESSAGE, "eval")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[semver(v)].all(a, many.all(x, a.compareTo(a) == 0))", "1.1.1-" + "1." * 500 + "a"),
        ("[semver(v)].all(a, many.all(x, a == a))", "1.1.1-" + "1." * 500 + "a"),
        ("[url(v)].all(a, many.all(x, a.getEscapedPath() != ''))", "http://a/" + "%41" * 500),
        (f"[{LONG_SUM}].all(a, many.all(x, a.add(a).isInteger() || true))", None),
        ("many.all(x, x in v || true)", [[number] for number in range(200)]),
        ("many.all(x, 'a' in v || true)", ["b"] * 5000),
        ("many.all(x, dyn(v[0]) in v[1] || true)", ["a" * 20_000 + "b", ["a" * 20_000 + "c"] * 10]),
        ("many.all(x, v[0] == v[1] || true)", [["a" * 5000, "b"], ["a" * 5000, "c"]]),
        ("many.all(x, v[0] == v[1] || true)", [{"a": "a" * 5000}, {"a": "a" * 4999 + "b"}]),
        ("many.all(x, timestamp(0).getHours('Zone' + string(x)) > 0 || true)", None),
        ("sets.contains(v, v)", [[0] * 200 + [number] for number in range(50)]),
        ("v.distinct().size() > 0", [[0] * 200 + [number] for number in range(50)]),
        ("v.flatten(200).size() > 0", [[[[[1] * 30] * 30] * 30] * 2]),
        ("[many.transformMapEntry(i, x, {x: x})].all(m, many.all(x, m == m))", None),
    ],
)
@pytest.mark.usefixtures("small")
def test_values_are_compared(expression: str, value: Json) -> None:
    found = outcome(expression, v=value)
    assert (found["error"], found["stage"]) == (work.MESSAGE, "eval")


def test_matches_behind_which_the_rest_of_the_text_is_read() -> None:
    found = outcome("s.findAll('a(.*b)?').size() > 0", s="a" * 60_000)
    assert (found["error"], found["stage"]) == (work.MESSAGE, "eval")


@pytest.mark.parametrize(("regex", "text"), [("[a-z]+", "word " * 20_000), ("a|b", "a" * 200_000)])
def test_many_matches_in_long_texts(regex: str, text: str) -> None:
    assert outcome(f"s.findAll('{regex}').size() >= 20000", s=text)["value"] is True


def test_what_is_usual_is_far_below() -> None:
    expression = "many.all(x, ['web-1', 'db-2'].exists(n, n.matches('^[a-z]+-[0-9]+$') && isQuantity('10Gi')))"
    assert outcome(expression)["value"] is True


@pytest.mark.parametrize(
    "use",
    some(
        [
            *(
                "{} == {}",
                "{} in [{}]",
                "[{}].indexOf({}) == 0",
                "[{}].lastIndexOf({}) == 0",
                "sets.contains([{}], [{}])",
            ),
            *("sets.equivalent([{}], [{}])", "[dyn({}), {}].distinct().size() == 1", "{}.flatten(99).size() > 0"),
            *("'%s'.format([{}]) == ''", "[{}].sum() == 0", "{{'a': {}}} == {{'a': {}}}", "dyn([{}]).isSorted()"),
            *("dyn([{}]).join(',') == ''", "{{'a': 1}}[dyn({})] == 1", "[1][dyn({})] == 1", "{{{}: 1}}[{}] == 1"),
            *("optional.of({}) == optional.of({})", "dyn({}).orValue(1) == 1", "dyn([{}]).sort() == []"),
            *("dyn([{}]).min() == 1", "[1, 2].transformMapEntry(i, v, {{{}: 1}}).size() == 1", "dyn({}).matches('a')"),
            *("{} + {} == {} + {}", "[{}].map(x, x) == [{}]", "type({}) == type({})", "dyn({}) < dyn({})", "has({}.a)"),
        ],
        3,
    ),
)
@pytest.mark.usefixtures("small")
def test_values_that_hold_each_other_twice(use: str) -> None:
    first = {"name": "v0", "expression": "dyn([1, 2])"}
    rows = [{"name": f"v{i + 1}", "expression": f"dyn([variables.v{i}, variables.v{i}])"} for i in range(60)]
    value = "variables.v60"
    question = {"env": "vap", "expr": use.format(*[value] * 4), "vars": {}, "variables": [first, *rows]}
    found = answer(read_question(question))
    assert found["ok"] is (found["error"] is None)
    assert len(str(found["error"])) < 400


def test_values_that_hold_each_other_twice_are_not_written_out() -> None:
    rows = [{"name": f"v{i + 1}", "expression": f"dyn([variables.v{i}, variables.v{i}])"} for i in range(60)]
    variables = [{"name": "v0", "expression": "dyn([1, 2])"}, *rows]
    found = answer(read_question({"env": "vap", "expr": "variables.v60", "vars": {}, "variables": variables}))
    assert (found["ok"], found["stage"]) == (False, "eval")


@pytest.mark.parametrize("use", ["variables.v60 == ''", "variables.v60.size() > 0", "variables.v60"])
@pytest.mark.parametrize("first", ["dyn('aaaaaaaa')", "dyn(b'aaaaaaaa')", "dyn([1, 2, 3])"])
@pytest.mark.usefixtures("small")
def test_sums_that_double(first: str, use: str) -> None:
    rows = [{"name": f"v{i + 1}", "expression": f"variables.v{i} + variables.v{i}"} for i in range(60)]
    variables = [{"name": "v0", "expression": first}, *rows]
    found = answer(read_question({"env": "vap", "expr": use, "vars": {}, "variables": variables}))
    assert work.MESSAGE in str(found["error"])


def chained(expression: str, count: int, **object_: Json) -> JsonObject:
    """Return the answer for a policy that uses as many variables of one expression."""
    rows: Json = [{"name": f"v{index}", "expression": expression} for index in range(count)]
    every = ", ".join(f"dyn(variables.v{index})" for index in range(count))
    question: Json = {"env": "vap", "expr": f"[{every}].size() > 0", "vars": {"object": object_}, "variables": rows}
    return answer(read_question(question))


def test_variables_together_stay_within_the_budget_of_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = []
    run = codegen.Program.run

    def counting(self: codegen.Program, *args: Any) -> Any:
        evaluated.append(self)
        return run(self, *args)

    monkeypatch.setattr(codegen.Program, "run", counting)
    monkeypatch.setattr(composition, "MOST", 1_000_000)
    found = chained("object.l.all(a, object.l.all(b, a + b >= 0))", 200, l=list(range(100)))
    assert found["stage"] == "eval"
    assert isinstance(found["cost"], int)
    assert found["cost"] > 1_000_000
    assert len(evaluated) < 40


@pytest.mark.usefixtures("small")
def test_variables_together_stay_within_the_budget_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composition, "MOST", 100_000)
    found = chained("object.l == object.l && object.l[0] == object.l[1]", 100, l=[[[1] * 10] * 100] * 20)
    assert found["error"] == work.MESSAGE


@pytest.mark.parametrize(
    ("place", "deep"), [("vars", {"l": {}}), ("schema", {"type": "object"}), ("type_env", {}), ("vars", {"l": []})]
)
def test_questions_are_not_nested_deeply(place: str, deep: Json) -> None:
    for _ in range(5000):
        deep = {"t": "optional", "v": deep} if isinstance(deep, dict) else [deep]
    question: JsonObject = {"env": "crd" if place == "schema" else "dyn", "expr": "1", place: {"l": deep}}
    with pytest.raises(QuestionError, match="nested"):
        answer(read_question(question))


def test_half_a_surrogate_pair_is_no_text() -> None:
    found = outcome("s == '\ufffda\ufffd' && isIP(s) == false && bytes(s).size() == 7", s="\ud800a\udc80")
    assert found["value"] is True


LONG = 'aé\x07[("' * 5000


@pytest.mark.parametrize(
    "expression",
    [
        *("quantity(s)", "ip(s)", "cidr(s)", "url(s)", "semver(s)", "semver('1.1.' + s)", "semver('1.1.1-' + s)"),
        *("timestamp(s)", "duration(s)", "'a'.matches(s)", "'a'.find(s)", "int(s)", "double(s)", "bool(s)"),
        *("('%' + s).format([1.0])", "('%.' + d + 'f').format([1.0])", "url('http://a:' + s)"),
        *("timestamp(0).getHours(s)", "timestamp(0).getHours(s + ':1')", "timestamp(0).getHours('1:' + d)"),
        *("dyn([[s]]).join()", "[1, 2].transformMapEntry(i, v, {s: 1})", "optional.unwrap([dyn(s)])", "{'a': 1}[s]"),
        *("{'a': 1}[dyn([s])]", "[1][dyn(s)]", "[1][dyn({s: s})]", "dyn(s).a", "cidr('::/' + d)", "ip(d + ':1')"),
        *("optional.none().orValue({'a': 1}[s])", "optional.of(dyn(url('http://' + d))).optMap(y, y)"),
    ],
)
def test_errors_quote_the_beginning_of_a_value(expression: str) -> None:
    found = outcome(expression, s=LONG, d="9" * 20_000)
    assert found["stage"] == "eval"
    assert len(str(found["error"])) < 500


def test_values_are_also_compared_where_no_work_is_counted() -> None:
    assert equal([LONG], [LONG])
    assert not equal({"a": LONG}, {"a": LONG + "a"})


def test_long_texts_are_not_kept() -> None:
    """A policy may match another text of a megabyte for each object."""
    tracemalloc.start()
    try:
        for number in range(20):
            assert outcome("s.matches('^b')", s=f"{number}" + "a" * 1_000_000)["value"] is False
        assert tracemalloc.get_traced_memory()[0] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("small")
def test_wide_clauses_do_not_fill_the_memory() -> None:
    template = "%.65535e" * 200
    args: Json = [1.0] * 200
    tracemalloc.start()
    try:
        found = outcome("s.format(args) != ''", s=template, args=args)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert (found["error"], found["stage"]) == (work.MESSAGE, "eval")


def test_decimals_that_no_double_has_are_not_computed() -> None:
    tracemalloc.start()
    try:
        assert string_format("%.32767f", [0.1], work.fresh()).startswith("0.1000000000000000055511151231257827")
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("expression", ["isCIDR('2001:db8::/32')", "[cidr('::/0')].all(c, c == c.masked().masked())"])
def test_the_address_of_a_network_is_parsed_once(expression: str) -> None:
    read: list[str] = []
    question = read_question({"env": "dyn", "expr": expression})
    sys.setprofile(lambda frame, event, _: read.append(frame.f_code.co_name) if event == "call" else None)
    try:
        assert answer(question)["value"] is True
    finally:
        sys.setprofile(None)
    assert read.count("_ip_int_from_string") == 1


def test_the_order_of_variables_is_found_once() -> None:
    class Counted(dict[str, Any]):
        iterations = 0

        def __iter__(self) -> Iterator[str]:
            Counted.iterations += 1
            return super().__iter__()

    rows = [
        *((f"a{index}", "1") for index in range(20)),
        ("c0", " + ".join(f"variables.a{index}" for index in range(20))),
    ]
    rows += ((f"c{index + 1}", f"variables.c{index}") for index in range(composition.NESTED - 1))
    compiled = composition.compose(rows, params=False)
    environment = admission(variables=composition.variable_types(compiled))
    program = composition.compile_expression(f"variables.{rows[-1][0]}", environment)
    assert isinstance(program, codegen.Program)
    assert program.run(composition.Variables(Counted(compiled), {}).names)[0] == 20
    assert Counted.iterations == 1
