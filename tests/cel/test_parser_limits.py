"""How large and how deep an expression may be; the messages are those of cel-go v0.26.0."""

from __future__ import annotations

import sys

import pytest

from trainc.cel.ast import Call, Ident, Literal, Node, children, postorder
from trainc.cel.issues import CompileError
from trainc.cel.macros import COPIED_NODES
from trainc.cel.parser import parse

RULES = "expression recursion limit exceeded: 250"
OPERATORS = "max recursion depth exceeded"
NO_MACROS: frozenset[tuple[str, int]] = frozenset()


def messages(text: str) -> list[tuple[int, str]]:
    with pytest.raises(CompileError) as caught:
        parse(text, NO_MACROS)
    return [(issue.position, issue.message) for issue in caught.value.issues]


def height(root: Node) -> int:
    heights: dict[Node, int] = {}
    for node in postorder(root):
        heights[node] = 1 + max((heights[child] for child in children(node)), default=0)
    return heights[root]


@pytest.mark.parametrize(
    ("unit", "end", "most", "message"),
    [
        ("({})", "1", 249, RULES),
        ("[{}]", "1", 249, RULES),
        ("f({})", "1", 249, RULES),
        ("{{1: {}}}", "2", 249, RULES),
        ("T{{a: {}}}", "2", 249, RULES),
        ("true ? 1 : {}", "2", 250, OPERATORS),
        ("1 + ({})", "1", 249, RULES),
        ("1 < ({})", "1", 249, RULES),
        ("1 + 2 * ({})", "1", 125, OPERATORS),
        ("a.b({})", "1", 249, RULES),
        ("{}.b", "a", 250, OPERATORS),
        ("{}.?b", "a", 250, OPERATORS),
        ("{}[0]", "a", 250, OPERATORS),
        ("{}.f()", "a", 250, OPERATORS),
        ("{} + 1", "1", 250, OPERATORS),
        ("{} < 1", "1", 250, OPERATORS),
    ],
)
def test_depth(unit: str, end: str, most: int, message: str) -> None:
    text = end
    for _ in range(most):
        text = unit.format(text)
    assert height(parse(text, NO_MACROS)) <= 2 * most + 2
    assert messages(unit.format(text)) == [(-1, message)]


@pytest.mark.parametrize(("operator", "function"), [("&&", "_&&_"), ("||", "_||_")])
def test_long_chains_are_balanced(operator: str, function: str) -> None:
    root = parse(f" {operator} ".join(f"a{number}" for number in range(5000)), NO_MACROS)
    assert isinstance(root, Call)
    assert root.function == function
    assert height(root) == 14
    assert [node.name for node in postorder(root) if isinstance(node, Ident)] == [
        f"a{number}" for number in range(5000)
    ]


@pytest.mark.parametrize(("text", "value"), [("-" * 4001 + "1", 1), ("!" * 4000 + "true", True)])
def test_runs_of_operators(text: str, value: object) -> None:
    root = parse(text, NO_MACROS)
    [constant] = [node for node in postorder(root) if isinstance(node, Literal)]
    assert constant.value == value
    assert height(root) == 1 + len(text.rstrip("true1")) % 2


def test_code_points() -> None:
    parse('"' + "😀" * 99_998 + '"', NO_MACROS)
    limit = "expression code point size exceeds limit: size: 100001, limit 100000"
    assert messages('"' + "é" * 99_999 + '"') == [(-1, limit)]


HOSTILE = (
    *("(" * 9000, ")" * 9000, "[1," * 9000, "{1:" * 9000, "a." * 9000, "a?" * 9000, "-(" * 9000, "1 " * 9000),
    *("$" * 9000, '"' * 9001, "'''" * 3001, "`" * 9000, "\\" * 9000, "a.b.c{" * 3000, "x.all(" * 3000, "\x00" * 9000),
)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:6])
def test_hostile_texts_are_refused_whatever_they_are(text: str) -> None:
    before = sys.getrecursionlimit()
    assert 1 <= len(messages(text)) <= 102
    assert sys.getrecursionlimit() == before


def test_macros_that_copy_are_bounded() -> None:
    copying = frozenset((("optMap", 2),))
    parse("a" + ".optMap(x, x)" * 8, copying)
    with pytest.raises(CompileError) as caught:
        parse("a" + ".optMap(x, x)" * 40, copying)
    assert f"copies more than {COPIED_NODES} nodes" in caught.value.issues[0].message
