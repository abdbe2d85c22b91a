"""Files of small projects: written with the folders above them, and read back."""

from __future__ import annotations

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
