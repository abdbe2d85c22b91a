"""Reads the YAML files below a folder, as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from .fields import check
from .objects import identity


def read(places: Iterable[Path]) -> list[dict[str, Any]]:
    """Return every object of the files and of the files below the folders, in the order of their paths.

    Raises:
        Unsupported: The simulator does not carry out all that one says.
        ValueError: There is no object, or one is there twice.
    """
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for file in _files(places):
        for document in YAML(typ="safe").load_all(file.read_text(encoding="utf-8")):
            if document is None:
                continue
            check(document)
            key = identity(document)
            if key in found:
                raise ValueError(f"{file}: {' '.join(key)} is there twice")
            found[key] = document
    if not found:
        raise ValueError(f"no objects in {', '.join(map(str, places))}")
    return list(found.values())


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from sorted(path for path in place.rglob("*") if path.suffix in (".yaml", ".yml") and path.is_file())
        else:
            yield place
