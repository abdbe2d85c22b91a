"""Fields as people write them: dotted, items of lists by number or by what they are called.

spec.replicatedJobs[0].template          as findings show it
spec.replicatedJobs[name=node].replicas  an item by one of its fields; [node] is short for [name=node]
spec.replicatedJobs[*].replicas          every item
metadata.labels['a.b/c'], metadata.labels.a.b/c
env[name=PATH].value                     wherever it is, if there is no such field at the top
PATH                                     an item of a list by its name alone, if no field is called so
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from trainc.source import Json, JsonObject, Path, dotted, get, paths

_QUOTED: Final = re.compile(r"\[(['\"])(.*?)\1\]")
_ITEM: Final = re.compile(r"\[([^\]]*)\]")
_NUMBER: Final = re.compile(r"[0-9]+")
_STEP: Final = re.compile(r"\.?([^.\[]*)")
_NAME: Final = "name"


class Miss(NamedTuple):
    """A field that is not there: the path that is, the step that leads nowhere, and the steps that do."""

    at: Path
    step: str
    known: tuple[str, ...]


def find(root: JsonObject, text: str) -> tuple[Path, ...] | Miss:
    """Return the paths that a field means in an object, at least one; all of it for an empty text."""
    found = _walk(root, (), text)
    if not isinstance(found, Miss) or found.at:
        return found
    inside: dict[Path, None] = {}
    for start in paths(root):
        value = get(root, *start)
        below = _walk(value, start, text) if start and isinstance(value, dict) else found
        inside |= dict.fromkeys(() if isinstance(below, Miss) else below)
    inside = inside or dict.fromkeys(_named(root, text))
    if inside:
        return tuple(inside)
    anywhere = {str(path[-1]): None for path in paths(root) if path and isinstance(path[-1], str)}
    return found._replace(known=(*found.known, *(key for key in anywhere if key not in found.known)))


def _named(root: JsonObject, name: str) -> list[Path]:
    """Return the items of lists that have a name, such as a variable."""
    named = (path for path in paths(root) if path[-1:] == (_NAME,) and get(root, *path) == name)
    return [path[:-1] for path in named if len(path) > 1 and isinstance(path[-2], int)]


def _walk(value: Json, path: Path, rest: str) -> tuple[Path, ...] | Miss:
    if not rest:
        return (path,)
    if isinstance(value, dict):
        return _into_object(value, path, rest)
    if isinstance(value, list):
        return _into_list(value, path, rest)
    return Miss(path, rest.removeprefix("."), ())


def _into_object(value: JsonObject, path: Path, rest: str) -> tuple[Path, ...] | Miss:
    if quoted := _QUOTED.match(rest):
        keys, end = [quoted[2]] if quoted[2] in value else [], {quoted[2]: quoted.end()}
        step = quoted[2]
    else:
        start = 1 if path and rest.startswith(".") else 0
        # Keys may hold dots: the longest that fits is tried first.
        fitting = [key for key in value if key and _fits(rest, start, key)]
        keys, end = sorted(fitting, key=len, reverse=True), {key: start + len(key) for key in fitting}
        matched = _STEP.match(rest)
        step = (matched[1] if matched else "") or rest
    misses = []
    for key in keys:
        found = _walk(value[key], (*path, key), rest[end[key] :])
        if not isinstance(found, Miss):
            return found
        misses.append(found)
    return misses[0] if misses else Miss(path, step, tuple(value))


def _fits(rest: str, start: int, key: str) -> bool:
    end = start + len(key)
    return rest.startswith(key, start) and (end == len(rest) or rest[end] in ".[")


def _into_list(value: list[Json], path: Path, rest: str) -> tuple[Path, ...] | Miss:
    matched = _ITEM.match(rest)
    if matched is None:
        return Miss(path, rest.removeprefix("."), _items(value))
    indexes = _indexes(value, matched[1])
    found: list[Path] = []
    misses: list[Miss] = []
    for index in indexes:
        below = _walk(value[index], (*path, index), rest[matched.end() :])
        if isinstance(below, Miss):
            misses.append(below)
        else:
            found += below
    if found:
        return tuple(found)
    return misses[0] if misses else Miss(path, matched[0], _items(value))


def _indexes(value: list[Json], text: str) -> list[int]:
    """Return the indexes of the items that brackets name."""
    if text == "*":
        return list(range(len(value)))
    if _NUMBER.fullmatch(text):
        return [int(text)] if len(text) < len(str(2**63)) and int(text) < len(value) else []
    key, equals, wanted = text.partition("=")
    if not equals:
        key, wanted = _NAME, text
    wanted = wanted.strip("'\"")
    return [index for index, item in enumerate(value) if isinstance(item, dict) and str(item.get(key)) == wanted]


def _items(value: list[Json]) -> tuple[str, ...]:
    """Return how items can be called: by name where they have one."""
    named = (get(item, _NAME) for item in value)
    return tuple(f"[{_NAME}={name}]" if isinstance(name, str) else f"[{index}]" for index, name in enumerate(named))


def spelt(path: Path) -> str:
    """Return a path as a field, the whole object as a word."""
    return dotted(path) or "the whole object"
