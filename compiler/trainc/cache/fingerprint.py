"""What tells one trainc from another: its files, its Python, and the packages installed with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

_SIZE: Final = 16


@cache
def fingerprint() -> str:
    """Return a text that differs wherever the same input could give another output: 32 hexadecimal digits.

    Other packages count by name and version.
    """
    home = Path(__file__).resolve().parents[1]
    whole = blake2b(f"{sys.version}\n{sys.platform}\n".encode(), digest_size=_SIZE)
    for line in (*own_files(home), *sorted(_installed())):
        whole.update(line.encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def own_files(home: Path) -> list[str]:
    """Return lines that identify the files of a package, sorted.

    If an installer put it there, they are those of RECORD, which has the digest of each file, so the same release
    installed elsewhere or on another day is the same trainc; a file newer than RECORD was edited. Any other package, as
    in a checkout, counts by path, sizes and times.
    """
    records = sorted(home.parent.glob(f"{home.name}-*.dist-info/RECORD"))
    try:
        installed = records[0].read_text(encoding="utf-8") if len(records) == 1 else ""
        since = records[0].stat().st_mtime_ns if f"{home.name}/__init__.py," in installed else -1
    except (OSError, UnicodeError):
        installed, since = "", -1
    found = [f"{home}\n"] if since < 0 else [installed]
    start = len(os.fspath(home))
    for path, size, time in _files(os.fspath(home)):
        found.append(f"{path[start:]}\t{size}\t{time if time > since else 0}\n")
    return sorted(found)


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    folders = [folder]
    for place in folders:  # grows in the loop
        with os.scandir(place) as entries:
            for entry in entries:
                if not entry.is_dir():
                    found = entry.stat()
                    yield entry.path, found.st_size, found.st_mtime_ns
                elif entry.name != "__pycache__":
                    folders.append(entry.path)


def _installed() -> Iterator[str]:
    """Yield the names of the metadata of installed packages, which hold their versions."""
    for place in sys.path:
        if place.endswith(("site-packages", "dist-packages")):
            try:
                yield from (f"{name}\n" for name in os.listdir(place) if name.endswith((".dist-info", ".egg-info")))
            except OSError:
                continue
