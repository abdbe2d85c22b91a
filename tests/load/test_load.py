"""Reading large texts, and positions in texts; texts.txt has what is read."""

from __future__ import annotations

import pytest

from trainc.basics.jsonvalues import JsonObject
from trainc.documents.load import load
from trainc.documents.yaml import read_yaml
from trainc.findings import Finding
from trainc.inputs.source import Document, Mark, Source

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"
CONVERTING = "error converting YAML to JSON: "


def read(text: str | bytes) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    return load(Source("a.yaml", text))


def data(text: str | bytes) -> JsonObject:
    documents, findings = read(text)
    assert [(finding.code, finding.message) for finding in findings] == []
    assert len(documents) == 1
    return documents[0].data


def field(text: str) -> object:
    return data(HEAD + text)["data"]


def refused(text: str | bytes) -> Finding:
    documents, (finding,) = read(text)
    assert documents == ()
    return finding


def test_text_as_people_write_it() -> None:
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
    assert read_yaml(text) == (
        {
            "a": "b c:d",
            "list": [{"name": "x", "args": ["--lr", "0.1", {"k": "v w", "m": [1, 2.5]}]}, {"key": -1, "other": None}],
            "map": {"deep": "$(HOME)/x", "empty": [{}, []]},
            "ghcr.io/a:1.2": "sha256:0f",
            "script": '#!/bin/sh\n  echo "a: b"\n\n- c\n',
            "texts": ["one two", "three\n\n", "four"],
            "last": "^x",
        },
        [],
    )


@pytest.mark.parametrize(
    "text", ["\ufeff" + HEAD, ("\ufeff" + HEAD).encode(), HEAD.replace("\n", "\r\n"), HEAD.encode()]
)
def test_byte_order_mark_and_crlf(text: str | bytes) -> None:
    documents, findings = read(text)
    assert findings == ()
    assert documents[0].data["metadata"] == {"name": "x"}
    assert documents[0].marks()["kind",] == Mark(2, 1)
    assert documents[0].marks()["apiVersion",] == Mark(1, 1)


def test_aliases_are_copies() -> None:
    value = field("data: {a: &x [1, {b: c}], d: *x, e: [*x]}\n")
    assert value == {"a": [1, {"b": "c"}], "d": [1, {"b": "c"}], "e": [[1, {"b": "c"}]]}
    assert isinstance(value, dict)
    assert value["a"] is not value["d"]


def bomb(levels: int, width: int = 9) -> str:
    rows = ["a0: &a0 [lol]"]
    rows += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    return "\n".join(rows) + "\n"


def test_alias_bombs() -> None:
    finding = refused(bomb(30))
    assert (finding.code, finding.upstream) == ("TC012", f"{CONVERTING}yaml: document contains excessive aliasing")


def test_long_texts_repeated_by_aliases() -> None:
    finding = refused("a: &a " + "x" * 100_000 + "\n" + "".join(f"b{number}: *a\n" for number in range(40)))
    assert (finding.code, finding.upstream) == ("TC012", None)


