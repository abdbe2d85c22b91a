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
COORDINATOR_LABEL: Final = "jobset.sigs.k8s.io/coordinator"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
KUEUE_LABELS: Final = (QUEUE_LABEL, PRIORITY_LABEL, "kueue.x-k8s.io/max-exec-time-seconds")
POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
VOLCANO_GROUP: Final = "scheduling.k8s.io/group-name"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"

# Annotations that trainc itself reads.
TRAINC: Final = "trainc.dev/"
RUN: Final = f"{TRAINC}run"
TRANSPORT: Final = f"{TRAINC}transport"

# Values of the ancestor label, and names of replicated jobs and containers.
TRAINER: Final = "trainer"
DATASET_INITIALIZER: Final = "dataset-initializer"
MODEL_INITIALIZER: Final = "model-initializer"
NODE: Final = "node"
LAUNCHER: Final = "launcher"

TRAINER_PORT: Final = 29500
JOB_COMPLETION_INDEX: Final = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


class Fix(Struct, frozen=True):
    """A known bug of Trainer v2.3.0 that trainc reproduces unless the fix is enabled.

    ``code``: the code of the warning. ``issue``: upstream's issue. ``wrong``: what happens without the fix. ``right``:
    what happens with it. ``recommended``: whether fixes: recommended includes it, and ``why``. ``limits``: its
    requirements, and cases in which it changes nothing.
    """

    code: str
    title: str
    issue: str
    wrong: str
    right: str
    why: str
    limits: str = ""
    recommended: bool = True


