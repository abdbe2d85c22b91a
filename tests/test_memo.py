"""Keys of caches that compare by identity."""

from __future__ import annotations

from functools import lru_cache

from trainc.memo import Held


def test_keys_compare_by_identity() -> None:
    @lru_cache
    def size(held: Held) -> int:
        return len(held.value)

    one, other = {"a": 1}, {"a": 1}
    assert Held(one) == Held(one) != Held(other)
    assert Held(one) != one
    assert [size(Held(value)) for value in (one, other, one)] == [1, 1, 1]
    assert size.cache_info().misses == 2
