"""MPI: hostfile, SSH volumes and the launcher's variables."""

from trainc.plugins.mpi.plugin import Mpi

__all__ = ["Mpi"]
