"""What is to stand in a file: bytes, or the promise of bytes whose digest is known, made only where they are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from hashlib import blake2b
from typing import TypeAlias

from trainc.records import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """The content of a file: its digest, and how its bytes are made."""

    digest: bytes
    make: Callable[[], bytes] = field(repr=False, compare=False)


Content: TypeAlias = bytes | Promise


def digest_of(content: Content) -> bytes:
    """Return the digest of a file's content: 16 bytes."""
    return blake2b(content, digest_size=16).digest() if isinstance(content, bytes) else content.digest


def bytes_of(content: Content) -> bytes:
    """Return the bytes of a content, made now if they were promised."""
    return content if isinstance(content, bytes) else content.make()
