"""XGBoost: the variables of its tracker."""

from __future__ import annotations

from trainc.kube.fielderror import forbidden
from trainc.kube.gojson import int32
from trainc.plugins.base import Plugin, env_names, from_field, gpu_count, literal, node_resources, refused
from trainc.plugins.model import Findings, Model
from trainc.upstream import JOB_COMPLETION_INDEX, TRAINER_PORT

VARIABLES = ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER")


def check(model: Model) -> Findings:
    """Refuse reserved variables, one finding each (J3)."""
    if model.policy("xgboost") is None:
        return ()
    return tuple(
        refused(
            "TC401",
            model.job,
            ("spec", "trainer", "env", index, "name"),
            forbidden(f"spec.trainer.env[{index}]", f"{name} is reserved for the XGBoost runtime"),
            f"{name} is reserved for the XGBoost runtime",
            found=name,
        )
        for index, name in enumerate(env_names(model))
        if name in VARIABLES
    )


def shape(model: Model) -> Model:
    """Add the tracker's variables and port to the trainer's container."""
    if model.policy("xgboost") is None:
        return model
    model = model.counted()
    trainer_set, container = model.trainer_set, model.trainer_container
    if trainer_set is None or container is None:
        return model
    workers = max(gpu_count(node_resources(model)), 0) or 1
    total = int32(trainer_set.count * int32(workers))
    return model.with_trainer_container(
        container.with_env(
            literal("DMLC_TRACKER_URI", model.master),
            literal("DMLC_TRACKER_PORT", str(TRAINER_PORT)),
            from_field("DMLC_TASK_ID", JOB_COMPLETION_INDEX),
            literal("DMLC_NUM_WORKER", str(total)),
        ).with_port(TRAINER_PORT, by_number=model.fixed("unnamed-ports"))
    )


PLUGIN = Plugin("XGBoost", check, shape)
