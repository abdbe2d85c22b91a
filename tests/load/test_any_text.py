"""Whatever the bytes, load answers with findings that have a place, and with data that is JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from yaml_oracle import PIECES, STREAM_PIECES

from trainc.basics.jsonvalues import Json, get
from trainc.documents.load import NAMELESS, load
from trainc.findings import has_errors, sort_key
from trainc.inputs.source import Source

OBJECT = b"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: x, labels: {a: "b", c: on}}
spec:
  trainer: &t
    args: [http://x/y, 'it''s', "\\u00e9"]
    env:
    - name: A
      value: |
        text
  <<: [*t]
---
{"apiVersion": "v1", "kind": "List", "items": [{"a": 1.5e3}]}
"""


def check(text: str | bytes) -> None:
    documents, findings = load(Source("a.yaml", text))
    size = len(text) + 1
    for document in documents:
        again = json.loads(json.dumps(document.data, allow_nan=False))
        assert again == document.data
        assert all(isinstance(get(document.data, *path), str) for path in (("kind",), ("metadata", "name")))
        assert all(1 <= mark.line <= size and 1 <= mark.column <= size for mark in document.marks().values())
    for finding in findings:
        assert finding.message
        assert sort_key(finding)[1:3] >= (1, 1)
        assert within(finding.document.data, finding.path)
        nameless = finding.code == "TC006" and finding.stage == NAMELESS.get(str(finding.document.data.get("kind")))
        assert finding.upstream is None or finding.stage == "decode" or nameless
    bad = {id(finding.document) for finding in findings if has_errors([finding]) and finding.code != "TC003"}
    assert bad.isdisjoint(map(id, documents))


def within(data: Json, path: tuple[str | int, ...]) -> bool:
    for step in path:
        keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
        if step not in keys:
            return False
        data = data[step]  # type: ignore[call-overload, index]  # step is one of its keys
    return True


@given(st.binary(max_size=60))
def test_bytes(text: bytes) -> None:
    check(text)


@given(st.text(max_size=40))
def test_text(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from([*PIECES, *STREAM_PIECES]), max_size=8))
def test_pieces(pieces: list[str]) -> None:
    check("".join(pieces))


@given(st.lists(st.tuples(st.integers(0, len(OBJECT)), st.integers(0, 6), st.binary(max_size=4)), max_size=3))
def test_damaged_objects(changes: list[tuple[int, int, bytes]]) -> None:
    text = OBJECT
    for at, cut, put in changes:
        text = text[:at] + put + text[at + cut :]
    check(text)


@given(
    st.recursive(
        st.sampled_from(["1", '"a"', "null", "1e3", '"\\ud83d"', "NaN"]),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
            st.lists(st.tuples(st.sampled_from(['"a"', '"b"', "c", '"\\""']), inner), max_size=3).map(
                lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
            ),
        ),
    )
)
def test_json_of_all_kinds(value: str) -> None:
    check('{"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "data": ' + value + "}")
