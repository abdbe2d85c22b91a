"""What is emitted is the same data again for every reader, and the same bytes every time."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from effort import share
from oracle import gotools
from trainc.basics.jsonvalues import Json, JsonObject, as_object
from trainc.basics.memo import last
from trainc.documents.emit import emit
from trainc.documents.load import load
from trainc.inputs.source import Source
from trainc.kube.fieldorder import ordered

WORDS = """
y n yes No on OFF true null ~ 0 0444 0o17 1e3 1e-4 .5 1:30 2024-01-01 1_000 .inf << = - --- ... ? : 1.10 1.2.3 16Gi |+ >
&a *a !a %a @a `a #a {{x}} {} [] a: a:b ${x} $(X) --x -x ./x 12k 0b1 08 +1 _1 <<: !!str
"""
AWKWARD = st.sampled_from(WORDS.split())
MARKS = "\t\n\r -:#'\"\\,[]{}&*!|>%@`?=~$0aén\u0085\u00a0\u2028\u2029\ufeff\x00\x1b\x7f\u200b\u202e😀\ue000\ufffe"
CHARACTERS = st.one_of(st.sampled_from(MARKS), st.characters(exclude_categories=("Cs",)))
TEXTS = st.one_of(
    AWKWARD,
    st.text(CHARACTERS, max_size=8),
    st.lists(st.sampled_from(["", " ", "a", "  b: c", "\td", "# e", "- f", "é😀 ", "'", '"'])).map("\n".join),
    st.builds("{}{}{}".format, AWKWARD, st.sampled_from([" ", "\n", ": ", " #", ""]), AWKWARD),
    st.integers(190, 210).map("x ".__mul__).map(str.strip),
    st.integers(880, 1100).map("k".__mul__),
)


def is_whole(value: float) -> bool:
    """Tell whether a float is an integer for whoever reads it back."""
    return value.is_integer() and abs(value) < 2**63


NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: not is_whole(value)),
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.one_of(TEXTS, TEXTS, NUMBERS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)
FREE = st.dictionaries(TEXTS, VALUES, max_size=4)


def an_object(fields: JsonObject) -> JsonObject:
    return {**fields, "metadata": {"name": "x"}, "kind": "K", "apiVersion": "v1"}


@given(FREE)
def test_load_reads_the_same(fields: JsonObject) -> None:
    data = an_object(fields)
    text = emit(data)
    (document,), findings = load(Source("a.yaml", text))
    assert findings == ()
    assert document.data == data
    assert emit(document.data) == text
    assert "\r" not in text
    assert not any(line.rstrip(" \t") != line for line in text.split("\n"))


@given(FREE)
def test_other_readers_read_the_same(data: JsonObject) -> None:
    text = emit(data)
    assert yaml.safe_load(text) == data
    assert yaml.load(text, yaml.CSafeLoader) == data
    for version in ("1.2", "1.1"):
        reader = YAML(typ="safe", pure=True)
        reader.version = version
        assert reader.load(text) == data


@given(TEXTS, st.one_of(TEXTS, NUMBERS), st.booleans())
def test_a_variable_is_written_as_any_mapping(name: str, value: Json, backwards: bool) -> None:
    item: JsonObject = {"value": value, "name": name} if backwards else {"name": name, "value": value}
    more = emit({"env": [[{**item, "zzz": 0}], {**item, "zzz": 0}]})
    assert emit({"env": [[item], item]}) == more.replace("    zzz: 0\n", "").replace("  zzz: 0\n", "")


@given(FREE, st.randoms(use_true_random=False))
def test_the_order_of_keys_given_does_not_matter(data: JsonObject, chance: object) -> None:
    text = emit(data)
    shuffled = dict(sorted(data.items(), key=lambda _: chance.random()))  # type: ignore[attr-defined]  # a Random
    assert emit(shuffled) == text
    assert emit(as_object(ordered(shuffled))) == text
    assert list(yaml.safe_load(text)) == list(as_object(ordered(data)))


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_go_reads_the_same() -> None:
    given_data = collected()
    assert given_data
    for data, answer in zip(given_data, gotools.ask("./yamlread", map(emit, given_data)), strict=True):
        assert answer.get("error", "") == answer.get("strict", "") == ""
        assert as_floats(answer["json"]) == as_floats(data)


def collected() -> list[JsonObject]:
    found: list[JsonObject] = []

    @given(FREE)
    @settings(max_examples=share(200), database=None, derandomize=True)
    def collect(data: JsonObject) -> None:
        found.append(data)

    collect()
    return found


def as_floats(value: Json) -> Json:
    found: Json = json.loads(json.dumps(value), parse_int=float)
    return found


def parts(value: Json) -> list[Json]:
    """Return the lists and mappings in a value, itself included."""
    if not isinstance(value, dict | list):
        return []
    inside = value.values() if isinstance(value, dict) else value
    return [value, *(part for each in inside for part in parts(each))]


@given(fields=FREE, choice=st.randoms(use_true_random=False))
def test_what_objects_have_in_common_is_written_as_if_it_were_each_ones_own(fields: JsonObject, choice: Any) -> None:
    data = an_object({**fields, "metadata": {"name": "x", "labels": fields}, "data": fields, "items": [fields, fields]})
    written = emit(data)
    for part in parts(data):
        if choice.random() < 0.4:
            last(part)
    assert emit(data) == written
    assert emit({**data, "more": [data], "spec": data}) == emit(
        json.loads(json.dumps({**data, "more": [data], "spec": data}))
    )
