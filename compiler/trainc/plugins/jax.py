"""JAX: the coordinator's variables for jax.distributed."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Path
from trainc.findings import Finding, report
from trainc.plugins.base import Plugin, env_names, from_field, known_bug, literal
from trainc.plugins.model import Model
from trainc.upstream import JOB_COMPLETION_INDEX, TRAINER_PORT

VARIABLES = ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS")


def check(model: Model) -> Iterator[Finding]:
    """Warn about variables that override Trainer's (J1); with the fix, refuse them."""
    for index, name in enumerate(env_names(model)):
        path: Path = ("spec", "trainer", "env", index, "name")
        if name in VARIABLES and model.fixed("jax-reserved-env"):
            yield report("TC401", model.job, path, f"{name} is reserved for the JAX runtime", found=name)
        elif name in VARIABLES:
            yield known_bug("jax-reserved-env", model.job, path, f"{name} overrides the value that Trainer sets")


def shape(model: Model) -> Model:
    """Add the three variables and the port to the trainer's container."""
    model = model.counted()
    return model.with_trainer_env(
        literal("JAX_NUM_PROCESSES", str(model.trainer_count)),
        from_field("JAX_PROCESS_ID", JOB_COMPLETION_INDEX),
        literal("JAX_COORDINATOR_ADDRESS", f"{model.master}:{TRAINER_PORT}"),
        port=TRAINER_PORT,
    )


PLUGIN = Plugin("JAX", ("mlPolicy", "jax"), check=check, shape=shape)
