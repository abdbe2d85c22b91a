"""Our environment and runner for cel-python, beside celpy's own and in one process with them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any

import celpy
import pytest
from celpy import celtypes
from celpy.celparser import CELParser
from celpy.evaluation import CELUnsupportedError
from hypothesis import given
from hypothesis import strategies as st

from trainc.cel import KubernetesEnvironment, KubernetesRunner

FAILED = "failed"
CONTEXT = {
    "n": celtypes.IntType(3),
    "o": celpy.json_to_cel({"name": "node", "sizes": [1, 2, 3], "labels": {"a": "x"}, "on": True, "none": None}),
}


def result(environment: celpy.Environment, text: str, context: Any = CONTEXT) -> Any:
    """Return the value with its class, or FAILED."""
    try:
        value = environment.program(environment.compile(text)).evaluate(context)
    except (celpy.CELEvalError, celpy.CELParseError):
        return FAILED
    return type(value), value


@pytest.fixture
def fresh_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process in which nobody has made a celpy.Environment yet."""
    monkeypatch.setattr(CELParser, "CEL_PARSER", None)


VALUES = [
    ("n", celtypes.IntType(3)),
    ("n + 1 == 4 && !(n in [1, 2])", celtypes.BoolType(True)),
    ("n > 2 ? 'a' : \"b\"", celtypes.StringType("a")),
    ("-n - -1", celtypes.IntType(-2)),
    ("o.sizes[0] * 2 % 3", celtypes.IntType(2)),
    ("o.sizes.map(i, i * 2)", celtypes.ListType(map(celtypes.IntType, (2, 4, 6)))),
    ("o.sizes.exists(i, i >= 3) || has(o.zz)", celtypes.BoolType(True)),
    ("size(o.labels) + size(o.name)", celtypes.IntType(5)),
    ("{'a': 1u}", celtypes.MapType({celtypes.StringType("a"): celtypes.UintType(1)})),
    ("[{}, {}]", celtypes.ListType([celtypes.MapType({}), celtypes.MapType({})])),
    ("b'a\\x62'", celtypes.BytesType(b"ab")),
    ("1.5e3", celtypes.DoubleType(1500.0)),
    ("o.none", None),
    ("duration('90s')", celtypes.DurationType("90s")),
    ("timestamp('2024-01-01T00:00:00Z') + duration('1s')", celtypes.TimestampType("2024-01-01T00:00:01Z")),
    ("type(n) == int", celtypes.BoolType(True)),
    ("type(n)", celtypes.IntType),
    ("google.protobuf.Int32Value{value: 3}", celtypes.IntType(3)),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_celpy_values_in_and_out(text: str, value: Any) -> None:
    expected = (type(value), value)
    assert result(KubernetesEnvironment(), text) == expected
    assert result(celpy.Environment(runner_class=KubernetesRunner), text) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("quantity('1Ki').add(quantity('1'))", celtypes.StringType("1025")),
        ("ip('10.0.0.1')", celtypes.StringType("10.0.0.1")),
        ("o.?name", celtypes.StringType("node")),
        ("o.?zz", None),
        ("[3, 1].sort()", celtypes.ListType([celtypes.IntType(1), celtypes.IntType(3)])),
        ("{1: 2}", celtypes.MapType({celtypes.IntType(1): celtypes.IntType(2)})),
    ],
)
def test_what_celpy_lacks(text: str, value: Any) -> None:
    assert result(KubernetesEnvironment(), text) == (type(value), value)


def test_plain_values_of_python() -> None:
    zone = timezone(timedelta(hours=2))
    context = {"a": [True, 1, 1.5, "s", b"b", None, (1,)], "t": datetime(2024, 1, 1, tzinfo=zone), "k": {1: {"x": 2}}}
    environment = KubernetesEnvironment()
    text = "a == [dyn(true), dyn(1), dyn(1.5), dyn('s'), dyn(b'b'), dyn(null), dyn([1])]"
    text += " && string(t) == '2024-01-01T00:00:00+02:00' && k[1].x == 2"
    assert result(environment, text, context) == (celtypes.BoolType, celtypes.BoolType(True))
    with pytest.raises(celpy.CELEvalError, match="CEL has no type"):
        environment.program(environment.compile("a")).evaluate({"a": object()})


