"""The table of input kinds: the role of each, and whether it is namespaced.

Objects of other kinds are validated if kinds.py has their schema, and represent objects in the cluster.
"""

from __future__ import annotations

from typing import Final

import msgspec

from trainc.upstream import RBAC_GROUP, TRAINER_GROUP

ADMISSION: Final = "admissionregistration.k8s.io"
TRAINING_OPERATOR: Final = "kubeflow.org"
VOLCANO_GROUP: Final = "batch.volcano.sh"

JOB: Final = "compiled into a JobSet and the objects that it needs"
RUNTIME: Final = "used by the jobs that name it"
COMPANION: Final = "written with the jobs of the runtime in whose file it is"
POLICY: Final = "evaluated for every generated object"
DEFINITION: Final = "defines a kind"
CLUSTER: Final = "represents an object in the cluster"
REPLACED: Final = "not compiled: TrainJob has replaced it"

_NOT_IMPORTED = ("PaddleJob", "MXJob", "MXNetJob")
_NO_RUNTIME = "a TrainJob with a TrainingRuntime of your own; Trainer ships none for"


class InputKind(msgspec.Struct, frozen=True):
    """A kind of input. ``role`` is one of the constants above.

    ``go_type``: the type into which Trainer's webhook decodes it. ``stage``: the stage at which the API server refuses
    an object that violates its schema. ``instead``: the replacement of a kind that TrainJob has replaced; ``imports``:
    whether trainc import makes it.
    """

    group: str
    kind: str
    role: str
    namespaced: bool = True
    go_type: str = ""
    stage: str = ""
    instead: str = ""
    imports: bool = False


INPUTS: Final = (
    InputKind(TRAINER_GROUP, "TrainJob", JOB, True, "v1alpha1.TrainJob", "crd"),
    InputKind(TRAINER_GROUP, "TrainingRuntime", RUNTIME, True, "v1alpha1.TrainingRuntime", "runtime-crd"),
    InputKind(
        TRAINER_GROUP, "ClusterTrainingRuntime", RUNTIME, False, "v1alpha1.ClusterTrainingRuntime", "runtime-crd"
    ),
    InputKind("", "ServiceAccount", COMPANION),
    InputKind(RBAC_GROUP, "Role", COMPANION),
    InputKind(RBAC_GROUP, "RoleBinding", COMPANION),
    InputKind(RBAC_GROUP, "ClusterRole", COMPANION, False),
    InputKind(RBAC_GROUP, "ClusterRoleBinding", COMPANION, False),
    InputKind("", "ConfigMap", COMPANION),
    InputKind("", "PersistentVolumeClaim", COMPANION),
    InputKind(ADMISSION, "ValidatingAdmissionPolicy", POLICY, False),
    InputKind(ADMISSION, "ValidatingAdmissionPolicyBinding", POLICY, False),
    InputKind("apiextensions.k8s.io", "CustomResourceDefinition", DEFINITION, False),
    InputKind("scheduling.k8s.io", "PriorityClass", CLUSTER, False),
    InputKind("", "Namespace", CLUSTER, False),
    InputKind("", "Node", CLUSTER, False),
    *(
        InputKind(group, kind, REPLACED, instead=instead, imports=kind not in _NOT_IMPORTED)
        for group, kind, instead in (
            (TRAINING_OPERATOR, "PyTorchJob", "a TrainJob with runtime torch-distributed"),
            (
                TRAINING_OPERATOR,
                "MPIJob",
                "a TrainJob with a runtime that has mlPolicy.mpi, such as deepspeed-distributed",
            ),
            (TRAINING_OPERATOR, "JAXJob", "a TrainJob with runtime jax-distributed"),
            (TRAINING_OPERATOR, "XGBoostJob", "a TrainJob with runtime xgboost-distributed"),
            (TRAINING_OPERATOR, "TFJob", f"{_NO_RUNTIME} TensorFlow"),
            (TRAINING_OPERATOR, "PaddleJob", f"{_NO_RUNTIME} Paddle"),
            (TRAINING_OPERATOR, "MXJob", f"{_NO_RUNTIME} MXNet"),
            (TRAINING_OPERATOR, "MXNetJob", f"{_NO_RUNTIME} MXNet"),
            (VOLCANO_GROUP, "Job", "a TrainJob with a runtime that has podGroupPolicy.volcano"),
        )
    ),
)


def kinds_of(*roles: str) -> tuple[str, ...]:
    """Return the names of the kinds of some roles."""
    return tuple(row.kind for row in INPUTS if row.role in roles)


def go_types() -> dict[str, str]:
    """Return the Go types of the kinds that Trainer's webhooks read, by kind."""
    return {row.kind: row.go_type for row in INPUTS if row.go_type}
