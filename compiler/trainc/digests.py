"""BLAKE2b, which caches tell contents by. It is that of hashlib, without the rest: loading OpenSSL takes longer than
most of what a short run digests.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b

__all__ = ["blake2b"]
