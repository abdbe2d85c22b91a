"""What makes the results of one trainc another program's: its own files, Python, and what is installed beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

FORMAT: Final = 1
"""The form of what is stored; another form is another number."""

_SIZE: Final = 16


@cache
def fingerprint() -> str:
    """Return a text that is another one wherever the same input could give another output: 32 hexadecimal digits.

    Files of the package count by name, size and time, so an edited trainc finds nothing of an older one; what is
    installed beside it counts by name and version.
    """
    home = Path(__file__).resolve().parents[1]
    whole = blake2b(f"{FORMAT}\n{sys.version}\n{sys.platform}\n{home}\n".encode(), digest_size=_SIZE)
    for line in sorted(_files(str(home))):
        whole.update(line.encode("utf-8", "surrogateescape"))
    for line in sorted(_installed()):
        whole.update(line.encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            if entry.is_dir():
                yield from _files(entry.path)
            else:
                found = entry.stat()
                yield f"{entry.path}\t{found.st_size}\t{found.st_mtime_ns}\n"


def _installed() -> Iterator[str]:
    """Yield what is installed where Python looks for packages: the names of their metadata, which hold versions."""
    for place in sys.path:
        if place.endswith(("site-packages", "dist-packages")):
            try:
                yield from (f"{name}\n" for name in os.listdir(place) if name.endswith((".dist-info", ".egg-info")))
            except OSError:
                continue
