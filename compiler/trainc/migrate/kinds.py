"""The table of kinds that can be imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from trainc.migrate import jax, mpi, pytorch, tensorflow, trainer, volcano, xgboost
from trainc.migrate.documents import Converted, Old
from trainc.schema.inputs import TRAINING_OPERATOR, VOLCANO_GROUP
from trainc.upstream import TRAINER_GROUP

Converter = Callable[[Old], Converted | None]

KINDS: Final[Mapping[tuple[str, str, str], Converter]] = {
    (TRAINING_OPERATOR, "v2beta1", "MPIJob"): mpi.convert,
    (TRAINING_OPERATOR, "v1", "MPIJob"): mpi.convert_v1,
    (TRAINING_OPERATOR, "v1alpha2", "MPIJob"): mpi.convert_v1,
    (TRAINING_OPERATOR, "v1", "PyTorchJob"): pytorch.convert,
    (VOLCANO_GROUP, "v1alpha1", "Job"): volcano.convert,
    (TRAINER_GROUP, "v1alpha1", "TrainJob"): trainer.convert_job,
    (TRAINER_GROUP, "v1alpha1", "TrainingRuntime"): trainer.convert_runtime,
    (TRAINER_GROUP, "v1alpha1", "ClusterTrainingRuntime"): trainer.convert_runtime,
    (TRAINING_OPERATOR, "v1", "TFJob"): tensorflow.convert,
    (TRAINING_OPERATOR, "v1", "XGBoostJob"): xgboost.convert,
    (TRAINING_OPERATOR, "v1", "JAXJob"): jax.convert,
}
"""The converters by group, version and kind."""
