"""Places inside strings: whatever the style, the n-th character is found in the text."""

from __future__ import annotations

import pytest

from trainc import Source
from trainc.documents.load import load
from trainc.documents.positions import within

STYLES = {
    "plain": "rule: object.a == object.b\n",
    "plain, two lines": "rule: object.a\n    == object.b\n",
    "single quotes": "rule: 'object.a == object.b'\n",
    "double quotes": 'rule: "object.a\\u0020== object.b"\n',
    "double quotes, continued": 'rule: "object.a \\\n    == object.b"\n',
    "literal": "rule: |\n  object.a\n  == object.b\n",
    "literal, header": "rule: |2-  # why\n  object.a\n\n  == object.b\n",
    "double quotes, anchor, comment, tag": 'rule: &a # \\xzz\n  !!str "object.a == object.b"\n',
    "plain, hash behind a blank that is text": "rule: \u00a0#object.a == object.b\n",
    "folded": "rule: >-\n  object.a\n  == object.b\n",
}
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"


@pytest.mark.parametrize("style", STYLES)
def test_finds_the_character(style: str) -> None:
    text = HEAD + STYLES[style]
    [document] = load(Source("a.yaml", text))[0]
    value = str(document.data["rule"])
    for needle in ("object.a", "==", "object.b"):
        mark = within(document, ("rule",), value.index(needle)).locate(("rule",))
        line = text.splitlines()[mark.line - 1]
        assert line[mark.column - 1 :].startswith(needle)


@pytest.mark.parametrize("style", STYLES)
def test_behind_the_end_is_the_last_character(style: str) -> None:
    text = HEAD + STYLES[style]
    [document] = load(Source("a.yaml", text))[0]
    mark = within(document, ("rule",), len(str(document.data["rule"]))).locate(("rule",))
    assert text.splitlines()[mark.line - 1][: mark.column].endswith("object.b")


def test_list_items_and_quotes() -> None:
    text = HEAD + "rules:\n- 'it''s x'\n- [\"\\\"y\\\" z\"]\n"
    [document] = load(Source("a.yaml", text))[0]
    assert within(document, ("rules", 0), 5).locate(("rules", 0)) == (5, 10)
    assert within(document, ("rules", 1, 0), 4).locate(("rules", 1, 0)) == (6, 11)


def test_json() -> None:
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "rule": "a\\n  < b"}\n'
    [document] = load(Source("a.json", text))[0]
    mark = within(document, ("rule",), 4).locate(("rule",))
    assert text[mark.column - 1 :].startswith("< b")


def test_stays_at_the_key_where_there_is_no_string() -> None:
    [document] = load(Source("a.yaml", HEAD + "rule: 1\n"))[0]
    assert within(document, ("rule",), 3).locate(("rule",)) == document.locate(("rule",))
