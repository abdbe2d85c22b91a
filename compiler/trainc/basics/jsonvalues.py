"""JSON values, and paths to values inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, Union

if TYPE_CHECKING:
    Json: TypeAlias = Union[bool, int, float, str, list["Json"], dict[str, "Json"], None]  # noqa: UP007 - recursive
else:  # help() of a class evaluates its annotations in the module of the class, which may not have the name
    Json = Any
JsonObject: TypeAlias = dict[str, Json]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the root of a document to a value."""


def get(value: Json, *path: str | int) -> Json:
    """Return the value at path, or None if any step of it does not exist."""
    for step in path:
        if value.__class__ is dict:
            value = value.get(step)  # type: ignore[arg-type]  # an index is no key
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        elif isinstance(value, dict):
            value = value.get(step)  # type: ignore[arg-type]  # an index is no key
        else:
            return None
    return value


def put(value: JsonObject, path: Path, new: Json) -> JsonObject:
    """Return a copy of value with a new value at path; missing mappings are created, lists must exist."""
    return as_object(replaced(value, path, new))


def replaced(value: Json, path: Path, new: Json) -> Json:
    """Return a copy of any value like ``put``."""
    if not path:
        return new
    step, *rest = path
    if isinstance(value, list):
        return [replaced(item, tuple(rest), new) if index == step else item for index, item in enumerate(value)]
    return {**as_object(value), str(step): replaced(get(value, step), tuple(rest), new)}


def put_all(value: Json, new: Mapping[Path, Json]) -> Json:
    """Return a copy of any value with the new values at some paths, none of which leads below another."""
    if () in new:
        return new[()]
    below: dict[str | int, dict[Path, Json]] = {}
    for (step, *rest), item in new.items():
        below.setdefault(step, {})[tuple(rest)] = item
    if isinstance(value, list):
        return [put_all(item, below[index]) if index in below else item for index, item in enumerate(value)]
    changed = {str(step): put_all(get(value, step), items) for step, items in below.items()}
    return {**as_object(value), **changed}


def mapped(value: Json, change: Callable[[Path, Json], Json], path: Path = ()) -> Json:
    """Return a copy of value with the result of a function, of path and value, in place of each scalar."""
    if isinstance(value, dict):
        return {key: mapped(child, change, (*path, key)) for key, child in value.items()}
    if isinstance(value, list):
        return [mapped(item, change, (*path, index)) for index, item in enumerate(value)]
    return change(path, value)


def without_nulls(value: Json) -> Json:
    """Return a value without nulls, which trainc does not write."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def existing(value: Json, path: Path) -> Path:
    """Return path as far as it leads in value."""
    for length, step in enumerate(path):
        keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        if step not in keys:
            return path[:length]
        value = value[step]  # type: ignore[index]  # step is one of its keys
    return path


def copied(value: Json) -> Json:
    """Return a deep copy of value."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def as_object(value: Json) -> JsonObject:
    """Return value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Json) -> list[JsonObject]:
    """Return the objects of a list; none if value is not a list."""
    if not isinstance(value, list):
        return []
    for item in value:
        if item.__class__ is not dict:
            return [item for item in value if isinstance(item, dict)]
    return [*value]  # type: ignore[list-item]  # all of them are


def paths(value: Json, start: Path = ()) -> Iterator[Path]:
    """Yield the path of a value and of all values in it, parents first."""
    yield start
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in children:
        yield from paths(child, (*start, step))


def dotted(path: Path) -> str:
    """Spell a path as Kubernetes does: ``spec.replicatedJobs[0].name``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
