"""What trainc takes from upstream: releases, API versions, names, and the known bugs of Trainer with their fixes.

A new release of Trainer, JobSet or Kubernetes begins here and in the pinned modules of tests/oracle, from which
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
    """A known bug of Trainer that trainc reproduces unless the fix is switched on.

    ``code`` is the warning's, ``issue`` upstream's, ``wrong`` what happens, ``right`` what the fix does instead.
    ``recommended``: whether ``fixes: recommended`` switches it on, for the reason ``why``. ``limits``: what it needs,
    or where it changes nothing.
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
        "Only Open MPI 4's variables (OMPI_MCA_orte_*) are set. Open MPI 5 and newer ignore them: all ranks run in the"
        " launcher's pod and the job reports success.",
        "PRRTE's variables (PRTE_MCA_*) are set as well, and spec.trainer.env may not set them.",
        "Open MPI 4 ignores the new variables; both were run with both sets.",
        "Whole host names are off, as upstream's pull request has it: with them PRRTE runs ssh to its own host. So is"
        " starting daemons from daemons, which PRRTE does beyond 64 hosts, with the arguments of ssh cut off.",
    ),
    "launcher-counts-as-node": Fix(
        "TC452",
        "one node becomes two",
        "kubeflow/trainer#3954",
        "With runLauncherAsNode, numNodes 1 makes a launcher and one worker: two hosts, as numNodes 2 does.",
        "numNodes counts the launcher: 1 makes no worker.",
        "A job gets the nodes that it asks for; a mpirun with a fixed -n for two hosts has to ask for two.",
        "Job node stays in the JobSet, with no pods: it is complete at once, and a launcher that waits for it starts.",
    ),
    "unnamed-ports": Fix(
        "TC453",
        "unnamed ports replace each other",
        "kubeflow/trainer pkg/apply (no issue known)",
        "Two ports without a name count as the same port. The trainer's port 29500 replaces an unnamed one of container"
        " node, and two unnamed ports in any container become duplicates that JobSet refuses.",
        "Ports are told apart by number and protocol; a port 29500 that the runtime names keeps its name.",
        "A port that was lost is there, and nothing else changes.",
    ),
    "trainer-omitted": Fix(
        "TC454",
        "no variables without spec.trainer",
        "kubeflow/trainer#4076",
        "A TrainJob without spec.trainer gets none of the variables of torch, JAX and XGBoost, and no port.",
        "An absent spec.trainer is the same as an empty one.",
        "The variables are what the runtime is for; a value that the runtime itself gives one is replaced, as it is"
        " with an empty spec.trainer.",
    ),
    "jax-reserved-env": Fix(
        "TC455",
        "JAX variables can be replaced",
        "kubeflow/trainer#3669",
        "spec.trainer.env may set JAX_NUM_PROCESSES, JAX_PROCESS_ID and JAX_COORDINATOR_ADDRESS; that value wins.",
        "They are refused, as torch's and XGBoost's are.",
        "One value for every pod is no process number, and a refusal is seen before anything runs.",
    ),
    "env-to-workers": Fix(
        "TC456",
        "variables do not reach MPI workers",
        "kubeflow/trainer#3427",
        "spec.trainer.env reaches the launcher's container; ssh and Open MPI's mpirun do not forward it to the ranks.",
        "The launcher's mpirun is told to forward them (OMPI_MCA_mca_base_env_list).",
        "mpirun of Open MPI 4 ends with an error where it finds both this list and its option -x. Where the launcher's"
        " command line has -x trainc leaves the list out, but a script in the image may have it, too.",
        "MPICH and Intel MPI hand over all variables by themselves. Left out are variables that the command line"
        " forwards, all of them where runtime or TrainJob set the list, and values that have both a semicolon and an"
        " equals sign. A semicolon in a value that comes from a Secret or a ConfigMap ends it.",
        recommended=False,
    ),
    "ssh-key-mode": Fix(
        "TC457",
        "private key readable by the group",
        "kubeflow/trainer#3262",
        "id_rsa is mounted with mode 0640. ssh refuses it where the container runs as root without fsGroup.",
        "The mode is 0600 there.",
        "It changes only what ssh refuses.",
        "For another user than root 0640 is right: the key is root's, and only its group makes it readable. Where"
        " fsGroup is set the kubelet makes it readable for that group, whatever the mode says: root's ssh refuses the"
        " key either way.",
    ),
    "ssh-known-hosts": Fix(
        "TC458",
        "host keys are not known",
        "kubeflow/trainer (no issue known)",
        "The Secret is mounted without known_hosts, so that images must switch off the check of host keys.",
        "known_hosts is mounted, and the check stays on where sshd serves the Secret's own key.",
        "The keys that trainc has made, by sshKeys: job or external-secrets, come with known_hosts.",
        "It needs sshd's command line in the runtime, with -h .../id_rsa (or -o HostKey): what an image's sshd_config"
        " says cannot be seen, and nothing changes there. A Secret that somebody else made needs the key known_hosts,"
        " with the lines `* <public key>` and `[*]:* <public key>`: without it no pod starts.",
    ),
    "gang-min-member": Fix(
        "TC459",
        "the gang counts pods that cannot run yet",
        "kubeflow/trainer (no issue known)",
        "minMember sums the pods of all replicated jobs, initializers included, though the trainer's pods start only"
        " when the initializers are complete: the gang is never satisfied. The same goes for a launcher that waits for"
        " its nodes; replicas are not counted.",
        "minMember and minResources count the pods that start together with the trainer; those that run before it stay"
        " out of the group, and those that start later join it.",
        "A gang that is satisfied today stays as it is, but for replicas, which then have to fit as well.",
    ),
    "master-address": Fix(
        "TC460",
        "the master's address is fixed",
        "kubeflow/trainer (no issue known)",
        "The address of rank 0 is made of job name node and the TrainJob's name, even if the trainer's job is called"
        " otherwise or network.subdomain is set: it then points to nothing.",
        "The address is made of the trainer's own job and the subdomain.",
        "It changes only addresses that no pod has.",
    ),
    "volume-source-replaced": Fix(
        "TC461",
        "a patched volume keeps both sources",
        "kubeflow/trainer (no issue known)",
        "A runtime patch that gives a volume another source leaves the old one in place. JobSet accepts that; no Pod"
        " can be made of it.",
        "The patch's source replaces the runtime's.",
        "It changes only volumes of which no Pod can be made.",
    ),
    "cache-dataset-mount": Fix(
        "TC462",
        "the cache runtime refuses data sets",
        "kubeflow/trainer#3714",
        "torch-distributed-with-cache has no volume mount called initializer, which a TrainJob with initializer.dataset"
        " is checked for: every such TrainJob is refused.",
        "The check passes where the data set goes to the cache.",
        "It changes only what is refused.",
        "The data set goes to the cache where its URI begins with cache://.",
    ),
    "mpi-num-nodes": Fix(
        "TC463",
        "mlPolicy.numNodes goes to the launcher",
        "kubeflow/trainer (no issue known)",
        "With MPI, mlPolicy.numNodes sets the number of launchers, and job node keeps its own parallelism.",
        "mlPolicy.numNodes is the default of spec.trainer.numNodes.",
        "Several launchers each run the whole job, over the same nodes.",
        "A number of 1, which an API server writes where a runtime says nothing, leaves job node a parallelism of its"
        " own.",
    ),
    "torchtune-dataset-args": Fix(
        "TC464",
        "torchtune is not told of the data set",
        "kubeflow/sdk#768",
        "A data set is fetched, but torchtune gets no argument for it, since Trainer drops those of the runtime's"
        " command, and trains on its default data set.",
        "The arguments for the fetched data set are added: the runtime's, with the place of the data set.",
        "Training on another data set than the one that was asked for is no result.",
        "Arguments of the TrainJob that begin with dataset stand alone. A data set in the cache (cache://) has no"
        " place in a folder, so there is nothing to add.",
    ),
    "flux-runtime-args": Fix(
        "TC465",
        "the runtime's args stay behind Flux' command",
        "kubeflow/trainer (no issue known)",
        "The container's command is replaced by Flux' entrypoint, but the runtime's args stay and are handed to it.",
        "The runtime's args become part of the wrapped command, where the TrainJob gives none; none stay behind it.",
        "The entrypoint adds the args that it is handed to the command line: the program gets the same words, and"
        " those of the TrainJob alone where it has args.",
    ),
}
"""By name; the names are part of the contract. compiler/tools/fixes.py writes docs/fixes.md from this table."""
