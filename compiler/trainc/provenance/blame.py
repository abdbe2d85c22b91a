"""Finds the step that set each field of an object by comparing snapshots, as git blame compares commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from trainc.basics.differences import key_of
from trainc.basics.jsonvalues import Json, Path
from trainc.plugins.model import Origin

Cause = Callable[[Path, Json], Origin]
"""Returns the origin of a value that a step set, from its path in the snapshot and the snapshot."""


class Step(NamedTuple):
    """The snapshot of an object after a step, and the cause of changes."""

    snapshot: Json
    cause: Cause


def blame(steps: Iterable[Step]) -> Mapping[Path, Origin]:
    """Return the origin of each path of the last snapshot. Origins are computed when they are looked up."""
    before: Json = None
    tree: _Node | None = None
    for step in steps:
        root = step.snapshot
        tree = _carry(before, tree, root, (), lambda path, root=root, step=step: step.cause(path, root))  # type: ignore[misc]
        before = root
    return _Blame(tree)


class _Blame(Mapping[Path, Origin]):
    """The origins of a tree, by path."""

    __slots__ = ("_tree",)

    def __init__(self, tree: _Node | None) -> None:
        self._tree = tree

    def get(self, path: Path, default: Any = None) -> Any:
        """Return the origin of a path, or ``default`` for an unknown path."""
        node = self._tree
        for step in path:
            if node is None:
                break
            node = node.child(step)
        return default if node is None else node.origin

    def __getitem__(self, path: Path) -> Origin:
        if (found := self.get(path)) is None:
            raise KeyError(path)
        return found  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Path]:
        return iter(()) if self._tree is None else self._tree.paths(())

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Node:
    """A value after a step: unchanged parts keep their origin, new parts have the origin of the step.

    ``before`` is the value that it replaced, and ``old`` the node of that; None if there was none.
    """

    __slots__ = ("_children", "_origin", "_pairs", "after", "before", "cause", "old", "path")

    def __init__(
        self, before: Json, old: _Node | None, after: Json, path: Path, cause: Callable[[Path], Origin]
    ) -> None:
        self.before, self.old, self.after, self.path, self.cause = before, old, after, path, cause
        self._origin: Origin | None = None
        self._pairs: Mapping[str | int, str | int | None] | None = None
        self._children: dict[str | int, _Node] = {}

    @property
    def origin(self) -> Origin:
        """The origin of the value."""
        if self._origin is None:
            if not isinstance(self.after, dict | list):
                self._origin = _replacing(self.before, self.old, self.cause(self.path))
            elif self.old is not None and type(self.before) is type(self.after):
                self._origin = self.old.origin
            else:
                self._origin = self.cause(self.path)
        return self._origin

    def child(self, key: str | int) -> _Node | None:
        """Return the node of a field or item, or None."""
        if key in self._children:
            return self._children[key]
        pairs = self.pairs()
        if key not in pairs:
            return None
        old_key = pairs[key]
        old = self.old.child(old_key) if self.old is not None and old_key is not None else None
        before = self.before[old_key] if old is not None else None  # type: ignore[index]
        node = _carry(before, old, self.after[key], (*self.path, key), self.cause)  # type: ignore[index]
        self._children[key] = node
        return node

    def pairs(self) -> Mapping[str | int, str | int | None]:
        """Return the keys of the value, each with its key before the step."""
        if self._pairs is None:
            before, after = self.before, self.after
            if isinstance(after, dict):
                old = before if isinstance(before, dict) else {}
                self._pairs = {key: key if key in old else None for key in after}
            else:
                items = before if isinstance(before, list) else []
                self._pairs = dict(_aligned(items, after)) if isinstance(after, list) else {}
        return self._pairs

    def paths(self, path: Path) -> Iterator[Path]:
        """Yield the path of the value, which may have moved since the step, and those of everything below it."""
        yield path
        for key in self.pairs():
            if (child := self.child(key)) is not None:
                yield from child.paths((*path, key))


def _carry(before: Json, old: _Node | None, after: Json, path: Path, cause: Callable[[Path], Origin]) -> _Node:
    """Return the node of a value after a step: the old node if the value is the same."""
    if old is not None and before == after and type(before) is type(after):
        return old
    return _Node(before, old, after, path, cause)


def _replacing(before: Json, tree: _Node | None, origin: Origin) -> Origin:
    """Return the origin of a scalar that replaces another; a default only writes the same value in another form."""
    if tree is None or before is None or isinstance(before, dict | list):
        return origin
    return tree.origin if origin.kind == "default" else replace(origin, earlier=tree.origin)


def _aligned(old: list[Json], new: list[Json]) -> list[tuple[str | int, str | int | None]]:
    """Return for each index of new the index of the same item in old: by key, by equality, or by position."""
    indexes = {key: index for index, item in reversed(list(enumerate(old))) if (key := key_of(item)) is not None}
    out: list[tuple[str | int, str | int | None]] = []
    for index, item in enumerate(new):
        key = key_of(item)
        if key is not None:
            out.append((index, indexes.get(key)))
        elif index < len(old) and old[index] == item:
            out.append((index, index))
        elif item in old:
            out.append((index, old.index(item)))
        else:  # if the number of items is the same, it is the old one, changed
            out.append((index, index if len(old) == len(new) else None))
    return out
