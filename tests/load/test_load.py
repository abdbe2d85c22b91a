"""Every decision about reading text, one test each."""

from __future__ import annotations

import pytest

from trainc.basics.jsonvalues import JsonObject
from trainc.documents.load import load
from trainc.documents.yaml import read_yaml
from trainc.findings import Finding, Severity
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


def one(text: str | bytes) -> Finding:
    _, findings = read(text)
    assert len(findings) == 1, [(finding.code, finding.message) for finding in findings]
    return findings[0]


def refused(text: str | bytes) -> Finding:
    documents, _ = read(text)
    assert documents == ()
    return one(text)


def place(finding: Finding) -> tuple[int, int]:
    return finding.line, finding.column


# Scalars and numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{lr: 1e-4, big: 1e3}", {"lr": 0.0001, "big": 1000}),
        (
            "{mode: 0o444, float: 4.0, day: 2024-01-01, time: 1:30}",
            {"mode": 292, "float": 4, "day": "2024-01-01", "time": "1:30"},
        ),
        ("{a: , b: ~, c: null, d: ''}", {"a": None, "b": None, "c": None, "d": ""}),
        ("{max: 9223372036854775807, more: 9223372036854775808}", {"max": 2**63 - 1, "more": float(2**63)}),
        (
            "{a: !!str 3, b: !!int '3', c: !!float 3, d: !!bool 'yes', e: ! 12}",
            {"a": "3", "b": 3, "c": 3, "d": True, "e": "12"},
        ),
        (
            "{1: a, 1.5: b, 1e6: c, true: d, 2024-01-01: e}",
            {"1": "a", "1.5": "b", "1e+06": "c", "true": "d", "2024-01-01": "e"},
        ),
        (
            "[http://x/y, img:1.2, {image: nginx:1.2}, 'a:b', {\"c\":1}]",
            ["http://x/y", "img:1.2", {"image": "nginx:1.2"}, "a:b", {"c": 1}],
        ),
        ('"it\\\'s \\x41"', "it's A"),
        ("|\n  a\n\n   b\n\n", "a\n\n b\n"),
        ("|+\n  a\n", "a\n\n"),
        (">-\n  a\n  b\n", "a b"),
        ("a\tb", "a\tb"),
        ("'<<'", "<<"),
    ],
)
def test_values(text: str, value: object) -> None:
    found = field(f"data: {text}\n")
    assert found == value
    assert repr(found) == repr(value)  # 4 is not 4.0, 1 is not True


def test_a_literal_block_at_the_end_without_newline_gets_one_as_kubectl_gives_it() -> None:
    assert field("data: |\n  a") == "a\n"


@pytest.mark.parametrize(
    ("text", "path", "value", "says"),
    [
        (
            "data: {a: on}",
            ("data", "a"),
            True,
            'on as the boolean true, YAML 1.2 readers as the string "on"',
        ),
        (
            "data: {a: y}",
            ("data", "a"),
            True,
            'y as the boolean true, YAML 1.2 readers as the string "y"',
        ),
        (
            "data: {a: 0444}",
            ("data", "a"),
            292,
            "0444 as the number 292, YAML 1.2 readers as the number 444",
        ),
        ("data: {a: 1_000}", ("data", "a"), 1000, '1_000 as the number 1000, YAML 1.2 readers as the string "1_000"'),
        ("data: [x, off]", ("data", 1), False, "off as the boolean false"),
    ],
)
def test_ambiguous_scalars(text: str, path: tuple[str | int, ...], value: object, says: str) -> None:
    documents, findings = read(HEAD + text)
    assert len(documents) == 1
    (finding,) = findings
    assert (finding.code, finding.severity, finding.path) == ("TC005", Severity.WARNING, path)
    assert f"Kubernetes reads {says}" in finding.message
    assert (finding.stage, finding.upstream) == (None, None)
    inner = documents[0].data["data"]
    assert (inner[path[1]] is value) if isinstance(value, bool) else inner[path[1]] == value  # type: ignore[index,call-overload]


def test_ambiguous_keys() -> None:
    documents, (finding,) = read(HEAD + "data:\n  n: x\n")
    assert documents[0].data["data"] == {"false": "x"}
    assert (finding.code, finding.path, place(finding)) == ("TC005", ("data", "false"), (6, 3))
    assert finding.message.startswith('Kubernetes reads n as the key "false"')
    assert finding.hint == 'write "n" for the string'


