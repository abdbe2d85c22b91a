"""Compares two versions of an object, path by path; items of lists are matched by their keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, mapped, replaced
from trainc.basics.memo import keeping
from trainc.basics.regex import lazy

KEYS = ("mountPath", "devicePath", "containerPort", "topologyKey", "ip", "name", "key", "manager")
"""The keys of list items, in order of preference: those by which Kubernetes merges lists of pods, and others.

A volume may have several mounts, and a mount has a name, too.
"""

_SHORT: Final = 8
"""The most items of a list that is searched without an index."""


class Change(msgspec.Struct, frozen=True):
    """One difference: ``path`` is the path in the new object as far as it exists, ``old_path`` that in the old one.

    ``new`` and ``old`` are the values or None. ``name`` is the full path of the value: in the new object, or in the old
    one for a removed value.
    """

    path: Path
    old_path: Path
    name: Path
    new: Json
    old: Json


def changes(new: Json, old: Json, path: Path = (), old_path: Path | None = None) -> Iterator[Change]:
    """Yield the smallest values that differ, in order of the new object, removed values after their siblings.

    ``path`` and ``old_path`` (the same unless given) lead to the two values and are put before every path. Another
    order of the same items is one change of their list, and so are init containers with a new one before others.
    """
    before = path if old_path is None else old_path
    if isinstance(new, dict) and isinstance(old, dict):
        pairs: list[tuple[str | int | None, str | int | None]] = [(key, key if key in old else None) for key in new]
        pairs += [(None, key) for key in old if key not in new]
    elif isinstance(new, list) and isinstance(old, list) and (aligned := _aligned(new, old)) is not None:
        pairs = aligned
    else:
        if not same(new, old):
            yield Change(path, before, path, new, old)
        return
    for key, old_key in pairs:
        if key is None:
            assert old_key is not None, "a pair has two sides, or one"
            yield Change(path, (*before, old_key), (*path, old_key), None, old[old_key])  # type: ignore[index]
        elif old_key is None:
            yield Change((*path, key), before, (*path, key), new[key], None)  # type: ignore[index]
        else:
            yield from changes(new[key], old[old_key], (*path, key), (*before, old_key))  # type: ignore[index]
    places = [at for key, at in pairs if isinstance(key, int) and isinstance(at, int)]
    if path[-1:] == ("initContainers",):  # they run one after the other
        places = [at if isinstance(at, int) else len(pairs) for key, at in pairs if key is not None]
    if places != sorted(places):  # the items have another order
        yield Change(path, before, path, new, old)


def undone(data: Json, change: Change) -> Json:
    """Return data, the new object, with one of its changes reverted."""
    owner, key = change.name[:-1], change.name[-1:]
    if len(change.path) < len(change.name):  # it is gone
        value = get(data, *owner)
        if isinstance(value, list) and isinstance(key[0], int):
            return replaced(data, owner, [*value[: key[0]], change.old, *value[key[0] :]])
        return replaced(data, change.name, change.old)
    if len(change.old_path) < len(change.path):  # it is new
        value = get(data, *owner)
        if isinstance(value, list):
            return replaced(data, owner, [item for index, item in enumerate(value) if index != key[0]])
        return replaced(data, owner, {name: child for name, child in as_object(value).items() if name != key[0]})
    return replaced(data, change.path, change.old)


def is_key(data: Json, path: Path) -> bool:
    """Return whether a path leads to the key of a list item, which only says which item is meant."""
    if len(path) < 2 or path[-1] not in KEYS or not isinstance(path[-2], int):
        return False
    key = key_of(get(data, *path[:-1]))
    return key is not None and key[0] == path[-1]


_OTHER_TEXTS: Final = (
    (lazy(r"[-+]?[0-9.]++[eEinumkKMGTP]*+[-+]?[0-9]*"), ("7919", "7907")),
    (lazy(r"\d{4}-\d\d-\d\d[Tt].*"), ("2001-01-01T00:00:00Z", "2002-01-01T00:00:00Z")),
)
"""Texts that Go reads as quantities and times, and others that it reads so."""


def other(value: Json) -> Json:
    """Return a scalar of the same kind that is not equal, which Go decodes if it decodes the value; None for None."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value - 1 if value > 1 else value + 1
    if not isinstance(value, str):
        return value
    others = next((texts for pattern, texts in _OTHER_TEXTS if pattern.fullmatch(value)), (f"{value}x",))
    return others[-1] if value == others[0] else others[0]


_IDENTITY: Final = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


def varied_object(data: JsonObject) -> JsonObject:
    """Return an object with other values, except for those that identify it or the items of its lists."""
    return as_object(mapped(data, lambda path, value: value if _identifies(data, path) else other(value)))


def is_set(varied: Json, data: Json, path: Path) -> bool:
    """Return whether a function sets a value of its result, whatever it was: it is the same in that of varied data."""
    value = get(data, *path)
    leaf = value is not None and not isinstance(value, dict | list)
    return leaf and not _identifies(data, path) and get(varied, *path) == value


def _identifies(data: Json, path: Path) -> bool:
    return path in _IDENTITY or is_key(data, path)


