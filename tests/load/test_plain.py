"""What is read line by line is what the reader of all YAML makes of the same text; anything else is left to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yaml_oracle import PIECES

from trainc.documents.load import load, load_any
from trainc.documents.yaml import read_events, yaml_offsets
from trainc.documents.yamlplaces import offsets
from trainc.documents.yamlplain import read_plain
from trainc.documents.yamlread import read_yaml
from trainc.source import Source

ROOT = Path(__file__).parents[2]
FOLDERS = ("jobs", "runtimes", "policies", "tests/oracle/cases", "tests/gitops", "tests/policies")
LONGEST = 3000


def _texts() -> Iterator[str]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.yaml")):
            yield from path.read_text(encoding="utf-8").split("\n---\n")
    for path in sorted((ROOT / "tests/errors").glob("*.txt")):
        given = path.read_text(encoding="utf-8").partition("---8<---")[0]
        yield from (part.partition("\n")[2] for part in given.split(">>> ")[1:])


TEXTS = sorted({text if text.endswith("\n") else f"{text}\n" for text in _texts() if len(text) < LONGEST})
MARKS = (
    *(" ", ":", "-", "#", "{", "}", "[", "]", ",", '"', "'", "\n", "\t", "\\", "|", ">", "?", "%", "@", "`", "=", "~"),
    *(
        "- ",
        ": ",
        " #",
        "\n  ",
        "\n- ",
        "  ",
        "k: v\n",
        "{a: b}",
        "[c, d]",
        "[a:b]",
        "{a:b}",
        "<<: ",
        "&x ",
        "*x",
        "!t ",
    ),
    *(
        "yes",
        "0x1",
        "1:30",
        ".5",
        "1e3",
        "+1",
        ".inf",
        "-",
        "--",
        "...",
        "a:b",
        "a:",
        "(x)",
        "$(Y)",
        "/z",
        ", ",
        "é",
        "? ",
    ),
)
changes = st.lists(
    st.tuples(st.integers(0, LONGEST), st.sampled_from((0, 0, 0, 1, 2, 4)), st.sampled_from(("", *MARKS))), max_size=3
)


def check(text: str) -> bool:
    """Compare both ways to read a text, and tell whether the short one was taken."""
    assert outcome(load, text) == outcome(load_any, text)
    plain = read_plain(text)
    if plain is None:
        return False
    read = read_events(text)
    assert json.dumps(plain) == json.dumps(read.data)
    assert read.problems == []
    assert read_yaml(text).data == plain
    assert list(offsets(text).items()) == list(yaml_offsets(text).items())
    return True


def outcome(reader: object, text: str) -> object:
    assert callable(reader)
    documents, findings = reader(Source("a.yaml", text.encode()))
    read = [(json.dumps(one.data), one.index, one.source.name, dict(one.marks())) for one in documents]
    return read, [(found.code, found.line, found.column, found.message, found.path) for found in findings]


@given(st.sampled_from(TEXTS), changes)
@settings(max_examples=600, deadline=None)
def test_damaged_documents(text: str, changes: list[tuple[int, int, str]]) -> None:
    for at, cut, put in changes:
        start = at % (len(text) + 1)
        text = text[:start] + put + text[start + cut :]
    check(text)


@given(
    st.lists(
        st.sampled_from(
            [*PIECES, *MARKS, "a: b\n", "- c\n", "  d: e\n", "  - f\n", "g: |\n", "h: >-\n", "  i\n", "    j\n", "\n"]
        ),
        max_size=10,
    )
)
@settings(max_examples=600, deadline=None)
def test_pieces(pieces: list[str]) -> None:
    check("".join(pieces) + "\n")


def test_most_documents_are_plain() -> None:
    assert len(TEXTS) > 300
    assert sum(map(check, TEXTS)) > len(TEXTS) / 2


@pytest.mark.parametrize(
    "text",
    [
        "a: yes\n",
        "yes: a\n",
        "a: 0444\n",
        "a:\n",
        "a: b\na: c\n",
        "a: b\n c: d\n",
        "a: b\n  c\n",
        "a:\n- b\nc\n",
        "  a: b\n",
        "a: {b: {c}}\n",
        "a: {b: c, b: d}\n",
        "a: [b, ]\n",
        'a: "\\n"\n',
        "a: 'it''s'\n",
        "a: b: c\n",
        "a: b #c\nd: é\n",
        "a: |2\n  b\n",
        "a: |\n\n  b\n",
        "a: |\n  b\n    \n",
        "a: |\n  b\n c\n",
        "a: |\nb: c\n",
        "a: >\n  b\n\n  c\n",
        "a: >\n  b\n   c\n",
        "a: |\n  b\tc\n",
        "a: *b\n",
        "a: !!str b\n",
        "a: .nan\n",
        "- a\n",
        "a" * 200_000 + "\n",
        "a: " + "b " * 100_000 + ":\n",
        "a: " + "[b, " * 50_000 + "\n",
        'a: "' + "b" * 200_000 + "\n",
        "a:\n\tb: c\n",
        "a: " + "[" * 40 + "b" + "]" * 40 + "\n",
        "".join(f"{' ' * depth}a:\n" for depth in range(40)) + f"{' ' * 40}a: b\n",
    ],
)
def test_what_is_left_to_the_reader_of_all(text: str) -> None:
    assert read_plain(text) is None


def test_what_is_read() -> None:
    text = """\
# a comment
a: b c:d  # another

list:
- name: x
  args: [--lr, "0.1", {k: 'v w', m: [1, 2.5]}]
-   key: -1
    other: null
map:
    deep: $(HOME)/x
    empty: [{}, []]
ghcr.io/a:1.2: sha256:0f
script: |  # a comment
  #!/bin/sh
    echo "a: b"

  - c
# the end of it
texts:
- >-
  one
  two
- |+
  three

- |-
    four

last: ^x
"""
    assert read_plain(text) == {
        "a": "b c:d",
        "list": [{"name": "x", "args": ["--lr", "0.1", {"k": "v w", "m": [1, 2.5]}]}, {"key": -1, "other": None}],
        "map": {"deep": "$(HOME)/x", "empty": [{}, []]},
        "ghcr.io/a:1.2": "sha256:0f",
        "script": '#!/bin/sh\n  echo "a: b"\n\n- c\n',
        "texts": ["one two", "three\n\n", "four"],
        "last": "^x",
    }
