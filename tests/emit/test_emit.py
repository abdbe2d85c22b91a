"""The form of what is emitted, case by case."""

from __future__ import annotations

import json

import pytest

from effort import some
from trainc.basics.jsonvalues import Json, JsonObject
from trainc.documents.emit import emit, emit_file
from trainc.findings.display import HIDDEN


def lines(value: Json) -> str:
    return emit({"k": value})


def test_a_whole_object() -> None:
    container: Json = {"image": "i:1", "env": [{"value": "1", "name": "A"}], "name": "node"}
    data: JsonObject = {
        "spec": {"template": {"spec": {"containers": [container]}}},
        "metadata": {"labels": {"b": "x", "a": "on"}, "namespace": "team-a", "name": "x", "annotations": {}},
        "kind": "Job",
        "apiVersion": "batch/v1",
    }
    before = json.dumps(data)
    assert emit(data) == (
        "apiVersion: batch/v1\n"
        "kind: Job\n"
        "metadata:\n"
        "  name: x\n"
        "  namespace: team-a\n"
        "  labels:\n"
        '    a: "on"\n'
        "    b: x\n"
        "  annotations: {}\n"
        "spec:\n"
        "  template:\n"
        "    spec:\n"
        "      containers:\n"
        "      - name: node\n"
        "        image: i:1\n"
        "        env:\n"
        "        - name: A\n"
        '          value: "1"\n'
    )
    assert json.dumps(data) == before


PLAIN = """
a|node|ghcr.io/acme/train:1.2.3|--epochs=3|-c|/opt/x.py|./run.sh|../x|$(VAR)|${X}|16Gi|500m|1.2.3|a, b [c] {d}
python -c 'x'|a:b|http://x/y?z=1#f|yes-man|nothing|x  y|metadata.annotations['a/b']|a#b|On-call|say "x"
"""
QUOTED = """
y|N|yes|No|ON|off|true|False|NULL|null|~|| |a | a|a:|a: b|a #b|0|1|0444|0o17|0x1F|1_000|1e3|1e-4|.5|+1|-1|1.10|1.5|1:30
2024-01-01|.inf|-.INF|.nan|<<|=|-|--|---|...|- a|? a|?|:|&a|*a|!a|%a|@a|`a|>|'a'|#a|{}|[]|,|{a|[a|12k3|08|1E|aé
日本|😀|_1
"""


def words(text: str) -> list[str]:
    return text.strip("\n").replace("\n", "|").split("|")


@pytest.mark.parametrize("text", words(PLAIN))
def test_plain(text: str) -> None:
    assert lines(text) == f"k: {text}\n"


@pytest.mark.parametrize("text", [*words(QUOTED), "|", "|-"])
def test_double_quotes(text: str) -> None:
    assert lines(text) == f'k: "{text}"\n'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{"a": "b"}', '\'{"a": "b"}\''),
        ("C:\\x: \\d", "'C:\\x: \\d'"),
        ('"it\'s"', "'\"it''s\"'"),
        ('tab\t"', '"tab\\t\\""'),
        ("a\tb", '"a\\tb"'),
        ("\x00\x1b\x7f\x85", '"\\x00\\x1b\\x7f\\x85"'),
        ("\u2028\u2029\ufeff\u200b\u202e", '"\\u2028\\u2029\\ufeff\\u200b\\u202e"'),
        ("\ue000\U0010ffff\U000e0001", '"\\ue000\\U0010ffff\\U000e0001"'),
        ("a\r\nb", '"a\\r\\nb"'),
        ("a\u00a0b", '"a\\xa0b"'),
        ("a \ufe0f# b", '"a \\ufe0f# b"'),
        ("\u2800\ufe0f", '"\\u2800\\ufe0f"'),
        ("a \u2800# b\n", '"a \\u2800# b\\n"'),
        ("a \U0001d159# \U00016fe4# b", '"a \\U0001d159# \\U00016fe4# b"'),
        ("a" + "\u0301" * 5 + "\n", '"a' + "\u0301" * 4 + '\\u0301\\n"'),
        ("\u2714\ufe0f 1\ufe0f\u20e3", '"\u2714\ufe0f 1\ufe0f\u20e3"'),
    ],
)
def test_escapes(text: str, written: str) -> None:
    assert lines(text) == f"k: {written}\n"


