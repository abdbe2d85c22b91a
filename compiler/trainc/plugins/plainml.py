"""PlainML: counts and variables of a runtime without a framework, and of XGBoost and Flux."""

from __future__ import annotations

from trainc.plugins.base import Plugin, environment
from trainc.plugins.model import Model


def shape(model: Model) -> Model:
    """Apply spec.trainer.numNodes and spec.trainer.env."""
    if any(model.policy(kind) is not None for kind in ("torch", "mpi", "jax")):
        return model
    model = model.counted()
    if (container := model.trainer_container) is not None:
        model = model.with_trainer_container(container.with_env(*environment(model.trainer_list("env"))))
    return model


PLUGIN = Plugin("PlainML", shape=shape)
