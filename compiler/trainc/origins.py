"""Where every field of an object came from.

Nothing is tagged while a job is compiled. When a finding or ``explain`` asks, the job is compiled once more and
each step leaves a snapshot of the JobSet; comparing a snapshot with the one before tells what the step brought.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from trainc.model import Model, Object, Origin
from trainc.records import NamedTuple, dataclass, field, replace
from trainc.source import Document, Json, Path, existing

Cause = Callable[[Path, Json], Origin]
"""Tells the origin of a value that a step brought, by its path in the snapshot and the snapshot."""

LOCK = "images.lock.yaml"
REGISTRIES = "registries"
REWRITES = frozenset((("lock", LOCK), ("environment", REGISTRIES)))
"""Kinds and names of origins that only spell a value anew: a finding on it belongs where it was written."""

KEYS = ("name", "mountPath", "containerPort", "key", "manager")
"""What tells items of a list apart, in this order."""


class Step(NamedTuple):
    """What an object looked like after one step, and why."""

    snapshot: Json
    cause: Cause


@dataclass(slots=True)
class _Node:
    origin: Origin
    children: dict[str | int, _Node] = field(default_factory=dict)


def blame(steps: Iterable[Step]) -> Mapping[Path, Origin]:
    """Return the origin of every path of the last snapshot."""
    before: Json = None
    tree: _Node | None = None
    for step in steps:
        root = step.snapshot
        tree = _carry(before, tree, root, (), lambda path, root=root, step=step: step.cause(path, root))  # type: ignore[misc]
        before = root
    out: dict[Path, Origin] = {}
    if tree is not None:
        _flatten(tree, (), out)
    return out


def nearest(origins: Mapping[Path, Origin], path: Path) -> Origin | None:
    """Return the origin of path, or of its nearest ancestor that has one."""
    for end in range(len(path), -1, -1):
        if (found := origins.get(path[:end])) is not None:
            return found
    return None


def blamed(model: Model, made: Object, path: Path) -> tuple[Document, Path]:
    """Return the document and the place in it that the value at a path of an object comes from.

    Of a default, which nobody wrote, it is where that was left out; the TrainJob's name if nothing was written.
    """
    origins = made.origins()
    for end in range(len(path), 0, -1):
        origin = _written(nearest(origins, path[:end]))
        if origin is not None and origin.document is not None:
            return origin.document, existing(origin.document.data, origin.path)
    return model.job, ("metadata", "name")


def _written(origin: Origin | None) -> Origin | None:
    """Return the origin at whose place somebody wrote a value: the one before those that spell it anew."""
    while origin is not None and origin.earlier is not None:
        if origin.document is not None and (origin.kind, origin.name) not in REWRITES:
            break
        origin = origin.earlier
    return origin


def _carry(before: Json, tree: _Node | None, after: Json, path: Path, cause: Callable[[Path], Origin]) -> _Node:
    """Return the tree of after: what was there before keeps its origin, what is new has the step's."""
    if tree is not None and before == after and type(before) is type(after):
        return tree
    if isinstance(after, dict):
        old = before if isinstance(before, dict) else {}
        pairs: Iterable[tuple[str | int, str | int | None]] = [(key, key if key in old else None) for key in after]
    elif isinstance(after, list):
        old_list = before if isinstance(before, list) else []
        pairs = _aligned(old_list, after)
    else:
        return _Node(_replacing(before, tree, cause(path)))
    same_shape = tree is not None and type(before) is type(after)
    node = _Node(tree.origin if tree is not None and same_shape else cause(path))
    for new_key, old_key in pairs:
        child_tree = tree.children.get(old_key) if tree is not None and old_key is not None else None
        child_before = before[old_key] if child_tree is not None else None  # type: ignore[index]
        child_after = after[new_key]  # type: ignore[index]
        node.children[new_key] = _carry(child_before, child_tree, child_after, (*path, new_key), cause)
    return node


def _replacing(before: Json, tree: _Node | None, origin: Origin) -> Origin:
    """Return the origin of a scalar that a step brought in place of another; a default only spells one anew."""
    if tree is None or before is None or isinstance(before, dict | list):
        return origin
    return tree.origin if origin.kind == "default" else replace(origin, earlier=tree.origin)


def _aligned(old: list[Json], new: list[Json]) -> list[tuple[str | int, str | int | None]]:
    """Return for each index of new the index of the same item in old: by key, by equality, or by place."""
    places = {key: index for index, item in reversed(list(enumerate(old))) if (key := key_of(item)) is not None}
    out: list[tuple[str | int, str | int | None]] = []
    for index, item in enumerate(new):
        key = key_of(item)
        if key is not None:
            out.append((index, places.get(key)))
        elif index < len(old) and old[index] == item:
            out.append((index, index))
        elif item in old:
            out.append((index, old.index(item)))
        else:  # with as many items as before it is the old one, changed
            out.append((index, index if len(old) == len(new) else None))
    return out


def key_of(item: Json) -> tuple[str, Json] | None:
    """Return what tells an item of a list apart, or None."""
    if isinstance(item, dict):
        for key in KEYS:
            value = item.get(key)
            if isinstance(value, str | int):
                return key, value
    return None


def counterpart(value: Json, root: Json, path: Path) -> Path:
    """Return the path in value that path is in root, items of lists matched by key; as far as there is one."""
    out: list[str | int] = []
    for step in path:
        if isinstance(root, dict) and isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                break
            root, value = root.get(step), value[step]
            out.append(step)
        elif isinstance(root, list) and isinstance(step, int) and isinstance(value, list):
            wanted = key_of(root[step])
            found = next((i for i, item in enumerate(value) if key_of(item) == wanted and wanted is not None), None)
            if found is None:
                found = next((i for i, item in enumerate(value) if item == root[step]), None)
            if found is None:
                break
            root, value = root[step], value[found]
            out.append(found)
        else:
            break
    return tuple(out)


def _flatten(node: _Node, path: Path, out: dict[Path, Origin]) -> None:
    out[path] = node.origin
    for key, child in node.children.items():
        _flatten(child, (*path, key), out)
