"""The codes TC83x: what runs, but not as it was meant."""

from __future__ import annotations

from trainc.diagnostics.code import Code
from trainc.diagnostics.diagnostic import Severity

_W = Severity.WARNING

MISTAKES = {
    "TC830": Code(
        _W,
        "nodes that look for each other at localhost",
        "Several nodes run with a rendezvous endpoint at localhost, as the command of Trainer's torchtune runtimes has"
        " it. Each node then waits for the others at its own address. Trainer replaces the endpoint only where the"
        " TrainJob's command is [tune, run].",
        "use one node, or write --rdzv_endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT) in spec.trainer.command",
    ),
    "TC831": Code(
        _W,
        "PodGroup of another scheduler",
        "podGroupPolicy makes a PodGroup for Volcano or for the coscheduling plugin, but pods name another scheduler,"
        " which knows nothing of it: they are placed one by one. Trainer sets no schedulerName. For coscheduling the"
        " default scheduler may be right, since the plugin can be part of it.",
    ),
    "TC832": Code(
        _W,
        "PodGroup without minResources",
        "Trainer adds up the requests of all pods for minResources, and no container has any: limits do not count. The"
        " scheduler then lets the gang in without a look at whether there is room for it.",
        "set requests in the runtime, or in spec.trainer.resourcesPerNode",
    ),
    "TC833": Code(
        _W,
        "processes that are not as many as devices",
        "Without numProcPerNode Trainer starts one process for each device of a node, but counts only resources with"
        " gpu in their name. For TPUs, Gaudi, Neuron, Ascend and MIG devices it takes the number of CPUs under torch,"
        " and one process where none is given.",
    ),
    "TC834": Code(
        _W,
        "object beside a runtime that is not emitted",
        "Of what stands in a runtime's file, trainc emits ServiceAccounts, Roles, RoleBindings, ConfigMaps and"
        " PersistentVolumeClaims for the jobs of the runtime. An object of another kind is read and left out.",
        "apply it apart from trainc, in a folder that Argo CD or Flux reads",
    ),
    "TC835": Code(
        _W,
        "discovery script that does not exist",
        "The v1 operator wrote /etc/mpi/discover_hosts.sh for Horovod's elastic jobs. Trainer mounts the hostfile alone"
        " at /etc/mpi, so with ssh as transport the script does not exist and horovodrun fails.",
        "name the hosts of /etc/mpi/hostfile, or set the runtime's annotation trainc.dev/transport: kubexec",
    ),
    "TC836": Code(
        _W,
        "less memory than one process needs",
        "The suffix m is a thousandth: 16m of memory is a part of a byte. 16 without a suffix is 16 bytes. The API"
        " server accepts both; a container with such a limit does not start.",
    ),
    "TC837": Code(
        _W,
        "whole command line as one word",
        "command is a list of words, and no shell divides them. With a space in the first one, the container runtime"
        " looks for a program of that whole name, and the container does not start.",
    ),
    "TC838": Code(
        _W,
        "runtime that the Kubeflow SDK cannot list",
        "The SDK (0.5) reads the device of a runtime from the limits of its trainer's container: nvidia.com/gpu,"
        " google.com/tpu, a MIG device, huawei.com/Ascend910 or cpu. Where there are limits with none of them,"
        " TrainerClient.list_runtimes() fails, for all runtimes. It passes over runtimes without the label"
        " trainer.kubeflow.org/framework.",
        "add a limit of cpu",
    ),
}
