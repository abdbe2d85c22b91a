"""YAML with hostile text: the comments at the start of files of out/, and objects that are printed."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import share
from hostile import EVERYTHING, PIECES, texts
from readers import runner, terminal
from trainc.documents.emit import emit_file, emit_inert, visible

few = settings(max_examples=share(100))


def check_header(text: str) -> None:
    data = {"kind": "A"}
    written = emit_file(data, (f"Generated from {visible(text)}",)).decode()
    assert yaml.safe_load(written) == data
    (comment, *rest) = terminal(written)
    assert comment.startswith("# Generated from")
    assert rest == ["kind: A", ""]
    assert [token for token in yaml.scan(written) if isinstance(token, yaml.DirectiveToken)] == []


def check_object(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()  # a file cannot contain half of a surrogate pair
    data = {"kind": text, "spec": {f"k{text}": [text, f"a\n{text}\n"]}}
    written = emit_inert(data)
    assert yaml.safe_load(written) == data
    assert runner(written) == []
    terminal(written)


@pytest.mark.parametrize("text", ["\n".join(PIECES), *EVERYTHING], ids=["lines", *map(str, range(len(EVERYTHING)))])
def test_all_pieces(text: str) -> None:
    check_header(text)
    check_object(text)


@few
@given(texts())
def test_any_header(text: str) -> None:
    check_header(text)


@few
@given(st.one_of(texts(), st.sampled_from(PIECES)))
def test_any_object(text: str) -> None:
    check_object(text)
