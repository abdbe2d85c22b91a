"""The file that one run leaves for the next, and the private folder that it lies in.

Nothing is taken from a folder or a file that others could write to, or that another trainc, another Python or a crash
has left: then there is nothing known, which costs time and changes nothing. A file is replaced whole, so runs beside
each other see an old one or a new one.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import re
import stat
from dataclasses import field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from trainc.records import dataclass

VARIABLE: Final = "TRAINC_CACHE_DIR"
"""The environment variable that names another folder; empty: no cache."""

_MAGIC: Final = b"trainc cache\n"
_SIZE: Final = 32
_TOOL: Final = re.compile("[0-9a-f]{32}")
_SUFFIXES: Final = (".jobs", ".all", ".results", ".tmp")
_TOOLS: Final = 4
"""So many traincs keep what they know."""


@dataclass(slots=True)
class Stored:
    """What is known of one repository.

    ``inputs``: file below jobs/ to its stamp or None, the digest of its bytes, and its documents as stubs or None.
    ``jobs``: environment to the digest of what is no job, the digests of images.lock.yaml, and file to the digest of
    its bytes and its records by index. ``outputs``: file below out/ to its stamp or None, and the digest of its bytes.
    """

    inputs: dict[str, Any] = field(default_factory=dict)
    jobs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)


def folder() -> Path | None:
    """Return the folder of all caches, by the environment; None where there is to be none, or no home."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen and os.path.isabs(chosen) else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return Path(base) / "trainc" if os.path.isabs(base) else None


def path_for(place: Path, tool: str, root: Path, what: str) -> Path:
    """Return the file for what is known of a repository, below the folder of all caches."""
    return place / tool / f"{blake2b(os.fsencode(root), digest_size=16).hexdigest()}.{what}"


def load(path: Path, tool: str) -> Stored | None:
    """Return what is stored, or None: nothing there, not ours alone, of another trainc, or damaged."""
    parts = load_parts(path, tool, 3)
    return None if parts is None else Stored(*parts)


def save(path: Path, tool: str, stored: Stored) -> None:
    """Replace what is stored. Where that is not possible there is no cache next time; nothing is said of it."""
    save_parts(path, tool, (stored.inputs, stored.jobs, stored.outputs))


def load_parts(path: Path, tool: str, count: int) -> tuple[Any, ...] | None:
    """Return so many plain values as a file holds; None as ``load`` does."""
    if not (_is_private(path.parent.parent) and _is_private(path.parent)):
        return None
    try:
        with open(path, "rb") as file:
            if not _is_own(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    head = _MAGIC + tool.encode()
    start = len(head) + _SIZE
    if not data.startswith(head) or data[len(head) : start] != blake2b(data[start:], digest_size=_SIZE).digest():
        return None
    parts = marshal.loads(memoryview(data)[start:])  # ours, and whole: checked above
    return parts if isinstance(parts, tuple) and len(parts) == count else None


def save_parts(path: Path, tool: str, parts: tuple[Any, ...]) -> None:
    """Replace a file by plain values, as ``save`` does."""
    import tempfile  # a run that finds all that it needs does without

    try:
        payload = marshal.dumps(parts)
    except ValueError:  # a value that is not plain after all
        return
    with contextlib.suppress(OSError):
        fresh = not path.parent.is_dir()
        for place in (path.parent.parent, path.parent):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(place):
                return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with open(handle, "wb") as file:
                file.write(_MAGIC + tool.encode() + blake2b(payload, digest_size=_SIZE).digest() + payload)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
        if fresh:
            _forget(path.parent.parent)


def _forget(place: Path) -> None:
    """Remove what the oldest traincs have left, and nothing else: the folder may be one that holds more."""
    with os.scandir(place) as entries:
        own = [entry for entry in entries if _TOOL.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]
        tools = sorted((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in own)
    for _, old in tools[:-_TOOLS]:
        with contextlib.suppress(OSError):
            for name in os.listdir(old):
                if name.endswith(_SUFFIXES):
                    os.unlink(f"{old}/{name}")
            os.rmdir(old)


def _is_private(place: Path) -> bool:
    """Tell whether a folder is ours, and nobody else may write to it."""
    try:
        found = os.lstat(place)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _is_own(found)


def _is_own(found: os.stat_result) -> bool:
    own = getattr(os, "geteuid", lambda: found.st_uid)()
    return found.st_uid == own and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