def test_hidden_characters_are_escaped() -> None:
    without_characters = some(range(0x40000, 0x110000), 64)  # all planes that are one range
    found = map(chr, (*range(0x80, 0xD800), *range(0xE000, 0x40000), *without_characters))
    hidden = "".join(char for char in found if HIDDEN.search(char) and char not in "\ufe0e\ufe0f")  # they follow emoji
    assert lines(hidden).isascii()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\n", "|\n  a\n"),
        ("a\nb", "|-\n  a\n  b\n"),
        ("a\n\n\n", "|+\n  a\n\n\n"),
        ("#!/bin/sh\n\nif x; then\n  y\n\tz\nfi\n", "|\n  #!/bin/sh\n\n  if x; then\n    y\n  \tz\n  fi\n"),
        ("--- a\n...\n# c\n\u00e9\U0001f600\n", "|\n  --- a\n  ...\n  # c\n  \u00e9\U0001f600\n"),
        ("x" * 300 + "\n b\nc  d", "|-\n  " + "x" * 300 + "\n   b\n  c  d\n"),
    ],
)
def test_literal_blocks(text: str, written: str) -> None:
    assert lines(text) == f"k: {written}"


@pytest.mark.parametrize(
    "text",
    [
        *("\n", "\na", " a\nb", "\ta\nb", "a \nb", "a\n \nb", "a\nb ", "a\n\t\n"),
        *("a\r\nb\n", "a\u2028\nb", "a\x00\n", "a\n\ufeffb", "a\n\u202eb"),
    ],
)
def test_no_literal_block_where_readers_or_editors_differ(text: str) -> None:
    assert lines(text).startswith('k: "')
    assert lines(text).count("\n") == 1


def test_wide_text_is_not_folded() -> None:
    text = "word " * 500 + "end"
    assert lines(text) == f"k: {text}\n"
    assert lines(text + ":") == f'k: "{text}:"\n'


def test_nested_lists_and_empty_ones() -> None:
    value: Json = [[["a"], []], {}, [{"b": [], "a": {}}], [["x\ny\n"]]]
    assert lines(value) == ("k:\n- - - a\n  - []\n- {}\n- - a: {}\n    b: []\n- - - |\n      x\n      y\n")


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("app.kubernetes.io/name", "app.kubernetes.io/name"),
        *((key, f'"{key}"') for key in ("on", "N", "1", "1.5", "", "a b", "a:b", "-", "<<", "null", "\u00e9")),
        ("a\nb", '"a\\nb"'),
        ("x" * 1000, "? " + "x" * 1000 + "\n"),
    ],
)
def test_keys(key: str, written: str) -> None:
    assert emit({key: 1}) == f"{written}: 1\n"


def test_a_long_key_with_a_collection() -> None:
    key = "x" * 1000
    assert emit({"a": [{key: {"b": [1]}}]}) == f"a:\n- ? {key}\n  :\n    b:\n    - 1\n"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-(2**63), "-9223372036854775808"),
        (2**64 - 1, "18446744073709551615"),
        (4.0, "4"),
        (-0.25, "-0.25"),
        (1e-5, "0.00001"),
        (1e-7, "1.0e-7"),
        (1e21, "1.0e+21"),
        (9.3e18, "9.3e+18"),
        (1.5e300, "1.5e+300"),
        (123456.789, "123456.789"),
    ],
)
def test_numbers(value: Json, written: str) -> None:
    assert lines(value) == f"k: {written}\n"
    assert lines([value]) == f"k:\n- {written}\n"


@pytest.mark.parametrize(
    "value",
    [None, *map(float, ("nan", "inf", "-inf")), 2**64, -(2**63) - 1, "\ud83d", "a\n\udc00", {"\ud83d": 1}, (1,)],
)
def test_what_is_refused(value: Json) -> None:
    for data in (value, [value], {"a": value}):
        with pytest.raises(ValueError, match=r"emitted|64 bits"):
            lines(data)


def test_files_have_a_header() -> None:
    written = emit_file({"kind": "K"}, ("Generated by x from a.yaml", "", "é"))
    assert written == "# Generated by x from a.yaml\n#\n# é\nkind: K\n".encode()
    assert emit_file({}) == b"{}\n"
    with pytest.raises(ValueError, match="header"):
        emit_file({}, ("a\nb: c",))