def test_quoted_scalars_are_not_ambiguous() -> None:
    assert field("data: {'n': \"on\", a: '0444', version: 1.10, at: 1:30}") == {
        "n": "on",
        "a": "0444",
        "version": 1.1,
        "at": "1:30",
    }


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


# What JSON cannot hold


@pytest.mark.parametrize(
    ("text", "upstream"),
    [
        ("a: .nan", "json: unsupported value: NaN"),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: [-.INF]", "json: unsupported value: -Inf"),
        ("null: 3", "unsupported map key of type: %!s(<nil>), key: <nil>, value: 3"),
        ("? \n", "unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>"),
        ("18446744073709551615: x", 'unsupported map key of type: uint64, key: 0xffffffffffffffff, value: "x"'),
        ("[a, 1]: x", 'yaml: invalid map key: []interface {}{"a", 1}'),
        ("a: {{ .Values.x }}", 'yaml: invalid map key: map[interface {}]interface {}{".Values.x":interface {}(nil)}'),
        ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: &a [*a]", "yaml: anchor 'a' value contains itself"),
    ],
)
def test_values_that_json_cannot_hold(text: str, upstream: str) -> None:
    finding = refused(text)
    assert (finding.code, finding.stage, finding.upstream) == ("TC004", "decode", CONVERTING + upstream)


@pytest.mark.parametrize(
    "tag", ["!!binary aGk=", "!!set {a, b}", "!!timestamp 2024-01-01", "!vault x", "!!omap [a: 1]"]
)
def test_tags_that_would_be_lost(tag: str) -> None:
    finding = refused(f"{HEAD}data: {tag}\n")
    assert (finding.code, finding.path, finding.upstream) == ("TC004", ("data",), None)
    assert tag.split(" ", maxsplit=1)[0] in finding.message


# Syntax and encoding


@pytest.mark.parametrize(
    ("text", "upstream", "where"),
    [
        ("a: [1\nb: }", "yaml: line 1: did not find expected ',' or ']'", (2, 2)),
        ("a:\n\t- b", "yaml: line 2: found character that cannot start any token", (2, 1)),
        ("a: b: c", "yaml: mapping values are not allowed in this context", (1, 5)),
        ("a: *x", "yaml: unknown anchor 'x' referenced", (1, 4)),
        ("a: @x", "yaml: found character that cannot start any token", (1, 4)),
        ("a: x\x07", "yaml: control characters are not allowed", (1, 5)),
        ("é: \x00", "yaml: control characters are not allowed", (1, 4)),
        ('a: "\\ud83d\\ude00"', "yaml: found invalid Unicode character escape code", (1, 7)),
        ('b: 1\na: "x\\/y"', "yaml: line 2: found unknown escape character", (2, 6)),
        ("<<: 3", "yaml: map merge requires map or sequence of maps as the value", (1, 5)),
        ("a: 'x", "yaml: line 2: found unexpected end of stream", (1, 4)),
        ("null: 3\nb: [", "yaml: line 2: did not find expected node content", (2, 6)),
    ],
)
def test_syntax(text: str, upstream: str, where: tuple[int, int]) -> None:
    finding = refused(text)
    assert (finding.code, finding.stage, finding.upstream) == ("TC002", "decode", CONVERTING + upstream)
    assert place(finding) == where


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b"a: \xff\n", (1, 4)),
        (b"b: 1\n\xc3\xa9: \xed\xa0\xbd\n", (2, 4)),
        ("a: \ud83d", (1, 4)),
        (b'{"a": "\xff"}', (1, 8)),
    ],
)
def test_text_that_is_not_utf8(text: str | bytes, where: tuple[int, int]) -> None:
    finding = refused(text)
    assert (finding.code, place(finding)) == ("TC001", where)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings(encoding: str) -> None:
    assert refused(HEAD.encode(encoding)).code == "TC001"


def test_one_document_that_is_not_utf8_leaves_the_others() -> None:
    documents, findings = read(b"a: \xff\n---\n" + HEAD.encode())
    assert [document.data["kind"] for document in documents] == ["ConfigMap"]
    assert [finding.code for finding in findings] == ["TC001"]


