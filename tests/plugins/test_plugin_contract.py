"""What a plugin promises: its name's place in the order, a shape that is idempotent, and nothing changed in place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainc import Options, Source, compile
from trainc.pipeline import job
from trainc.pipeline.objects import Stops
from trainc.plugins import PLUGINS, enabled
from trainc.plugins.model import Model

CASES = Path(__file__).parents[1] / "oracle" / "cases"
GROUPS = (
    "coscheduling",
    "flux",
    "initializers",
    "jax",
    "mpi",
    "patches",
    "plain",
    "torch",
    "torchtune",
    "volcano",
    "xgboost",
)


def models(text: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """Yield the joined model of every job of a case that gets so far without an error."""
    found: list[Model] = []
    real = job.build

    def build(model: Model, stops: Stops):  # type: ignore[no-untyped-def]
        found.append(model)
        return real(model, stops)

    monkeypatch.setattr(job, "build", build)
    compile([Source("case.yaml", text)], Options())
    yield from found


def snapshot(model: Model) -> str:
    parts = (model.spec, model.unpatched, model.job.data, model.runtime.data, model.policies, model.trainer)
    return json.dumps(parts) + repr(model.pod_sets)


def test_plugins_stand_in_byte_order_of_upstreams_names() -> None:
    names = [plugin.name for plugin in PLUGINS]
    assert names == sorted(names, key=str.encode)
    assert set(names) == {"CoScheduling", "Flux", "JAX", "JobSet", "MPI", "PlainML", "Torch", "Volcano", "XGBoost"}


@pytest.mark.parametrize("group", GROUPS)
def test_shapes_are_idempotent_and_nothing_is_changed_in_place(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    for path in sorted((CASES / group).glob("*.yaml")):
        for model in models(path.read_text(encoding="utf-8"), monkeypatch):
            seen += 1
            before = snapshot(model)
            shaped = model
            for plugin in enabled(model):
                shaped = plugin.shape(shaped)
                assert plugin.shape(shaped) == shaped, f"{path.name}: {plugin.name}"
            after_shape = snapshot(shaped)
            for plugin in enabled(model):
                tuple(plugin.check(shaped))
                plugin.build(shaped)
            assert snapshot(shaped) == after_shape, path.name
            assert snapshot(model) == before, path.name
    assert seen, "no case of this group gets as far as its plugins"
