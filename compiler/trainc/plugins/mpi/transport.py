"""How mpirun reaches the nodes of a job: ssh, or kubectl exec."""

from __future__ import annotations

from typing import Final

from trainc.basics.jsonvalues import Path, as_list, get
from trainc.plugins.base import pod_containers
from trainc.plugins.model import Model
from trainc.plugins.mpi.sshd import runs_sshd
from trainc.upstream import NODE, TRANSPORT

SSH: Final = "ssh"
KUBEXEC: Final = "kubexec"
TRANSPORTS: Final = (SSH, KUBEXEC)
ANNOTATIONS: Final[Path] = ("metadata", "annotations")


def transport_of(model: Model) -> str:
    """Return ssh or kubexec: what the runtime's annotation says, else the environment. Under faithful always ssh."""
    if model.options.faithful:
        return SSH
    own = get(model.runtime.data, *ANNOTATIONS, TRANSPORT)
    return own if isinstance(own, str) and own in TRANSPORTS else model.options.settings.transport.mode


def by_kubexec(model: Model) -> bool:
    """Tell whether a job is one of MPI whose launcher runs kubectl exec."""
    return model.policy("mpi") is not None and transport_of(model) == KUBEXEC


def sshd_place(model: Model) -> Path | None:
    """Return the path in the JobSet of the first container of job node whose command line runs sshd, or None."""
    for index, job in enumerate(model.jobs):
        for number, container in enumerate(pod_containers(job) if job.get("name") == NODE else ()):
            if runs_sshd([str(word) for key in ("command", "args") for word in as_list(container.get(key))]):
                pod: Path = ("spec", "replicatedJobs", index, "template", "spec", "template", "spec")
                return (*pod, "containers", number)
    return None
