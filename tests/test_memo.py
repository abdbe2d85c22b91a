"""Thunks that remember, and keys that compare by identity."""

from __future__ import annotations

from functools import lru_cache

import pytest

from trainc.memo import Held, Once


def test_a_thunk_is_called_once() -> None:
    calls: list[int] = []
    thunk = Once(lambda: calls.append(1))
    assert thunk() is None
    assert thunk() is None
    assert calls == [1]


def test_a_thunk_that_fails_is_called_again() -> None:
    answers: list[int | None] = [3, None]

    def make() -> int:
        found = answers.pop()
        if found is None:
            raise ValueError
        return found

    thunk = Once(make)
    with pytest.raises(ValueError):
        thunk()
    assert thunk() == 3
    assert thunk() == 3


def test_keys_compare_by_identity() -> None:
    @lru_cache
    def size(held: Held) -> int:
        return len(held.value)

    one, other = {"a": 1}, {"a": 1}
    assert Held(one) == Held(one) != Held(other)
    assert Held(one) != one
    assert [size(Held(value)) for value in (one, other, one)] == [1, 1, 1]
    assert size.cache_info().misses == 2
