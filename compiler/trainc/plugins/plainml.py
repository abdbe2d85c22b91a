"""PlainML: counts and variables of a runtime without a framework, and of XGBoost and Flux."""

from __future__ import annotations

from trainc.plugins.base import Plugin, environment
from trainc.plugins.model import Model


def shape(model: Model) -> Model:
    """Apply spec.trainer.numNodes and spec.trainer.env."""
    if model.uses("torch", "mpi", "jax"):
        return model
    return model.counted().with_trainer_env(*environment(model.trainer_list("env")))


PLUGIN = Plugin("PlainML", ("mlPolicy",), for_all_jobs=True, shape=shape)
