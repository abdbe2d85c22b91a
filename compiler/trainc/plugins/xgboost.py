"""XGBoost: the variables of its tracker."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.kube.fielderror import forbidden
from trainc.kube.gojson import int32
from trainc.plugins.base import Plugin, env_names, from_field, gpu_count, literal, node_resources, refused
from trainc.plugins.model import Model
from trainc.upstream import JOB_COMPLETION_INDEX, TRAINER_PORT

VARIABLES = ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER")


def check(model: Model) -> Iterator[Finding]:
    """Refuse reserved variables, one finding each (J3)."""
    for index, name in enumerate(env_names(model)):
        if name in VARIABLES:
            detail = f"{name} is reserved for the XGBoost runtime"
            text = forbidden(f"spec.trainer.env[{index}]", detail)
            yield refused("TC401", model.job, ("spec", "trainer", "env", index, "name"), text, detail, found=name)


def shape(model: Model) -> Model:
    """Add the tracker's variables and port to the trainer's container."""
    model = model.counted()
    workers = max(gpu_count(node_resources(model)), 1)
    return model.with_trainer_env(
        literal("DMLC_TRACKER_URI", model.master),
        literal("DMLC_TRACKER_PORT", str(TRAINER_PORT)),
        from_field("DMLC_TASK_ID", JOB_COMPLETION_INDEX),
        literal("DMLC_NUM_WORKER", str(int32(model.trainer_count * int32(workers)))),
        port=TRAINER_PORT,
    )


PLUGIN = Plugin("XGBoost", ("mlPolicy", "xgboost"), check=check, shape=shape)
