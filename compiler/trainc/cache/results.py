"""Whole results of `trainc build`, by the digest of everything that they depend on.

Inputs are compared by their bytes, never by their times. Nothing of the compiler is loaded: building one job again
takes 0.1 seconds instead of 0.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, TypeAlias

from trainc.cache.store import Store
from trainc.pipeline.content import digest_of
from trainc.project.read import Inputs

NAME: Final = "results"
"""The name of the results in the store."""

MOST: Final = 48
"""The most results kept per repository; the oldest are dropped."""

LARGEST: Final = 1 << 20
"""The most characters of all results together."""

Result: TypeAlias = tuple[str, ...]
"""The texts that a command writes."""

Facts: TypeAlias = "str | bool | tuple[Facts, ...] | None"
"""What a result depends on besides the inputs read."""


def key_of(read: Iterable[Inputs], facts: Facts) -> str | None:
    """Return the digest of inputs, in their order and with their names, and of other facts.

    None if an input could not be read, as the finding about that does not depend on bytes alone.
    """
    given = tuple(read)
    if any(inputs.findings for inputs in given):
        return None
    parts = [[(source.name, digest_of(source.encoded())) for source in inputs.sources] for inputs in given]
    return blake2b(ascii((parts, facts)).encode(), digest_size=32).hexdigest()


def load_result(store: Store, key: str) -> Result | None:
    """Return the result that is stored under a key."""
    return (store.load(NAME, dict[str, Result]) or {}).get(key)


def save_result(store: Store, key: str, result: Result) -> None:
    """Store a result, and the newest of the others within the limits."""
    room = LARGEST - sum(map(len, result))
    if room < 0:
        return
    kept = [(key, result)]
    for other, texts in reversed((store.load(NAME, dict[str, Result]) or {}).items()):
        room -= sum(map(len, texts))
        if room < 0 or len(kept) == MOST:
            break
        if other != key:
            kept.append((other, texts))
    store.save(NAME, dict(reversed(kept)))  # the newest last
