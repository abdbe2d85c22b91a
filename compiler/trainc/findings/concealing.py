"""Values as findings may show them: what looks secret in them is masked."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.findings.secrecy import MASK, Hidden, is_secret, secrets
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


def veiled(data: JsonObject) -> JsonObject:
    """Return data with MASK in place of all that looks secret, inside texts, too; data itself where nothing does."""
    places: dict[Path, list[Hidden]] = {}
    for value in secrets(data):
        places.setdefault(value.path, []).append(value)
    made = _veil(data, (), places) if places else data
    assert isinstance(made, dict)
    return made


def _veil(value: Json, path: Path, places: Mapping[Path, list[Hidden]]) -> Json:
    if isinstance(value, dict):
        return {key: _veil(child, (*path, key), places) for key, child in value.items()}
    if isinstance(value, list):
        return [_veil(child, (*path, index), places) for index, child in enumerate(value)]
    for found in places.get(path, ()):
        value = MASK if found.whole else str(value).replace(found.text, MASK)
    return value