def common_start(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the number of items with which both sequences begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def same(one: Json, other: Json) -> bool:
    """Return whether two values are equal as JSON: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _aligned(new: list[Json], old: list[Json]) -> list[tuple[str | int | None, str | int | None]] | None:
    """Return the indexes of matching items, or None if they cannot be matched."""
    keys, old_keys = [key_of(item) for item in new], [key_of(item) for item in old]
    named = None not in keys and None not in old_keys
    if named and len({*keys}) == len(keys) and len({*old_keys}) == len(old_keys):
        places = {key: index for index, key in enumerate(old_keys)}
        here = {*keys}
        found: list[tuple[str | int | None, str | int | None]] = [(i, places.get(key)) for i, key in enumerate(keys)]
        return found + [(None, index) for index, key in enumerate(old_keys) if key not in here]
    if len(new) == len(old):
        return [(index, index) for index in range(len(new))]
    return None


def holds(value: Json, wanted: Json) -> bool:
    """Return whether a value equals the one wanted or, except for numbers, contains it."""
    if same(value, wanted):
        return True
    if not isinstance(wanted, str | dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(holds(child, wanted) for child in inside)


class LostValues:
    """The old values of changes of inputs, to find the first one that has caused a change of an object."""

    __slots__ = ("_held", "_lost", "_numbers")

    def __init__(self, found: Iterable[Change]) -> None:
        self._lost = tuple(change for change in found if change.old is not None)
        self._held: dict[Hashable, int] = {}
        self._numbers: dict[tuple[str, str | None], int] = {}
        for index, change in enumerate(self._lost):
            self._held.setdefault(comparable(change.old), index)
            self._note_inside(change.old, index)
            if isinstance(change.old, int | float) and isinstance(change.new, int | float | None):
                new = None if change.new is None else str(change.new)
                self._numbers.setdefault((str(change.old), new), index)

    def cause_of(self, made: Change) -> Change | None:
        """Return the first change whose old value holds that of another one, or whose numbers are its texts."""
        found = [self._held.get(comparable(made.old))]
        if isinstance(made.old, str):  # such as a variable with the number of nodes
            found += (self._numbers.get((made.old, new)) for new in (made.new, None) if isinstance(new, str | None))
        first = min((index for index in found if index is not None), default=None)
        return None if first is None else self._lost[first]

    def _note_inside(self, value: Json, index: int) -> None:
        for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            if isinstance(child, str | dict | list):
                self._held.setdefault(comparable(child), index)
                self._note_inside(child, index)


def comparable(value: Json) -> Hashable:
    """Return what is equal for values that are the ``same``."""
    if isinstance(value, dict):
        return frozenset((key, comparable(child)) for key, child in value.items())
    return tuple(map(comparable, value)) if isinstance(value, list) else (value.__class__ is bool, value)


def contains(made: Json, given: Json) -> bool:
    """Return whether a generated value contains a value of trainc.yaml, or a text that contains it."""
    if isinstance(made, str) and isinstance(given, str) and given:
        return given in made
    return given is not None and made is not None and holds(given, made)


def key_of(item: Json) -> tuple[str, Json] | None:
    """Return the key and its value that identify a list item, or None."""
    if isinstance(item, dict):
        for key in KEYS:
            value = item.get(key)
            if isinstance(value, str | int):
                return key, value
    return None


def _counted_keys(items: Sequence[Json]) -> Counter[tuple[str, Json] | None]:
    return Counter(map(key_of, items))


keys_of = keeping(_counted_keys)
"""Return how many items of a list have each key."""


def place_of(items: Sequence[Json], item: Json, index: int) -> int | None:
    """Return the index of the item that became, or was merged into, an item that is now at ``index``; None if none did.

    It is one with the same key. Without a key it is one with the same content, or has the same scalars and place.
    """
    place = _place(item)
    at_index = items[index] if index < len(items) else None
    if index < len(items) and _place(at_index) == place:
        return index
    places = (_kept_places if len(items) > _SHORT else _first_places)(items)
    if place in places:
        return places[place]
    if not isinstance(item, dict) or not isinstance(at_index, dict) or key_of(item) or key_of(at_index):
        return None
    same_scalars = all(item.get(key) == value for key, value in at_index.items() if not isinstance(value, dict | list))
    return index if same_scalars else None


def _place(item: Json) -> tuple[str, Json | bytes]:
    """Return what identifies a list item: its key, or else its content."""
    return key_of(item) or ("", (_kept_content if isinstance(item, dict | list) else _content)(item))


def _content(item: Json) -> bytes:
    return msgspec.json.encode(item, order="sorted")


_kept_content = keeping(_content)
"""For each of its values, the place of the same item is asked for."""


def _first_places(items: Sequence[Json]) -> dict[tuple[str, Json | bytes], int]:
    """Return the index of the first of the items that are identified alike."""
    return {_place(items[index]): index for index in range(len(items) - 1, -1, -1)}


_kept_places = keeping(_first_places)


def counterpart(value: Json, root: Json, path: Path) -> Path:
    """Return the path in value that corresponds to path in root, as far as it exists; list items match by key."""
    out: list[str | int] = []
    for step in path:
        if isinstance(root, dict) and isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                break
            root, value = root.get(step), value[step]
            out.append(step)
        elif isinstance(root, list) and isinstance(step, int) and isinstance(value, list):
            root = get(root, step)
            at = place_of(value, root, step)
            if at is None:
                break
            value = value[at]
            out.append(at)
        else:
            break
    return tuple(out)


def with_keys(root: Json, path: Path) -> tuple[Hashable, ...]:
    """Return a path with what identifies list items across versions: their keys, or their values, or else indexes."""
    found: list[Hashable] = []
    for step in path:
        root = get(root, step)
        if isinstance(step, str) or isinstance(root, list):
            found.append(step)
        elif isinstance(root, dict):
            found.append(key_of(root) or step)
        else:
            found.append(("", root))
    return tuple(found)
