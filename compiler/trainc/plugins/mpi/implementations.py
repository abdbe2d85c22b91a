"""What differs between MPI implementations, in one table.

OpenMPI is upstream's. Intel and MPICH are extensions: their variables are those that Intel MPI's and
MPICH's Hydra read today (HYDRA_LAUNCHER_EXTRA_ARGS, not the old HYDRA_LAUNCH_EXTRA_ARGS).
"""

from __future__ import annotations

from trainc.model import Container
from trainc.plugins.base import literal
from trainc.records import dataclass
from trainc.source import JsonObject

HOSTFILE_DIRECTORY = "/etc/mpi"
HOSTFILE = "hostfile"
_HOSTFILE_PATH = f"{HOSTFILE_DIRECTORY}/{HOSTFILE}"
_SSH_ARGUMENTS = "-o ConnectionAttempts=10"
SLOTS = "{slots}"
IMPLEMENTATION_PATH = ("spec", "mlPolicy", "mpi", "mpiImplementation")


@dataclass(frozen=True, slots=True)
class Implementation:
    """One MPI implementation.

    ``line`` is a line of the hostfile. ``variables`` are set on the launcher, in this order; ``{slots}``
    stands for the processes of a node. ``defaults`` are set only where the runtime does not.
    """

    line: str
    variables: tuple[tuple[str, str], ...]
    defaults: tuple[tuple[str, str], ...] = ()
    upstream: bool = False

    @property
    def reserved(self) -> frozenset[str]:
        """The variables that spec.trainer.env may not set."""
        return frozenset(name for name, _ in self.variables)

    def environment(self, container: Container, slots: int) -> tuple[JsonObject, ...]:
        """Return the launcher's variables."""
        given = {variable.get("name") for variable in container.env}
        return (
            *(literal(name, value.replace(SLOTS, str(slots))) for name, value in self.variables),
            *(literal(name, value) for name, value in self.defaults if name not in given),
        )


IMPLEMENTATIONS = {
    "OpenMPI": Implementation(
        line="{host} slots={slots}",
        variables=(
            ("OMPI_MCA_orte_default_hostfile", _HOSTFILE_PATH),
            ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
            ("OMPI_MCA_orte_set_default_slots", SLOTS),
            ("OMPI_MCA_plm_rsh_args", _SSH_ARGUMENTS),
        ),
        upstream=True,
    ),
    "Intel": Implementation(
        line="{host}:{slots}",
        variables=(
            ("I_MPI_HYDRA_HOST_FILE", _HOSTFILE_PATH),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", _SSH_ARGUMENTS),
            ("I_MPI_PERHOST", SLOTS),
        ),
    ),
    "MPICH": Implementation(
        line="{host}:{slots}",
        variables=(
            ("HYDRA_HOST_FILE", _HOSTFILE_PATH),
            ("HYDRA_LAUNCHER_EXTRA_ARGS", _SSH_ARGUMENTS),
        ),
        # Hydra's proxies call back by the launcher's bare host name, which no DNS answers, unless told an interface.
        defaults=(("HYDRA_IFACE", "eth0"),),
    ),
}
"""By the value of mlPolicy.mpi.mpiImplementation."""

EXTENSIONS = tuple(name for name, entry in IMPLEMENTATIONS.items() if not entry.upstream)
