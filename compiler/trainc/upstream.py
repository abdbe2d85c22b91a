"""Releases, API versions and names of upstream, and the known bugs of Trainer with their fixes.

For a new release of Trainer, JobSet or Kubernetes, change this file and the pinned modules of tests/oracle, from which
``make schemas`` writes data/.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

TRAINER_VERSION: Final = "v2.3.0"
JOBSET_VERSION: Final = "v0.12.0"

TRAINER_GROUP: Final = "trainer.kubeflow.org"
TRAINER_API: Final = f"{TRAINER_GROUP}/v1alpha1"
JOBSET_GROUP: Final = "jobset.x-k8s.io"
JOBSET_API: Final = f"{JOBSET_GROUP}/v1alpha2"
COSCHEDULING_API: Final = "scheduling.x-k8s.io/v1alpha1"
VOLCANO_API: Final = "scheduling.volcano.sh/v1beta1"
ARGOCD_API: Final = "argoproj.io/v1alpha1"
FLUX_API: Final = "kustomize.toolkit.fluxcd.io/v1"
RBAC_GROUP: Final = "rbac.authorization.k8s.io"

ANCESTOR_LABEL: Final = f"{TRAINER_GROUP}/trainjob-ancestor-step"
FRAMEWORK_LABEL: Final = f"{TRAINER_GROUP}/framework"
SUPPORT_LABEL: Final = f"{TRAINER_GROUP}/support"
VALIDATION_LABEL: Final = f"{TRAINER_GROUP}/webhook-validation"
JOBSET_LABEL: Final = "jobset.sigs.k8s.io/jobset-name"
COORDINATOR_LABEL: Final = "jobset.sigs.k8s.io/coordinator"
EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
MAX_TIME_LABEL: Final = "kueue.x-k8s.io/max-exec-time-seconds"
PREBUILT_LABEL: Final = "kueue.x-k8s.io/prebuilt-workload-name"
KUEUE_LABELS: Final = (QUEUE_LABEL, PRIORITY_LABEL, MAX_TIME_LABEL, PREBUILT_LABEL)
POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
VOLCANO_GROUP: Final = "scheduling.k8s.io/group-name"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"
KUEUE_ANNOTATIONS: Final = ("provreq.kueue.x-k8s.io/", "kueue.x-k8s.io/admission-gated-by")
"""What the annotations begin with that Kueue reads from a job."""
KAI_KEYS: Final = ("kai.scheduler/", "priorityClassName")
"""What the labels and annotations begin with that KAI Scheduler reads from the owner of the pods."""
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"

SERVER_FIELDS: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
)
"""Fields of metadata whose values only a cluster knows: kubectl get -o yaml prints them. It deletes an object whose
owners do not exist."""

# Annotations that trainc itself reads.
TRAINC: Final = "trainc.dev/"
RUN: Final = f"{TRAINC}run"
RUN_PATH: Final = ("metadata", "annotations", RUN)
"""The path of the run number in a TrainJob."""
DESCRIPTION: Final = f"{TRAINC}description"
TRANSPORT: Final = f"{TRAINC}transport"

# Values of the ancestor label, and names of replicated jobs and containers.
TRAINER: Final = "trainer"
DATASET_INITIALIZER: Final = "dataset-initializer"
MODEL_INITIALIZER: Final = "model-initializer"
NODE: Final = "node"
LAUNCHER: Final = "launcher"

TRAINER_PORT: Final = 29500
STORAGE_URI: Final = "STORAGE_URI"
"""The variable of an initializer with the address of the dataset or model."""
JOB_COMPLETION_INDEX: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


class Fix(Struct, frozen=True):
    """A known bug of Trainer v2.3.0 that trainc reproduces, with a warning, unless the fix is enabled.

    ``code`` is that of the warning. ``recommended``: whether ``fixes: recommended`` includes the fix.
    """

    code: str
    recommended: bool = True


FIXES: dict[str, Fix] = {
    "openmpi5-variables": Fix("TC451"),
    "launcher-counts-as-node": Fix("TC452"),
    "unnamed-ports": Fix("TC453"),
    "trainer-omitted": Fix("TC454"),
    "jax-reserved-env": Fix("TC455"),
    "env-to-workers": Fix("TC456", recommended=False),
    "ssh-key-mode": Fix("TC457"),
    "ssh-known-hosts": Fix("TC458"),
    "gang-min-member": Fix("TC459"),
    "master-address": Fix("TC460"),
    "volume-source-replaced": Fix("TC461"),
    "cache-dataset-mount": Fix("TC462"),
    "mpi-num-nodes": Fix("TC463"),
    "torchtune-dataset-args": Fix("TC464"),
    "flux-runtime-args": Fix("TC465"),
}
"""By name; the names are part of the contract. data/codes.md and docs/fixes.md describe each of them."""
