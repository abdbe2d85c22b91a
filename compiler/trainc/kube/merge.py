"""Strategic merge patch as k8s.io/apimachinery v0.36.2 applies it (pkg/util/strategicpatch).

Merge keys and strategies come from the Go structs' tags (see gotypes), as in StrategicMergePatch with a struct. Both
inputs are JSON; neither is changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import NamedTuple

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.kube import gotypes
from trainc.kube.gojson import printed

_DIRECTIVE = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_FROM_LIST = "$deleteFromPrimitiveList"
_SET_ORDER = "$setElementOrder"

_GO_TYPES = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    type(None): "%!s(<nil>)",
}

RESOURCES = "resourceRequirementsPatchMeta"
"""Trainer's own struct for resources: those of ResourceRequirements, but with claims merged by name."""


class MergeError(ValueError):
    """A patch that strategic merge cannot apply; the message is Go's, or similar if Go prints its internal data."""


class _Meta(NamedTuple):
    """The tags of a field: the kind below it, its strategy (for lists ``merge`` or nothing), its merge key."""

    kind: str
    strategy: str
    merge_key: str


def merge(original: Json, patch: Json, type_name: str) -> Json:
    """Return original with patch applied, both JSON of the struct called type_name (``v1alpha2.JobSetSpec``).

    Mappings are merged by key, and lists by the struct's merge key, or replaced if there is none; null removes a value;
    directives work as in Go. Items of a patched list have the patch's order, and an item that only the original has
    comes before the next item of the patch that it preceded in the original. Raises MergeError.
    """
    if not isinstance(original, dict) or not isinstance(patch, dict):
        raise MergeError("invalid JSON document")
    return _merge_map(original, patch, type_name)


def merge_resources(base: JsonObject, override: JsonObject) -> JsonObject:
    """Return two ResourceRequirements merged: limits and requests by resource, claims by name.

    Source: MergeResourceRequirements (pkg/util/trainingruntime). Raises GoDecodeError and MergeError.
    """
    kind = gotypes.RESOURCE_REQUIREMENTS
    merged = merge(gotypes.decode(base, kind), gotypes.decode(override, kind), RESOURCES)
    result = gotypes.decode(merged, kind)
    assert isinstance(result, dict), "a struct is written as a mapping"
    return result


def _merge_map(original: Mapping[str, Json], patch: Mapping[str, Json], kind: str) -> JsonObject:
    if _DIRECTIVE in patch:
        if patch[_DIRECTIVE] not in ("replace", "delete"):
            raise _bad_directive(patch)
        return {key: patch[key] for key in patch if key != _DIRECTIVE and patch[_DIRECTIVE] == "replace"}
    result = dict(original)
    change = dict(patch)
    _retain_keys(result, change)
    _ordered_lists(result, change, kind)
    # Go iterates over a map here. Sorted, the results are the same, and the first error is deterministic.
    for name in sorted(change):
        is_deletion = name.startswith(_DELETE_FROM_LIST)
        key = _after(name, _DELETE_FROM_LIST) if is_deletion else name
        value, old = change[name], result.get(key)
        if value is None:
            result.pop(key, None)
        elif type(old) is not type(value):
            value = _without_nulls(value)
            if is_deletion:
                continue
            if _is_directive(value):
                result.pop(key, None)
            else:
                result[key] = _without_directives(value)
        elif isinstance(value, dict) and isinstance(old, dict):
            result[key] = _merge_map(old, value, _meta(kind, key).kind)
        elif isinstance(value, list) and isinstance(old, list):
            result[key] = _merge_list(old, value, _meta(kind, key, items=True), is_deletion=is_deletion)
        else:
            result[key] = value
    return result


