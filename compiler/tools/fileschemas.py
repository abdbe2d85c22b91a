"""Writes the JSON schemas of trainc.yaml, image.yaml and images.lock.yaml from their types, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from trainc.images.definition import Definition
from trainc.inputs.imagelock import LockFile
from trainc.inputs.settings import ConfigFile

OUTPUT: Final = Path(__file__).parents[1] / "trainc" / "data"
TYPES: Final[dict[str, type[msgspec.Struct]]] = {
    "config.schema.json": ConfigFile,
    "image.schema.json": Definition,
    "images.lock.schema.json": LockFile,
}
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def text(kind: type[msgspec.Struct]) -> str:
    """Return the schema of a type."""
    schema = {"$schema": DIALECT, **_with_plain_defaults(msgspec.json.schema(kind))}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _with_plain_defaults(value: Any) -> Any:
    """Return a schema with the defaults of plain values only: an empty text stands for an absent one."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key != "default" or (item != "" and _is_plain(item))}
        return {key: _with_plain_defaults(item) for key, item in kept.items()}
    return [_with_plain_defaults(item) for item in value] if isinstance(value, list) else value


def _is_plain(value: Any) -> bool:
    return not isinstance(value, dict | list)


def main() -> None:
    """Write the files."""
    for name, kind in TYPES.items():
        (OUTPUT / name).write_text(text(kind), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
