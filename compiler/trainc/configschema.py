"""The JSON schema of trainc.yaml (data/config.schema.json), which editors read as it stands, and what does not fit it.

The same machinery judges it as any other input: that of structural schemas. They know no alternatives of type, so a
text that stands for a mapping is made one first (settings.SHORT), and references are resolved.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from trainc.data import load_json
from trainc.diagnostics import suggest
from trainc.findings.severities import Problem
from trainc.schema import Structural, check, parse
from trainc.settings import RECOMMENDED, SHORT
from trainc.source import Json, JsonObject, Path, as_object, dotted, get

FILE = "config.schema.json"
_DROPPED = frozenset(("$schema", "$defs", "description", "patternProperties"))


def misfits(data: JsonObject) -> Iterator[Problem]:
    """Yield what of a parsed trainc.yaml does not fit the schema: unknown keys, wrong types and values."""
    expanded, short = _expanded(data)
    _, unknown, violations = check(_schema(), expanded)
    for path in unknown:
        known = tuple(_known(path[:-1]))
        key = str(path[-1])
        yield Problem(path, f"unknown key {key!r}", expected=", ".join(known) or None, hint=suggest(key, known))
    for found in violations:
        path, message = found.path, found.message
        if path in short:
            path, message = path[:-1], message.replace(dotted(path), dotted(path[:-1]), 1)
        expected, hint = found.expected, found.hint
        if path[-1:] == ("fixes",) and isinstance(value := get(data, *path), str):
            expected, hint = f"{RECOMMENDED}, or a list of names", suggest(value, (RECOMMENDED,)) or hint
        yield Problem(path, message, found.found, expected, hint)


def _known(path: Path) -> Iterator[str]:
    found = _schema().at(path)
    yield from sorted(found.properties) if found is not None else ()


@cache
def schema_of(file: str) -> Structural:
    """Return the JSON schema of a package data file as a structural one."""
    return parse(_plain(load_json(file), load_json(file)))


def _schema() -> Structural:
    return schema_of(FILE)


def _plain(node: JsonObject, whole: JsonObject) -> JsonObject:
    """Return a node as a structural schema: of alternatives the last, which says most, or null beside it."""
    if isinstance(reference := node.get("$ref"), str):
        found: Json = whole
        for step in reference.removeprefix("#/").split("/"):
            found = as_object(found)[step]
        return _plain(as_object(found), whole)
    if isinstance(choices := node.get("anyOf"), list):
        chosen = _plain(as_object(choices[-1]), whole)
        return {**chosen, "nullable": True} if {"type": "null"} in choices else chosen
    made: JsonObject = {}
    for key, value in node.items():
        if key == "properties":
            made[key] = {name: _plain(as_object(sub), whole) for name, sub in as_object(value).items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            made[key] = _plain(value, whole)
        elif key not in _DROPPED and value is not False:
            made[key] = value
    if made.get("type") == "object" and made.keys().isdisjoint(("properties", "additionalProperties")):
        made["x-kubernetes-preserve-unknown-fields"] = True
    return made


def _expanded(data: JsonObject) -> tuple[JsonObject, frozenset[Path]]:
    """Return the data with mappings in place of texts that stand for them, and the paths of those texts there."""
    short: set[Path] = set()
    made = {**data, **_options(data, (), short, ("fixes",))}
    if isinstance(data.get("defaults"), dict):
        made["defaults"] = _options(as_object(data["defaults"]), ("defaults",), short)
    if isinstance(environments := data.get("environments"), dict):
        made["environments"] = {
            name: _options(value, ("environments", name), short) if isinstance(value, dict) else value
            for name, value in environments.items()
        }
    return made, frozenset(short)


def _options(data: JsonObject, path: Path, short: set[Path], only: tuple[str, ...] | None = None) -> JsonObject:
    made = dict(data)
    for key, value in data.items():
        if not isinstance(value, str) or (only is not None and key not in only):
            continue
        if key in SHORT:
            made[key] = {SHORT[key]: value}
            short.add((*path, key, SHORT[key]))
        elif key == "fixes" and value == RECOMMENDED:
            made[key] = [value]
    return made
