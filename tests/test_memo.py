"""What is remembered is what would be computed again; keys of caches that compare by identity."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.basics import memo
from trainc.basics.memo import LASTING, Once, Remembered, keeping, known, last, while_alive


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_a_remembered_function_gives_what_it_would_give_again(asked: list[int], size: int) -> None:
    calls: list[int] = []

    def square(number: int) -> int:
        calls.append(number)
        return number**2

    found = Remembered(square, size)
    for number in asked:
        assert found[number] == number**2
        assert len(found) <= size
    assert set(calls) == set(asked)
    assert len(calls) == len(set(asked)) or len(set(asked)) > size


def test_what_cannot_be_made_is_not_remembered() -> None:
    found: Remembered[str, int] = Remembered(int, 4)
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            found["x"]
    assert dict(found) == {}


def test_once() -> None:
    calls: list[int] = []

    def make() -> int:
        calls.append(0)
        if len(calls) == 1:
            raise ValueError("not yet")
        return len(calls)

    once = Once(make)
    with pytest.raises(ValueError, match="not yet"):
        once()
    assert [once(), once()] == [2, 2]


@pytest.fixture(autouse=True)
def _nothing_lasts() -> None:
    LASTING.clear()


TREES: st.SearchStrategy[Any] = st.recursive(
    st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=9,
)


def collections(value: Any) -> list[Any]:
    """Return a list or mapping with all that are in it."""
    if not isinstance(value, dict | list):
        return []
    inside = value.values() if isinstance(value, dict) else value
    return [value, *(found for each in inside for found in collections(each))]


def is_held(value: Any) -> bool:
    return any(each is value for each in (known(value) or {}).values())


@given(TREES.filter(lambda tree: isinstance(tree, dict | list)))
def test_what_lasts_is_held_with_all_that_is_in_it(tree: Any) -> None:
    LASTING.clear()
    last(tree)
    assert all(map(is_held, collections(tree)))
    assert set(LASTING) == set(map(id, collections(tree)))


@pytest.mark.parametrize("most", [0, 1, 5])
def test_what_is_too_much_is_forgotten_all_at_once(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(memo, "_MOST", most)
    for _ in range(20):
        last([[]])
        assert len(LASTING) <= max(most, 1)


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_a_kept_result_is_that_of_the_same_value(asked: list[int], size: int) -> None:
    found = keeping(lambda value: [*value], size)
    values = [[number] for number in range(10)]
    for number in asked:
        assert found(values[number]) == values[number]
        assert found(values[number]) is found(values[number])
        assert found([number, number]) == [number, number]


def test_the_results_of_the_latest_values_are_kept() -> None:
    """Those of a value that many others follow, but that is asked for between them, are not made again."""
    found = keeping(lambda value: [*value], 2)
    outer: list[int] = []
    first = found(outer)
    for number in range(9):
        found([number])
        assert found(outer) is first


def test_a_result_is_kept_as_long_as_its_argument() -> None:
    class Thing:
        pass

    calls: list[int] = []

    def make(thing: Thing) -> set[int]:
        calls.append(0)
        return set()

    found, thing = while_alive(make), Thing()
    result = weakref.ref(found(thing))
    assert found(thing) is result()
    assert len(calls) == 1
    del thing
    gc.collect()
    assert result() is None