FIXES: dict[str, Fix] = {
    "openmpi5-variables": Fix(
        "TC451",
        "Open MPI 5 ignores the variables",
        "kubeflow/trainer#4028",
        "Trainer sets only the variables of Open MPI 4 (OMPI_MCA_orte_*). Open MPI 5 and newer ignore them: all ranks"
        " run in the launcher's pod, and the job reports success.",
        "The variables of PRRTE (PRTE_MCA_*) are set as well, and spec.trainer.env must not set them.",
        "Open MPI 4 ignores the new variables. Both versions were tested with both sets.",
        "Fully qualified host names are disabled, as in upstream's pull request, because PRRTE would otherwise run"
        " ssh to its own host. Tree spawning is disabled too: beyond 64 hosts, PRRTE would start daemons from other"
        " daemons, with truncated ssh arguments.",
    ),
    "launcher-counts-as-node": Fix(
        "TC452",
        "one node becomes two",
        "kubeflow/trainer#3954",
        "With runLauncherAsNode, numNodes 1 creates a launcher and one worker: two hosts, the same as numNodes 2.",
        "numNodes includes the launcher, so 1 creates no worker.",
        "A job gets the number of nodes that it requests. A job whose mpirun has a fixed -n for two hosts must"
        " request two nodes.",
        "Job node remains in the JobSet without pods. It completes at once, so a launcher that waits for it starts.",
    ),
    "unnamed-ports": Fix(
        "TC453",
        "unnamed ports replace each other",
        "kubeflow/trainer pkg/apply (no issue known)",
        "Two ports without a name count as the same port. The trainer's port 29500 replaces an unnamed port of"
        " container node, and two unnamed ports in any container become duplicates that JobSet refuses.",
        "Ports are distinguished by number and protocol. If the runtime names port 29500, it keeps its name.",
        "It only restores ports that would be lost.",
    ),
    "trainer-omitted": Fix(
        "TC454",
        "no variables without spec.trainer",
        "kubeflow/trainer#4076",
        "A TrainJob without spec.trainer gets neither the variables of torch, JAX and XGBoost nor their port.",
        "A missing spec.trainer has the same effect as an empty one.",
        "The runtime does not work without the variables. If the runtime itself sets one of them, that value is"
        " replaced, as it is with an empty spec.trainer.",
    ),
    "jax-reserved-env": Fix(
        "TC455",
        "JAX variables can be overridden",
        "kubeflow/trainer#3669",
        "spec.trainer.env may set JAX_NUM_PROCESSES, JAX_PROCESS_ID and JAX_COORDINATOR_ADDRESS, and overrides"
        " Trainer's values.",
        "TrainJobs that set them are refused, as for torch and XGBoost.",
        "A process ID that is the same in every pod cannot work, and trainc reports the error before anything runs.",
    ),
    "env-to-workers": Fix(
        "TC456",
        "variables do not reach MPI workers",
        "kubeflow/trainer#3427",
        "spec.trainer.env applies to the launcher's container only. ssh and Open MPI's mpirun do not forward the"
        " variables to the ranks.",
        "The launcher's mpirun forwards them (OMPI_MCA_mca_base_env_list).",
        "mpirun of Open MPI 4 fails if both this list and its option -x are set. trainc omits the list if the"
        " launcher's command line contains -x, but a script in the image may also use it.",
        "MPICH and Intel MPI forward all variables by themselves. The list omits variables that the command line"
        " forwards, and values that contain both a semicolon and an equals sign. If the runtime or the TrainJob sets"
        " the list, the fix changes nothing. A value from a Secret or ConfigMap is cut off at a semicolon.",
        recommended=False,
    ),
    "ssh-key-mode": Fix(
        "TC457",
        "private key readable by the group",
        "kubeflow/trainer#3262",
        "id_rsa is mounted with mode 0640. ssh rejects it if the container runs as root without fsGroup.",
        "In that case, the mode is 0600.",
        "It changes only keys that ssh rejects.",
        "For users other than root, 0640 is correct: root owns the key, and only its group makes it readable. If"
        " fsGroup is set, the kubelet makes the key readable for that group regardless of the mode, so ssh rejects it"
        " for root either way.",
    ),
    "ssh-known-hosts": Fix(
        "TC458",
        "no known_hosts",
        "kubeflow/trainer (no issue known)",
        "The Secret is mounted without known_hosts, so images have to disable host key checking.",
        "known_hosts is mounted, and host key checking stays enabled if sshd uses the key of the Secret.",
        "The keys created with sshKeys: job or external-secrets include known_hosts.",
        "The runtime must contain sshd's command line with -h .../id_rsa (or -o HostKey). trainc cannot see the"
        " sshd_config of an image, so without that option the fix changes nothing. A Secret from another source needs"
        " the key known_hosts with the lines `* <public key>` and `[*]:* <public key>`; without it, no pod starts.",
    ),
    "gang-min-member": Fix(
        "TC459",
        "the gang counts pods that cannot run yet",
        "kubeflow/trainer (no issue known)",
        "minMember counts the pods of all replicated jobs, including initializers, although the trainer's pods start"
        " only when the initializers are complete: the gang is never satisfied. The same applies to a launcher that"
        " waits for its nodes. Replicas are not counted.",
        "minMember and minResources count the pods that start together with the trainer. Pods that run earlier are"
        " not part of the group, and pods that start later join it.",
        "Gangs that work today do not change, except that replicas now have to fit as well.",
    ),
    "master-address": Fix(
        "TC460",
        "wrong address of rank 0",
        "kubeflow/trainer (no issue known)",
        "The address of rank 0 is composed of the job name node and the TrainJob's name, even if the trainer's job"
        " has another name or network.subdomain is set. In these cases, no pod has that address.",
        "The address is composed of the name of the trainer's job and the subdomain.",
        "It changes only addresses that no pod has.",
    ),
    "volume-source-replaced": Fix(
        "TC461",
        "a patched volume keeps both sources",
        "kubeflow/trainer (no issue known)",
        "If a runtime patch gives a volume another source, the old one remains. JobSet accepts the result, but the"
        " API server refuses its pods.",
        "The source in the patch replaces that of the runtime.",
        "It changes only volumes with which no pod can be created.",
    ),
    "cache-dataset-mount": Fix(
        "TC462",
        "the cache runtime refuses datasets",
        "kubeflow/trainer#3714",
        "Trainer requires a volume mount called initializer for TrainJobs with initializer.dataset."
        " torch-distributed-with-cache has none, so every such TrainJob is refused.",
        "The TrainJob is accepted if the dataset goes to the cache.",
        "It changes only jobs that would be refused.",
        "A dataset goes to the cache if its URI starts with cache://.",
    ),
    "mpi-num-nodes": Fix(
        "TC463",
        "mlPolicy.numNodes applies to the launcher",
        "kubeflow/trainer (no issue known)",
        "With MPI, mlPolicy.numNodes sets the number of launchers, and job node keeps its own parallelism.",
        "mlPolicy.numNodes is the default of spec.trainer.numNodes.",
        "Each of several launchers would run the whole job, on the same nodes.",
        "If mlPolicy.numNodes is 1, which is also the API server's default, job node keeps its own parallelism.",
    ),
    "torchtune-dataset-args": Fix(
        "TC464",
        "torchtune does not get the dataset",
        "kubeflow/sdk#768",
        "Trainer downloads the dataset, but drops the arguments of the runtime's command, so torchtune gets no"
        " argument for it and trains on its default dataset.",
        "The runtime's arguments for the dataset are added, with the path of the downloaded dataset.",
        "Training on another dataset than the requested one is useless.",
        "If the TrainJob has arguments that begin with dataset, only those are used. A dataset in the cache"
        " (cache://) has no path, so nothing is added.",
    ),
    "flux-runtime-args": Fix(
        "TC465",
        "the runtime's args are passed to Flux",
        "kubeflow/trainer (no issue known)",
        "Flux' entrypoint replaces the container's command, but the runtime's args remain and are passed to the"
        " entrypoint.",
        "If the TrainJob sets no args, the runtime's args become part of the wrapped command. None remain in args.",
        "The entrypoint appends its args to the command line, so the program gets the same arguments, or only those of"
        " the TrainJob if it has args.",
    ),
}
"""By name; the names are part of the contract. compiler/tools/fixes.py writes docs/fixes.md from this table."""
