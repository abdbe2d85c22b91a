"""What pods need whose mpirun starts its daemons by kubectl exec: scripts, and a table of hosts. No keys, no sshd.

mpirun calls kubexec.sh as it would call ssh, with a host and a command. The pod of a host has a random end in its
name, so the script finds it by labels, which the table gives for every line of the hostfile. Folder and file name are
those of mpi-operator's v1 jobs, which Horovod looks for.
"""

from __future__ import annotations

from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.data import load_text
from trainc.plugins.base import config_map
from trainc.plugins.model import Model, Object
from trainc.plugins.mpi.hosts import addresses
from trainc.plugins.mpi.implementations import HOSTFILE, KUBEXEC
from trainc.upstream import LAUNCHER

VOLUME: Final = "mpi-kubexec"
DISCOVER: Final = "discover_hosts.sh"
JOBSET: Final = "jobset"
TABLE: Final = "hosts"
_MODES: Final = {HOSTFILE: 0o444, TABLE: 0o444, JOBSET: 0o444, KUBEXEC: 0o555, DISCOVER: 0o555}


def kubexec_name(model: Model) -> str:
    """Return the name of what a job has for kubectl exec: ConfigMap, service account, role."""
    return f"{model.name}-mpi-kubexec"


def kubexec_volume(model: Model, job: str) -> JsonObject:
    """Return the volume of a replicated job's pods.

    All but the launcher's hold the script alone, never to be run: Open MPI's daemon looks whether its agent is there.
    """
    keys = tuple(_MODES) if job == LAUNCHER else (KUBEXEC,)
    items: list[Json] = [{"key": key, "path": key, "mode": _MODES[key]} for key in keys]
    return {"name": VOLUME, "configMap": {"name": kubexec_name(model), "items": items}}


def kubexec_map(model: Model, hostfile: str, slots: int) -> Object:
    """Return the ConfigMap. A line of the table: host, replicated job, job index, completion index, slots."""
    table = "".join(f"{' '.join(map(str, address))} {slots}\n" for address in addresses(model))
    scripts = {name: load_text(f"scripts/{name}") for name in (KUBEXEC, DISCOVER)}
    return config_map(
        model, kubexec_name(model), {HOSTFILE: hostfile, TABLE: table, JOBSET: f"{model.name}\n", **scripts}
    )
