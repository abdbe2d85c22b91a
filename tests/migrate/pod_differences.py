"""The one list of differences between the pods of an operator and those of the imported job.

Each entry matches as little as can be, and must occur in a case. ``docs/import-differences.md`` is written from it:
``python tests/migrate/pod_differences.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from imported_pods import Difference

from trainc.basics.jsonvalues import get, objects

PAGE = Path(__file__).resolve().parents[2] / "docs" / "import-differences.md"
_MPI_FILES = r"containers\[main\]\.volumeMounts\[/etc/mpi\]"


class Entry(NamedTuple):
    """Where pods differ on purpose: kinds, pods and paths are regular expressions.

    ``finding``: the import reports it, with these words in a message.
    """

    name: str
    kinds: str
    path: str
    what: str
    reason: str
    applies: Callable[[Difference], bool] = lambda difference: True
    pods: str = ".*"
    finding: str = ""

    def matches(self, difference: Difference, findings: list[str]) -> bool:
        """Tell whether this entry is about the difference."""
        return (
            re.fullmatch(self.kinds, difference.kind) is not None
            and re.fullmatch(self.pods, difference.pod) is not None
            and re.fullmatch(self.path, difference.path) is not None
            and self.applies(difference)
            and (not self.finding or any(self.finding in message for message in findings))
        )


def _added(difference: Difference) -> bool:
    return difference.old is None


def _dropped(difference: Difference) -> bool:
    return difference.new is None


def _text(fields: Any) -> str:
    return " ".join(str(fields.get(f"containers[main].{key}") or "") for key in ("command", "args"))


def _by_torchrun(difference: Difference) -> bool:
    words = [*difference.before["containers[main].command"], *difference.before["containers[main].args"]]
    first = str(words[:1]) == "['torchrun']" or "torch.distributed.run" in words
    return difference.new is None and (first or any(re.search(r"(^|\n)torchrun\b", str(word)) for word in words[1:]))


def _but_port(difference: Difference) -> bool:
    """Tell whether nothing differs but the port that pods meet at."""
    before, after = difference.before, difference.after
    old = before.get("containers[main].env[MASTER_PORT]")
    new = after.get("containers[main].env[MASTER_PORT]") or after.get("containers[main].env[PET_MASTER_PORT]")
    return bool(old and new) and str(difference.old).replace(str(old), str(new)) == str(difference.new)


def _same_files(difference: Difference) -> bool:
    """Tell whether the hostfile, if there is one, is the same on both sides."""
    before, after = (get(side, "volume", "files") for side in (difference.old, difference.new))
    return isinstance(after, dict) and get(before, "hostfile") == get(after, "hostfile")


def _hosts(side: Any) -> list[str]:
    """Return the lines of a hostfile in the format of Open MPI, sorted."""
    found = get(side, "volume", "files", "hostfile")
    text = str(found[0]) if isinstance(found, list) else ""
    return sorted(text.replace(":", " slots=").splitlines())


def _same_keys(difference: Difference) -> bool:
    """Tell whether nothing of a Secret differs but its name and modes."""

    def items(value: Any) -> Any:
        return [(item["key"], item["path"]) for item in objects(get(value, "volume", "secret", "items"))]

    return items(difference.new) != [] and items(difference.old) == items(difference.new)


def _image(difference: Difference) -> str:
    return str(difference.after.get("containers[main].image"))


def _is_torch(difference: Difference) -> bool:
    return all("pytorch/pytorch:" in str(image) for image in (difference.old, difference.new))


ALL = "PyTorchJob|TFJob|XGBoostJob|JAXJob|MPIJob|Job"
DIFFERENCES = (
    Entry(
        "completion-index",
        ALL,
        r".*\.env\[JOB_COMPLETION_INDEX\]",
        "Variable `JOB_COMPLETION_INDEX`",
        "Kubernetes adds it to the pods of an Indexed Job.",
        _added,
    ),
    Entry(
        "jobset-name",
        ALL,
        r"(containers|initContainers)\[.*\]\.env\[JOBSET_NAME\]",
        "Variable `JOBSET_NAME`",
        "Other variables take the names of hosts from it, so that one runtime serves jobs of any name.",
        _added,
    ),
    Entry(
        "declared-port",
        "PyTorchJob|TFJob|XGBoostJob|JAXJob",
        r"containers\[main\]\.ports\[.*\]",
        "The operator's port among a container's `ports`",
        "The operator's Service needs it. A JobSet's Service has no ports; a container may listen on any.",
        lambda difference: _dropped(difference) and "job-port" in str(difference.old.get("name")),
    ),
    Entry(
        "port-names",
        ALL,
        r".*\.ports\[.*\]",
        "Names of ports",
        "Trainer changes the numbers of ports without names.",
        lambda difference: {**(difference.old or {}), "name": get(difference.new, "name")} == difference.new,
        finding="the port gets a name",
    ),
    Entry(
        "trainers-port",
        "PyTorchJob|JAXJob|XGBoostJob",
        r"containers\[main\]\.ports\[29500/TCP\]",
        "Port 29500 among a container's `ports`",
        "Trainer declares the port at which processes meet.",
        _added,
    ),
    Entry(
        "master-port",
        "PyTorchJob",
        r"containers\[main\]\.(env\[(PET_)?MASTER_PORT\]|env\[.*\]|command|args)",
        "`MASTER_PORT` is 29500",
        "Trainer chooses the port; commands that use `$(MASTER_PORT)` follow. Change a command with 23456 in it.",
        _but_port,
    ),
    Entry(
        "init-pytorch",
        "PyTorchJob",
        r"initContainers(\[init-pytorch\]\..*)?",
        "Init container `init-pytorch`, which waits for the master's name",
        "The names of a JobSet's pods resolve before the pods are ready, and torchrun waits for the master itself.",
        lambda difference: (
            _dropped(difference)
            if "init-pytorch]" in difference.path
            else [name for name in difference.old if name != "init-pytorch"] == difference.new
        ),
        pods=r"worker-\d+",
    ),
    Entry(
        "torchrun-ranks",
        "PyTorchJob",
        r"containers\[main\]\.env\[(MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK)\]",
        "Variables `MASTER_ADDR`, `MASTER_PORT`, `WORLD_SIZE` and `RANK` of programs that torchrun starts",
        "torchrun sets them for each of its processes and reads `PET_*` only.",
        _by_torchrun,
    ),
    Entry(
        "processes-auto",
        "PyTorchJob",
        r"containers\[main\]\.env\[PET_NPROC_PER_NODE\]",
        "`PET_NPROC_PER_NODE` is a number instead of `auto`",
        "Without GPUs, Trainer counts the CPUs that a pod requests, torchrun those of the machine. Set "
        "`numProcPerNode`.",
        lambda difference: difference.old in ("auto", "cpu") and str(difference.new).isdecimal(),
        finding="nprocPerNode",
    ),
    Entry(
        "processes-unused",
        "PyTorchJob",
        r"containers\[main\]\.env\[PET_NPROC_PER_NODE\]",
        "`PET_NPROC_PER_NODE` of commands that do not name it, without torchrun, or with `--nproc-per-node`",
        "Nothing reads it.",
        lambda difference: (
            "PET_NPROC_PER_NODE" not in (text := _text(difference.before))
            and ("torchrun" not in text or "nproc_per" in text.replace("-", "_"))
        ),
    ),
    Entry(
        "rendezvous-of-workers",
        "PyTorchJob",
        r"containers\[main\]\.env\[(PET_NODE_RANK|PET_MASTER_ADDR|PET_MASTER_PORT)\]",
        "Variables `PET_NODE_RANK`, `PET_MASTER_ADDR` and `PET_MASTER_PORT` of jobs without a master",
        "The pods train together: torchrun meets at the first one. The operator sets nothing, and each pod trains "
        "alone.",
        lambda difference: _added(difference) and "containers[main].env[MASTER_ADDR]" not in difference.before,
    ),
    Entry(
        "variables-of-sidecars",
        "PyTorchJob",
        r"(containers\[(?!main\]).*|initContainers\[.*)\.env\[(PYTHONUNBUFFERED|PET_.*|MASTER_.*|WORLD_SIZE|RANK)\]",
        "Variables of torchrun in other containers than `pytorch`",
        "The operator sets all of them in each container, the runtime only some. Add others to its container.",
    ),
    Entry(
        "jax-variables",
        "JAXJob",
        r"containers\[main\]\.env\[JAX_(NUM_PROCESSES|PROCESS_ID|COORDINATOR_ADDRESS)\]",
        "Variables `JAX_*`",
        "Trainer sets them beside those of the operator, which keep their values.",
        _added,
    ),
    Entry(
        "gang-scheduler",
        "PyTorchJob|TFJob|XGBoostJob|JAXJob|MPIJob",
        r"schedulerName",
        "`schedulerName` of jobs that name no scheduler but have `scheduleTimeoutSeconds`",
        "The operator sets the name of the gang scheduler that it was started with, which no job says. Set it in the "
        "runtime, unless the default scheduler has the plugin coscheduling.",
        lambda difference: difference.new == "default-scheduler",
        finding="the pods get no schedulerName",
    ),
    Entry(
        "tf-index",
        "TFJob",
        r"containers\[main\]\.env\[TF_INDEX\]",
        "Variable `TF_INDEX`",
        "`TF_CONFIG`, which is equal, takes the index of the task from it.",
        _added,
    ),
    Entry(
        "kubectl-delivery",
        "MPIJob",
        r"initContainers(\[kubectl-delivery\]\..*)?|containers\[main\]\.volumeMounts\[/opt/kube\]",
        "Init container `kubectl-delivery`, which waits for workers and brings kubectl",
        "The launcher's image has to have kubectl: see [kubexec.md](kubexec.md). Its script waits for the workers.",
        lambda difference: (
            [name for name in difference.old if name != "kubectl-delivery"] == difference.new
            if difference.path == "initContainers"
            else _dropped(difference)
        ),
        pods="launcher",
    ),
    Entry(
        "kubexec-account",
        "MPIJob",
        r"serviceAccountName|automountServiceAccountToken",
        "The service account of kubectl exec",
        "It has another name, and workers get no token, which they do not need.",
        lambda difference: str(difference.new).endswith("-mpi-kubexec") or difference.path.startswith("auto"),
    ),
    Entry(
        "mpi-files",
        "MPIJob",
        _MPI_FILES,
        "Files in `/etc/mpi`",
        "The hostfile is equal, with other names of hosts. `kubexec.sh` and `discover_hosts.sh` are those of "
        "[kubexec.md](kubexec.md). Over ssh there is no `discover_hosts.sh`; a job of v2beta1 that uses it is refused.",
        _same_files,
    ),
    Entry(
        "last-host",
        "MPIJob",
        _MPI_FILES,
        "A launcher that computes is the last host if it waits for the workers",
        "Trainer lists hosts in the order in which Jobs start.",
        lambda difference: _hosts(difference.new) != [] and _hosts(difference.old) == _hosts(difference.new),
        finding="is the last host",
    ),
    Entry(
        "intel-of-v1",
        "MPIJob",
        rf"containers\[main\]\.env\[(OMPI_MCA|I_MPI)_.*\]|{_MPI_FILES}",
        "Variables and the format of the hostfile of Intel MPI",
        "The operator of v1 sets Open MPI's for all jobs. Trainer sets Intel MPI's for jobs with its variables.",
        lambda difference: (
            "containers[main].env[I_MPI_HYDRA_HOST_FILE]" in difference.after
            and "containers[main].env[I_MPI_HYDRA_HOST_FILE]" not in difference.before
            and (_dropped(difference) or _added(difference) or _hosts(difference.old) == _hosts(difference.new))
        ),
        pods="launcher",
    ),
    Entry(
        "sleep-of-main",
        "MPIJob",
        r"containers\[.*\]\.(command|args|volumeMounts\[/etc/mpi\])",
        "The container of a worker that sleeps, if `mainContainer` is not the first one",
        "The operator lets the first container sleep, and calls processes in the main container.",
        lambda difference: (
            difference.before["containers"][0] != "main"
            and any(word in str((difference.old, difference.new)) for word in ("'sleep'", "'365d'", "kubexec.sh"))
        ),
        pods=r"worker-\d+",
    ),
    Entry(
        "mpi-variables",
        "MPIJob",
        r"containers\[main\]\.env\[(OMPI_MCA|PRTE_MCA)_.*\]",
        "More variables of Open MPI",
        "Open MPI 5 reads `PRTE_MCA_*`; names of hosts are longer, and kubectl exec starts all processes.",
        _added,
        pods="launcher",
    ),
    Entry(
        "hydra-interface",
        "MPIJob",
        r"containers\[main\]\.env\[(I_MPI_HYDRA_IFACE|HYDRA_IFACE)\]",
        "Variable `I_MPI_HYDRA_IFACE` or `HYDRA_IFACE`",
        "mpirun then reports the address of the pod's interface, which all other pods can reach.",
        _added,
        pods="launcher",
    ),
    Entry(
        "mpich-launcher-variable",
        "MPIJob",
        r"containers\[main\]\.env\[HYDRA_LAUNCH(ER)?_EXTRA_ARGS\]",
        "`HYDRA_LAUNCHER_EXTRA_ARGS` instead of `HYDRA_LAUNCH_EXTRA_ARGS`",
        "MPICH reads the former.",
        pods="launcher",
    ),
    Entry(
        "ssh-keys",
        "MPIJob",
        r"containers\[main\]\.volumeMounts\[.*\.ssh\]",
        "Name and file modes of the Secret with SSH keys",
        "ssh refuses private keys that others can read: see [ssh-keys.md](ssh-keys.md).",
        _same_keys,
    ),
    Entry(
        "dns-search",
        "MPIJob",
        r"dnsConfig",
        "The workers' DNS search list",
        "It lets workers resolve short names of the operator's pods, which no longer exist.",
        _dropped,
        pods=r"worker-\d+",
    ),
    Entry(
        "priority-of-pods",
        ALL,
        r"priorityClassName",
        "The priority class of a PodGroup becomes `priorityClassName` of pods",
        "Trainer takes the priority of a PodGroup from its pods, which now have it too, unless they have one of their "
        "own. Add the PriorityClass to `runtimes/`.",
        _added,
    ),
    Entry(
        "workers-restart",
        "MPIJob",
        r"restarts",
        "A worker that fails is replaced",
        "mpi-operator leaves it failed, and the launcher decides what becomes of the job; so it does in a JobSet.",
        lambda difference: (difference.old, difference.new) == (0, 6),
        pods=r"worker-\d+",
    ),
    Entry(
        "unlimited-restarts",
        "PyTorchJob|TFJob|XGBoostJob|JAXJob|MPIJob",
        r"restarts",
        "A job without `backoffLimit` restarts a pod at most six times",
        "Six is Kubernetes' default; the operators have no limit, nor has MPI Operator for workers. Set `backoffLimit` "
        "of the runtime's Job.",
        lambda difference: difference.old is None and difference.new == 6,
    ),
    Entry(
        "labels-of-selectors",
        ALL,
        r"affinity|topologySpreadConstraints",
        "Labels `training.kubeflow.org/job-name` and `volcano.sh/job-name` of selectors",
        "They become `jobset.sigs.k8s.io/jobset-name`, which the pods of a JobSet have.",
        lambda difference: (
            re.sub(
                r"(training\.kubeflow\.org|volcano\.sh)/job-name", "jobset.sigs.k8s.io/jobset-name", str(difference.old)
            )
            == str(difference.new)
        ),
    ),
    Entry(
        "group-resources",
        "PyTorchJob|TFJob|XGBoostJob|JAXJob|MPIJob",
        r"group\.minResources",
        "`schedulingPolicy.minResources`",
        "Trainer computes it from the requests of the pods.",
        pods=r"\(job\)",
        finding="minResources",
    ),
    Entry(
        "time-to-live",
        ALL,
        r"ttlSecondsAfterFinished",
        "`ttlSecondsAfterFinished`",
        "Where Argo CD or Flux sync `out/`, a job that the cluster deletes would run again. Delete its file instead.",
        _dropped,
        pods=r"\(job\)",
        finding="ttlSecondsAfterFinished",
    ),
    Entry(
        "clean-pods",
        ALL,
        r"cleanPodPolicy",
        "`cleanPodPolicy: None` and `cleanPodPolicy: All`",
        "When a job ends, a JobSet deletes the pods that still run and keeps the others; save logs elsewhere.",
        pods=r"\(job\)",
    ),
    Entry(
        "queue-suspends",
        ALL,
        r"suspend",
        "`suspend` of a job with a queue",
        "Kueue sets it when it admits the JobSet.",
        lambda difference: difference.old is True,
        pods=r"\(job\)",
        finding="suspend",
    ),
    Entry(
        "no-always",
        ALL,
        r"restartPolicy",
        "`restartPolicy: OnFailure` instead of `Always`",
        "The operators create pods themselves; the pods of a Job cannot have `Always`.",
        lambda difference: (difference.old, difference.new) == ("Always", "OnFailure"),
        finding="restartPolicy",
    ),
    Entry(
        "volcano-unused-variables",
        "Job",
        r".*\.env\[VC_.*_(HOSTS|NUM)\]",
        "Variables `VC_*_HOSTS` and `VC_*_NUM` of jobs that mention none",
        "They tell the names of hosts, which a JobSet spells differently.",
        lambda difference: _dropped(difference) and "VC_" not in _text(difference.before),
    ),
    Entry(
        "volcano-files",
        "Job",
        r".*\.volumeMounts\[/etc/volcano\]",
        "The files in `/etc/volcano`",
        "An init container writes them, in the pods that mention them.",
        lambda difference: (
            "/etc/volcano" not in _text(difference.before)
            if difference.new is None
            else "volcano-files" in difference.after["initContainers"]
        ),
    ),
    Entry(
        "volcano-init",
        "Job",
        r"initContainers(\[volcano-files\]\..*)?",
        "Init container `volcano-files`",
        "It writes the files of the plugins `ssh` and `svc`, which Volcano mounts from objects of its own.",
        lambda difference: difference.path != "initContainers" or difference.new == ["volcano-files", *difference.old],
    ),
    Entry(
        "volcano-ssh",
        "Job",
        r".*\.volumeMounts\[.*/(\.ssh|mpi-ssh)\]",
        "SSH keys",
        "They are Trainer's, in another Secret; the files have the same names.",
        lambda difference: _added(difference) or get(difference.new, "volume") == {"emptyDir": {}},
        finding="keys",
    ),
    Entry(
        "volcano-mpi",
        "Job",
        r"containers\[.*\]\.(env\[OMPI_MCA_.*\]|volumeMounts\[/etc/mpi\])",
        "A hostfile in `/etc/mpi`, and variables of Open MPI that name it",
        "Trainer writes it. An mpirun with `--host` or `--hostfile` does not use it.",
        _added,
    ),
    Entry(
        "volcano-index",
        "Job",
        r".*\.env\[V[CK]_TASK_INDEX\]",
        "`VC_TASK_INDEX` counts on after the pods of another task",
        "Pods with one template are one replicated job.",
        lambda difference: str(difference.new).isdecimal(),
        finding="VC_TASK_INDEX counts from",
    ),
    Entry(
        "volcano-world-size",
        "Job",
        r"containers\[.*\]\.env\[WORLD_SIZE\]",
        "`WORLD_SIZE` does not count the pods of tasks beside master and worker",
        "They have no rank, so the others would wait for them. Volcano v1.10.0 counts them, later releases do not.",
        finding="WORLD_SIZE does not count",
    ),
    Entry(
        "volcano-claims",
        "Job",
        r".*\.volumeMounts\[.*\]",
        "Names of claims that the job creates",
        "JobSet names claims after the job, Volcano at random.",
        lambda difference: "-pvc-0" in str(difference.old) and "persistentVolumeClaim" in str(difference.new),
    ),
    Entry(
        "volcano-minimum",
        "Job",
        r"group\.(minMember|minTaskMember|minResources)",
        "`minAvailable` of a job or a task below the number of pods",
        "Trainer's PodGroup always waits for all pods. Lower the number of nodes if the job can do with fewer.",
        pods=r"\(job\)",
        finding="Trainer waits for all",
    ),
    Entry(
        "volcano-tasks",
        "Job",
        r"group\.minTaskMember",
        "`minTaskMember` of the PodGroup",
        "Trainer's counts all pods together, which is the same if all are needed.",
        lambda difference: difference.before.get("group.minMember") == difference.after.get("group.minMember"),
        pods=r"\(job\)",
    ),
    Entry(
        "volcano-no-gang",
        "Job",
        r"group(\..*)?",
        "The PodGroup of tasks that wait for others, or of another scheduler than Volcano's",
        "Trainer's PodGroup waits for all pods, of which some would wait for others; and only Volcano reads it.",
        _dropped,
        pods=r"\(job\)",
    ),
    Entry(
        "volcano-topology",
        "Job",
        r"group\.networkTopology",
        "`networkTopology`",
        "It is imported; Volcano v1.10, with which jobs are compared, does not know it yet.",
        _added,
        pods=r"\(job\)",
    ),
    Entry(
        "newer-runtimes",
        "TrainJob",
        r"containers\[main\]\.(command|image|imagePullPolicy|volumeMounts\[/workspace\])",
        "Images, commands and claims of the runtimes that Trainer installs",
        "They are those of v2.3; a TrainJob with an image and a command of its own is not affected.",
        lambda difference: (
            difference.path.endswith("command") or "trainer" in _image(difference) or _is_torch(difference)
        ),
    ),
    Entry(
        "added-resources",
        "TrainJob",
        r".*\.resources\..*",
        "Resources of a runtime that a TrainJob does not name",
        "From v2.3 on, Trainer adds them to those of the job.",
        _added,
        finding="v2.3.0 adds ",
    ),
    Entry(
        "counted-processes",
        "TrainJob",
        r"containers\[main\]\.env\[PET_NPROC_PER_NODE\]",
        "`PET_NPROC_PER_NODE` is a number instead of `auto`",
        "Without GPUs, Trainer v2.3 counts the CPUs that a pod requests, torchrun those of the machine. Set "
        "`numProcPerNode`.",
        lambda difference: difference.old == "auto" and str(difference.new).isdecimal(),
    ),
)


BEHAVIOUR = (
    *("clean-pods", "time-to-live", "unlimited-restarts", "workers-restart", "no-always", "priority-of-pods"),
    *("gang-scheduler", "master-port", "rendezvous-of-workers", "processes-auto", "variables-of-sidecars"),
    *("kubectl-delivery", "mpi-files", "last-host", "sleep-of-main"),
    *("volcano-minimum", "volcano-no-gang", "volcano-index", "volcano-claims"),
    *("newer-runtimes", "added-resources", "counted-processes"),
)
"""The names of the differences that can change what a job does."""


def page() -> str:
    """Return the page of docs with this list."""
    named = {entry.name: entry for entry in DIFFERENCES}
    others = [entry for entry in DIFFERENCES if entry.name not in BEHAVIOUR]
    return (
        "# How imported jobs differ\n\n"
        "Before you run an imported job, look for its kind in the first table: these differences can change what the\n"
        "job does. Those in the second table do not: the same result is reached in another way. In both, names\n"
        "of pods and hosts differ, and so do the labels by which controllers find objects;\n"
        "[import.md](import.md#what-stays-different) says what follows from that.\n\n"
        "## What can change the behavior of a job\n\n"
        f"{_table(named[name] for name in BEHAVIOUR)}\n"
        "## What has the same result\n\n"
        f"{_table(others)}\n"
        "## How this is tested\n\n"
        "training-operator v1.9, mpi-operator v0.8, Volcano v1.10 and Trainer v2.0 and v2.1 create the pods of the "
        "jobs\n"
        "in `tests/migrate/cases`. Each field of those pods is compared with the pods of the compiled JobSet. A\n"
        "difference that is not in these tables fails the test, and so does a row that no job needs.\n"
    )


def _table(entries: Iterable[Entry]) -> str:
    rows = [f"| {entry.what} | {_kinds(entry.kinds)} | {entry.reason} |\n" for entry in entries]
    return "| difference | kinds | why, and what to do |\n|---|---|---|\n" + "".join(rows)


def _kinds(kinds: str) -> str:
    if kinds == ALL:
        return "all"
    return ", ".join("Volcano Job" if kind == "Job" else kind for kind in kinds.split("|"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="")