def test_errors() -> None:
    environment = KubernetesEnvironment(annotations={"n": celtypes.IntType})
    for text, message, place in (
        ("n &&", "expected an expression after '&&'", (1, 5)),
        ("n ==\n 'a'", "found no matching overload for '_==_' applied to '(int, string)'", (1, 3)),
        ("[1, 'a']", "expected type 'int' but found 'string'", (1, 5)),
        ("int('x') + n", "type conversion", (1, 4)),
    ):
        with pytest.raises(celpy.CELParseError, match=re.escape(message)) as refused:
            environment.program(environment.compile(text))
        assert (refused.value.line, refused.value.column) == place
    with pytest.raises(celpy.CELEvalError, match="no such key: zz") as failed:
        environment.program(environment.compile("true &&\n o.zz")).evaluate(CONTEXT)
    assert (failed.value.line, failed.value.column) == (2, 3)
    with pytest.raises(CELUnsupportedError, match="no function double"):
        environment.program(environment.compile("n"), functions={"double": lambda n: n + n})


@pytest.mark.parametrize(
    ("text", "context"),
    [
        *(("{[1]: 2}", {}), ("n", {"n": {(1, 2): 3}}), ("n", {"n": 1 << 64}), ("d", {"d": timedelta.max})),
        ("google.protobuf.Timestamp{seconds: 253402300800}", {}),
    ],
)
def test_a_value_without_a_counterpart_is_an_error_of_cel(text: str, context: Any) -> None:
    environment = KubernetesEnvironment()
    with pytest.raises(celpy.CELEvalError, match="celpy cannot represent the value"):
        environment.program(environment.compile(text)).evaluate(context)


def test_package_and_annotations_resolve_names() -> None:
    environment = KubernetesEnvironment(package="a.b", annotations={"a.b.n": celtypes.StringType})
    assert result(environment, "n", {"a.b.n": "x"}) == (celtypes.StringType, "x")
    with pytest.raises(celpy.CELParseError):
        environment.compile("n + 1")


RUNNERS = (celpy.InterpretedRunner, celpy.CompiledRunner)


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("ours_first", [True, False])
def test_beside_the_runners_of_celpy(fresh_parser: None, runner: type[celpy.Runner], ours_first: bool) -> None:
    ours = KubernetesEnvironment() if ours_first else None
    before = result(ours, "n + 1") if ours else None
    theirs = celpy.Environment(runner_class=runner)
    ours = ours or KubernetesEnvironment()
    wanted = (celtypes.IntType, celtypes.IntType(4))
    assert before in (None, wanted)
    tree = theirs.compile("n + 1")
    assert isinstance(tree, runner.tree_node_class)  # celpy's parser is one for the process, with one class of trees
    assert KubernetesRunner(ours, tree).evaluate(CONTEXT) == 4
    for _ in range(2):
        assert result(theirs, "n + 1") == result(ours, "n + 1") == wanted


FOLDS = st.sampled_from(("all", "exists", "exists_one"))  # celpy lets an error in one end the whole expression
numbers = st.integers(-20, 20).map(str) | st.sampled_from(("n", "o.sizes[1]", "size(o.name)", "o.zz"))
texts = st.sampled_from(("'a'", "'node'", "o.name", "o.labels.a", "string(n)"))


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("({} {} {})".format, inner, st.sampled_from(("+", "-", "*", "/", "%")), inner) | st.builds(
        "({} ? {} : {})".format, conditions(inner), inner, inner
    )


def conditions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    compared = st.builds("{} {} {}".format, inner, st.sampled_from(("<", "<=", "==", "!=", ">=", ">")), inner)
    matched = st.builds("{} {} {}".format, texts, st.sampled_from(("==", "!=", "<")), texts)
    folded = st.builds("o.sizes.{}(i, i > {})".format, FOLDS, st.integers(-1, 4))
    return compared | matched | folded


booleans = st.recursive(
    conditions(st.recursive(numbers, nested, max_leaves=4)),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(("&&", "||")), inner) | inner.map("!({})".format)
    ),
    max_leaves=4,
)


@given(booleans)
def test_the_same_as_celpy(text: str) -> None:
    ours, theirs = KubernetesEnvironment(), celpy.Environment()
    assert result(ours, text) == result(theirs, text)
    assert KubernetesRunner(ours, theirs.compile(text)).text.replace(" ", "") == text.replace(" ", "")
