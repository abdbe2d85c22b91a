"""The MPI implementations: their variables and hostfiles, in one table, and the hosts of a job.

OpenMPI is upstream's, which supports only Open MPI 4. Open MPI 5 starts its daemons with PRRTE. Intel and MPICH are
extensions, with the variables of Intel MPI's and MPICH's Hydra
(HYDRA_LAUNCHER_EXTRA_ARGS, not the old HYDRA_LAUNCH_EXTRA_ARGS).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, as_object
from trainc.plugins.base import literal
from trainc.plugins.model import Container, Model, PodSet
from trainc.upstream import LAUNCHER, NODE

HOSTFILE_DIRECTORY = "/etc/mpi"
HOSTFILE = "hostfile"
KUBEXEC = "kubexec.sh"
_HOSTFILE_PATH = f"{HOSTFILE_DIRECTORY}/{HOSTFILE}"
_KUBEXEC_PATH = f"{HOSTFILE_DIRECTORY}/{KUBEXEC}"
SSH_ARGUMENTS = "-o ConnectionAttempts=10"
SLOTS = "{slots}"
SSH = "{ssh}"
Variables = tuple[tuple[str, str], ...]
IMPLEMENTATION_PATH = ("spec", "mlPolicy", "mpi", "mpiImplementation")


class Implementation(Struct, frozen=True):
    """One MPI implementation.

    ``line`` is a line of the hostfile. ``variables`` are set on the launcher, in this order; ``{slots}`` stands for the
    processes per node, ``{ssh}`` for the arguments of ssh. ``defaults`` are set unless the runtime sets them.
    ``forwards``: its mpirun forwards all of its variables to every rank. ``agent``: the variables with which it starts
    all daemons from the launcher, by kubexec.sh, since workers may not exec into pods.
    """

    line: str
    variables: Variables
    defaults: Variables = ()
    upstream: bool = False
    forwards: bool = True
    agent: Variables = ()

    @property
    def reserved(self) -> frozenset[str]:
        """The variables that spec.trainer.env may not set."""
        return frozenset(name for name, _ in (*self.variables, *(each for each in self.defaults if each in PRRTE)))

    def environment(self, container: Container, slots: int, ssh: str) -> tuple[JsonObject, ...]:
        """Return the launcher's variables."""
        names = {variable.get("name") for variable in container.env}
        found = (*self.variables, *(each for each in self.defaults if each[0] not in names))
        return tuple(literal(name, value.replace(SLOTS, str(slots)).replace(SSH, ssh)) for name, value in found)


# Without IFACE, Hydra's proxies connect to the launcher's bare host name, which does not resolve.
IMPLEMENTATIONS = {
    "OpenMPI": Implementation(
        line="{host} slots={slots}",
        variables=(
            ("OMPI_MCA_orte_default_hostfile", _HOSTFILE_PATH),
            ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
            ("OMPI_MCA_orte_set_default_slots", SLOTS),
            ("OMPI_MCA_plm_rsh_args", SSH),
        ),
        upstream=True,
        forwards=False,
        # Horovod's horovodrun starts its workers by kubexec.sh if the first variable has exactly this value.
        agent=(
            ("OMPI_MCA_plm_rsh_agent", _KUBEXEC_PATH),
            ("OMPI_MCA_plm_rsh_no_tree_spawn", "1"),
            ("PRTE_MCA_plm_ssh_agent", _KUBEXEC_PATH),
        ),
    ),
    "Intel": Implementation(
        line="{host}:{slots}",
        variables=(
            ("I_MPI_HYDRA_HOST_FILE", _HOSTFILE_PATH),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", SSH),
            ("I_MPI_PERHOST", SLOTS),
        ),
        defaults=(("I_MPI_HYDRA_IFACE", "eth0"),),
        agent=(
            ("I_MPI_HYDRA_BOOTSTRAP", "rsh"),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC", _KUBEXEC_PATH),
            ("I_MPI_HYDRA_BRANCH_COUNT", "-1"),
        ),
    ),
    "MPICH": Implementation(
        line="{host}:{slots}",
        variables=(
            ("HYDRA_HOST_FILE", _HOSTFILE_PATH),
            ("HYDRA_LAUNCHER_EXTRA_ARGS", SSH),
        ),
        defaults=(("HYDRA_IFACE", "eth0"),),
        agent=(("HYDRA_LAUNCHER", "ssh"), ("HYDRA_LAUNCHER_EXEC", _KUBEXEC_PATH)),
    ),
}
"""By the value of mlPolicy.mpi.mpiImplementation."""