def _retain_keys(result: JsonObject, change: JsonObject) -> None:
    """Apply $retainKeys: all other keys of the original are removed."""
    if _RETAIN_KEYS not in change:
        return
    given = change.pop(_RETAIN_KEYS)
    kept = {key for key in given if isinstance(key, str)} if isinstance(given, list) else None
    directives = (_DELETE_FROM_LIST, _SET_ORDER)
    changed = [key for key, value in change.items() if value is not None and not key.startswith(directives)]
    if kept is None or any(key not in kept for key in changed):
        raise MergeError("invalid patch format of retainKeys")
    for key in [key for key in result if key not in kept]:
        del result[key]


def _ordered_lists(result: JsonObject, change: JsonObject, kind: str) -> None:
    """Merge the lists whose order a $setElementOrder directive determines."""
    for key in sorted(change):
        if not key.startswith(_SET_ORDER):
            continue
        order = change.pop(key)
        name = _after(key, _SET_ORDER)
        before, after = result.get(name, []), change.get(name, [])
        if not (isinstance(order, list) and isinstance(before, list) and isinstance(after, list)):
            raise MergeError(f"{key}: the directive and what it names must be lists")
        meta = _meta(kind, name, items=True)
        _check_order(after, order, meta.merge_key)
        if name not in result and name not in change:
            continue
        if name not in change:
            merged = before
        elif name not in result:
            merged = [_without_directives(item) for item in after if not _is_directive(item)]
        else:
            merged = _merge_list(before, after, meta)
            before = _left(before, after, meta.merge_key)
        _one_type(before, after)
        result[name] = _in_order(merged, order, before, meta.merge_key)
        change.pop(name, None)


def _check_order(patch: list[Json], order: list[Json], merge_key: str) -> None:
    """Raise MergeError unless the patch's items occur in order, in the order's order."""
    if not order:
        return
    items = [item for item in patch if not (merge_key and _is_deleted(item))]
    at = position = 0
    # As in Go's loop, directives other than delete are skipped, but not at the end.
    while at < len(items) and position < len(order):
        if _is_directive(items[at]):
            at += 1
            continue
        at += _equal(_key(items[at], merge_key), _key(order[position], merge_key))
        position += 1
    if at < len(items):
        text = f"{printed(patch)}\n doesn't match {_SET_ORDER} list:\n{printed(order)}"
        raise MergeError(f"The order in patch list:\n{text}\n")


def _merge_list(original: list[Json], patch: list[Json], meta: _Meta, *, is_deletion: bool = False) -> list[Json]:
    """Merge two lists; a deletion, the value of $deleteFromPrimitiveList, is merged as well if it has mappings."""
    if not (is_deletion or meta.strategy == "merge") or not (original or patch):
        return list(patch)
    key = meta.merge_key
    if not _one_type(original, patch):
        if is_deletion:
            deleted = _Places(patch, "")
            return [item for item in original if deleted.find(item) is None]
        unique: list[Json] = []
        places = _Places((), "")
        for item in (*original, *patch):
            if places.find(item) is None:
                unique.append(item)
                places.add(item)
        return _in_order(unique, patch, original, key)
    if not key:
        raise MergeError(f"cannot merge lists without merge key for {meta.kind}")
    before, after = _special_items(original, patch, key)
    merged = list(before)
    places = _Places(before, key)
    for item in after:
        at = places.find(_key(item, key))
        if at is None:
            # Unchanged: Go removes nulls and directives from new fields, but not from new items.
            merged.append(item)
            places.add(item)
        else:
            was = merged[at]
            assert isinstance(was, dict) and isinstance(item, dict), "items of one type, mappings"
            merged[at] = found = _merge_map(was, item, meta.kind)
            if key not in found:  # it was null
                places.remove(None)
    return _in_order(merged, after, before, key)


def _special_items(original: list[Json], patch: list[Json], key: str) -> tuple[list[Json], list[Json]]:
    """Apply the directives among the items of a patch; return both lists without the items that they name."""
    plain: list[Json] = []
    replace = False
    deleted = _Places((), key)
    for item in patch:
        assert isinstance(item, dict), "items of one type, mappings"
        directive = item.get(_DIRECTIVE)
        if _DIRECTIVE not in item:
            plain.append(item)
        elif directive == "delete":
            _key(item, key)  # it must have one
            deleted.add(item)
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise MergeError("merging lists cannot yet be specified in the patch")
        else:
            raise _bad_directive(item)
    before = [item for item in original if not (_has_key(item, key) and deleted.find(_key(item, key)) is not None)]
    return (plain, []) if replace else (before, plain)


