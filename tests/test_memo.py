"""What is remembered is what would be computed again; keys of caches that compare by identity."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.memo import Held, Once, Remembered


def test_keys_compare_by_identity() -> None:
    @lru_cache
    def size(held: Held) -> int:
        return len(held.value)

    one, other = {"a": 1}, {"a": 1}
    assert Held(one) == Held(one) != Held(other)
    assert Held(one) != one
    assert [size(Held(value)) for value in (one, other, one)] == [1, 1, 1]
    assert size.cache_info().misses == 2


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