@pytest.mark.parametrize(
    "text", ["\ufeff" + HEAD, ("\ufeff" + HEAD).encode(), HEAD.replace("\n", "\r\n"), HEAD.encode()]
)
def test_byte_order_mark_and_crlf(text: str | bytes) -> None:
    documents, findings = read(text)
    assert findings == ()
    assert documents[0].data["metadata"] == {"name": "x"}
    assert documents[0].marks()["kind",] == Mark(2, 1)
    assert documents[0].marks()["apiVersion",] == Mark(1, 1)


def test_a_byte_order_mark_between_documents_is_refused() -> None:
    documents, (finding,) = read(f"{HEAD}---\n\ufeff{HEAD}")
    assert len(documents) == 1
    assert (finding.code, finding.message, finding.line) == ("TC002", "a byte order mark inside the text", 6)


def test_surrogate_escapes_in_json() -> None:
    text = '{"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "data": "%s"}'
    assert data(text % "\\ud83d\\ude00\\\\ud83d")["data"] == "😀\\ud83d"
    finding = refused(text % "\\ud83d")
    assert (finding.code, finding.column) == ("TC004", 71)


# Keys


def test_duplicate_keys_keep_the_last_and_say_what_the_server_says() -> None:
    documents, (finding,) = read(HEAD + "data: {a: 1}\ndata:\n  a: 2\n")
    assert documents[0].data["data"] == {"a": 2}
    assert (finding.code, finding.severity, finding.path) == ("TC003", Severity.ERROR, ("data",))
    assert place(finding) == (6, 1)
    text = 'yaml: unmarshal errors:\n  line 7: key "data" already set in map'
    assert (finding.stage, finding.upstream) == ("decode", CONVERTING + text)


@pytest.mark.parametrize(
    ("text", "shown"), [("{n: 1, no: 2}", "false"), ("{1: a, 1: b}", "1"), ("{1.5: a, 1.5: b}", "1.5")]
)
def test_duplicate_keys_that_are_no_strings(text: str, shown: str) -> None:
    _, findings = read(f"{HEAD}data: {text}\n")
    (finding,) = (finding for finding in findings if finding.code == "TC003")
    assert (finding.upstream or "").endswith(f"key {shown} already set in map")


def test_a_finding_below_a_repeated_key_stays_in_the_document() -> None:
    _, findings = read(HEAD + "data: {a: {b: on}, a: 3}\n")
    assert sorted((finding.code, finding.path) for finding in findings) == [
        ("TC003", ("data", "a")),
        ("TC005", ("data", "a")),
    ]


def test_keys_that_only_json_makes_one() -> None:
    _, (finding,) = read(HEAD + "data: {1: a, '1': b}\n")
    assert (finding.code, finding.upstream) == ("TC003", None)


def test_duplicate_keys_in_json() -> None:
    text = '{"apiVersion": "v1", "kind": "K", "metadata": {"name": "x", "name": "y"}'
    text += ',\n "data": [{"a": {"b": 1}, "a": {"b": 2}}]}'
    documents, findings = read(text)
    assert documents[0].data["data"] == [{"a": {"b": 2}}]
    assert [(finding.code, finding.path) for finding in findings] == [
        ("TC003", ("metadata", "name")),
        ("TC003", ("data", 0, "a")),
    ]
    assert [place(finding) for finding in findings] == [(1, 61), (2, 27)]


# Anchors, aliases, merges


def test_aliases_are_copies() -> None:
    value = field("data: {a: &x [1, {b: c}], d: *x, e: [*x]}\n")
    assert value == {"a": [1, {"b": "c"}], "d": [1, {"b": "c"}], "e": [[1, {"b": "c"}]]}
    assert isinstance(value, dict)
    assert value["a"] is not value["d"]


def test_the_nearest_anchor_before_an_alias_counts() -> None:
    assert field("data: [&a 1, *a, &a {b: &a 2, c: *a}, *a]\n") == [1, 1, {"b": 2, "c": 2}, 2]


def test_merges() -> None:
    text = "data:\n  base: &base {a: 1, b: 2}\n  one: {<<: *base, b: 3}\n  two: {<<: [{a: 4}, *base]}\n"
    assert field(text) == {"base": {"a": 1, "b": 2}, "one": {"a": 1, "b": 3}, "two": {"a": 4, "b": 2}}