def _left(original: list[Json], patch: list[Json], key: str) -> list[Json]:
    """Return what Go makes of the original list while it merges it, which determines the order of the result.

    Deletions move the items that follow to the left, and new items replace those that are left at the end.
    """
    places, gone, at_end, last = _Places(original, key), set[int](), list[Json](), len(original) - 1
    for item in filter(_is_deleted, patch):
        while (at := places.remove(_key(item, key))) is not None:
            while last in gone:
                last -= 1
            at_end.append(original[last])
            gone.add(at)
    left = [item for at, item in enumerate(original) if at not in gone]
    size, left = len(left), [*left, *reversed(at_end)]
    for item in patch:
        if size < len(left) and not _is_directive(item) and places.find(_key(item, key)) is None:
            left[size] = item
            places.add(item)
            size += 1
    return left


def _in_order(merged: list[Json], patch: list[Json], original: list[Json], key: str) -> list[Json]:
    """Sort items as Go does: those in patch by its order, the others by the original's, then interleaved."""
    for item in (*patch, *original):
        _key(item, key)  # each must have one
    patched: list[Json] = []
    rest: list[Json] = []
    of_patch, of_original = _Places(patch, key), _Places(original, key)
    for item in merged:
        (rest if of_patch.find(_key(item, key)) is None else patched).append(item)
    patched, rest = _sorted_like(patched, of_patch, key), _sorted_like(rest, of_original, key)
    # One of the rest comes first only before a patched item that followed it in the original.
    result: list[Json] = []
    at = 0
    for item in patched:
        position = of_original.find(_key(item, key))
        while position is not None and at < len(rest):
            other = of_original.find(_key(rest[at], key))
            if other is None or other >= position:
                break
            result.append(rest[at])
            at += 1
        result.append(item)
    return result + rest[at:]


def _sorted_like(items: list[Json], order: _Places, key: str) -> list[Json]:
    """Sort items by their first index in order; those that are marked for deletion come last.

    As in Go's insertion sort, an item that order lacks is less than any other, and any other is less than it.
    """
    ranked = [(order.find(_key(item, key)), item) for item in items if not _is_deleted(item)]
    result = sorted(((rank, item) for rank, item in ranked if rank is not None), key=itemgetter(0))
    if len(result) == len(ranked):
        return [*(item for _, item in result), *filter(_is_deleted, items)]
    sorted_ones: list[tuple[int | None, Json]] = []
    for rank, item in ranked:
        at = len(sorted_ones)
        while at and ((other := sorted_ones[at - 1][0]) is None or rank is None or rank < other):
            at -= 1
        sorted_ones.insert(at, (rank, item))
    return [*(item for _, item in sorted_ones), *filter(_is_deleted, items)]


def _without_directives(value: Json) -> Json:
    """Return value without mappings that contain a $patch directive."""
    if isinstance(value, dict):
        return {key: _without_directives(item) for key, item in value.items() if not _is_directive(item)}
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_directive(item)]
    return value


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _is_directive(value: Json) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _is_deleted(item: Json) -> bool:
    return isinstance(item, dict) and item.get(_DIRECTIVE) == "delete"


