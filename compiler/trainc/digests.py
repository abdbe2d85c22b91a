"""The digests of short texts: hashlib's own BLAKE2b and SHA-256, without what it loads besides.

Loading OpenSSL takes longer than most of what a short run digests. Of files, which may be large, hashlib's is faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:  # as the library's random does
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256  # before Python 3.12
        except ImportError:
            from hashlib import sha256

__all__ = ["blake2b", "sha256"]
