"""PyTorchJob of Training Operator (pkg/controller.v1/pytorch at v1.9)."""

from __future__ import annotations

from trainc.migrate.documents import Converted, Old
from trainc.migrate.jobs import new_job, new_runtime, replicas_of
from trainc.migrate.pods import trained
from trainc.migrate.trees import mapping

_FIELD = "pytorchReplicaSpecs"
_VARIABLES = ("PYTHONUNBUFFERED", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")


def convert(old: Old) -> Converted | None:
    """Return a TrainJob with a runtime of mlPolicy.torch."""
    sets = replicas_of(old, _FIELD, "pytorch", "OnFailure", "Master", "Worker")
    job = new_job(old)
    trainer = job["spec"]["trainer"]
    trainer["numNodes"] = sum(one.count for one in sets.values())
    first = next(iter(sets.values()))
    for one in sets.values():
        old.moved(trainer, "numNodes", *one.path, "replicas")
        old.read(*one.path, "restartPolicy")
        if one is not first and old.get(*one.template) == old.get(*first.template):
            old.done(*one.template)
    node = trained(old, job, first, _VARIABLES)
    return Converted(job, new_runtime("torch", "torch", mapping(numNodes=1, torch=mapping()), node))
