"""Origins that are found when asked for are those of comparing every snapshot with the one before, value by value."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from trainc.basics.differences import key_of
from trainc.basics.jsonvalues import Json, Path
from trainc.plugins.model import Origin
from trainc.plugins.origins import nearest
from trainc.provenance.blame import Step, blame

Tree = tuple[Origin, dict[Any, Any]]
KINDS = ("input", "default", "patch")

scalars = st.sampled_from((None, True, False, 0, 1, 1.0, "a", "b"))
keys = st.sampled_from(("name", "key", "a", "b"))
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)


def carried(before: Any, tree: Tree | None, after: Any, path: Path, cause: Callable[[Path], Origin]) -> Tree:
    """Compare whole values at once."""
    if tree is not None and before == after and type(before) is type(after):
        return tree
    if not isinstance(after, dict | list):
        origin = cause(path)
        if tree is not None and before is not None and not isinstance(before, dict | list):
            origin = tree[0] if origin.kind == "default" else replace(origin, earlier=tree[0])
        return origin, {}
    if isinstance(after, dict):
        old = before if isinstance(before, dict) else {}
        pairs: list[tuple[Any, Any]] = [(key, key if key in old else None) for key in after]
    else:
        pairs = aligned(before if isinstance(before, list) else [], after)
    origin = tree[0] if tree is not None and type(before) is type(after) else cause(path)
    children = {}
    for new_key, old_key in pairs:
        child = tree[1].get(old_key) if tree is not None and old_key is not None else None
        was = before[old_key] if child is not None else None
        children[new_key] = carried(was, child, after[new_key], (*path, new_key), cause)
    return origin, children


def aligned(old: list[Any], new: list[Any]) -> list[tuple[Any, Any]]:
    out = []
    for index, item in enumerate(new):
        key = key_of(item)
        same = [at for at, other in enumerate(old) if other == item]
        if key is not None:
            out.append((index, next((at for at, other in enumerate(old) if key_of(other) == key), None)))
        elif index in same:
            out.append((index, index))
        else:
            out.append((index, same[0] if same else index if len(old) == len(new) else None))
    return out


def flat(tree: Tree, path: Path = ()) -> dict[Path, Origin]:
    out = {path: tree[0]}
    for key, child in tree[1].items():
        out |= flat(child, (*path, key))
    return out


def cause_of(number: int) -> Callable[[Path, Json], Origin]:
    return lambda path, root: Origin(KINDS[number % 3], path=(number, *path), name=f"step {number}")  # type: ignore[arg-type]


def at_once(snapshots: list[Any]) -> dict[Path, Origin]:
    before, tree = None, None
    for number, snapshot in enumerate(snapshots):
        step = cause_of(number)
        tree = carried(before, tree, snapshot, (), lambda path, step=step: step(path, None))  # type: ignore[misc]
        before = snapshot
    return {} if tree is None else flat(tree)


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    """Draw snapshots, most of which are like the one before."""
    found = [draw(values)]
    for _ in range(draw(st.integers(0, 4))):
        value = copy.deepcopy(found[-1])
        inside = [value, *(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())]
        place = draw(st.sampled_from([each for each in inside if isinstance(each, dict | list)] or [None]))
        if isinstance(place, dict):
            place[draw(keys)] = draw(values)
        elif isinstance(place, list):
            place.insert(draw(st.integers(0, len(place))), draw(values))
            if draw(st.booleans()):
                place.reverse()
        else:
            value = draw(values)
        found.append(value)
    return found


@given(histories(), st.randoms(use_true_random=False))
def test_every_path_has_the_same_origin(snapshots: list[Any], chance: Any) -> None:
    expected = at_once(snapshots)
    asked = list(expected)
    chance.shuffle(asked)
    found = blame(Step(snapshot, cause_of(number)) for number, snapshot in enumerate(snapshots))
    assert {path: found[path] for path in asked} == expected
    assert list(found) == list(expected)
    assert len(found) == len(expected)
    for path in asked:
        for step in ("name", "z", 0, 7, -1):
            below = (*path, step)
            assert found.get(below) == expected.get(below)
            assert (below in found) is (below in expected)
            assert nearest(found, (*below, "x")) == nearest(expected, (*below, "x"))


def test_nothing_has_no_origin() -> None:
    assert dict(blame([])) == {}
    assert blame([]).get(()) is None