def test_a_merge_behind_a_key_wins_in_kubernetes_alone() -> None:
    documents, (finding,) = read(HEAD + "data: {a: 1, <<: {a: 2}}\n")
    assert documents[0].data["data"] == {"a": 2}
    assert (finding.code, finding.path) == ("TC005", ("data", "a"))


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
    text = HEAD + "data: [" + ", ".join(f'x":y{number}' for number in range(60)) + "]\n"
    text += "".join(f'd{number}: "it\\\'s"\n' for number in range(60))
    (document,), _ = read(text)
    assert document.data["data"] == [f'x":y{number}' for number in range(60)]
    assert document.data["d59"] == "it's"
    assert document.locate(("d59",)) == Mark(65, 1)
    assert refused(HEAD + "data: [" + ", ".join(f'x":y{number}' for number in range(3000)) + "]\n").code == "TC012"


def test_a_hundred_collections_may_nest() -> None:
    text = HEAD + "data: " + "[" * 99 + "]" * 99 + "\n"
    assert isinstance(field(text.removeprefix(HEAD)), list)


# Documents


def test_documents_and_what_is_none() -> None:
    text = f"# only a comment\n---\n{HEAD}---\n\n--- # next\nnull\n---\n{HEAD}  namespace: z\n---\n"
    documents, findings = read(text)
    assert findings == ()
    assert [document.data["metadata"] for document in documents] == [{"name": "x"}, {"name": "x", "namespace": "z"}]
    assert [document.index for document in documents] == [0, 1]
    assert [document.locate(("metadata", "name")).line for document in documents] == [6, 15]


@pytest.mark.parametrize("text", ["", "\n", "# x\n", "---\n", b"", "\ufeff", "null", "---\n# x\n---\n---\n"])
def test_nothing(text: str | bytes) -> None:
    assert read(text) == ((), ())


def test_a_broken_document_leaves_the_others() -> None:
    documents, findings = read(f"{HEAD}---\na: [\n---\n{HEAD}")
    assert [document.index for document in documents] == [0, 2]
    assert [(finding.code, finding.line) for finding in findings] == [("TC002", 7)]


def test_text_behind_a_separator() -> None:
    finding = refused("--- a: b\nc: d\n")
    assert (finding.code, finding.upstream) == ("TC002", "invalid Yaml document separator: a: b")


def test_what_kubectl_would_drop() -> None:
    finding = refused(f"{HEAD}...\n{HEAD}")
    assert (finding.code, finding.line) == ("TC002", 6)


def test_json_values_one_after_the_other() -> None:
    item = '{"apiVersion": "v1", "kind": "K", "metadata": {"name": "%s"}}'
    documents, findings = read(f"{item % 'a'}\n{item % 'b'}")
    assert findings == ()
    assert [document.data["metadata"] for document in documents] == [{"name": "a"}, {"name": "b"}]
    assert [document.locate(("metadata", "name")) for document in documents] == [Mark(1, 48), Mark(2, 48)]
    documents, findings = read(f"{item % 'a'}\n---\n{HEAD}")
    assert [document.data["kind"] for document in documents] == ["K", "ConfigMap"]
    _, findings = read(f"{item % 'a'}{item % 'b'}\n---\n{HEAD}")
    assert [(finding.code, finding.line) for finding in findings] == [("TC002", 2)]


def test_numbers_in_json() -> None:
    text = '{"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "data": %s}'
    values = data(text % "[4.0, 1e3, 9223372036854775807, 9223372036854775808, 1.5, -0, 1E-7]")["data"]
    assert repr(values) == "[4, 1000, 9223372036854775807, 9.223372036854776e+18, 1.5, 0, 1e-07]"
    assert refused(text % "1e999").code == "TC004"


def test_flow_yaml_that_is_no_json() -> None:
    assert data("{apiVersion: v1, kind: K, metadata: {name: x}, data: NaN}\n")["data"] == "NaN"


