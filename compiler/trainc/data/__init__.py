"""Reads the data files that travel in the package; they count as code."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

ROOT = Path(__file__).parent


@cache
def load_json(name: str) -> Any:
    """Return the parsed file ``data/<name>``. It is shared: never change it."""
    return json.loads((ROOT / name).read_bytes())


@cache
def load_text(name: str) -> str:
    """Return the text of ``data/<name>``."""
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def _zone_names(*folders: str) -> frozenset[str]:
    from importlib import resources

    return frozenset(entry.name for entry in resources.files("tzdata").joinpath("zoneinfo", *folders).iterdir())


@lru_cache(maxsize=128)  # a zone has any number of names, such as Europe//Berlin
def time_zone(name: str) -> ZoneInfo:
    """Return a zone of the package tzdata, never one of the machine. Raises LookupError with Go's message."""
    from importlib import resources
    from zoneinfo import ZoneInfo

    if ".." in name or name.startswith(("/", "\\")):
        raise LookupError("time: invalid location name")
    found = resources.files("tzdata").joinpath("zoneinfo")
    folders: list[str] = []
    for part in name.split("/"):
        if part in ("", ".") and not name.endswith("/"):
            continue
        if not found.is_dir():
            raise LookupError("not a directory")
        if part.startswith("__") or part not in _zone_names(*folders):
            raise LookupError("invalid argument" if "\0" in name else f"unknown time zone {name}")
        found = found.joinpath(part)
        folders.append(part)
    if found.is_dir():
        raise LookupError("is a directory")
    with found.open("rb") as file:
        if file.read(4) != b"TZif":
            raise LookupError("malformed time zone information")
        file.seek(0)
        return ZoneInfo.from_file(file, key=name)
