"""JAX: the coordinator's variables for jax.distributed."""

from __future__ import annotations

from trainc.basics.jsonvalues import Path
from trainc.findings import report
from trainc.plugins.base import Plugin, env_names, from_field, known_bug, literal
from trainc.plugins.model import Findings, Model
from trainc.upstream import JOB_COMPLETION_INDEX, TRAINER_PORT

VARIABLES = ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS")


def check(model: Model) -> Findings:
    """Warn about variables that override Trainer's (J1); with the fix, refuse them."""
    if model.policy("jax") is None:
        return ()
    found = ((index, name) for index, name in enumerate(env_names(model)) if name in VARIABLES)
    return tuple(finding for index, name in found for finding in _reserved(model, index, name))


def shape(model: Model) -> Model:
    """Add the three variables and the port to the trainer's container."""
    if model.policy("jax") is None:
        return model
    model = model.counted()
    trainer_set, container = model.trainer_set, model.trainer_container
    if trainer_set is None or container is None:
        return model
    return model.with_trainer_container(
        container.with_env(
            literal("JAX_NUM_PROCESSES", str(trainer_set.count)),
            from_field("JAX_PROCESS_ID", JOB_COMPLETION_INDEX),
            literal("JAX_COORDINATOR_ADDRESS", f"{model.master}:{TRAINER_PORT}"),
        ).with_port(TRAINER_PORT, by_number=model.fixed("unnamed-ports"))
    )


def _reserved(model: Model, index: int, name: str) -> Findings:
    path: Path = ("spec", "trainer", "env", index, "name")
    if model.fixed("jax-reserved-env"):
        return (report("TC401", model.job, path, f"{name} is reserved for the JAX runtime", found=name),)
    message = f"{name} overrides the value that Trainer sets"
    return known_bug("jax-reserved-env", model.job, path, message)


PLUGIN = Plugin("JAX", check, shape)