def test_lists_are_opened() -> None:
    text = """apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: A
  metadata: {name: a, name: b}
- 3
- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: B, metadata: {name: c, labels: {x: on}}}]}
"""
    documents, findings = read(text)
    assert [document.data["kind"] for document in documents] == ["A", "B"]
    assert [(finding.code, finding.path, place(finding)) for finding in findings] == [
        ("TC003", ("metadata", "name"), (6, 23)),
        ("TC006", (), (7, 3)),
        ("TC005", ("metadata", "labels", "x"), (8, 95)),
    ]
    assert [finding.document.index for finding in findings] == [0, 1, 2]
    assert findings[0].document is documents[0]
    assert documents[0].marks()[()] == Mark(4, 3)


def test_an_empty_list_holds_nothing() -> None:
    assert read("apiVersion: v1\nkind: List\nitems: []\n") == ((), ())
    assert read("apiVersion: v1\nkind: List\n") == ((), ())


def test_what_is_wrong_with_a_list_itself() -> None:
    documents, (finding,) = read(
        "apiVersion: v1\nkind: List\nmetadata: {a: 1, a: 2}\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n"
    )
    assert [document.data["kind"] for document in documents] == ["A"]
    assert (finding.code, finding.path, finding.line) == ("TC003", ("metadata", "a"), 3)


@pytest.mark.parametrize(
    ("text", "message", "path", "upstream"),
    [
        ("- a\n", "the document is not a mapping", (), None),
        ("just text\n", "the document is not a mapping", (), None),
        ("a: b\n", "apiVersion, kind, metadata.name are missing", (), None),
        ("kind: K\nmetadata: {name: x}\n", "apiVersion is missing", (), None),
        ("apiVersion: v1\nkind: 3\nmetadata: {name: x}\n", "kind is not a string", ("kind",), None),
        ("apiVersion: v1\nkind: K\nmetadata: []\n", "metadata is not a mapping", ("metadata",), None),
        ("apiVersion: v1\nkind: K\nmetadata: {name: ''}\n", "metadata.name is empty", ("metadata", "name"), None),
        ("apiVersion: v1\nkind: K\nmetadata: {name: 1}\n", "metadata.name is not a string", ("metadata", "name"), None),
        (
            "apiVersion: v1\nkind: K\nmetadata: {generateName: x-}\n",
            "metadata.name is missing",
            ("metadata",),
            "resource name may not be empty",
        ),
    ],
)
def test_objects_without_identity(text: str, message: str, path: tuple[str, ...], upstream: str | None) -> None:
    finding = refused(text)
    assert (finding.code, finding.message, finding.path, finding.upstream) == ("TC006", message, path, upstream)
    assert finding.stage == "decode"
    assert (finding.hint is not None) == ("generateName" in text)


# Places


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


def test_a_very_long_line() -> None:
    (document,), findings = read(HEAD + "data: " + "x" * 3_000_000 + "\nlast: [1, 2]\n")
    assert findings == ()
    assert document.locate(("last", 1)) == Mark(6, 11)


@pytest.mark.parametrize("name", ["{}", "{name: ''}"])
@pytest.mark.parametrize(("kind", "stage"), [("TrainJob", "crd"), ("TrainingRuntime", "runtime-crd")])
def test_a_custom_resource_without_a_name_is_refused_by_the_server(kind: str, stage: str, name: str) -> None:
    finding = refused(f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: {kind}\nmetadata: {name}\n")
    upstream = "metadata.name: Required value: name or generateName is required"
    assert (finding.code, finding.stage, finding.upstream) == ("TC006", stage, upstream)


def test_a_list_of_one_kind_is_opened_too() -> None:
    text = """apiVersion: example.com/v1
kind: ThingList
metadata: {resourceVersion: "1"}
items:
- metadata: {name: a}
- {apiVersion: v1, kind: Other, metadata: {name: b}}
- {kind: Half, metadata: {name: c}}
"""
    documents, (finding,) = read(text)
    kinds = [(document.data["apiVersion"], document.data["kind"]) for document in documents]
    assert kinds == [("example.com/v1", "Thing"), ("v1", "Other")]
    assert (finding.code, finding.message, place(finding)) == ("TC006", "apiVersion is missing", (7, 3))


def test_a_kind_that_only_sounds_like_a_list() -> None:
    documents, findings = read("apiVersion: v1\nkind: WaitingList\nmetadata: {name: a}\nspec: {items: []}\n")
    assert [document.data["kind"] for document in documents] == ["WaitingList"]
    assert findings == ()
