from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.basics.differences import Change, changes, same, undone
from trainc.basics.jsonvalues import Json, Path, existing, get

SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from("abc")
NAMED = st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"value": SCALARS})
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(NAMED, max_size=4)
        | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=12,
)


TWINS: list[Json] = [{"name": "a"}, {"name": "a"}]


def named(new: Json, old: Json) -> list[tuple[Path, Json, Json]]:
    return [(change.name, change.new, change.old) for change in changes(new, old)]


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="equal"),
        pytest.param({"a": 1}, {"a": True}, [(("a",), 1, True)], id="true is not 1"),
        pytest.param(
            {"a": 1, "b": 2}, {"a": 0}, [(("a",), 1, 0), (("b",), 2, None)], id="new keys come in their order"
        ),
        pytest.param({"a": 1}, {"c": 3, "a": 0}, [(("a",), 1, 0), (("c",), None, 3)], id="what is gone comes last"),
        pytest.param(["x", "y"], ["x", "z"], [((1,), "y", "z")], id="a list of one length"),
        pytest.param(["x"], ["x", "z"], [((), ["x"], ["x", "z"])], id="a list that nothing tells apart"),
        pytest.param(TWINS, TWINS[:1], [((), TWINS, TWINS[:1])], id="one name twice"),
        pytest.param({"a": []}, {"a": {}}, [(("a",), [], {})], id="another shape"),
    ],
)
def test_changes(new: Json, old: Json, expected: list[tuple[Path, Json, Json]]) -> None:
    assert named(new, old) == expected


def test_items_are_matched_by_what_names_them() -> None:
    old: Json = [{"name": "a", "v": 1}, {"name": "b", "v": 2}, {"name": "c", "v": 3}]
    new: Json = [{"name": "b", "v": 2}, {"name": "a", "v": 9}, {"name": "d"}]
    assert list(changes(new, old, ("env",), ("before",))) == [
        Change(("env", 1, "v"), ("before", 0, "v"), ("env", 1, "v"), 9, 1),
        Change(("env", 2), ("before",), ("env", 2), {"name": "d"}, None),
        Change(("env",), ("before", 2), ("env", 2), None, {"name": "c", "v": 3}),
        Change(("env",), ("before",), ("env",), new, old),
    ]


@given(VALUES, VALUES)
def test_there_are_changes_where_values_differ(new: Json, old: Json) -> None:
    found = list(changes(new, old))
    assert bool(found) == (not same(new, old))
    for change in found:
        assert existing(new, change.path) == change.path
        assert existing(old, change.old_path) == change.old_path
        assert change.new is None or same(get(new, *change.path), change.new)
        assert change.old is None or same(get(old, *change.old_path), change.old)


@given(VALUES)
def test_a_value_does_not_differ_from_itself(value: Json) -> None:
    assert list(changes(value, copy.deepcopy(value))) == []


@given(new=VALUES, old=VALUES)
def test_with_its_only_change_taken_back_a_value_is_what_it_was(new: Json, old: Json) -> None:
    found = list(changes(new, old))
    if len(found) == 1:
        assert same(undone(new, found[0]), old)
    for change in found:
        left = [each.name for each in changes(undone(new, change), old)]
        assert len(left) < len(found) or change.name not in left
