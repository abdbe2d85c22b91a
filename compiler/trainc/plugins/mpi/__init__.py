"""MPI: hostfile, SSH volumes and the launcher's variables."""

from trainc.plugins.mpi.plugin import PLUGIN

__all__ = ["PLUGIN"]
