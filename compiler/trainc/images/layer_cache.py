"""A cache of layers by what they are made of. It is safe to delete, and an entry that is damaged counts as absent."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from trainc.basics.jsonvalues import JsonObject, as_object
from trainc.images.layout import Layer, canonical
from trainc.images.tars import Facts
from trainc.project.files import IrregularFileError, open_regular, read_regular

FORMAT: Final = 3
"""Part of every key: another number where the same inputs are made into other bytes."""

_TAR, _FACTS, _SUMS = "layer.tar", "facts.json", "sums.json"


class Stored(Struct, frozen=True):
    """A system layer in the cache: its tar, the layer that it is, and what is known of it."""

    tar: Path
    layer: Layer
    facts: Facts


def key_of(inputs: JsonObject) -> str:
    """Return the name of the entry that is made of these inputs."""
    return hashlib.sha256(canonical({"format": FORMAT, **inputs})).hexdigest()


@contextmanager
def scratch(cache: Path) -> Iterator[Path]:
    """Make a folder beside the entries, and remove it."""
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=cache, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def find(cache: Path, key: str, made_by: str) -> Stored | None:
    """Return an entry whose files are all there and as they were written, else None."""
    folder = cache / key
    try:
        sums = as_object(json.loads(read_regular(folder / _SUMS) or b""))
        found = {name: file_digest(folder / name) for name in (_TAR, _FACTS)}
        if any([digest, size] != sums.get(name) for name, (digest, size) in found.items()):
            return None
        facts = msgspec.json.decode(read_regular(folder / _FACTS) or b"", type=Facts)
    except (IrregularFileError, OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return Stored(folder / _TAR, Layer(*found[_TAR], made_by), facts)


def keep(cache: Path, key: str, tar: Path, facts: Facts, made_by: str) -> Stored:
    """Move a tar into the cache, with what is known of it, and return the entry. A damaged one is replaced."""
    with scratch(cache) as making:
        folder = making / key
        folder.mkdir()
        shutil.move(tar, folder / _TAR)
        (folder / _FACTS).write_bytes(msgspec.json.encode(facts, order="deterministic"))
        sums: JsonObject = {name: list(file_digest(folder / name)) for name in (_TAR, _FACTS)}
        (folder / _SUMS).write_bytes(canonical(sums))
        shutil.rmtree(cache / key, ignore_errors=True)
        with suppress(OSError):  # a run beside this one was faster
            folder.rename(cache / key)
    stored = find(cache, key, made_by)
    assert stored is not None, "what was written is there"
    return stored


def keep_bytes(cache: Path, data: bytes) -> Path:
    """Write a small layer to the cache, under its digest, and return its path."""
    folder = cache / "layers"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()}.tar"
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)
    return path


def file_digest(path: Path) -> tuple[str, int]:
    """Return the digest (``sha256:`` and hexadecimal) and the size of a regular file. Raises as ``open_regular``."""
    with os.fdopen(open_regular(path), "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"sha256:{digest}", file.tell()
