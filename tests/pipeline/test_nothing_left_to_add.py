"""What trainc makes is what a cluster holds: a server has nothing to add, and a second apply changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainc import Options, Source, compile
from trainc.basics.jsonvalues import Json
from trainc.kube.quantity import from_json
from trainc.plugins.model import Object

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "oracle" / "cases"


def objects_of(group: str) -> list[Object]:
    found: list[Object] = []
    for path in sorted((CASES / group).glob("*.yaml")):
        for faithful in (True, False):
            found += compile(
                [Source("case.yaml", path.read_text(encoding="utf-8"))], Options(faithful=faithful)
            ).objects
    return found


def nulls_and_noise(value: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if value is None or path[-1:] == ("creationTimestamp",):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, child in items for found in nulls_and_noise(child, (*path, key))]


@pytest.mark.parametrize("group", ["coscheduling", "flux", "mpi", "torch", "volcano"])
def test_what_is_never_emitted(group: str) -> None:
    made = objects_of(group)
    assert made
    for item in made:
        assert item.kind != "Secret" or item.data.keys() == {"apiVersion", "kind", "metadata", "type"}
        assert "status" not in item.data
        assert nulls_and_noise(item.data) == []
        metadata = item.data["metadata"]
        assert isinstance(metadata, dict)
        assert "ownerReferences" not in metadata
        assert all(metadata.get(key, True) for key in ("labels", "annotations")), "an empty map"


def test_a_gangs_resources_are_canonical() -> None:
    seen = 0
    for item in objects_of("coscheduling") + objects_of("volcano"):
        if item.kind == "PodGroup":
            resources = item.data["spec"]["minResources"]  # type: ignore[index,call-overload]
            for quantity in resources.values():  # type: ignore[union-attr]
                seen += 1
                assert from_json(quantity).canonical() == quantity  # type: ignore[arg-type]
    assert seen