def test_an_anchor_that_no_alias_names_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of anchors inside each other, each would be measured with all inside it."""
    monkeypatch.setattr("trainc.documents.yaml.measure", None)
    assert field("data: &a {k: &b [&c 1, {&d d: &e e}]}\n") == {"k": [1, {"d": "e"}]}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 200_000,
        "- " * 5_000 + "x",
        "".join(f"{' ' * depth}a:\n" for depth in range(2_000)),
        "{" * 101 + "}" * 101,
        '{"a":' * 101 + "1" + "}" * 101,
        "a0: &a0 " + "[" * 60 + "]" * 60 + "\na1: " + "[" * 60 + "*a0" + "]" * 60,
    ],
    ids=["flow", "json", "dashes", "mappings", "flow-101", "json-101", "alias"],
)
def test_depth(text: str) -> None:
    assert refused(text).code == "TC012"


def test_what_libyaml_refuses_and_kubernetes_reads() -> None:
    text = HEAD + "data: [" + ", ".join(f'x":y{number}' for number in range(15)) + "]\n"
    text += "".join(f'd{number}: "it\\\'s"\n' for number in range(60))
    (document,), _ = read(text)
    assert document.data["data"] == [f'x":y{number}' for number in range(15)]
    assert document.data["d59"] == "it's"
    assert document.locate(("d59",)) == Mark(65, 1)
    assert refused(HEAD + "data: [" + ", ".join(f'x":y{number}' for number in range(17)) + "]\n").code == "TC012"


def test_a_text_with_all_characters_that_stand_for_others() -> None:
    others = "".join(map(chr, range(0xE000, 0xF8FF)))
    for text in (f"a: {others}\ndata: [a:b]\n", f'a: {others}\ndata: "it\\\'s"\n'):
        assert refused(HEAD + text).code == "TC012"


def test_addresses_in_lists() -> None:
    addresses = [f"fe80::{number}::80" for number in range(100)]
    (document,), _ = read(HEAD + "data: [" + ", ".join(addresses) + "]\n")
    assert document.data["data"] == addresses


def test_passwords_in_a_list_of_addresses() -> None:
    addresses = [f"redis://:pa!ss{number}@h:6379" for number in range(30)]
    (document,), _ = read(HEAD + "data: [" + ", ".join(addresses) + ", !!str a:b]\n")
    assert document.data["data"] == [*addresses, "a:b"]


def test_a_hundred_collections_may_nest() -> None:
    text = HEAD + "data: " + "[" * 99 + "]" * 99 + "\n"
    assert isinstance(field(text.removeprefix(HEAD)), list)


def test_marks_count_code_points_and_stand_at_keys_and_items() -> None:
    text = HEAD + 'data:\n  "é😀": [x, {w: z}]\n  a:\n  - b\n  - - c\n'
    (document,), _ = read(text)
    marks = document.marks()
    assert marks["data", "é😀"] == Mark(6, 3)
    assert marks["data", "é😀", 1, "w"] == Mark(6, 14)
    assert marks["data", "a", 1, 0] == Mark(9, 7)
    assert document.locate(("data", "a", 0, "gone")) == marks["data", "a", 0] == Mark(8, 5)
    assert document.marks() is marks


def test_marks_of_merged_keys_and_aliases() -> None:
    text = HEAD + "data:\n  base: &b {a: 1}\n  one:\n    <<: *b\n  two: *b\n"
    (document,), _ = read(text)
    assert document.locate(("data", "one", "a")) == Mark(8, 5)
    assert document.locate(("data", "two", "a")) == Mark(9, 3)


def test_lines_are_those_of_an_editor() -> None:
    (document,), _ = read(HEAD + 'data: "a\u2028b"\nlast: 1\n')
    assert document.locate(("last",)) == Mark(6, 1)


def test_the_end_of_a_text_without_a_line_break() -> None:
    assert (refused("a: [").line, refused("a: [").column) == (1, 5)


def test_a_very_long_line() -> None:
    (document,), findings = read(HEAD + "data: " + "x" * 3_000_000 + "\nlast: [1, 2]\n")
    assert findings == ()
    assert document.locate(("last", 1)) == Mark(6, 11)


def test_a_kind_that_is_a_list() -> None:
    _, findings = read("apiVersion: v1\nkind: [a]\nmetadata: {}\n")
    assert [finding.message for finding in findings] == ["kind is not a string", "metadata.name is missing"]


@pytest.mark.parametrize(("blanks", "count"), [(4095, 2), (4096, 0)])
def test_kubectl_looks_for_json_in_the_first_bytes_only(blanks: int, count: int) -> None:
    value = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}\n'
    documents, findings = load(Source("a.yaml", "\n" * blanks + value + value))
    assert (len(documents), [finding.code for finding in findings]) == (count, [] if count else ["TC002"])


@pytest.mark.parametrize(("text", "is_blank"), [("\u3000", True), ("\x1c", False), ("\x1f", False)])
def test_what_is_blank_after_a_separator_is_so_for_go(text: str, is_blank: bool) -> None:
    value = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    documents, findings = load(Source("a.yaml", f"{value}---{text}\n{value}"))
    assert (len(documents), [finding.code for finding in findings]) == ((2, []) if is_blank else (1, ["TC002"]))