PRRTE: Variables = (
    ("PRTE_MCA_prte_default_hostfile", _HOSTFILE_PATH),
    # With full names, PRRTE does not recognize the launcher's own line and runs ssh to itself.
    ("PRTE_MCA_prte_keep_fqdn_hostnames", "false"),
    ("PRTE_MCA_prte_set_default_slots", SLOTS),
    ("PRTE_MCA_plm_ssh_args", SSH),
    # Beyond 64 hosts, daemons would start other daemons, with these arguments truncated at the first =.
    ("PRTE_MCA_plm_ssh_no_tree_spawn", "1"),
)
"""Additional variables for Open MPI 5, tested with 5.0.11. Open MPI 4 ignores them."""


def implementation_of(policy: JsonObject, *, prrte: bool = False, kubexec: bool = False) -> Implementation | None:
    """Return the implementation that a policy names, or None.

    ``prrte`` adds the variables of Open MPI 5, which a runtime for it may set. ``kubexec`` replaces those of ssh, and
    includes Open MPI 5.
    """
    found = IMPLEMENTATIONS.get(str(policy.get("mpiImplementation")))
    if found is None:
        return None
    if found.upstream and kubexec:
        found = replace(found, variables=found.variables + PRRTE)
    elif found.upstream and prrte:
        found = replace(found, defaults=PRRTE)
    if kubexec:
        kept = tuple((name, value) for name, value in found.variables if value != SSH)
        found = replace(found, variables=kept + found.agent)
    return found


EXTENSIONS = tuple(name for name, entry in IMPLEMENTATIONS.items() if not entry.upstream)


# The hostfile: the pods that run ranks, and their slots.

MAX_HOSTS = 100_000
"""The most lines of a hostfile: with more, upstream runs out of memory (M9)."""


class Address(NamedTuple):
    """A host name, and its pod: replicated job, index of its Job, completion index."""

    host: str
    job: str
    job_index: int
    completion_index: int


def host_sets(model: Model) -> tuple[PodSet, ...]:
    """Return the pod sets in the hostfile, in the runtime's order (M2)."""
    with_launcher = as_object(model.policy("mpi")).get("runLauncherAsNode") is True
    return tuple(p for p in model.pod_sets if p.name == NODE or (with_launcher and p.name == LAUNCHER))


def host_count(model: Model) -> int:
    """Return the number of lines of the hostfile."""
    return sum(max(p.replicas, 0) * max(p.count, 0) for p in host_sets(model))


def addresses(model: Model) -> Iterator[Address]:
    """Yield the hosts by pod set, replica and index: the first MAX_HOSTS, as a job may have more without a fix."""
    subdomain, left = model.subdomain, MAX_HOSTS
    for pod_set in host_sets(model):
        for replica in range(min(pod_set.replicas, left) if pod_set.count > 0 else 0):
            start = f"{model.name}-{pod_set.name}-{replica}-"
            for index in range(min(pod_set.count, left)):
                yield Address(f"{start}{index}.{subdomain}", pod_set.name, replica, index)
                left -= 1


def hostfile(model: Model, implementation: Implementation, slots: int) -> str:
    """Return the hostfile's text."""
    before, after = implementation.line.format(host="\n", slots=slots).split("\n")
    return "".join(f"{before}{address.host}{after}\n" for address in addresses(model))
