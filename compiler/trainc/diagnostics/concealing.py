"""Values as findings may show them: what looks secret in them is masked."""

from __future__ import annotations

from trainc.diagnostics.secrecy import MASK, is_secret
from trainc.source import Json, JsonObject, Path, get


def concealed(data: JsonObject, path: Path) -> Json:
    """Return the value at path in data with MASK in place of every string and number that looks secret there."""
    return _walk(data, path, get(data, *path))


def _walk(data: JsonObject, path: Path, value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _walk(data, (*path, key), child) for key, child in value.items()}
    if isinstance(value, list):
        return [_walk(data, (*path, index), child) for index, child in enumerate(value)]
    hide = value is not None and not isinstance(value, bool) and is_secret(data, path)
    return MASK if hide else value
