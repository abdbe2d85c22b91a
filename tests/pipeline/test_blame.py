"""Which step set each value, found by comparing the snapshots of an object."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.basics.jsonvalues import Json, Path
from trainc.plugins.model import Origin
from trainc.provenance.trace import Step, blame

KINDS = {"a": "input", "b": "default", "c": "patch"}


def steps(snapshots: list[Any]) -> list[Step]:
    def step(name: str, snapshot: Json) -> Step:
        return Step(snapshot, lambda path, root: Origin(KINDS[name], path=path, name=name))  # type: ignore[arg-type]

    return [step(name, snapshot) for name, snapshot in zip("abc", snapshots, strict=False)]


@pytest.mark.parametrize(
    ("snapshots", "path", "names"),
    [
        ([{"x": 1}, {"x": 1, "y": 2}], ("x",), "a"),
        ([{"x": 1}, {"x": 1, "y": 2}], ("y",), "b"),
        ([{"x": 1}, {"x": 1, "y": 2}], (), "a"),
        ([{"x": 1}, {"x": 1}, {"x": 2}], ("x",), "ca"),
        ([{"x": "1"}, {"x": 1}], ("x",), "a"),  # a default in another form
        ([{"x": {"y": 1}}, {"x": [1]}], ("x", 0), "b"),
        ([[1, 2], [0, 1, 2]], (1,), "a"),  # the same item has moved
        ([[1, 2], [1, 3], [1, 4]], (1,), "ca"),  # a list of the same length: the item has changed
        ([[{"name": "n", "v": 1}], [{"name": "m"}, {"name": "n", "v": 1}]], (1, "v"), "a"),
        ([[{"name": "n", "v": 1}], [{"name": "m"}, {"name": "n", "v": 1}]], (0, "name"), "b"),
        ([[{"name": "n"}], [{"name": "n", "v": 1}], [{"name": "n", "v": 2}]], (0, "v"), "cb"),
    ],
)
def test_origins(snapshots: list[Any], path: Path, names: str) -> None:
    origin: Origin | None = blame(steps(snapshots))[path]
    found = ""
    while origin is not None:
        found, origin = found + origin.name, origin.earlier
    assert found == names


def test_nothing_has_no_origin() -> None:
    assert blame([]) == {}
    assert set(blame(steps([{"x": [1]}]))) == {(), ("x",), ("x", 0)}
