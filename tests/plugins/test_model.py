"""The names of objects, and the origins of their fields."""

from __future__ import annotations

import pytest

from trainc.basics.jsonvalues import Path
from trainc.plugins.model import Object, Origin
from trainc.plugins.origins import nearest

DATA = {"kind": "JobSet", "metadata": {"name": "job-7-abc"}}


@pytest.mark.parametrize(
    ("made", "plain"),
    [
        (Object(DATA), "job-7-abc"),  # type: ignore[arg-type]
        (Object(DATA, stem="job-7"), "job-7"),  # type: ignore[arg-type]
        (Object(DATA, stem="job-7", title="job"), "job"),  # type: ignore[arg-type]
        (Object(DATA, title="job"), "job"),  # type: ignore[arg-type]
    ],
)
def test_the_plain_name(made: Object, plain: str) -> None:
    assert made.plain == plain


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (("spec", "a", 0), "item"),
        (("spec", "a", 0, "x"), "item"),
        (("spec", "b"), "spec"),
        (("c",), "root"),
        ((), "root"),
    ],
)
def test_the_nearest_origin(path: Path, name: str) -> None:
    names: dict[Path, str] = {(): "root", ("spec",): "spec", ("spec", "a", 0): "item"}
    found = nearest({at: Origin("plugin", name=each) for at, each in names.items()}, path)
    assert found is not None
    assert found.name == name
    assert nearest({}, path) is None


def test_origins_are_equal_by_value_but_for_the_earlier_one() -> None:
    one = Origin("plugin", name="mpi", path=("spec",))
    for other in (
        Origin("fix", name="mpi", path=("spec",)),
        Origin("plugin", path=("spec",)),
        Origin("plugin", name="mpi"),
    ):
        assert one != other
        assert not one == other  # noqa: SIM201 - that is another function
    same = Origin("plugin", name="mpi", path=("spec",), earlier=one)
    assert one == same
    assert not one != same  # noqa: SIM202