def _meta(kind: str, key: str, *, items: bool = False) -> _Meta:
    """Look up a field of a struct; for a list, ``kind`` of the result is that of its items."""
    struct = kind.lstrip("*")
    if struct == RESOURCES:
        fields, own = gotypes.fields(gotypes.RESOURCE_REQUIREMENTS), {"claims": ("merge", "name")}
    elif gotypes.is_struct(struct):
        fields, own = gotypes.fields(struct), {}
    else:
        of = "map" if struct.startswith("{}") else "slice" if struct.startswith("[]") else struct.partition(":")[0]
        raise MergeError(f"merging an object in json but data type is not struct, instead is: {of}")
    if (field := fields.get(key)) is None:
        bare = struct.rpartition(".")[2]
        raise MergeError(f'unable to find api field in struct {bare} for the json field "{key}"')
    if items and not field.kind.startswith(("[]", "*")):
        raise MergeError("expected slice or array type, but got: struct")
    strategy, merge_key = own.get(key, (field.patch_strategy, field.patch_merge_key))
    below = field.kind.removeprefix("*").removeprefix("[]") if items else field.kind
    return _Meta(below, strategy.removesuffix(",retainKeys"), merge_key)


def _one_type(*lists: list[Json]) -> bool:
    """Return whether the items are mappings. Raises MergeError if they differ in type, or are lists."""
    types = {type(item) for items in lists for item in items}
    if not types:
        raise MergeError("no elements in any of the given slices")
    if len(types) > 1:
        raise MergeError(f"list element types are not identical: {printed(list(lists))}")
    (only,) = types
    if only is list:
        raise MergeError("lists of lists are not supported")
    if only is type(None):
        raise MergeError("null in a list that is merged")  # Go panics
    return only is dict


class _Places:
    """The places of the items of a list, by their keys; without a key, by the items themselves.

    Keys are compared as Go compares interfaces: 1, 1.0 and true are three values. Two collections raise MergeError,
    since Go panics.
    """

    def __init__(self, items: Iterable[Json], key: str) -> None:
        """Find items by the value of ``key``, if they have it."""
        self._key = key
        self._size = 0
        self._found: dict[tuple[type, Json], deque[int]] = {}
        self._collections: set[type] = set()
        for item in items:
            self.add(item)

    def add(self, item: Json) -> None:
        """Add an item at the end."""
        place, self._size = self._size, self._size + 1
        if not _has_key(item, self._key):
            return
        value = _key(item, self._key)
        if isinstance(value, dict | list):
            self._collections.add(type(value))
        else:
            self._found.setdefault((type(value), value), deque()).append(place)

    def find(self, wanted: Json) -> int | None:
        """Return the first place of an item with a key; None if there is none. Raises MergeError."""
        if isinstance(wanted, dict | list):
            if type(wanted) in self._collections:
                raise MergeError("a collection where strategic merge compares values")
            return None
        places = self._found.get((type(wanted), wanted))
        return places[0] if places else None

    def remove(self, wanted: Json) -> int | None:
        """Forget the first item with a key, and return its place; None if there is none. Raises MergeError."""
        at = self.find(wanted)
        if at is not None:
            self._found[type(wanted), wanted].popleft()
        return at


def _has_key(item: Json, key: str) -> bool:
    return not key or (isinstance(item, dict) and key in item)


def _key(item: Json, key: str) -> Json:
    if not key:
        return item
    if not isinstance(item, dict):
        raise MergeError(f"expected a map[string]interface {{}}, but received a {_GO_TYPES[type(item)]}")
    if key not in item:
        raise MergeError(f"map: {printed(item)} does not contain declared merge key: {key}")
    return item[key]


def _equal(left: Json, right: Json) -> bool:
    """Compare as Go compares interfaces: 1, 1.0 and true are three values. Raises MergeError for two collections."""
    if type(left) is type(right) and isinstance(left, dict | list):
        raise MergeError("a collection where strategic merge compares values")  # Go panics
    return type(left) is type(right) and left == right


def _after(key: str, prefix: str) -> str:
    """Return the name of the list that a directive refers to. Raises MergeError."""
    head, slash, name = key.partition("/")
    if not slash or head != prefix:
        kind = "setElementOrder" if prefix == _SET_ORDER else "primitive"
        raise MergeError(f"invalid patch format of {kind} list")
    return name


def _bad_directive(item: Mapping[str, Json]) -> MergeError:
    return MergeError(f"unknown patch type: {printed(item[_DIRECTIVE])} in map: {printed(dict(item))}")
