"""Whole results of commands, by the digest of all that they are a function of.

A result is found only for the very bytes that it was made of, so nothing has to be looked at again, and a wrong one
cannot come of a clock or of an edit at the wrong time. This module loads nothing of the compiler.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from trainc.cache.store import load_parts, path_for, save_parts
from trainc.contents import digest_of
from trainc.digests import blake2b
from trainc.read import Inputs

MOST: Final = 48
"""So many results of a repository are kept, those made last."""

LARGEST: Final = 1 << 20
"""They have so many characters together at most; a larger result is not kept."""

Result: TypeAlias = tuple[str, ...]
"""The texts that a command writes."""

Facts: TypeAlias = "str | bool | tuple[Facts, ...] | None"
"""What a result depends on beside what was read."""


def key_of(read: Iterable[Inputs], facts: Facts) -> bytes | None:
    """Return the digest of what a result depends on: the order of ``read`` counts, and the names of sources.

    None where something could not be read: what a finding says of that depends on more than bytes.
    """
    parts = []
    for inputs in read:
        if inputs.findings:
            return None
        sources = [(s.name, digest_of(s.text.encode() if isinstance(s.text, str) else s.text)) for s in inputs.sources]
        parts.append(sources)
    return blake2b(ascii((parts, facts)).encode(), digest_size=32).digest()


class Known:
    """What is known of one result in a repository: the ``result``, or None. ``place`` is the folder of all caches."""

    def __init__(self, root: Path, place: Path, tool: str, key: bytes) -> None:
        """Read what is there; nothing where there is nothing to trust."""
        self.tool, self.key = tool, key
        self.path = path_for(place, tool, root, "results")
        parts = load_parts(self.path, tool, 1)
        self.others: dict[bytes, Result] = {} if parts is None else parts[0]
        self.result = self.others.get(key)

    def keep(self, result: Result) -> None:
        """Leave the result for other runs, and of the others those made last, as many as there is room for."""
        room = LARGEST - _size(result)
        if room < 0:
            return
        kept = [(self.key, result)]
        for key, other in reversed(self.others.items()):
            room -= _size(other)
            if room < 0 or len(kept) == MOST:
                break
            if key != self.key:
                kept.append((key, other))
        save_parts(self.path, self.tool, (dict(reversed(kept)),))


def _size(result: Result) -> int:
    return sum(map(len, result))
