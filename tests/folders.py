"""Files of small projects: written with the folders above them, and read back."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def put(root: Path, name: str, content: str | bytes) -> Path:
    """Write a file below root."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def tree(root: Path) -> dict[str, bytes]:
    """Return the files below root, by name."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@contextmanager
def deep_folders(above: Path, levels: int) -> Iterator[Path]:
    """Create folders called a, each in the one before, and remove them at the end: pytest's cleanup cannot."""
    deep = above
    for start in range(0, levels, 500):  # mkdir calls itself for each folder that is missing
        deep = deep.joinpath(*["a"] * min(500, levels - start))
        deep.mkdir(parents=True)
    try:
        yield deep
    finally:
        subprocess.run(["rm", "-r", above / "a"], check=True)
