"""What a TrainJob sets for MPI's launcher alone, although it reads as if it were for every node."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diagnostics import Diagnostic, report
from trainc.model import LAUNCHER, NODE, Model

CODE = "TC413"


def check_mpi(model: Model) -> Iterator[Diagnostic]:
    """Yield a warning for resources and an image that the workers do not get.

    Source: Trainer v2.3.0 gives spec.trainer to the job with the ancestor label, the launcher, and resourcesPerNode to
    job node only with runLauncherAsNode.
    """
    policy, node, trains = model.policy("mpi"), model.pod_set(NODE), model.trainer_set
    if policy is None or node is None or trains is None or trains.name != LAUNCHER:
        return
    if model.trainer_value("resourcesPerNode") is not None and policy.get("runLauncherAsNode") is not True:
        message = (
            "resourcesPerNode goes to the launcher only: job 'node', which computes, keeps the runtime's resources"
        )
        hint = "set runLauncherAsNode in the runtime, or the resources of job node there"
        yield report(CODE, model.job, ("spec", "trainer", "resourcesPerNode"), message, hint=hint)
    worker, image = node.container(NODE), model.trainer_value("image")
    if isinstance(image, str) and worker is not None and worker.image != image:
        message = f"the image goes to the launcher only: job 'node', which computes, keeps {worker.image}"
        hint = "use a runtime whose jobs have this image"
        yield report(CODE, model.job, ("spec", "trainer", "image"), message, hint=hint)
