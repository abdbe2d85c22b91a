"""The codes TC83x: what runs, but not as it was meant."""

from __future__ import annotations

from trainc.findings.code import Code
from trainc.findings.finding import Severity

_W = Severity.WARNING

MISTAKES = {
    "TC830": Code(
        _W,
        "nodes that look for each other at localhost",
        "Several nodes use localhost as the rendezvous endpoint, as the command of Trainer's torchtune runtimes does."
        " Each node then waits for the others at its own address. Trainer replaces the endpoint only if the TrainJob's"
        " command is [tune, run].",
        "use one node, or write --rdzv_endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT) in spec.trainer.command",
    ),
    "TC831": Code(
        _W,
        "PodGroup of another scheduler",
        "podGroupPolicy creates a PodGroup for Volcano or for the coscheduling plugin. A scheduler that does not know"
        " the PodGroup places its pods one by one, and Trainer sets no schedulerName. Nothing is reported for"
        " coscheduling with the default scheduler, which may have the plugin, and for pods with the annotation"
        " volcano.sh/resource-group, whose scheduler Volcano's admission webhook may set. If it does so for a whole"
        " namespace, ignore the warning.",
    ),
    "TC832": Code(
        _W,
        "PodGroup without minResources",
        "Trainer adds up the requests of all pods for minResources, but no container has any. Limits do not count. The"
        " scheduler then admits the gang without checking that the cluster has room for it.",
        "set requests in the runtime, or in spec.trainer.resourcesPerNode",
    ),
    "TC833": Code(
        _W,
        "number of processes differs from devices",
        "Without numProcPerNode Trainer starts one process per device of a node, but counts only resources with gpu in"
        " their name. For TPUs, Gaudi, Neuron, Ascend and MIG devices it uses the number of CPUs under torch, or one"
        " process if no number is given.",
    ),
    "TC834": Code(
        _W,
        "object beside a runtime that is not emitted",
        "From the file of a runtime, trainc emits ServiceAccounts, Roles, RoleBindings, ConfigMaps and"
        " PersistentVolumeClaims for the jobs of the runtime. Objects of other kinds in the file, or elsewhere below"
        " runtimes/, never reach the cluster through out/.",
        "put it into another folder that Argo CD or Flux applies",
    ),
    "TC835": Code(
        _W,
        "discovery script that does not exist",
        "The v1 operator wrote /etc/mpi/discover_hosts.sh for elastic Horovod jobs. Trainer mounts only the hostfile at"
        " /etc/mpi, so over ssh the script does not exist and horovodrun fails.",
        "use /etc/mpi/hostfile instead, or set the runtime's annotation trainc.dev/transport: kubexec",
    ),
    "TC836": Code(
        _W,
        "less memory than one process needs",
        "The suffix m stands for thousandths, so 16m of memory is less than one byte; 16 without a suffix is 16 bytes."
        " The API server accepts both, but a container with such a limit does not start.",
    ),
    "TC837": Code(
        _W,
        "whole command line as one word",
        "command is a list of words, and no shell splits them. If the first word contains a space, the container"
        " runtime looks for a program with that whole name, and the container does not start.",
    ),
    "TC838": Code(
        _W,
        "runtime that the Kubeflow SDK cannot list",
        "The SDK (0.5) reads the device of a runtime from the limits of its trainer's container: nvidia.com/gpu,"
        " google.com/tpu, a MIG device, huawei.com/Ascend910 or cpu. If there are limits but none of these,"
        " TrainerClient.list_runtimes() fails for all runtimes. It skips runtimes without the label"
        " trainer.kubeflow.org/framework.",
        "add a limit for cpu",
    ),
}
