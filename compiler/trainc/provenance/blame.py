"""Finds the step that set each field of an object by comparing snapshots, as git blame compares commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from trainc.basics.differences import key_of
from trainc.basics.jsonvalues import Json, Path, as_list
from trainc.plugins.model import Origin

Cause = Callable[[Path, Json], Origin]
"""Returns the origin of a value that a step set, from its path in the snapshot and the snapshot."""


class Step(NamedTuple):
    """The snapshot of an object after a step, and the cause of changes."""

    snapshot: Json
    cause: Cause


class _Node(NamedTuple):
    """The origin of a value, and the nodes of its fields or items."""

    origin: Origin
    children: Mapping[str | int, _Node]


def blame(steps: Iterable[Step]) -> Mapping[Path, Origin]:
    """Return the origin of each path of the last snapshot."""
    before: Json = None
    node: _Node | None = None
    for step in steps:
        node = _compared(step, before, node, step.snapshot, ())
        before = step.snapshot
    return {} if node is None else dict(_flat(node, ()))


def _flat(node: _Node, path: Path) -> Iterator[tuple[Path, Origin]]:
    yield path, node.origin
    for key, child in node.children.items():
        yield from _flat(child, (*path, key))


def _compared(step: Step, before: Json, old: _Node | None, after: Json, path: Path) -> _Node:
    """Return the node of a value after a step: unchanged parts keep their origin, new parts have that of the step.

    ``before`` is the value that it replaced, and ``old`` the node of that; None if there was none.
    """
    if old is not None and before == after and type(before) is type(after):
        return old
    if not isinstance(after, dict | list):
        origin = step.cause(path, step.snapshot)
        if old is not None and before is not None and not isinstance(before, dict | list):
            # A default only writes the same value in another form.
            origin = old.origin if origin.kind == "default" else replace(origin, earlier=old.origin)
        return _Node(origin, {})
    is_kept = old is not None and type(before) is type(after)
    children = {}
    for key, old_key in _pairs(before, after):
        child = None if old is None or old_key is None else old.children.get(old_key)
        was = None if child is None else before[old_key]  # type: ignore[index]
        children[key] = _compared(step, was, child, after[key], (*path, key))  # type: ignore[index]
    return _Node(old.origin if old is not None and is_kept else step.cause(path, step.snapshot), children)


def _pairs(before: Json, after: Json) -> Iterator[tuple[str | int, str | int | None]]:
    """Yield keys of ``after`` with those of equal values in ``before``; list items match by key, equality or index."""
    if isinstance(after, dict):
        old = before if isinstance(before, dict) else {}
        yield from ((key, key if key in old else None) for key in after)
        return
    items, new = as_list(before), as_list(after)
    indexes = {key: index for index, item in reversed(list(enumerate(items))) if (key := key_of(item)) is not None}
    for index, item in enumerate(new):
        key = key_of(item)
        if key is not None:
            yield index, indexes.get(key)
        elif index < len(items) and items[index] == item:
            yield index, index
        elif item in items:
            yield index, items.index(item)
        else:  # if the number of items is the same, it is the old one, changed
            yield index, index if len(items) == len(new) else None
